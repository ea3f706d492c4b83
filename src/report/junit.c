/* junit.xml, as Jenkins, GitLab and GitHub actions read it. */
#include "report/ci.h"
#include "report/escape.h"
#include "report/facts.h"
#include "report/gate_words.h"
#include "report/summary.h"

#include <math.h>

enum {
    TEXT_MAX = 500,
    NAME_MAX = 120,
    INPUTS_MAX = 200,
    RANKS_MAX = 200,
    OUT_LINES = 38 /* GitLab cuts at 80, and the attachment has its own */
};

enum kind {
    CASE_PASSED,
    CASE_FAILED,
    CASE_ERROR,
    CASE_SKIPPED
};

struct junit {
    struct buf cases;
    struct arena a;
    const struct analysis *an;
    unsigned n[CASE_SKIPPED + 1];
};

static void attribute(struct buf *b, struct arena *a, const char *name, const char *value, size_t most)
{
    buf_printf(b, " %s=\"", name);
    escape_xml(b, str_of(words_short(a, value, most)));
    buf_putc(b, '"');
}

/* A case; text says why it is not passed. */
static void put_case(struct junit *j, const char *name, enum kind kind, const char *text)
{
    static const char *const tags[] = {NULL, "failure", "error", "skipped"};
    struct buf *b = &j->cases;

    if (b->n > JUNIT_MAX - (16 << 10))
        return; /* thousands of inputs or ranks: those before stand for them */
    j->n[kind]++;
    buf_puts(b, "  <testcase classname=\"oomreport\"");
    attribute(b, &j->a, "name", name, NAME_MAX);
    buf_puts(b, " time=\"0\"");
    if (kind == CASE_PASSED) {
        buf_puts(b, "/>\n");
        return;
    }
    buf_printf(b, ">\n    <%s", tags[kind]);
    attribute(b, &j->a, "message", text, TEXT_MAX);
    buf_puts(b, "/>\n  </testcase>\n");
}

/* --- cases -------------------------------------------------------------------------- */

static const struct gate *gate_named(const struct analysis *an, const char *id)
{
    for (size_t i = 0; i < an->n_gates; i++)
        if (strcmp(an->gates[i].id, id) == 0)
            return &an->gates[i];
    return NULL;
}

static enum kind kind_of(const struct gate *g)
{
    return g->result == GATE_FAIL ? CASE_FAILED : g->result == GATE_PASS ? CASE_PASSED : CASE_SKIPPED;
}

/* A case for each question of the triage: what is found there fails only where a gate says so. */
static void put_questions(struct junit *j)
{
    static const enum cause causes[Q_COUNT] = {CAUSE_LEAK, CAUSE_PEAK, CAUSE_EVAL, CAUSE_CAPACITY};
    const struct run_report *lead = facts_lead(j->an);

    for (int q = 0; q < Q_COUNT && lead; q++) {
        const char *cause = cause_name(causes[q]);
        const struct gate *g = gate_named(j->an, arena_printf(&j->a, "fail-on=%s", cause));
        bool tested = lead->triage[q].answer != ANSWER_NOT_TESTABLE;

        put_case(j, arena_printf(&j->a, "oomreport.%s", cause),
                 g        ? kind_of(g)
                 : tested ? CASE_PASSED
                          : CASE_SKIPPED,
                 g ? g->text : "not testable: the log has not the fields for it");
    }
}

static bool is_question(const struct gate *g)
{
    static const char *const ids[] = {"fail-on=leak", "fail-on=peak", "fail-on=eval", "fail-on=capacity"};

    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        if (strcmp(g->id, ids[i]) == 0)
            return true;
    return false;
}

/* Ranks that fail a gate by themselves. */
static void put_ranks(struct junit *j, const struct gate *g)
{
    bool headroom = strcmp(g->id, "min-headroom") == 0;

    if (g->result != GATE_FAIL || j->an->n_ranks < 2 || (!headroom && strcmp(g->id, "max-peak") != 0))
        return;
    for (size_t i = 0, n = 0; i < j->an->n_runs && n < RANKS_MAX; i++) {
        const struct run_report *r = &j->an->runs[i];
        double v = headroom ? r->capacity_bytes - r->traits.peak_bytes : r->traits.peak_bytes;

        if (strcmp(g->unit, "percent") == 0)
            v = 100 * v / r->capacity_bytes;
        if (isnan(r->rank) || !(headroom ? v < g->limit : v > g->limit))
            continue;
        n++;
        put_case(
            j,
            facts_runs(j->an) > 1
                ? arena_printf(&j->a, "oomreport.%s[rank=%.0f run=%s]", headroom ? "headroom" : "peak",
                               r->rank, words_short(&j->a, r->run, 60))
                : arena_printf(&j->a, "oomreport.%s[rank=%.0f]", headroom ? "headroom" : "peak", r->rank),
            CASE_FAILED,
            arena_printf(&j->a, "%s, limit %s", words_measure(&j->a, v, g->limit, g->unit),
                         words_measure(&j->a, g->limit, v, g->unit)));
    }
}

static void put_gates(struct junit *j)
{
    for (size_t i = 0; i < j->an->n_gates; i++) {
        const struct gate *g = &j->an->gates[i];

        if (!is_question(g))
            put_case(j, arena_printf(&j->a, "oomreport.%s", g->id), kind_of(g), g->text);
        put_ranks(j, g);
    }
}

static void put_baseline(struct junit *j)
{
    const struct baseline *b = &j->an->baseline;
    const struct gate *g = gate_named(j->an, "fail-on=regression");

    for (size_t i = 0; j->an->has_baseline && i < b->n_metrics; i++) {
        const struct baseline_metric *m = &b->metrics[i];
        struct metric_shown shown = metric_shown(&j->a, b, m);
        bool worse = m->says == BASELINE_WORSE && b->comparable;

        put_case(j, arena_printf(&j->a, "oomreport.baseline.%s", m->id),
                 !b->comparable || isnan(m->now - m->before) ? CASE_SKIPPED
                 : worse && g                                ? CASE_FAILED
                                                             : CASE_PASSED,
                 !b->comparable ? b->why_not
                                : arena_printf(&j->a, "%s: baseline %s, now %s", metric_word(m), shown.before,
                                               shown.now));
    }
}

static void put_inputs(struct junit *j, const struct report_content *c)
{
    for (size_t i = 0, n = 0; i < c->n_inputs && n < INPUTS_MAX; i++) {
        const struct input_info *in = &c->inputs[i];

        if (in->has_memory)
            continue;
        n++;
        put_case(j, arena_printf(&j->a, "oomreport.input[%zu %s]", i + 1, words_short(&j->a, in->name, 90)),
                 CASE_ERROR,
                 in->n_notes ? arena_printf(&j->a, "skipped: %s", in->notes[0].text)
                             : "skipped: no memory figures");
    }
}

/* --- the whole ------------------------------------------------------------------------ */

/* A line of the summary; what looks like an attachment in it is none. */
static void put_line(struct buf *out, struct str line)
{
    for (size_t at; (at = str_find(line, STR_LIT("[["))) != (size_t)-1;) {
        escape_xml(out, (struct str){line.p, at + 1});
        buf_putc(out, ' ');
        line.p += at + 1;
        line.n -= at + 1;
    }
    escape_xml(out, line);
    buf_putc(out, '\n');
}

/* The summary's first lines, and the picture that GitLab and Jenkins show. */
static void put_output(struct buf *out, const struct report_content *c, const struct report_settings *s)
{
    struct buf text = {0};

    summary_text(&text, c, s);
    struct str rest = buf_view(&text);
    buf_puts(out, "  <system-out>");
    for (size_t lines = 0; rest.n > 0 && lines < OUT_LINES; lines++) {
        size_t end = str_find(rest, STR_LIT("\n"));
        struct str line = {rest.p, end == (size_t)-1 ? rest.n : end};
        size_t used = line.n < rest.n ? line.n + 1 : line.n;

        put_line(out, line);
        rest.p += used;
        rest.n -= used;
    }
    if ((s->parts & PART_HTML) && c->gallery && gallery_find(c->gallery, "timeline"))
        buf_puts(out, "[[ATTACHMENT|plots/timeline.png]]\n");
    buf_puts(out, "</system-out>\n");
    buf_release(&text);
}

void ci_junit(struct buf *out, const struct report_content *c, const struct report_settings *s)
{
    struct junit j = {.an = c->analysis};
    unsigned total = 0;

    arena_init(&j.a);
    put_questions(&j);
    put_gates(&j);
    put_baseline(&j);
    put_inputs(&j, c);
    for (int k = CASE_PASSED; k <= CASE_SKIPPED; k++)
        total += j.n[k];
    buf_puts(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite");
    attribute(out, &j.a, "name", facts_label(&j.a, c->analysis, s->label), NAME_MAX);
    buf_printf(out, " tests=\"%u\" failures=\"%u\" errors=\"%u\" skipped=\"%u\" time=\"0\"", total,
               j.n[CASE_FAILED], j.n[CASE_ERROR], j.n[CASE_SKIPPED]);
    if (s->timestamp)
        attribute(out, &j.a, "timestamp", s->timestamp, NAME_MAX);
    buf_puts(out, ">\n");
    buf_put(out, j.cases.p, j.cases.n);
    put_output(out, c, s);
    buf_puts(out, "</testsuite>\n</testsuites>\n");
    buf_release(&j.cases);
    arena_release(&j.a);
}

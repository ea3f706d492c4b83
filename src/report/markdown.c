#include "report/escape.h"
#include "report/facts.h"
#include "report/gate_words.h"
#include "report/rich.h"
#include "report/summary.h"

#include <math.h>

enum {
    MARKDOWN_MAX = 60000,
    ADVICE_SHOWN = 6,
    RUNS_SHOWN = 20,
    QUALITY_SHOWN = 10,
    TEXT_MAX = 600
};

struct md {
    struct arena a;
    struct buf *out;
    const struct analysis *an;
    const struct run_report *lead;
};

/* Text of ours or of a log, cut and escaped. */
static void text(struct md *m, const char *s)
{
    if (s)
        escape_markdown(m->out, str_of(words_short(&m->a, s, TEXT_MAX)));
}

/* The same with its figures strong and its code as code. */
static void rich(struct md *m, const char *s)
{
    struct str rest = str_of(s ? words_short(&m->a, s, TEXT_MAX) : NULL), part;
    enum rich_kind kind = RICH_PLAIN;

    for (bool begins = true; rich_next(&part, &kind, &rest, begins); begins = kind == RICH_PLAIN) {
        if (kind == RICH_CODE) {
            escape_markdown_code(m->out, part);
            continue;
        }
        buf_puts(m->out, kind == RICH_STRONG ? "**" : "");
        escape_markdown(m->out, part);
        buf_puts(m->out, kind == RICH_STRONG ? "**" : "");
    }
}

static void cell(struct md *m, const char *s)
{
    buf_putc(m->out, ' ');
    text(m, s ? s : "");
    buf_puts(m->out, " |");
}

static void head(struct md *m, const char *label)
{
    const struct verdict *v = &m->an->verdict;

    buf_puts(m->out, "### OOM report: ");
    text(m, words_clause(&m->a, headline(&m->a, v)));
    buf_puts(m->out, " (");
    text(m, label);
    buf_puts(m->out, ")\n\n");
    rich(m, v->summary);
    buf_putc(m->out, ' ');
    rich(m, facts_agreement(&m->a, m->an));
    buf_puts(m->out, "\n\n");
    if (v->fix) {
        buf_puts(m->out, "**Try first:** ");
        rich(m, v->fix);
        buf_puts(m->out, "\n\n");
    }
}

static void facts(struct md *m)
{
    const char *what;

    if (!m->lead)
        return;
    const struct run_report *r = m->lead;
    double peak = facts_peak(r, &what);
    const char *where = facts_where(&m->a, m->an, r, &what);
    buf_puts(m->out, "| | |\n|---|---|\n| peak / capacity |");
    cell(m, words_bytes_pair(&m->a, peak, r->capacity_bytes));
    buf_puts(m->out, "\n|");
    cell(m, words_clause(&m->a, what));
    cell(m, where);
    if (r->has_failure && !isnan(r->failure.requested_bytes)) {
        buf_puts(m->out, "\n| asked / free |");
        cell(m, words_bytes_pair(&m->a, r->failure.requested_bytes, r->failure.free_bytes));
    }
    const char *growth = facts_growth(&m->a, r);
    if (growth) {
        buf_puts(m->out, "\n| growth |");
        cell(m, growth);
    }
    buf_puts(m->out, "\n| same batch fails |");
    cell(m, facts_same_batch_text(&m->a, m->an));
    buf_puts(m->out, "\n\n");
}

static void gates(struct md *m)
{
    size_t open = 0;

    for (size_t i = 0; i < m->an->n_gates; i++) {
        const struct gate *g = &m->an->gates[i];

        if (g->result == GATE_PASS)
            continue;
        open++;
        buf_printf(m->out, "**Gate %s:** ", g->result == GATE_FAIL ? "failed" : "not testable");
        escape_markdown_code(m->out, str_of(g->id));
        buf_puts(m->out, ": ");
        rich(m, g->text);
        buf_puts(m->out, "\n\n");
    }
    if (open == 0 && m->an->n_gates > 0)
        buf_printf(m->out, "%zu gate%s passed.\n\n", m->an->n_gates, m->an->n_gates == 1 ? "" : "s");
}

static void baseline(struct md *m)
{
    const struct baseline *b = &m->an->baseline;

    if (!m->an->has_baseline)
        return;
    if (!b->comparable) {
        buf_puts(m->out, "Baseline ");
        rich(m, baseline_sentence(&m->a, b));
        buf_puts(m->out, "\n\n");
    }
    buf_puts(m->out, "| | baseline | now | difference | |\n|---|--:|--:|--:|---|\n");
    for (size_t i = 0; i < b->n_metrics; i++) {
        struct metric_shown shown = metric_shown(&m->a, b, &b->metrics[i]);

        if (!metric_known(&b->metrics[i]))
            continue;
        buf_puts(m->out, "|");
        cell(m, metric_word(&b->metrics[i]));
        cell(m, shown.before);
        cell(m, shown.now);
        cell(m, shown.difference);
        cell(m, shown.says);
        buf_putc(m->out, '\n');
    }
    buf_putc(m->out, '\n');
}

static void spark(struct md *m)
{
    static const char *const glyphs[] = {"\xE2\x96\x81", "\xE2\x96\x82", "\xE2\x96\x83", "\xE2\x96\x84",
                                         "\xE2\x96\x85", "\xE2\x96\x86", "\xE2\x96\x87", "\xE2\x96\x88"};
    struct buf line = {0};
    const char *what;
    double top;

    if (summary_spark(&line, m->lead, glyphs, 8, &what, &top))
        buf_printf(m->out, "```\n%s  %s, 0 to %s\n```\n\n", line.p, what, words_bytes(&m->a, top));
    buf_release(&line);
}

static void put_ruled_out(void *context, const char *cause, const char *reason)
{
    struct md *m = context;

    buf_printf(m->out, "- ruled out: **%s**: ", cause);
    text(m, reason);
    buf_putc(m->out, '\n');
}

static void tests(struct md *m)
{
    if (!m->lead)
        return;
    buf_puts(m->out, "<details><summary>Why this verdict</summary>\n\n");
    facts_ruled_out(&m->a, m->an, put_ruled_out, m);
    buf_puts(m->out, "\n| test | measured | limit | says |\n|---|--:|--:|---|\n");
    for (int q = 0; q < Q_COUNT; q++)
        for (size_t i = 0; i < m->lead->triage[q].n_tests; i++) {
            const struct test *t = &m->lead->triage[q].tests[i];

            buf_puts(m->out, "|");
            cell(m, words_id(&m->a, t->id));
            cell(m, !isnan(t->measured)       ? words_measure(&m->a, t->measured, t->limit, t->unit)
                    : t->says == SAYS_NOTHING ? "not testable"
                                              : "");
            cell(m, isnan(t->limit) ? "" : words_measure(&m->a, t->limit, t->measured, t->unit));
            cell(m, words_says(m->lead->triage[q].id, t->says));
            buf_putc(m->out, '\n');
        }
    buf_puts(m->out, "\n</details>\n\n");
}

static void runs(struct md *m)
{
    size_t shown = 0, n = facts_runs(m->an);
    const char *what;

    if (n < 2)
        return;
    buf_puts(m->out, "<details><summary>Runs</summary>\n\n");
    if (m->an->has_cross && m->an->cross.text) {
        rich(m, m->an->cross.text);
        buf_puts(m->out, "\n\n");
    }
    buf_puts(m->out, "| run | seed | failed step | batch | peak | outcome |\n|---|--:|--:|---|--:|---|\n");
    for (size_t i = 0; i < m->an->n_runs && shown < RUNS_SHOWN; i++) {
        const struct run_report *r = &m->an->runs[i];

        if (!facts_stands_for_run(m->an, i))
            continue;
        shown++;
        buf_puts(m->out, "|");
        cell(m, words_short(&m->a, r->run ? r->run : "", 60));
        cell(m, isnan(r->seed) ? "" : words_number(&m->a, r->seed));
        cell(m, r->has_failure && !isnan(r->failure.step) ? words_number(&m->a, r->failure.step) : "");
        cell(m, r->has_failure && r->failure.batch_ids && !r->failure.ids_hidden
                    ? words_batch(&m->a, r->failure.batch_ids)
                    : "");
        cell(m, words_bytes(&m->a, facts_peak(r, &what)));
        cell(m, outcome_name(r->outcome));
        buf_putc(m->out, '\n');
    }
    if (n > shown)
        buf_printf(m->out, "\n%zu more are in report.json.\n", n - shown);
    buf_puts(m->out, "\n</details>\n\n");
}

static void next(struct md *m)
{
    const struct verdict *v = &m->an->verdict;

    if (v->n_advice == 0 && !v->next_run)
        return;
    buf_puts(m->out, "<details><summary>What else to try</summary>\n\n");
    for (size_t i = 0; i < v->n_advice && i < ADVICE_SHOWN; i++) {
        buf_puts(m->out, "1. ");
        rich(m, v->advice[i].text);
        buf_printf(
            m->out, " (%s; %s)\n", effort_name(v->advice[i].effort),
            isnan(v->advice[i].saving_bytes)
                ? "saving not estimated"
                : arena_printf(&m->a, "saves about %s", words_bytes(&m->a, v->advice[i].saving_bytes)));
    }
    if (v->next_run) {
        buf_puts(m->out, "\nWhat would settle it: ");
        rich(m, v->next_run);
        buf_putc(m->out, '\n');
    }
    buf_puts(m->out, "\n</details>\n\n");
}

static void what_if(struct md *m)
{
    if (m->an->n_what_if == 0)
        return;
    buf_puts(m->out, "<details><summary>What if</summary>\n\n");
    for (size_t i = 0; i < m->an->n_what_if; i++) {
        buf_puts(m->out, "- ");
        text(m, arena_printf(&m->a, "%s: %s", m->an->what_if[i].change, m->an->what_if[i].text));
        buf_putc(m->out, '\n');
    }
    buf_puts(m->out, "\n</details>\n\n");
}

static void quality(struct md *m)
{
    if (m->an->n_quality == 0)
        return;
    buf_puts(m->out, "<details><summary>Data quality</summary>\n\n");
    for (size_t i = 0; i < m->an->n_quality && i < QUALITY_SHOWN; i++) {
        buf_puts(m->out, "- ");
        text(m, m->an->quality[i].text);
        buf_putc(m->out, '\n');
    }
    buf_puts(m->out, "\n</details>\n\n");
}

/* The label in an HTML comment, by which a bot finds its own text again: only harmless characters. */
static void mark(struct md *m, const char *label)
{
    buf_puts(m->out, "<!-- oomreport:");
    for (size_t i = 0; i < 80 && label[i]; i++) {
        char c = label[i];
        bool ok = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
                  c == '.';

        buf_putc(m->out, ok ? c : '_');
    }
    buf_puts(m->out, " -->\n");
}

void summary_markdown(struct buf *out, const struct report_content *c, const struct report_settings *s)
{
    static void (*const folded[])(struct md *) = {tests, runs, what_if, next, quality};
    struct md m = {.out = out, .an = c->analysis, .lead = facts_lead(c->analysis)};
    size_t start = out->n;

    arena_init(&m.a);
    const char *label = facts_label(&m.a, c->analysis, s->label);
    head(&m, label);
    gates(&m);
    facts(&m);
    baseline(&m);
    spark(&m);
    for (size_t i = 0; i < sizeof folded / sizeof folded[0]; i++) {
        size_t before = out->n;

        folded[i](&m);
        if (out->n - start > MARKDOWN_MAX) { /* a comment holds 64k: whole parts go, never a half one */
            out->n = before;
            out->p[before] = '\0';
        }
    }
    mark(&m, label);
    arena_release(&m.a);
}

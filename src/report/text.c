#include "report/escape.h"
#include "report/facts.h"
#include "report/gate_words.h"
#include "report/summary.h"

#include <math.h>

enum {
    TEXT_MAX = 500,
    ADVICE_SHOWN = 5,
    RUNS_SHOWN = 12
};

/* Paragraph of ASCII, wrapped at TEXT_COLUMNS; lines after the first begin with `indent` blanks. */
static void wrap(struct buf *out, struct arena *a, const char *first, const char *s, int indent)
{
    struct buf line = {0};
    size_t column;

    escape_ascii(&line, str_of(words_short(a, s ? s : "", TEXT_MAX)));
    buf_puts(out, first);
    column = strlen(first);
    for (size_t i = 0; i < line.n;) {
        size_t n = 0;

        while (i + n < line.n && line.p[i + n] != ' ')
            n++;
        size_t most = (size_t)(TEXT_COLUMNS - indent) - 1;
        if (n > most)
            n = most; /* a longer word is cut */
        if (column + 1 + n > TEXT_COLUMNS - 1 && column > (size_t)indent) {
            buf_printf(out, "\n%*s", indent, "");
            column = (size_t)indent;
        }
        if (column > (size_t)indent && out->n && out->p[out->n - 1] != ' ') {
            buf_putc(out, ' ');
            column++;
        }
        buf_put(out, line.p + i, n);
        column += n;
        for (i += n; i < line.n && line.p[i] == ' ';)
            i++;
    }
    buf_putc(out, '\n');
    buf_release(&line);
}

static void row(struct buf *out, struct arena *a, const char *what, const char *value)
{
    wrap(out, a, arena_printf(a, "  %-18s", what), value, 20);
}

static void facts(struct buf *out, struct arena *a, const struct analysis *an)
{
    const struct run_report *r = facts_lead(an);
    const char *what;

    if (!r)
        return;
    double peak = facts_peak(r, &what);
    const char *where = facts_where(a, an, r, &what);
    buf_putc(out, '\n');
    row(out, a, "Peak / capacity", words_bytes_pair(a, peak, r->capacity_bytes));
    row(out, a, what, where);
    if (r->has_failure && !isnan(r->failure.requested_bytes))
        row(out, a, "Asked / free", words_bytes_pair(a, r->failure.requested_bytes, r->failure.free_bytes));
    const char *growth = facts_growth(a, r);
    if (growth)
        row(out, a, "Growth", growth);
    row(out, a, "Same batch fails", facts_same_batch_text(a, an));
}

static void spark(struct buf *out, struct arena *a, const struct analysis *an)
{
    static const char *const glyphs[] = {"_", ".", ":", "-", "=", "+", "*", "#"};
    struct buf line = {0};
    const char *what;
    double top;

    if (summary_spark(&line, facts_lead(an), glyphs, 8, &what, &top)) {
        buf_printf(out, "\n  %s\n", line.p);
        wrap(out, a, "  ", arena_printf(a, "%s over the run, _ = 0 to # = %s", what, words_bytes(a, top)), 2);
    }
    buf_release(&line);
}

static void runs(struct buf *out, struct arena *a, const struct analysis *an)
{
    size_t shown = 0, n = facts_runs(an);

    if (n < 2)
        return;
    buf_puts(out, "\nRuns\n");
    if (an->has_cross && an->cross.text)
        wrap(out, a, "  ", an->cross.text, 2);
    for (size_t i = 0; i < an->n_runs && shown < RUNS_SHOWN; i++) {
        const struct run_report *r = &an->runs[i];

        if (!facts_stands_for_run(an, i))
            continue;
        shown++;
        wrap(out, a, "  - ",
             arena_printf(a, "%s: %s%s%s", words_short(a, r->run ? r->run : "", 40), outcome_name(r->outcome),
                          r->has_failure && !isnan(r->failure.step) ? " at step " : "",
                          r->has_failure && !isnan(r->failure.step) ? words_number(a, r->failure.step) : ""),
             4);
    }
    if (n > shown)
        buf_printf(out, "  - and %zu more\n", n - shown);
}

static void what_if(struct buf *out, struct arena *a, const struct analysis *an)
{
    if (an->n_what_if)
        buf_puts(out, "\nWhat if\n");
    for (size_t i = 0; i < an->n_what_if; i++)
        wrap(out, a, "  - ", arena_printf(a, "%s: %s", an->what_if[i].change, an->what_if[i].text), 4);
}

static void gates(struct buf *out, struct arena *a, const struct analysis *an)
{
    if (an->n_gates)
        buf_puts(out, "\nGates\n");
    for (size_t i = 0; i < an->n_gates; i++)
        wrap(out, a, "  - ",
             arena_printf(a, "%s: %s: %s", an->gates[i].id, gate_result_name(an->gates[i].result),
                          an->gates[i].text),
             4);
}

static void baseline(struct buf *out, struct arena *a, const struct analysis *an)
{
    const struct baseline *b = &an->baseline;

    if (!an->has_baseline)
        return;
    buf_puts(out, "\nBaseline\n");
    wrap(out, a, "  ", baseline_sentence(a, b), 2);
    for (size_t i = 0; i < b->n_metrics; i++) {
        struct metric_shown shown = metric_shown(a, b, &b->metrics[i]);

        if (metric_known(&b->metrics[i]))
            row(out, a, metric_word(&b->metrics[i]),
                arena_printf(a, "%s, was %s: %s", shown.now, shown.before, shown.says));
    }
}

void summary_text(struct buf *out, const struct report_content *c, const struct report_settings *s)
{
    const struct analysis *an = c->analysis;
    const struct verdict *v = &an->verdict;
    struct arena a = {0};

    wrap(out, &a, "", facts_title(&a, an, facts_label(&a, an, s->label)), 0);
    buf_putc(out, '\n');
    const char *agreement = facts_agreement(&a, an);
    wrap(out, &a, "", arena_printf(&a, "%s %s", v->summary ? v->summary : "", agreement ? agreement : ""), 0);
    if (v->fix) {
        buf_putc(out, '\n');
        wrap(out, &a, "Try first: ", v->fix, 0);
    }
    facts(out, &a, an);
    gates(out, &a, an);
    baseline(out, &a, an);
    spark(out, &a, an);
    runs(out, &a, an);
    what_if(out, &a, an);
    if (v->n_advice > 1)
        buf_puts(out, "\nWhat else to try\n");
    for (size_t i = 1; i < v->n_advice && i <= ADVICE_SHOWN; i++)
        wrap(out, &a, "  - ", v->advice[i].text, 4);
    if (v->next_run) {
        buf_puts(out, "\nWhat would settle it\n");
        wrap(out, &a, "  ", v->next_run, 2);
    }
    buf_printf(out, "\noomreport %s; 1 GiB = 2^30 bytes.\n", OOMREPORT_VERSION);
    arena_release(&a);
}

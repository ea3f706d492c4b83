#include "report/page.h"

#include <math.h>

/* Peak memory against the batch's shape: the law that was fitted, and the budget it gives. */

static void row(struct page *p, struct tnode *root, const char *what, const char *value, const char *note)
{
    struct tnode *r;

    if (!value)
        return;
    r = tnode_item(&p->arena, root, "rows");
    tnode_text(&p->arena, r, "what", what);
    tnode_text(&p->arena, r, "value", value);
    tnode_text(&p->arena, r, "note", note ? note : "");
}

static const char *bytes(struct page *p, double v)
{
    return isnan(v) ? NULL : words_bytes(&p->arena, v);
}

static const char *number(struct page *p, double v)
{
    return isnan(v) ? NULL : words_number(&p->arena, v);
}

static const char *share(struct page *p, double v)
{
    return isnan(v) ? NULL : words_share(&p->arena, v);
}

static void law_rows(struct page *p, struct tnode *root, const struct law *l, bool grows)
{
    struct arena *a = &p->arena;
    const char *size = l->size_name ? l->size_name : "tokens";
    const char *fit =
        isnan(l->r2)
            ? NULL
            : arena_printf(a, "fitted on %s rows%s; explains %s of the variation", words_number(a, l->n),
                           grows ? " with the growth taken out" : "", words_share(a, l->r2));

    row(p, root, "Base, whatever the batch", bytes(p, l->base_bytes), fit);
    row(p, root, arena_printf(a, "For each unit of %s", size), bytes(p, l->per_token_bytes), NULL);
    if (l->per_batch_len2_bytes > 0)
        row(p, root, "For each sample and squared length", bytes(p, l->per_batch_len2_bytes),
            "the attention part");
    if (!isnan(l->envelope_bytes))
        row(p, root, "Margin above the law", bytes(p, l->envelope_bytes),
            grows ? "99 % of the rows stay below law and margin, the growth taken out"
                  : "99 % of the rows stay below law and margin");
}

static void budget_rows(struct page *p, struct tnode *root, const struct peak_figures *f)
{
    struct arena *a = &p->arena;
    const char *margin =
        isnan(f->safe_margin)
            ? NULL
            : arena_printf(a, "margin %s%s", words_share(a, f->safe_margin),
                           isnan(f->safe_probability) ? ""
                                                      : arena_printf(a, "; fits with probability %s",
                                                                     words_share(a, f->safe_probability)));

    row(p, root, "Safe budget, tokens in a batch", number(p, f->safe_tokens), margin);
    row(p, root, "Safe length at this batch size", number(p, f->safe_max_len), margin);
    row(p, root, "Safe batch size", number(p, f->safe_batch_size),
        isnan(f->safe_at_len) ? margin : arena_printf(a, "at length %s", words_number(a, f->safe_at_len)));
    row(p, root, "Longest sample of the corpus would need", bytes(p, f->corpus_max_predicted_bytes), NULL);
    row(p, root, "Probability of an OOM in the next epoch", share(p, f->p_oom_next_epoch), NULL);
}

/* The longest length of n samples that keeps base, linear and quadratic part within the room. */
static double frontier(const struct peak_figures *f, double n)
{
    double a = f->law.per_token_bytes, b = f->law.per_batch_len2_bytes;
    double each = (f->safe_room_bytes - f->law.base_bytes) / n;

    if (!(each > 0))
        return 0;
    double l = b > 0 ? (-a + sqrt(a * a + 4 * b * each)) / (2 * b) : each / a;
    return isfinite(l) ? floor(l) : NAN;
}

static void frontier_rows(struct page *p, struct tnode *root, const struct run_report *r)
{
    const struct peak_figures *f = &r->peak;
    struct tnode *table = NULL;

    if (!f->has_law || !(f->safe_room_bytes > 0) || isnan(f->safe_at_len))
        return;
    for (double n = 1; n <= 64; n *= 2) {
        double l = frontier(f, n);
        struct tnode *r1;

        if (isnan(l))
            return;
        if (!table) {
            table = tnode_item(&p->arena, root, "frontier");
            tnode_text(&p->arena, table, "seen", words_number(&p->arena, f->safe_at_len));
        }
        r1 = tnode_item(&p->arena, table, "points");
        tnode_text(&p->arena, r1, "batch", words_number(&p->arena, n));
        tnode_text(&p->arena, r1, "length", l >= 1 ? words_number(&p->arena, l) : "none fits");
        tnode_text(&p->arena, r1, "note", l > f->safe_at_len ? "longer than any known: extrapolated" : "");
    }
}

bool section_law(struct page *p, struct tnode *root)
{
    const struct run_report *r = p->lead;

    if (r && r->has_peak) {
        const struct peak_figures *f = &r->peak;
        bool grows = r->triage[Q_GROWS].answer == ANSWER_YES;

        row(p, root, "Typical peak of a step", bytes(p, f->typical_bytes), "median");
        row(p, root, "Largest peak", bytes(p, f->max_bytes), NULL);
        if (!isnan(f->failing_batch_percentile))
            row(p, root, "The failing batch among those before it",
                arena_printf(&p->arena, "percentile %s",
                             words_number(&p->arena, f->failing_batch_percentile)),
                NULL);
        if (f->has_law)
            law_rows(p, root, &f->law, grows);
        row(p, root, "The failing batch would need", bytes(p, f->failing_predicted_bytes),
            grows ? "by the law, and what had been retained" : "by the law");
        if (grows && f->has_law)
            row(p, root, "Safe budget", "none", "no batch is safe for long while memory grows");
        budget_rows(p, root, f);
        frontier_rows(p, root, r);
    }
    if (!r || !r->has_peak || !r->peak.has_law)
        page_not_tested(p, "Memory against the batch's shape",
                        "log the step's peak (peak_bytes) with batch_size, max_len or tokens, over batches "
                        "of different shape.");
    bool rows = tnode_find(root, STR_LIT("rows"));
    bool drawn = page_figure(p, root, "figure", "law", rows ? "law-figures" : "why", "The law as a table");
    if (rows)
        tnode_item(&p->arena, root, "table");
    return rows || drawn;
}

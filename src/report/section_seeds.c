#include "report/facts.h"
#include "report/page.h"

#include <math.h>

/* What comes back in every run: the step or the batch? */

static void put_run(struct page *p, struct tnode *root, const struct run_report *r, enum byte_unit u)
{
    struct arena *a = &p->arena;
    struct tnode *row = tnode_item(a, root, "rows");
    const struct failure *f = r->has_failure ? &r->failure : NULL;
    const char *shape = f ? words_shape(a, f) : NULL;
    const char *what;

    tnode_text(a, row, "run", words_short(a, r->run ? r->run : "", 48));
    tnode_text(a, row, "seed", isnan(r->seed) ? "\xE2\x80\x93" : words_number(a, r->seed));
    page_cell_number(p, row, "step", f ? f->step : NAN);
    page_cell_number(p, row, "epoch", f ? f->epoch : NAN);
    tnode_text(a, row, "batch",
               f && f->ids_hidden   ? "not shown"
               : f && f->batch_ids  ? words_batch(a, f->batch_ids)
               : f && f->batch_hash ? words_short(a, f->batch_hash, 16)
                                    : "\xE2\x80\x93");
    tnode_text(a, row, "shape", shape ? shape : "\xE2\x80\x93");
    tnode_text(a, row, "phase", f && f->phase ? f->phase : "\xE2\x80\x93");
    page_cell_bytes(p, row, "asked", f ? f->requested_bytes : NAN, u);
    page_cell_bytes(p, row, "peak", facts_peak(r, &what), u);
    tnode_text(a, row, "outcome", outcome_name(r->outcome));
}

static const char *bound(struct page *p, size_t k, size_t n)
{
    return arena_printf(&p->arena, "%zu of %zu %s (95 %% one-sided lower bound %.0f %%)", k, n,
                        facts_run_word(p->analysis, n), 100 * lower_bound_95((unsigned)k, (unsigned)n));
}

static void put_sentence(struct page *p, struct tnode *root, size_t runs)
{
    struct arena *a = &p->arena;
    const struct analysis *an = p->analysis;
    size_t agree = facts_agreeing_runs(an), failed = facts_failed_runs(an), same = facts_same_batch(an);
    struct buf b = {0};

    buf_printf(&b, "Failed: %s.", bound(p, failed, runs));
    if (an->verdict.cause != CAUSE_NONE && an->verdict.cause != CAUSE_UNKNOWN)
        buf_printf(&b, " Same cause, %s: %s.", class_of_cause(an->verdict.cause), bound(p, agree, runs));
    if (same > 1)
        buf_printf(&b, " The same batch fails in %zu of %zu.", same, runs);
    tnode_str(a, root, "counts", arena_str(a, buf_view(&b)));
    buf_release(&b);
}

bool section_seeds(struct page *p, struct tnode *root)
{
    const struct analysis *an = p->analysis;
    size_t runs = facts_runs(an);
    double largest = 0;
    const char *what;

    if (runs < 2) {
        page_not_tested(p, "Repeatability across seeds",
                        "only one run was given; run it again with another seed and name both logs.");
        return false;
    }
    for (size_t i = 0; i < an->n_runs; i++)
        largest = fmax(largest, facts_peak(&an->runs[i], &what));
    enum byte_unit u = num_byte_unit(largest);
    tnode_text(&p->arena, root, "unit", num_byte_unit_name(u));
    page_figure(p, root, "figure", "seeds", "runs", "The runs as a table");
    if (an->has_cross && an->cross.text)
        page_rich(p, root, "finding", words_sentence(&p->arena, an->cross.text));
    put_sentence(p, root, runs);
    if (an->has_cross && an->cross.batch_reproducible && !isnan(an->cross.p_chance) &&
        !(an->cross.text && strstr(an->cross.text, "chance")))
        page_optional(p, root, "odds", "p", words_number(&p->arena, an->cross.p_chance));
    for (size_t i = 0; i < an->n_runs; i++)
        if (facts_stands_for_run(an, i))
            put_run(p, root, &an->runs[i], u);
    return true;
}

#include "report/page.h"

#include <math.h>

static void eval_facts(struct page *p, struct tnode *root, const struct eval_figures *e)
{
    struct arena *a = &p->arena;

    if (!isnan(e->passes))
        page_fact(p, root, "facts", "Evaluation passes", words_number(a, e->passes));
    if (!isnan(e->cadence_steps))
        page_fact(p, root, "facts", "Cadence",
                  arena_printf(a, "every %s steps", words_number(a, e->cadence_steps)));
    if (!isnan(e->peak_bytes) && !isnan(e->train_peak_bytes))
        page_fact(p, root, "facts", "Peak in evaluation / in training",
                  words_bytes_pair(a, e->peak_bytes, e->train_peak_bytes));
    if (!isnan(e->per_sample_ratio))
        page_fact(p, root, "facts", "Memory per sample against training",
                  arena_printf(a, "%s times", words_number(a, e->per_sample_ratio)));
    if (!isnan(e->batch_ratio))
        page_fact(p, root, "facts", "Batch against training",
                  arena_printf(a, "%s times", words_number(a, e->batch_ratio)));
    if (!isnan(e->kept_bytes))
        page_fact(p, root, "facts", "Kept after evaluation", words_bytes(a, e->kept_bytes));
}

bool section_phases(struct page *p, struct tnode *root)
{
    const struct run_report *r = p->lead;
    double largest = 0;
    bool evaluated = false;

    for (size_t i = 0; r && i < r->n_phases; i++) {
        const struct phase_row *row = &r->phases[i];

        largest = fmax(fmax(largest, row->peak_bytes), fmax(row->before_bytes, row->after_bytes));
        evaluated |= row->phase && strcmp(row->phase, "eval") == 0;
    }
    if (!evaluated)
        page_not_tested(p, "Evaluation against training",
                        "no row of the log is of evaluation (phase = eval).");
    if (!r || !(largest > 0))
        return false;
    enum byte_unit u = num_byte_unit(largest);
    tnode_text(&p->arena, root, "unit", num_byte_unit_name(u));
    for (size_t i = 0; i < r->n_phases; i++) {
        const struct phase_row *from = &r->phases[i];
        if (isnan(from->before_bytes) && isnan(from->peak_bytes) && isnan(from->after_bytes))
            continue;
        struct tnode *row = tnode_item(&p->arena, root, "rows");

        tnode_text(&p->arena, row, "phase", from->phase ? from->phase : "");
        page_cell_number(p, row, "n", from->n);
        page_cell_bytes(p, row, "before", from->before_bytes, u);
        page_cell_bytes(p, row, "peak", from->peak_bytes, u);
        page_cell_bytes(p, row, "after", from->after_bytes, u);
        page_cell_signed(p, row, "kept", from->after_bytes - from->before_bytes, u);
    }
    if (r->has_eval)
        eval_facts(p, tnode_item(&p->arena, root, "evaluated"), &r->eval);
    return true;
}

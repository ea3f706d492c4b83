#include "report/page.h"

#include <math.h>

bool section_checkpoints(struct page *p, struct tnode *root)
{
    const struct run_report *r = p->lead;
    double largest = 0;

    if (!r || r->n_checkpoints == 0) {
        page_not_tested(
            p, "Where in the step memory rises",
            "no checkpoints inside a step were logged (records with label, as \"after backward\").");
        return false;
    }
    for (size_t i = 0; i < r->n_checkpoints; i++)
        largest = fmax(fmax(largest, r->checkpoints[i].allocated_bytes), r->checkpoints[i].peak_bytes);
    enum byte_unit u = num_byte_unit(largest);
    tnode_text(&p->arena, root, "unit", num_byte_unit_name(u));
    for (size_t i = 0; i < r->n_checkpoints; i++) {
        const struct checkpoint_row *from = &r->checkpoints[i];
        struct tnode *row = tnode_item(&p->arena, root, "rows");

        tnode_text(&p->arena, row, "label", from->label ? from->label : "");
        page_cell_number(p, row, "n", from->n);
        page_cell_bytes(p, row, "allocated", from->allocated_bytes, u);
        page_cell_signed(p, row, "delta", from->delta_bytes, u);
        page_cell_bytes(p, row, "peak", from->peak_bytes, u);
    }
    return true;
}

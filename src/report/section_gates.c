#include "report/page.h"

#include <math.h>

/* The limits that were asked for, and whether they hold. */
bool section_gates(struct page *p, struct tnode *root)
{
    struct arena *a = &p->arena;

    for (size_t i = 0; i < p->analysis->n_gates; i++) {
        const struct gate *g = &p->analysis->gates[i];
        struct tnode *row = tnode_item(a, root, "rows");

        tnode_text(a, row, "id", g->id);
        tnode_text(a, row, "measured",
                   isnan(g->measured) ? "\xE2\x80\x93" : words_measure(a, g->measured, g->limit, g->unit));
        tnode_text(a, row, "limit", words_measure(a, g->limit, g->measured, g->unit));
        tnode_text(a, row, "result", gate_result_name(g->result));
        page_rich(p, row, "text", g->text);
    }
    return p->analysis->n_gates > 0;
}

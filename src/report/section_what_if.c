#include "report/page.h"

#include <math.h>

/* What --what-if asked, of the run that the figures show. */
bool section_what_if(struct page *p, struct tnode *root)
{
    struct arena *a = &p->arena;

    for (size_t i = 0; i < p->analysis->n_what_if; i++) {
        const struct what_if_answer *w = &p->analysis->what_if[i];
        struct tnode *row = tnode_item(a, root, "rows");

        tnode_text(a, row, "change", w->change);
        page_rich(p, row, "text", w->text);
        tnode_text(a, row, "fits", w->fits < 0 ? "cannot tell" : w->fits ? "yes" : "no");
        tnode_text(a, row, "need",
                   isnan(w->predicted_bytes) ? "not known" : words_bytes(a, w->predicted_bytes));
    }
    return p->analysis->n_what_if > 0;
}

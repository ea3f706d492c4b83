#include "report/page.h"

#include <math.h>

bool section_next(struct page *p, struct tnode *root)
{
    struct arena *a = &p->arena;
    const struct verdict *v = &p->analysis->verdict;

    struct tnode *list = v->n_advice ? tnode_item(a, root, "to_try") : NULL;
    for (size_t i = 0; i < v->n_advice; i++) {
        struct tnode *item = tnode_item(a, list, "advice");

        page_rich(p, item, "text", v->advice[i].text ? v->advice[i].text : "");
        tnode_text(a, item, "effort", effort_name(v->advice[i].effort));
        tnode_text(a, item, "saving",
                   isnan(v->advice[i].saving_bytes) ? "not estimated"
                                                    : words_bytes(a, v->advice[i].saving_bytes));
    }
    if (v->next_run)
        page_rich(p, root, "settle", v->next_run);
    tnode_item(a, root, "untested")->fields = p->not_tested->fields;
    return true;
}

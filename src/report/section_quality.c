#include "report/page.h"

enum {
    NOTES_SHOWN = 40
};

/* What is wrong with the logs: said, not hidden and not clamped. */
bool section_quality(struct page *p, struct tnode *root)
{
    struct arena *a = &p->arena;
    const struct analysis *an = p->analysis;
    size_t n = 0, more = 0;

    for (size_t i = 0; i < an->n_quality; i++) {
        struct tnode *row = tnode_item(a, root, "rows");

        tnode_text(a, row, "where", "");
        tnode_text(a, row, "code", an->quality[i].code);
        tnode_text(a, row, "text", an->quality[i].text);
        n++;
    }
    for (size_t i = 0; i < p->content->n_inputs; i++) {
        const struct input_info *in = &p->content->inputs[i];

        for (size_t k = 0; k < in->n_notes; k++) {
            if (++n > NOTES_SHOWN) {
                more++;
                continue;
            }
            struct tnode *row = tnode_item(a, root, "rows");
            tnode_text(a, row, "where", words_place(a, (struct place){in->name, in->notes[k].line, 0}));
            tnode_text(a, row, "code", in->notes[k].code);
            tnode_text(a, row, "text", in->notes[k].text);
        }
    }
    page_optional(p, root, "more", "n", more ? arena_printf(a, "%zu", more) : NULL);
    return n > 0;
}

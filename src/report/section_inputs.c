#include "report/page.h"

#include <math.h>

enum {
    INPUTS_SHOWN = 10,
    INPUTS_FOLDED = 64
};

static void put_input(struct page *p, struct tnode *list, const struct input_info *in, enum byte_unit u)
{
    struct arena *a = &p->arena;
    struct tnode *row = tnode_item(a, list, "rows");

    tnode_text(a, row, "name", in->name ? in->name : "");
    tnode_text(a, row, "format", in->format ? in->format : "not recognised");
    if (in->format && !in->built_in)
        tnode_item(a, row, "foreign");
    page_cell_bytes(p, row, "size", (double)in->size, u);
    page_cell_number(p, row, "records", (double)in->records);
    page_cell_number(p, row, "skipped", (double)in->skipped);
    tnode_text(a, row, "memory", in->has_memory ? "yes" : "no");
}

bool section_inputs(struct page *p, struct tnode *root)
{
    struct arena *a = &p->arena;
    const struct report_content *c = p->content;
    const struct report_settings *s = p->settings;
    double largest = 0;

    for (size_t i = 0; i < c->n_inputs; i++)
        largest = fmax(largest, (double)c->inputs[i].size);
    enum byte_unit u = num_byte_unit(largest);
    tnode_text(a, root, "unit", num_byte_unit_name(u));
    for (size_t i = 0; i < c->n_inputs && i < INPUTS_SHOWN; i++)
        put_input(p, root, &c->inputs[i], u);
    if (c->n_inputs > INPUTS_SHOWN) {
        struct tnode *rest = tnode_item(a, root, "rest");

        if (c->n_inputs > INPUTS_FOLDED)
            tnode_printf(a, rest, "total", "The next %d of %zu more files; all stand in the JSON file",
                         INPUTS_FOLDED - INPUTS_SHOWN, c->n_inputs - INPUTS_SHOWN);
        else
            tnode_printf(a, rest, "total", "%zu more files", c->n_inputs - INPUTS_SHOWN);
        for (size_t i = INPUTS_SHOWN; i < c->n_inputs && i < INPUTS_FOLDED; i++)
            put_input(p, rest, &c->inputs[i], u);
    }
    struct tnode *set = s->n_settings ? tnode_item(a, root, "set") : NULL;
    for (size_t i = 0; i < s->n_settings; i++)
        tnode_str(a, tnode_item(a, set, "settings"), "line", s->settings_lines[i]);
    if (s->templates_shown)
        tnode_text(a, tnode_item(a, root, "templates"), "dir", s->templates_shown);
    if (p->without_dark)
        tnode_item(a, root, "lighter");
    tnode_text(a, root, "version", OOMREPORT_VERSION);
    return true;
}

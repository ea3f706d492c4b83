#include "report/page.h"

#include <math.h>

/* What a log and a snapshot, or two snapshots, of one job say side by side. */

enum {
    SITES_SHOWN = 15
};

static void put_joined(struct page *p, struct tnode *root, const struct joined *j)
{
    struct arena *a = &p->arena;
    struct tnode *node = tnode_item(a, root, "joined");

    page_rich(p, node, "text", j->text);
    page_fact(p, node, "facts", "Growth in the log",
              isnan(j->log_growth) ? "none" : arena_printf(a, "%s/step", words_bytes(a, j->log_growth)));
    page_fact(p, node, "facts", "Lines that keep memory, in the snapshot",
              isnan(j->sites_growth) ? "not testable"
                                     : arena_printf(a, "%s/step", words_bytes(a, j->sites_growth)));
    page_fact(p, node, "facts", "Share of the log's growth explained",
              isnan(j->share) ? "not testable" : arena_printf(a, "%.0f %%", 100 * j->share));
}

static void put_grown(struct page *p, struct tnode *root, const struct grown *g)
{
    struct arena *a = &p->arena;
    struct tnode *node = tnode_item(a, root, "grown");
    double largest = 0;

    page_rich(p, node, "text", g->text);
    for (size_t i = 0; i < g->n_sites; i++)
        largest = fmax(largest, g->sites[i].after_bytes);
    enum byte_unit u = num_byte_unit(largest);
    tnode_text(a, node, "unit", num_byte_unit_name(u));
    for (size_t i = 0; i < g->n_sites && i < SITES_SHOWN; i++) {
        const struct grown_site *s = &g->sites[i];
        struct tnode *row = tnode_item(a, node, "rows");
        if (s->site)
            tnode_text(a, tnode_item(a, row, "site_known"), "site", s->site);
        else
            tnode_item(a, row, "site_unknown");
        page_cell_bytes(p, row, "before", s->before_bytes, u);
        page_cell_bytes(p, row, "after", s->after_bytes, u);
        page_cell_signed(p, row, "grown", s->after_bytes - s->before_bytes, u);
    }
}

bool section_together(struct page *p, struct tnode *root)
{
    const struct analysis *an = p->analysis;

    if (an->has_joined)
        put_joined(p, root, &an->joined);
    if (an->has_grown)
        put_grown(p, root, &an->grown);
    return an->has_joined || an->has_grown;
}

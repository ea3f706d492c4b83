#include "report/page.h"

#include <math.h>

/* What holds the memory, by the line that asked for it; from a memory snapshot. */

enum {
    HOLDERS_SHOWN = 15
};
#define LEAST 1e-4 /* of the largest: less is not shown */

static void put_holder(struct page *p, struct tnode *root, const struct holder *h, enum byte_unit u)
{
    struct arena *a = &p->arena;
    struct tnode *row = tnode_item(a, root, "rows");

    if (h->site)
        tnode_text(a, tnode_item(a, row, "site_known"), "site", h->site);
    else
        tnode_item(a, row, "site_unknown");
    page_cell_bytes(p, row, "bytes", h->bytes, u);
    tnode_text(a, row, "share", words_share(a, h->share));
    page_cell_number(p, row, "count", h->count);
    tnode_text(a, row, "growth",
               isnan(h->growth_bytes_per_step)
                   ? "\xE2\x80\x93"
                   : arena_printf(a, "%s/step", words_signed_bytes(a, h->growth_bytes_per_step)));
    tnode_text(a, row, "category", category_name(h->category));
}

/* The holder to look at first stands first, however little it holds. */
static const struct holder *blamed(const struct run_report *r, enum holder_at at)
{
    for (size_t i = 0; r->has_blame && i < r->n_holders; i++)
        if (r->holders[i].at == at && r->holders[i].frame == r->blame.frame)
            return &r->holders[i];
    return NULL;
}

static void put_blame(struct page *p, struct tnode *root, const struct blame *b)
{
    struct arena *a = &p->arena;
    struct tnode *blame = tnode_item(a, root, "blame");

    tnode_text(a, blame, "site", b->site ? b->site : "blocks without a stack");
    tnode_printf(a, blame, "figures", "%s, %s", words_bytes(a, b->bytes), words_share(a, b->share));
}

bool section_holders(struct page *p, struct tnode *root)
{
    static const char *const moments[] = {"at the peak", "at the failure", "at the end"};
    const struct run_report *r = p->lead;
    double largest = 0;
    size_t shown = 0;

    if (!r || !r->has_snapshot) {
        page_not_tested(p, "What holds the memory",
                        "needs an allocator snapshot; step logs do not name tensors.");
        return false;
    }
    enum holder_at at = snapshot_moment(r);
    for (size_t i = 0; i < r->n_holders; i++)
        if (r->holders[i].at == at)
            largest = fmax(largest, r->holders[i].bytes);
    enum byte_unit u = num_byte_unit(largest);
    tnode_text(&p->arena, root, "unit", num_byte_unit_name(u));
    tnode_text(&p->arena, root, "moment", moments[at]);
    tnode_text(&p->arena, root, "order",
               blamed(r, at) ? "the one to look at first, then the largest" : "largest first");
    if (r->has_blame)
        put_blame(p, root, &r->blame);
    const struct holder *first = blamed(r, at);
    if (first)
        put_holder(p, root, first, u);
    for (size_t i = 0; i < r->n_holders && shown < HOLDERS_SHOWN; i++)
        if (r->holders[i].at == at && &r->holders[i] != first && r->holders[i].bytes >= LEAST * largest) {
            put_holder(p, root, &r->holders[i], u);
            shown++;
        }
    if (r->snapshot.truncated)
        tnode_item(&p->arena, root, "cut");
    page_figure(p, root, "over_time", "sites", "holders", "The lines as a table");
    page_figure(p, root, "figure", "memory", "holders", "The lines as a table");
    return true;
}

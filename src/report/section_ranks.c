#include "base/mem.h"
#include "report/facts.h"
#include "report/page.h"

#include <math.h>
#include <stdlib.h>

/* The ranks with least headroom; all of them folded away. */

enum {
    RANKS_SHOWN = 10,
    RANKS_FOLDED = 64 /* a page of 4096 ranks is no longer than one of 64 */
};

struct ranks_unit {
    enum byte_unit bytes, slope;
};

static void put_rank(struct page *p, struct tnode *root, const char *list, const struct rank_row *r,
                     const struct ranks_unit *u)
{
    struct tnode *row = tnode_item(&p->arena, root, list);

    tnode_text(&p->arena, row, "run", r->run ? r->run : "");
    tnode_text(&p->arena, row, "rank", isnan(r->rank) ? "\xE2\x80\x93" : words_number(&p->arena, r->rank));
    tnode_text(&p->arena, row, "outcome", outcome_name(r->outcome));
    page_cell_number(p, row, "step", r->last_step);
    page_cell_bytes(p, row, "peak", r->peak_bytes, u->bytes);
    page_cell_bytes(p, row, "headroom", r->headroom_bytes, u->bytes);
    page_cell_signed(p, row, "slope", r->slope_bytes_per_step, u->slope);
}

/* Least headroom first, unknown last; then by place, so that the order is total. */
static int by_headroom(const void *pa, const void *pb)
{
    const struct rank_row *a = *(const struct rank_row *const *)pa, *b = *(const struct rank_row *const *)pb;

    if (isnan(a->headroom_bytes) != isnan(b->headroom_bytes))
        return isnan(a->headroom_bytes) ? 1 : -1;
    if (a->headroom_bytes < b->headroom_bytes || a->headroom_bytes > b->headroom_bytes)
        return a->headroom_bytes < b->headroom_bytes ? -1 : 1;
    return (a > b) - (a < b);
}

bool section_ranks(struct page *p, struct tnode *root)
{
    struct arena *a = &p->arena;
    const struct analysis *an = p->analysis;
    struct ranks_unit u = {UNIT_B, UNIT_B};
    double bytes = 0, slope = 0;

    if (an->n_ranks < 2) {
        page_not_tested(p, "Differences between ranks", "the logs are of one rank.");
        return false;
    }
    const struct rank_row **order = mem_zero(an->n_ranks, sizeof *order);
    for (size_t i = 0; i < an->n_ranks; i++) {
        order[i] = &an->ranks[i];
        bytes = fmax(bytes, an->ranks[i].peak_bytes);
        slope = fmax(slope, fabs(an->ranks[i].slope_bytes_per_step));
    }
    u.bytes = num_byte_unit(bytes);
    u.slope = num_byte_unit(slope);
    tnode_text(a, root, "unit", num_byte_unit_name(u.bytes));
    tnode_text(a, root, "slope_unit", num_byte_unit_name(u.slope));
    tnode_printf(a, root, "total", "%zu", an->n_ranks);
    page_rich(p, root, "finding", facts_ranks(a, an));
    page_figure(p, root, "figure", "ranks", "ranks", "The ranks as a table");
    qsort(order, an->n_ranks, sizeof *order, by_headroom);
    for (size_t i = 0; i < an->n_ranks && i < RANKS_SHOWN; i++)
        put_rank(p, root, "rows", order[i], &u);
    if (an->n_ranks > RANKS_SHOWN) {
        struct tnode *all = tnode_item(a, root, "all");
        size_t n = an->n_ranks < RANKS_FOLDED ? an->n_ranks : RANKS_FOLDED;

        tnode_text(a, all, "shown",
                   n == an->n_ranks ? arena_printf(a, "All %zu ranks", n)
                                    : arena_printf(a, "The %zu ranks with least headroom", n));
        tnode_text(a, all, "order",
                   n == an->n_ranks ? "All ranks, in order"
                                    : "By headroom; every rank stands in the JSON file");
        for (size_t i = 0; i < n; i++)
            put_rank(p, all, "each", n == an->n_ranks ? &an->ranks[i] : order[i], &u);
    }
    free(order);
    return true;
}

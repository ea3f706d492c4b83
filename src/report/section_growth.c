#include "report/page.h"

#include <math.h>

/* Growth of the floor, with the slope and what it could not have seen; and where the room went. */

static const char *rate(struct page *p, double bytes, const char *per)
{
    return isnan(bytes) ? NULL : arena_printf(&p->arena, "%s/%s", words_signed_bytes(&p->arena, bytes), per);
}

static const char *interval(struct page *p, double low, double high)
{
    enum byte_unit u = num_byte_unit(fmax(fabs(low), fabs(high)));

    return arena_printf(&p->arena, "%s to %s %s/step", words_bytes_in(&p->arena, low, u, true),
                        words_bytes_in(&p->arena, high, u, true), num_byte_unit_name(u));
}

static void fact(struct page *p, struct tnode *root, const char *what, const char *value)
{
    if (value)
        page_fact(p, root, "facts", what, value);
}

static const char *bytes_or_null(struct page *p, double bytes)
{
    return isnan(bytes) ? NULL : words_bytes(&p->arena, bytes);
}

static void leak_facts(struct page *p, struct tnode *root, const struct leak_figures *l)
{
    struct arena *a = &p->arena;

    fact(p, root, "Slope", rate(p, l->slope_bytes_per_step, "step"));
    if (!isnan(l->slope_low) && !isnan(l->slope_high) && !isnan(l->onset_step))
        fact(p, root, "95 % interval of the slope", interval(p, l->slope_low, l->slope_high));
    fact(p, root, "Smallest growth this log can show", rate(p, l->minimum_detectable_bytes_per_step, "step"));
    fact(p, root, "Growth begins at",
         isnan(l->onset_step) ? NULL : arena_printf(a, "step %s", words_number(a, round(l->onset_step))));
    fact(p, root, "Retained at the last row", bytes_or_null(p, l->retained_bytes));
    if (!isnan(l->share_of_growth))
        fact(p, root, "Share of the growth explained", words_share(a, l->share_of_growth));
    if (!isnan(l->increment_vs_activation))
        fact(p, root, "Increment against one step's activations",
             l->increment_vs_activation < 0.01
                 ? "less than a hundredth of them"
                 : arena_printf(a, "%s times", words_number(a, l->increment_vs_activation)));
    fact(p, root, "Slope in time", rate(p, l->slope_bytes_per_second, "s"));
}

static void capacity_facts(struct page *p, struct tnode *root, const struct capacity_figures *c)
{
    if (!isnan(c->typical_share))
        fact(p, root, "Typical peak, of capacity", words_share(&p->arena, c->typical_share));
    fact(p, root, "Room left at the peak", bytes_or_null(p, c->headroom_bytes));
    fact(p, root, "Reserved but not allocated", bytes_or_null(p, c->reserved_minus_allocated_bytes));
    fact(p, root, "Other processes", bytes_or_null(p, c->other_process_bytes));
    fact(p, root, "Outside PyTorch's allocator", bytes_or_null(p, c->non_torch_bytes));
}

bool section_growth(struct page *p, struct tnode *root)
{
    const struct run_report *r = p->lead;

    if (r && r->has_leak)
        leak_facts(p, root, &r->leak);
    if (r && r->has_capacity)
        capacity_facts(p, root, &r->capacity);
    bool figures = tnode_find(root, STR_LIT("facts"));
    const char *id = figures ? "growth-figures" : "why";
    bool drawn = page_figure(p, root, "figure", "growth", id, "Figures as a table") ||
                 page_figure(p, root, "figure", "headroom", id, "Figures as a table");
    if (figures)
        tnode_item(&p->arena, root, "table");
    else if (!drawn)
        page_not_tested(
            p, "Growth and headroom",
            "log the allocated memory after each step (allocated_bytes) and the device's capacity.");
    return figures || drawn;
}

#include "report/page.h"

#include <math.h>

/* What the allocator had at the end of a snapshot's trace, and what it was told. */

static void put(struct page *p, struct tnode *root, const char *what, const char *value)
{
    page_fact(p, root, "facts", what, value);
}

static void put_trace(struct page *p, struct tnode *root, const struct snapshot_figures *s)
{
    struct arena *a = &p->arena;
    static const char *const by[] = {"", ", by the profiler's annotations", ", by the optimiser's frames",
                                     ", by the period of the level"};

    put(p, root, "Events in the trace", words_number(a, s->events));
    put(p, root, "Steps found",
        s->steps_found > 0 ? arena_printf(a, "%s%s", words_number(a, s->steps_found), by[s->steps_by])
                           : "none");
    put(p, root, "Peak of live memory",
        isnan(s->peak_event) ? arena_printf(a, "%s, before the first event", words_bytes(a, s->peak_bytes))
                             : arena_printf(a, "%s at event %s", words_bytes(a, s->peak_bytes),
                                            words_number(a, s->peak_event)));
    put(p, root, "Live at the end",
        arena_printf(a, "%s requested, %s with rounding", words_bytes(a, s->live_bytes_at_end),
                     words_bytes(a, s->allocated_bytes)));
    if (s->truncated)
        put(p, root, "Frees without their allocation", words_number(a, s->unmatched_frees));
}

static void put_segments(struct page *p, struct tnode *root, const struct snapshot_figures *s)
{
    struct arena *a = &p->arena;

    put(p, root, "Reserved at the end", words_bytes(a, s->reserved_bytes));
    put(p, root, "Free inside segments in use", words_bytes(a, s->inactive_split_bytes));
    put(p, root, "Largest free block", words_bytes(a, s->largest_free_block_bytes));
    if (s->has_oom)
        put(p, root, "Failed request",
            arena_printf(a, "%s at event %s", words_bytes(a, s->oom_requested_bytes),
                         words_number(a, s->oom_event)));
    put(p, root, "Expandable segments", s->expandable_segments ? "on" : "off or not recorded");
    if (!isnan(s->max_split_size_bytes))
        put(p, root, "Largest block that is split", words_bytes(a, s->max_split_size_bytes));
    if (s->alloc_conf)
        put(p, root, "PYTORCH_CUDA_ALLOC_CONF", s->alloc_conf);
}

bool section_allocator(struct page *p, struct tnode *root)
{
    const struct run_report *r = p->lead;

    if (!r || !r->has_snapshot)
        return false;
    put_trace(p, root, &r->snapshot);
    put_segments(p, root, &r->snapshot);
    page_figure(p, root, "figure", "segments", "allocator-figures", "Figures as a table");
    return true;
}

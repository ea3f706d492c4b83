/* The timeline in words: its finding, and what it shows for those who do not see it. */
#include "draw/timeline.h"
#include <math.h>

/* The line whose greatest value counts: the peak where it was logged. */
static size_t decisive(const struct timeline *t)
{
    return t->n_lines > 1 && t->lines[1].field == F_PEAK ? 1 : 0;
}

static double greatest(const struct timeline *t)
{
    return timeline_max(t, decisive(t));
}

static const char *share_text(struct arena *arena, const struct timeline *t)
{
    double share = greatest(t) / t->capacity_bytes;
    if (!(t->capacity_bytes > 0))
        return plot_say_bytes(arena, greatest(t));
    return arena_printf(arena, "%s of %s (%.0f %%)", plot_say_bytes(arena, greatest(t)),
                        plot_say_bytes(arena, t->capacity_bytes), share * 100);
}

static const char *title_of_capacity(struct arena *arena, const struct timeline *t, const char *tail)
{
    const struct capacity_figures *k = &t->run->capacity;
    enum subtype subtype = t->run->verdict.subtype;
    if (t->run->has_capacity && subtype == SUB_FRAGMENTATION && k->reserved_minus_allocated_bytes > 0)
        return arena_printf(arena, "%s lay reserved but not allocated%s",
                            plot_say_bytes(arena, k->reserved_minus_allocated_bytes), tail);
    if (t->run->has_capacity && subtype == SUB_EXTERNAL && k->other_process_bytes > 0)
        return arena_printf(arena, "this run reached %s, %s were held outside it%s", share_text(arena, t),
                            plot_say_bytes(arena, k->other_process_bytes), tail);
    return arena_printf(arena, "ordinary steps reach %s%s", share_text(arena, t), tail);
}

static const char *title_of(struct arena *arena, const struct timeline *t)
{
    const struct run_report *r = t->run;
    const char *tail = plot_say_end_tail(arena, ": ", r);
    bool host = t->lines[0].field == F_HOST_RSS;
    switch (r->verdict.cause) {
    case CAUSE_LEAK:
        if (r->has_leak && r->leak.slope_bytes_per_step > 0 && (r->leak.column == F_HOST_RSS) == host)
            return arena_printf(
                arena, "%s memory grows %s%s", host ? "host" : plot_field_name(r->leak.column),
                plot_say_rate(arena, r->leak.slope_bytes_per_step), plot_say_end_tail(arena, " until ", r));
        break;
    case CAUSE_PEAK:
        if (r->has_peak && r->peak.typical_bytes > 0)
            return arena_printf(
                arena, "a step usually peaks at %s, the largest batch at %s%s",
                plot_say_bytes(arena, r->peak.typical_bytes),
                plot_say_bytes(arena, fmax(r->peak.max_bytes, r->peak.failing_predicted_bytes)), tail);
        break;
    case CAUSE_EVAL:
        if (r->has_eval && r->eval.peak_bytes > 0 && r->eval.train_peak_bytes > 0)
            return arena_printf(arena, "evaluation peaks at %s, training at %s%s",
                                plot_say_bytes(arena, r->eval.peak_bytes),
                                plot_say_bytes(arena, r->eval.train_peak_bytes), tail);
        if (r->has_failure)
            return arena_printf(arena, "training peaks at %s, the evaluation that failed was not logged%s",
                                share_text(arena, t), tail);
        break;
    case CAUSE_CAPACITY:
        return title_of_capacity(arena, t, tail);
    case CAUSE_NONE:
        return arena_printf(arena, "peak %s, no cause for an OOM shown", share_text(arena, t));
    case CAUSE_UNKNOWN:
        break;
    }
    return arena_printf(arena, "greatest %s %s%s", plot_field_name(t->lines[decisive(t)].field),
                        share_text(arena, t), tail);
}

const char *timeline_title(struct arena *arena, const struct timeline *t)
{
    const char *text = title_of(arena, t);
    char *copy = arena_strndup(arena, text, strlen(text));
    if (copy[0] >= 'a' && copy[0] <= 'z')
        copy[0] = (char)(copy[0] - 'a' + 'A');
    return copy;
}

const char *timeline_alt(struct canvas *c, const struct timeline *t)
{
    struct arena *arena = c->arena;
    const struct run_report *r = t->run;
    const char *text =
        arena_printf(arena, "Memory of %s by %s: %s at most %s and %s at the end", plot_say_run(c, r, true),
                     t->frame.x.title, plot_field_name(t->lines[0].field),
                     plot_say_bytes(arena, timeline_max(t, 0)), plot_say_bytes(arena, timeline_last(t, 0)));
    if (t->n_lines > 1 && t->lines[1].field == F_PEAK)
        text = arena_printf(arena, "%s, peak up to %s", text, plot_say_bytes(arena, timeline_max(t, 1)));
    if (t->capacity_bytes > 0)
        text = arena_printf(arena, "%s, capacity %s", text, plot_say_bytes(arena, t->capacity_bytes));
    text = arena_printf(arena, "%s%s", text, plot_say_end_tail(arena, "; ", r));
    if (r->has_failure && !isnan(r->failure.requested_bytes))
        text = arena_printf(arena, "%s, which asked for %s", text,
                            plot_say_bytes(arena, r->failure.requested_bytes));
    return arena_printf(arena, "%s.", text);
}

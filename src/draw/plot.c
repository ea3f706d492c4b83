#include "draw/plot.h"
#include <math.h>

const struct run_report *plot_lead(const struct analysis *a)
{
    return a->n_runs == 0 ? NULL : &a->runs[a->lead < a->n_runs ? a->lead : 0];
}

const char *plot_say_bytes(struct arena *arena, double bytes)
{
    struct buf b = {0};
    num_put_bytes(&b, bytes);
    const char *text = arena_strndup(arena, b.p, b.n);
    buf_release(&b);
    return text;
}

const char *plot_say_bytes_in(struct arena *arena, double bytes, enum byte_unit unit)
{
    struct buf b = {0};
    num_put_bytes_in(&b, bytes, unit);
    const char *text = arena_printf(arena, "%s %s", b.p, num_byte_unit_name(unit));
    buf_release(&b);
    return text;
}

const char *plot_say_rate(struct arena *arena, double bytes_per_step)
{
    return arena_printf(arena, "%s/step", plot_say_bytes(arena, bytes_per_step));
}

const char *plot_say_number(struct arena *arena, double v)
{
    if (isnan(v))
        return "unknown";
    if (fabs(v) < 1e18 && v == floor(v))
        return arena_printf(arena, "%.0f", v);
    return arena_printf(arena, "%.4g", v);
}

const char *plot_say_run(struct canvas *c, const struct run_report *r, bool with_rank)
{
    const char *name = isnan(r->seed) ? r->run ? canvas_visible(c, str_of(r->run), 12, 120) : "run"
                                      : arena_printf(c->arena, "seed %s", plot_say_number(c->arena, r->seed));
    if (!with_rank || isnan(r->rank))
        return name;
    return arena_printf(c->arena, "%s, rank %s", name, plot_say_number(c->arena, r->rank));
}

const char *plot_say_source(struct canvas *c, const struct run_report *r)
{
    struct buf b = {0};
    const char *source = r->source ? r->source : r->run ? r->run : "log";
    /* Of one file its name will do; several stay as they were given. */
    if (!strchr(source, ',') && strrchr(source, '/') && strrchr(source, '/')[1])
        source = strrchr(source, '/') + 1;
    buf_puts(&b, canvas_visible(c, str_of(source), 12, 260));
    if (!isnan(r->seed))
        buf_printf(&b, ", seed %s", plot_say_number(c->arena, r->seed));
    if (!isnan(r->rank))
        buf_printf(&b, ", rank %s", plot_say_number(c->arena, r->rank));
    if (r->device)
        buf_printf(&b, ", %s", canvas_visible(c, str_of(r->device), 12, 200));
    const char *text = arena_strndup(c->arena, b.p, b.n);
    buf_release(&b);
    return text;
}

const char *plot_say_end(struct arena *arena, const struct run_report *r)
{
    if (!r->has_failure && r->outcome != OUTCOME_OOM && r->outcome != OUTCOME_KILLED)
        return NULL;
    const char *what = r->outcome == OUTCOME_KILLED ? "killed" : "OOM";
    double step = r->has_failure ? r->failure.step : NAN;
    return isnan(step) ? what : arena_printf(arena, "%s at step %s", what, plot_say_number(arena, step));
}

const char *plot_say_end_tail(struct arena *arena, const char *before, const struct run_report *r)
{
    const char *end = plot_say_end(arena, r);
    return end ? arena_printf(arena, "%s%s", before, end) : "";
}

enum field plot_main_field(const struct series *s)
{
    static const enum field order[] = {F_ALLOCATED, F_PEAK,          F_DEVICE_USED,
                                       F_RESERVED,  F_PEAK_RESERVED, F_HOST_RSS};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (series_has(s, order[i]))
            return order[i];
    return F_COUNT;
}

const char *plot_field_name(enum field f)
{
    switch (f) {
    case F_ALLOCATED:
        return "allocated";
    case F_PEAK:
        return "peak";
    case F_RESERVED:
        return "reserved";
    case F_PEAK_RESERVED:
        return "peak reserved";
    case F_DEVICE_USED:
        return "device used";
    case F_HOST_RSS:
        return "host memory";
    default:
        return "memory";
    }
}

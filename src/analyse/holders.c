#include "analyse/holders.h"

#include <math.h>

static void figures(struct run_report *out, const struct trace_file *t, const struct trace_device *d,
                    struct arena *a)
{
    const struct trace_totals *sum = &d->totals;
    struct snapshot_figures *s = &out->snapshot;
    struct str conf =
        t->settings.conf == TRACE_NONE ? (struct str){NULL, 0} : trace_string_at(&t->names, t->settings.conf);
    *s = (struct snapshot_figures){
        .device = d->index,
        .events = (double)d->n,
        .unmatched_frees = (double)d->unmatched,
        .truncated = d->truncated,
        .steps_found = (double)d->n_steps,
        .steps_by = (enum steps_by)d->steps_by,
        .peak_bytes = (double)sum->peak,
        .peak_event = sum->peak_event == TRACE_BEFORE ? NAN : (double)sum->peak_event,
        .live_bytes_at_end = (double)sum->live_end,
        .allocated_bytes = (double)sum->allocated,
        .reserved_bytes = (double)sum->reserved,
        .inactive_split_bytes = (double)sum->inactive_split,
        .largest_free_block_bytes = (double)sum->largest_free,
        .has_oom = d->n_ooms > 0,
        .expandable_segments = t->settings.expandable_segments,
        .max_split_size_bytes = t->settings.max_split_size,
        .alloc_conf = conf.n ? arena_strndup(a, conf.p, conf.n) : NULL,
    };
    if (d->n_ooms) {
        const struct trace_oom *o = &d->ooms[d->n_ooms - 1];
        s->oom_event = (double)o->event;
        s->oom_requested_bytes = (double)o->requested;
        s->oom_device_free_bytes = (double)o->device_free;
        s->oom_live_bytes = (double)o->live;
        s->oom_reserved_bytes = (double)o->reserved;
    }
}

void holders_fill(struct run_report *out, struct arena *a)
{
    const struct trace_file *t = out->series->trace;
    if (!t || out->series->trace_device >= t->n_devices)
        return;
    out->has_snapshot = true;
    figures(out, t, t->devices[out->series->trace_device], a);
}

#include "normalise/steps_from_trace.h"

const char *steps_device_name(uint32_t device, struct arena *a)
{
    return arena_printf(a, "cuda:%u", (unsigned)device);
}

static bool used(const struct trace_device *d)
{
    return d->n || d->totals.reserved || d->totals.live_end;
}

uint64_t steps_from_trace(struct trace_file *t, const struct record_sink *sink)
{
    struct arena a = {0};
    uint64_t n = 0, devices = 0;
    for (size_t i = 0; i < t->n_devices; i++)
        devices += used(t->devices[i]);
    for (size_t i = 0; i < t->n_devices; i++) {
        const struct trace_device *d = t->devices[i];
        struct record r;
        if (!used(d))
            continue;
        record_clear(&r);
        record_set_s(&r, F_DEVICE, str_of(steps_device_name(d->index, &a)));
        if (devices > 1)
            record_set_u(&r, F_RANK, d->index);
        record_set_u(&r, F_ALLOCATED, d->totals.live_end);
        record_set_u(&r, F_PEAK, d->totals.peak);
        record_set_u(&r, F_RESERVED, d->totals.reserved);
        sink->record(sink->ctx, &r, NULL, 0);
        n++;
    }
    arena_release(&a);
    return n;
}

#include "normalise/steps_from_profiler.h"
#include "normalise/steps_from_trace.h"
#include <math.h>

struct sending {
    const struct profiler_trace *t;
    const struct normalise_settings *settings;
    const struct record_sink *sink;
    struct arena *a;
    /* of the device that is being sent */
    const struct profiler_sample *samples; /* n */
    size_t n;
    const struct profiler_oom *ooms; /* n_ooms */
    size_t n_ooms, oom;
    uint32_t device;
    struct str name;
    uint64_t capacity; /* [B]; 0 unknown */
    bool only;         /* no other device has events */
    uint64_t records;
};

/* What an interval of samples comes to. */
struct level {
    double time_us;
    uint64_t allocated, peak, reserved;
};

static void begin_record(const struct sending *s, struct record *r)
{
    const struct profiler_trace *t = s->t;
    record_clear(r);
    record_set_s(r, F_DEVICE, s->name);
    if (!s->only)
        record_set_u(r, F_RANK, s->device);
    else if (t->has_rank)
        record_set_u(r, F_RANK, t->rank);
    if (t->has_world_size)
        record_set_u(r, F_WORLD_SIZE, t->world_size);
    if (s->capacity)
        record_set_u(r, F_CAPACITY, s->capacity);
}

static void send(struct sending *s, const struct record *r)
{
    s->sink->record(s->sink->ctx, r, NULL, 0);
    s->records++;
}

static void send_level(struct sending *s, const struct level *l, const struct profiler_step *step)
{
    struct record r;
    begin_record(s, &r);
    if (step) {
        record_set_s(&r, F_PEAK_RESET, STR_LIT("step"));
        record_set_u(&r, F_STEP, step->number);
        record_set_s(&r, F_PHASE, STR_LIT("train"));
    }
    record_set_d(&r, F_TIME, s->t->base_s + l->time_us / 1e6);
    record_set_u(&r, F_ALLOCATED, l->allocated);
    record_set_u(&r, F_PEAK, l->peak);
    record_set_u(&r, F_RESERVED, l->reserved);
    send(s, &r);
}

static bool chosen(const struct sending *s, const struct profiler_step *step)
{
    double number = (double)step->number;
    return !(number < s->settings->step_from || number > s->settings->step_to);
}

/* Failed requests up to that moment; step is the one that they fell into, or NULL. */
static void send_ooms(struct sending *s, double until_us, const struct profiler_step *step)
{
    struct record r;
    for (; s->oom < s->n_ooms && s->ooms[s->oom].time_us <= until_us; s->oom++) {
        const struct profiler_oom *o = &s->ooms[s->oom];
        bool within = step && o->time_us >= step->begin_us;
        if (within && !chosen(s, step))
            continue;
        begin_record(s, &r);
        record_set_s(&r, F_EVENT, STR_LIT("oom"));
        if (within)
            record_set_u(&r, F_STEP, step->number);
        record_set_d(&r, F_TIME, s->t->base_s + o->time_us / 1e6);
        record_set_u(&r, F_ALLOCATED, o->allocated);
        record_set_u(&r, F_RESERVED, o->reserved);
        record_set_u(&r, F_REQUESTED, o->requested);
        send(s, &r);
    }
}

static struct level level_of(const struct profiler_sample *p, size_t n)
{
    struct level l = {p[n - 1].time_us, p[n - 1].allocated, 0, 0};
    for (size_t i = 0; i < n; i++) {
        l.peak = p[i].peak > l.peak ? p[i].peak : l.peak;
        l.reserved = p[i].reserved > l.reserved ? p[i].reserved : l.reserved;
    }
    return l;
}

static void send_steps(struct sending *s)
{
    const struct profiler_trace *t = s->t;
    size_t i = 0;
    for (size_t k = 0; k < t->n_steps; k++) {
        const struct profiler_step *step = &t->steps[k];
        /* where two steps touch the moment is the later one's */
        double next = k + 1 < t->n_steps ? t->steps[k + 1].begin_us : INFINITY;
        while (i < s->n && s->samples[i].time_us < step->begin_us)
            i++;
        size_t from = i;
        while (i < s->n && s->samples[i].time_us <= step->end_us && s->samples[i].time_us < next)
            i++;
        send_ooms(s, step->end_us < next ? step->end_us : nextafter(next, -INFINITY), step);
        if (i == from || !chosen(s, step))
            continue;
        struct level l = level_of(s->samples + from, i - from);
        send_level(s, &l, step);
    }
    send_ooms(s, INFINITY, NULL);
}

/* A device whose steps are not known is one row: how it ended. Rows by time would rise and fall with the
 * passes within a step, and a part of one that rises looks like a leak. */
static void send_whole(struct sending *s)
{
    struct level l = level_of(s->samples, s->n);
    send_level(s, &l, NULL);
    send_ooms(s, INFINITY, NULL);
}

static uint64_t capacity_of(const struct profiler_trace *t, uint32_t device)
{
    for (size_t i = 0; i < t->n_capacities; i++)
        if (t->capacities[i].device == device)
            return t->capacities[i].bytes;
    return 0;
}

uint64_t steps_from_profiler(const struct profiler_trace *t, const struct normalise_settings *settings,
                             double *first, double *last, const struct record_sink *sink)
{
    struct arena a;
    arena_init(&a);
    struct sending s = {.t = t, .settings = settings, .sink = sink, .a = &a};
    for (size_t k = 0; k < t->n_steps; k++) {
        *first = fmin(*first, (double)t->steps[k].number);
        *last = fmax(*last, (double)t->steps[k].number);
    }
    const struct profiler_sample *all = t->samples;
    s.only = t->n_samples && all[0].device == all[t->n_samples - 1].device;
    size_t oom = 0;
    for (size_t i = 0, end; i < t->n_samples; i = end) {
        for (end = i; end < t->n_samples && all[end].device == all[i].device;)
            end++;
        s.device = all[i].device;
        s.samples = all + i;
        s.n = end - i;
        while (oom < t->n_ooms && t->ooms[oom].device < s.device)
            oom++;
        s.ooms = t->ooms + oom;
        for (s.n_ooms = s.oom = 0; oom < t->n_ooms && t->ooms[oom].device == s.device; oom++)
            s.n_ooms++;
        s.name = str_of(steps_device_name(s.device, &a));
        s.capacity = capacity_of(t, s.device);
        if (t->n_steps)
            send_steps(&s);
        else
            send_whole(&s);
    }
    arena_release(&a);
    return s.records;
}

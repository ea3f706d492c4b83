/* What is kept of a profiler's trace: bounded, then put in order. */
#include "base/mem.h"
#include "read/profiler.h"
#include <stdlib.h>

static int compare(double a, double b)
{
    return (a > b) - (a < b);
}

static int by_device_and_time(const void *x, const void *y)
{
    const struct profiler_sample *a = x, *b = y;
    if (a->device != b->device)
        return a->device < b->device ? -1 : 1;
    int c = compare(a->time_us, b->time_us);
    return c ? c : (a->order > b->order) - (a->order < b->order);
}

static int ooms_in_order(const void *x, const void *y)
{
    const struct profiler_oom *a = x, *b = y;
    if (a->device != b->device)
        return a->device < b->device ? -1 : 1;
    int c = compare(a->time_us, b->time_us);
    return c ? c : (a->requested > b->requested) - (a->requested < b->requested);
}

static int steps_in_order(const void *x, const void *y)
{
    const struct profiler_step *a = x, *b = y;
    int c = compare(a->begin_us, b->begin_us);
    if (!c)
        c = compare(a->end_us, b->end_us);
    return c ? c : (a->number > b->number) - (a->number < b->number);
}

static void sort_samples(struct profiler_trace *t)
{
    if (t->n_samples)
        qsort(t->samples, t->n_samples, sizeof *t->samples, by_device_and_time);
}

/* Every second sample of a device takes in the one before it. */
static void merge_pairs(struct profiler_trace *t)
{
    struct profiler_sample *s = t->samples;
    size_t n = 0;
    sort_samples(t);
    for (size_t i = 0; i < t->n_samples; i++) {
        struct profiler_sample now = s[i];
        if (i + 1 < t->n_samples && s[i + 1].device == now.device) {
            struct profiler_sample before = now;
            now = s[++i];
            now.peak = before.peak > now.peak ? before.peak : now.peak;
            now.reserved = before.reserved > now.reserved ? before.reserved : now.reserved;
        }
        s[n++] = now;
    }
    t->n_samples = n;
}

void profiler_add(struct profiler_trace *t, const struct profiler_sample *sample)
{
    if (t->n_samples >= t->limit)
        merge_pairs(t);
    if (t->n_samples >= t->limit) /* not with fewer devices than the limit */
        return;
    if (t->n_samples == t->cap_samples) {
        t->cap_samples = t->cap_samples ? t->cap_samples * 2 : 256;
        t->samples = mem_grow(t->samples, t->cap_samples, sizeof *t->samples);
    }
    t->samples[t->n_samples++] = *sample;
}

/* A step that other threads or devices tell too counts once; where steps overlap the later one begins. */
static void lay_out_steps(struct profiler_trace *t)
{
    struct profiler_step *s = t->steps;
    size_t n = 0;
    if (t->n_steps)
        qsort(s, t->n_steps, sizeof *s, steps_in_order);
    for (size_t i = 0; i < t->n_steps; i++) {
        struct profiler_step *last = n ? &s[n - 1] : NULL;
        if (last && s[i].begin_us < last->end_us) {
            if (s[i].number == last->number)
                continue;
            last->end_us = s[i].begin_us;
        }
        s[n++] = s[i];
    }
    t->n_steps = n;
}

void profiler_finish(struct profiler_trace *t)
{
    sort_samples(t);
    if (t->n_ooms)
        qsort(t->ooms, t->n_ooms, sizeof *t->ooms, ooms_in_order);
    lay_out_steps(t);
}

void profiler_release(struct profiler_trace *t)
{
    free(t->samples);
    free(t->steps);
    free(t->ooms);
    free(t->capacities);
    *t = (struct profiler_trace){0};
}

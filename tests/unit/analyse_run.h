/* analyse_run: runs built by hand, judged, and looked into. */
#ifndef OOMREPORT_TESTS_ANALYSE_RUN_H
#define OOMREPORT_TESTS_ANALYSE_RUN_H

#include "analyse/analyse.h"
#include <math.h>
#include <string.h>

#define MIB 0x1p20
#define GIB 0x1p30

/* One step; a figure of 0 is not logged. */
struct step {
    double step, allocated, peak, reserved, used, batch, len;
    const char *phase;
};

/* A fixed sequence in -1 .. 1 without trend. */
static inline double wobble(size_t i)
{
    uint64_t h = (i + 1) * 0x9E3779B97F4A7C15u;
    h ^= h >> 29;
    h *= 0xBF58476D1CE4E5B9u;
    h ^= h >> 32;
    return (double)(h % 2000001) / 1000000.0 - 1;
}

static inline struct series *run_new(double capacity)
{
    struct series *s = series_new();
    s->source = "run.jsonl";
    s->format = "oomlog";
    record_set_s(&s->meta, F_RUN, STR_LIT("run"));
    if (capacity > 0)
        record_set_u(&s->meta, F_CAPACITY, (uint64_t)capacity);
    return s;
}

static inline void set_if(struct record *r, enum field f, double v)
{
    if (v > 0)
        record_set_u(r, f, (uint64_t)v);
}

static inline void run_step(struct series *s, struct step t)
{
    struct record r;
    record_clear(&r);
    record_set_u(&r, F_STEP, (uint64_t)t.step);
    if (t.phase)
        record_set_s(&r, F_PHASE, str_of(t.phase));
    set_if(&r, F_ALLOCATED, t.allocated);
    set_if(&r, F_PEAK, t.peak);
    set_if(&r, F_RESERVED, t.reserved);
    set_if(&r, F_DEVICE_USED, t.used);
    set_if(&r, F_BATCH_SIZE, t.batch);
    set_if(&r, F_MAX_LEN, t.len);
    r.at.line = s->rows + 2;
    series_append(s, &r);
}

/* The failure's figures; 0 is not logged. */
struct oom {
    double step, requested, free, total, allocated, reserved, batch, len;
    const char *phase;
};

static inline void run_oom(struct series *s, struct oom o)
{
    struct record r;
    record_clear(&r);
    if (!isnan(o.step)) /* NAN: the message does not tell */
        record_set_u(&r, F_STEP, (uint64_t)o.step);
    if (o.phase)
        record_set_s(&r, F_PHASE, str_of(o.phase));
    set_if(&r, F_REQUESTED, o.requested);
    set_if(&r, F_FREE, o.free);
    set_if(&r, F_TOTAL, o.total);
    set_if(&r, F_ALLOCATED, o.allocated);
    set_if(&r, F_RESERVED, o.reserved);
    set_if(&r, F_BATCH_SIZE, o.batch);
    set_if(&r, F_MAX_LEN, o.len);
    r.at = (struct place){s->source, s->rows + 2, 0};
    series_event(s, EVENT_OOM, &r, NULL, 0);
}

static inline void run_end(struct series *s)
{
    struct record r;
    record_clear(&r);
    series_event(s, EVENT_END, &r, NULL, 0);
}

/* Judges the run and frees the series' set; the analysis and series stay until run_done. */
static inline const struct run_report *run_judge(struct analysis *a, struct series *s)
{
    struct series_set set = {.items = &s, .n = 1};
    struct analyse_settings settings = {.capacity_bytes = NAN};
    series_seal(s);
    analyse(a, &set, &settings);
    return &a->runs[0];
}

static inline void run_done(struct analysis *a, struct series *s)
{
    analysis_release(a);
    series_free(s);
}

/* The test of that id, or NULL. */
static inline const struct test *find_test(const struct run_report *r, enum question_id q, const char *id)
{
    for (size_t i = 0; i < r->triage[q].n_tests; i++)
        if (strcmp(r->triage[q].tests[i].id, id) == 0)
            return &r->triage[q].tests[i];
    return NULL;
}

#endif

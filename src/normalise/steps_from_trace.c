#include "normalise/steps_from_trace.h"
#include "base/mem.h"
#include "base/num.h"
#include "model/verdict.h"
#include "normalise/steps_period.h"
#include <math.h>
#include <stdlib.h>

enum {
    STEPS_MIN = 2,
    STEPS_MAX = 1 << 22
};

/* Step boundaries of a device, as indices of events. */
struct bounds {
    uint64_t *at; /* n: ends of steps, or, where starts is set, their beginnings */
    double *number;
    size_t n, cap;
    bool starts;
};

static void add_bound(struct bounds *b, uint64_t at, double number)
{
    if (b->n && b->at[b->n - 1] >= at)
        return;
    if (b->n == b->cap) {
        b->cap = b->cap ? b->cap * 2 : 64;
        b->at = mem_grow(b->at, b->cap, sizeof *b->at);
        b->number = mem_grow(b->number, b->cap, sizeof *b->number);
    }
    b->at[b->n] = at;
    b->number[b->n++] = number;
}

static void bounds_release(struct bounds *b)
{
    free(b->at);
    free(b->number);
    *b = (struct bounds){0};
}

const char *steps_device_name(uint32_t device, struct arena *a)
{
    return arena_printf(a, "cuda:%u", (unsigned)device);
}

static bool used(const struct trace_device *d)
{
    return d->n || d->totals.reserved || d->totals.live_end;
}

/* --- annotations -------------------------------------------------------------------- */

struct moment {
    uint64_t time;
    double number;
};

static int by_time(const void *x, const void *y)
{
    const struct moment *a = x, *b = y;
    return a->time < b->time ? -1 : a->time > b->time;
}

/* "ProfilerStep#12" marks where step 12 begins, "Optimizer.step#AdamW.step" ends where a step does. */
static bool tells_step(struct str name, bool start, bool profiler, double *number)
{
    static const struct str PROFILER = {"ProfilerStep#", 13}, OPTIMIZER = {"Optimizer.step#", 15};
    *number = NAN;
    if (!profiler)
        return !start && str_starts(name, OPTIMIZER);
    return start && str_starts(name, PROFILER) &&
           num_parse((struct str){name.p + PROFILER.n, name.n - PROFILER.n}, number);
}

static bool by_annotations(struct bounds *b, const struct trace_file *t, const struct trace_device *d,
                           bool profiler)
{
    if (!d->timed || !t->n_marks)
        return false;
    struct moment *m = mem_alloc((t->n_marks + 1) * sizeof *m);
    size_t n = 0;
    for (size_t i = 0; i < t->n_marks; i++) {
        const struct trace_mark *k = &t->marks[i];
        double number;
        if ((k->device == d->index || k->device >= t->n_devices) &&
            tells_step(trace_string_at(&t->names, k->name), k->start, profiler, &number))
            m[n++] = (struct moment){k->time_us, number};
    }
    if (n)
        qsort(m, n, sizeof *m, by_time);
    struct trace_cursor c;
    struct trace_op op;
    trace_cursor_init(&c, d);
    size_t k = 0;
    while (k < n && trace_next(&c, &op))
        for (; k < n && m[k].time <= c.time_us; k++)
            add_bound(b, c.index, m[k].number);
    for (; k < n && profiler; k++) /* a step that the trace does not reach ends it */
        add_bound(b, d->n, m[k].number);
    free(m);
    b->starts = profiler;
    return b->n >= STEPS_MIN;
}

/* --- optimiser ---------------------------------------------------------------------- */

static int by_value(const void *x, const void *y)
{
    uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return a < b ? -1 : a > b;
}

/* Several runs belong to one step where an optimiser is made of parts (parameter groups with hooks, two
 * networks): a run counts when it comes at least a quarter of the usual distance after the last. */
static bool by_optimizer(struct bounds *b, const struct trace_device *d)
{
    const struct trace_runs *r = &d->runs[TRACE_OPTIMIZER];
    if (r->n < STEPS_MIN)
        return false;
    uint64_t *gaps = mem_alloc(r->n * sizeof *gaps);
    for (size_t i = 1; i < r->n; i++)
        gaps[i - 1] = r->at[i].first - r->at[i - 1].last;
    qsort(gaps, r->n - 1, sizeof *gaps, by_value);
    uint64_t least = gaps[(r->n - 1) * 3 / 4] / 4;
    free(gaps);
    for (size_t i = 0; i < r->n; i++)
        if (i + 1 == r->n || r->at[i + 1].first - r->at[i].last >= least)
            add_bound(b, r->at[i].last + 1, NAN);
    return b->n >= STEPS_MIN;
}

/* --- levels ------------------------------------------------------------------------- */

/* [begin, end) of each step from its boundaries. What comes before the first one is
 * the first step too where ends were found, unless the trace begins in the middle of it. */
static void lay_out(struct trace_device *d, const struct bounds *b)
{
    size_t n = 0;
    d->steps = mem_zero(b->n + 1, sizeof *d->steps);
    for (size_t i = 0; i < b->n && n < STEPS_MAX; i++) {
        uint64_t begin = b->starts ? b->at[i] : i ? b->at[i - 1] : 0;
        uint64_t end = !b->starts ? b->at[i] : i + 1 < b->n ? b->at[i + 1] : d->n;
        if (end > d->n)
            end = d->n;
        if ((!b->starts && i == 0 && d->truncated) || begin >= end)
            continue;
        d->steps[n] = (struct trace_step){.begin = begin, .end = end, .floor = UINT64_MAX};
        d->steps[n].number = isnan(b->number[i]) ? (double)n : b->number[i];
        n++;
    }
    d->n_steps = n;
}

/* State while the levels of the steps are collected. */
struct walk {
    struct trace_device *d;
    int64_t level, held;
    size_t step; /* the one that the event lies in, or the next */
    size_t run;  /* of evaluation */
    bool in_eval;
};

static void enter_eval(struct walk *w, uint64_t event)
{
    const struct trace_runs *r = &w->d->runs[TRACE_EVALUATION];
    while (w->run < r->n && r->at[w->run].last < event)
        w->run++;
    w->in_eval = w->run < r->n && r->at[w->run].first <= event;
}

static void note_event(struct walk *w, const struct trace_cursor *c)
{
    struct trace_device *d = w->d;
    uint64_t level = w->level > 0 ? (uint64_t)w->level : 0;
    while (w->step < d->n_steps && d->steps[w->step].end <= c->index)
        w->step++;
    enter_eval(w, c->index);
    struct trace_step *now =
        w->step < d->n_steps && d->steps[w->step].begin <= c->index ? &d->steps[w->step] : NULL;
    struct trace_step *before = w->step ? &d->steps[w->step - 1] : NULL;
    if (before && level < before->floor) {
        before->floor = level;
        before->floor_event = c->index;
    }
    if (w->in_eval && before) { /* evaluation belongs to the step that it follows */
        before->eval_first = before->eval_last ? before->eval_first : c->index;
        before->eval_last = c->index;
        before->eval_peak = level > before->eval_peak ? level : before->eval_peak;
        before->eval_after = level;
    } else if (now) {
        now->peak = level > now->peak ? level : now->peak;
    }
    if (now) {
        now->reserved = w->held > 0 ? (uint64_t)w->held : 0;
        now->time_us = c->time_us;
    }
}

static void fill_levels(struct trace_device *d)
{
    struct trace_cursor c;
    struct trace_op op;
    struct walk w = {.d = d, .level = d->totals.base, .held = d->totals.reserved_base};
    trace_cursor_init(&c, d);
    while (trace_next(&c, &op)) {
        if (op.kind == OP_SEGMENT_ADD)
            w.held += (int64_t)op.size;
        else if (op.kind == OP_SEGMENT_TAKE)
            w.held -= (int64_t)op.size;
        else
            w.level += trace_op_delta(d, &op);
        note_event(&w, &c);
    }
    /* behind the last step there is no whole step in which the level could have come down */
    struct trace_step *last = d->n_steps ? &d->steps[d->n_steps - 1] : NULL;
    uint64_t eval = last && last->eval_last ? last->eval_last - last->eval_first + 1 : 0;
    if (last && d->n - last->end < eval + (last->end - last->begin) / 2)
        last->floor = UINT64_MAX;
}

static void find_steps(struct trace_file *t, struct trace_device *d)
{
    struct bounds b = {0};
    d->steps_by = STEPS_BY_NONE;
    if (by_annotations(&b, t, d, true)) {
        d->steps_by = STEPS_BY_ANNOTATIONS;
    } else {
        bounds_release(&b);
        if (by_annotations(&b, t, d, false)) {
            d->steps_by = STEPS_BY_ANNOTATIONS;
        } else {
            bounds_release(&b);
            if (by_optimizer(&b, d))
                d->steps_by = STEPS_BY_OPTIMIZER;
        }
    }
    if (d->steps_by == STEPS_BY_NONE) {
        size_t n = 0;
        uint64_t *at = steps_period(d, &n);
        bounds_release(&b);
        for (size_t i = 0; i < n; i++)
            add_bound(&b, at[i], NAN);
        free(at);
        if (b.n >= STEPS_MIN)
            d->steps_by = STEPS_BY_PERIOD;
    }
    if (d->steps_by != STEPS_BY_NONE) {
        lay_out(d, &b);
        fill_levels(d);
        if (!d->n_steps)
            d->steps_by = STEPS_BY_NONE;
    }
    bounds_release(&b);
}

/* Steps outside the range that was asked for are as if they had not been found. */
static void choose(struct trace_device *d, const struct normalise_settings *settings, double *first,
                   double *last)
{
    size_t n = 0;
    for (size_t i = 0; i < d->n_steps; i++) {
        double number = d->steps[i].number;
        if (first)
            *first = fmin(*first, number);
        if (last)
            *last = fmax(*last, number);
        if (!(number < settings->step_from || number > settings->step_to))
            d->steps[n++] = d->steps[i];
    }
    d->n_steps = n;
}

/* --- records ------------------------------------------------------------------------ */

struct sending {
    const struct record_sink *sink;
    const struct trace_file *t;
    const struct trace_device *d;
    const struct normalise_settings *settings;
    struct arena *a;
    struct str device;
    bool ranked;
    uint64_t n;
};

static void begin_record(const struct sending *s, struct record *r)
{
    record_clear(r);
    record_set_s(r, F_DEVICE, s->device);
    if (s->ranked)
        record_set_u(r, F_RANK, s->d->index);
}

static void send(struct sending *s, const struct record *r)
{
    s->sink->record(s->sink->ctx, r, NULL, 0);
    s->n++;
}

static void send_step(struct sending *s, const struct trace_step *k)
{
    struct record r;
    begin_record(s, &r);
    record_set_s(&r, F_PEAK_RESET, STR_LIT("step"));
    record_set_u(&r, F_STEP, (uint64_t)k->number);
    record_set_s(&r, F_PHASE, STR_LIT("train"));
    if (k->time_us)
        record_set_d(&r, F_TIME, (double)k->time_us / 1e6);
    if (k->floor != UINT64_MAX)
        record_set_u(&r, F_ALLOCATED, k->floor);
    record_set_u(&r, F_PEAK, k->peak);
    if (k->reserved)
        record_set_u(&r, F_RESERVED, k->reserved);
    send(s, &r);
    if (!k->eval_last)
        return;
    begin_record(s, &r);
    record_set_u(&r, F_STEP, (uint64_t)k->number);
    record_set_s(&r, F_PHASE, STR_LIT("eval"));
    record_set_u(&r, F_ALLOCATED, k->eval_after);
    record_set_u(&r, F_PEAK, k->eval_peak);
    send(s, &r);
}

static const char *oom_phase(const struct sending *s, const struct trace_oom *o)
{
    uint32_t flags = s->t->names.stacks[o->stack].flags;
    return flags & STACK_EVAL ? "eval" : flags & STACK_OPTIMIZER ? "optimizer" : NULL;
}

static void send_oom(struct sending *s, const struct trace_oom *o, double step)
{
    struct record r;
    if (step < s->settings->step_from || step > s->settings->step_to)
        return;
    begin_record(s, &r);
    record_set_s(&r, F_EVENT, STR_LIT("oom"));
    if (step >= 0)
        record_set_u(&r, F_STEP, (uint64_t)step);
    const char *phase = oom_phase(s, o);
    if (phase)
        record_set_s(&r, F_PHASE, str_of(phase));
    record_set_u(&r, F_ALLOCATED, o->live);
    record_set_u(&r, F_RESERVED, o->reserved);
    record_set_u(&r, F_REQUESTED, o->requested);
    record_set_u(&r, F_FREE, o->device_free);
    /* all that this process could have had: what it held and what was free */
    record_set_u(&r, F_CAPACITY, o->reserved + o->device_free);
    record_set_u(&r, F_TOTAL, o->reserved + o->device_free);
    send(s, &r);
}

/* A device whose steps are not known is one row: how it ended. */
static void send_end(struct sending *s)
{
    struct record r;
    begin_record(s, &r);
    record_set_u(&r, F_ALLOCATED, s->d->totals.live_end);
    record_set_u(&r, F_PEAK, s->d->totals.peak);
    record_set_u(&r, F_RESERVED, s->d->totals.reserved);
    send(s, &r);
}

static void send_device(struct sending *s)
{
    const struct trace_device *d = s->d;
    size_t oom = 0;
    for (size_t i = 0; i < d->n_steps; i++) {
        for (; oom < d->n_ooms && d->ooms[oom].event < d->steps[i].end; oom++)
            send_oom(s, &d->ooms[oom], d->steps[i].number);
        send_step(s, &d->steps[i]);
    }
    if (d->steps_by == STEPS_BY_NONE && !d->n_ooms)
        send_end(s);
    for (; oom < d->n_ooms; oom++)
        send_oom(s, &d->ooms[oom], d->n_steps ? d->steps[d->n_steps - 1].number + 1 : -1);
}

uint64_t steps_from_trace(struct trace_file *t, const struct normalise_settings *settings, double *first,
                          double *last, const struct record_sink *sink)
{
    struct arena a = {0};
    struct sending s = {.sink = sink, .t = t, .settings = settings, .a = &a};
    size_t devices = 0;
    for (size_t i = 0; i < t->n_devices; i++)
        devices += used(t->devices[i]);
    s.ranked = devices > 1;
    for (size_t i = 0; i < t->n_devices; i++) {
        if (!used(t->devices[i]))
            continue;
        s.d = t->devices[i];
        s.device = str_of(steps_device_name(s.d->index, &a));
        find_steps(t, t->devices[i]);
        choose(t->devices[i], settings, first, last);
        send_device(&s);
    }
    arena_release(&a);
    return s.n;
}

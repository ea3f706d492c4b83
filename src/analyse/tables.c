#include "analyse/tables.h"

#include "analyse/stats.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *text_or_null(struct arena *a, struct str s)
{
    return s.n ? arena_strndup(a, s.p, s.n) : NULL;
}

static void failure(struct run_ctx *c)
{
    const struct frame *f = c->f;
    struct run_report *o = c->out;
    o->has_failure = f->fail != NULL;
    if (!f->fail)
        return;
    const struct record *r = &f->fail->rec;
    struct str phase = record_text(r, F_PHASE);
    o->failure = (struct failure){.step = f->axis == AXIS_STEP || f->train.n == 0 ? f->fail_step : NAN,
                                  .epoch = record_number(r, F_EPOCH),
                                  .phase = phase.n                      ? text_or_null(c->arena, phase)
                                           : f->fail_phase == FAIL_EVAL ? "eval"
                                                                        : NULL,
                                  .batch_size = record_number(r, F_BATCH_SIZE),
                                  .max_len = record_number(r, F_MAX_LEN),
                                  .tokens = record_number(r, F_TOKENS),
                                  .height = record_number(r, F_HEIGHT),
                                  .width = record_number(r, F_WIDTH),
                                  .batch_ids = text_or_null(c->arena, record_text(r, F_BATCH_IDS)),
                                  .batch_hash = text_or_null(c->arena, record_text(r, F_BATCH_HASH)),
                                  .requested_bytes = f->at.requested,
                                  .free_bytes = f->at.free,
                                  .total_bytes = f->at.total,
                                  .allocated_bytes = f->at.allocated,
                                  .reserved_bytes = f->at.reserved,
                                  .this_process_bytes = f->at.this_process,
                                  .other_process_bytes = f->at.other_process,
                                  .processes = f->fail->processes,
                                  .n_processes = f->fail->n_processes,
                                  .message = text_or_null(c->arena, record_text(r, F_MESSAGE)),
                                  .where = r->at};
}

/* ---- phases ---- */

struct phase_sums {
    double n, peak;
    double *before, *after;
    size_t n_before, n_after, cap;
};

static void push(double **v, size_t *n, double value)
{
    enum {
        KEEP = 8192
    };
    if (!isfinite(value) || *n >= KEEP)
        return;
    if ((*n & (*n - 1)) == 0)
        *v = mem_grow(*v, *n ? 2 * *n : 1, sizeof **v);
    (*v)[(*n)++] = value;
}

static void phases(struct run_ctx *c)
{
    const struct series *s = c->f->s;
    size_t kinds = s->n_phases;
    enum {
        CHUNK = 4096
    };
    struct phase_sums *sums = mem_zero(kinds, sizeof *sums);
    double *phase = mem_alloc(3 * CHUNK * sizeof *phase), *alloc = phase + CHUNK, *peak = alloc + CHUNK,
           before = NAN;
    for (size_t from = 0; from < s->rows; from += CHUNK) {
        size_t n = s->rows - from < CHUNK ? s->rows - from : CHUNK;
        series_read(s, F_PHASE, from, n, phase);
        series_read(s, F_ALLOCATED, from, n, alloc);
        series_read(s, F_PEAK, from, n, peak);
        for (size_t i = 0; i < n; i++) {
            size_t k = isfinite(phase[i]) && phase[i] < (double)kinds ? (size_t)phase[i] : 0;
            struct phase_sums *p = &sums[k];
            p->n++;
            p->peak = fmax(p->peak, isfinite(peak[i]) ? peak[i] : 0);
            push(&p->before, &p->n_before, before);
            push(&p->after, &p->n_after, alloc[i]);
            before = isfinite(alloc[i]) ? alloc[i] : before;
        }
    }
    free(phase);
    struct run_report *o = c->out;
    o->phases = arena_alloc(c->arena, kinds * sizeof *o->phases);
    for (size_t k = 0; k < kinds; k++) {
        struct phase_sums *p = &sums[k];
        if (p->n > 0)
            o->phases[o->n_phases++] =
                (struct phase_row){.phase = arena_strndup(c->arena, s->phases[k].p, s->phases[k].n),
                                   .n = p->n,
                                   .before_bytes = stats_median(p->before, p->n_before),
                                   .peak_bytes = p->peak > 0 ? p->peak : NAN,
                                   .after_bytes = stats_median(p->after, p->n_after)};
        free(p->before), free(p->after);
    }
    free(sums);
}

/* ---- checkpoints inside a step ---- */

enum {
    LABELS = 64
};

static void checkpoints(struct run_ctx *c)
{
    const struct series *s = c->f->s;
    struct str labels[LABELS];
    double *alloc[LABELS] = {NULL}, *delta[LABELS] = {NULL}, *peak[LABELS] = {NULL}, count[LABELS] = {0};
    size_t n_alloc[LABELS] = {0}, n_delta[LABELS] = {0}, n_peak[LABELS] = {0}, n = 0;
    double before = NAN;
    for (size_t i = 0; i < s->n_checkpoints; i++) {
        const struct checkpoint *p = &s->checkpoints[i];
        size_t k = 0;
        while (k < n && !str_eq(labels[k], p->label))
            k++;
        if (k == n && n == LABELS)
            continue;
        if (k == n)
            labels[n++] = p->label;
        count[k]++;
        push(&alloc[k], &n_alloc[k], p->allocated_bytes);
        push(&peak[k], &n_peak[k], p->peak_bytes);
        push(&delta[k], &n_delta[k], p->allocated_bytes - before);
        before = isfinite(p->allocated_bytes) ? p->allocated_bytes : before;
    }
    struct run_report *o = c->out;
    if (n > 0)
        o->checkpoints = arena_alloc(c->arena, n * sizeof *o->checkpoints);
    for (size_t k = 0; k < n; k++) {
        o->checkpoints[o->n_checkpoints++] =
            (struct checkpoint_row){.label = arena_strndup(c->arena, labels[k].p, labels[k].n),
                                    .n = count[k],
                                    .allocated_bytes = stats_median(alloc[k], n_alloc[k]),
                                    .delta_bytes = stats_median(delta[k], n_delta[k]),
                                    .peak_bytes = stats_median(peak[k], n_peak[k])};
        free(alloc[k]), free(delta[k]), free(peak[k]);
    }
}

/* ---- marks for the timeline ---- */

enum {
    SPANS = 512
};

static void eval_spans(struct run_ctx *c)
{
    const struct frame *f = c->f;
    struct run_report *o = c->out;
    if (f->axis != AXIS_STEP || f->eval.n == 0)
        return;
    o->eval_spans = arena_alloc(c->arena, SPANS * sizeof *o->eval_spans);
    size_t t = 0;
    for (size_t i = 0; i < f->eval.n; i++) {
        bool between = i == 0;
        while (t < f->train.n && f->train.row[t] < f->eval.row[i]) {
            between = between || f->train.row[t] > f->eval.row[i - 1];
            t++;
        }
        double step = frame_step(f, f->eval.x[i]);
        if (between && o->n_eval_spans < SPANS)
            o->eval_spans[o->n_eval_spans++] = (struct span){step, step};
        else if (!between && o->n_eval_spans > 0)
            o->eval_spans[o->n_eval_spans - 1].to = step;
    }
}

static void epochs(struct run_ctx *c)
{
    const struct frame *f = c->f;
    struct run_report *o = c->out;
    const double *e = f->train.v[F_EPOCH];
    o->epochs = NAN;
    double last = NAN, high = NAN;
    if (e) {
        o->epochs_at = arena_alloc(c->arena, SPANS * sizeof *o->epochs_at);
        for (size_t i = 0; i < f->train.n; i++) {
            if (!isfinite(e[i]))
                continue;
            high = isnan(high) || e[i] > high ? e[i] : high;
            double now = floor(e[i]);
            if (now != last && o->n_epochs_at < SPANS && f->axis == AXIS_STEP)
                o->epochs_at[o->n_epochs_at++] = (struct span){frame_step(f, f->train.x[i]), now};
            last = now;
        }
        o->epochs = high == floor(high) ? high + 1 : high;
    } else if (f->per_epoch > 0 && f->train.n > 0)
        o->epochs = (f->train.x[f->train.n - 1] - f->train.x[0] + 1) / f->per_epoch;
}

void tables_fill(struct run_ctx *c)
{
    const struct frame *f = c->f;
    const struct series *s = f->s;
    struct run_report *o = c->out;
    o->series = s;
    struct str run = record_text(&s->meta, F_RUN), device = record_text(&s->meta, F_DEVICE);
    o->run = run.n ? arena_strndup(c->arena, run.p, run.n) : s->source;
    o->source = s->source;
    o->format = s->format;
    o->device = text_or_null(c->arena, device);
    o->seed = series_meta(s, F_SEED);
    o->rank = series_meta(s, F_RANK);
    o->capacity_bytes = f->capacity;
    o->steps = (double)f->train_rows;
    bool steps = f->axis == AXIS_STEP;
    const struct track *t = f->train.n ? &f->train : &f->eval;
    double first = t->n && s->col[F_STEP] ? column_at(s->col[F_STEP], t->row[0]) : NAN;
    o->first_step = steps ? first : NAN;
    double last = t->n ? frame_step(f, t->x[t->n - 1]) : NAN;
    if (f->eval.n && f->train.n)
        last = fmax(last, frame_step(f, f->eval.x[f->eval.n - 1]));
    o->last_step = steps ? last : NAN;
    o->outcome = f->outcome;
    o->survived_ooms = (double)f->survived;
    failure(c);
    phases(c);
    checkpoints(c);
    eval_spans(c);
    epochs(c);
}

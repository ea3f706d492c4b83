#include "analyse/frame.h"

#include "analyse/frame_rows.h"
#include "analyse/frame_semantics.h"
#include "analyse/stats.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Fields that rules look at; others are not decoded. */
static const enum field wanted[] = {F_EPOCH,         F_TIME,        F_ALLOCATED,  F_PEAK,    F_RESERVED,
                                    F_PEAK_RESERVED, F_DEVICE_USED, F_BATCH_SIZE, F_MAX_LEN, F_TOKENS,
                                    F_HEIGHT,        F_WIDTH,       F_HOST_RSS};

static double *decode(const struct frame_rows *r, const struct column *c)
{
    double *v = mem_alloc((r->n + 1) * sizeof *v);
    frame_rows_read(r, c, v);
    return v;
}

static size_t *row_numbers(const struct frame_rows *r)
{
    size_t *row = mem_alloc((r->n + 1) * sizeof *row), n = 0;
    for (size_t k = 0; k < r->n_runs; k++)
        for (size_t i = 0; i < r->runs[k].len; i++)
            row[n++] = r->runs[k].from + i;
    return row;
}

/* ---- axis ---- */

static size_t count_known(const double *v, size_t n)
{
    size_t known = 0;
    for (size_t i = 0; i < n; i++)
        known += isfinite(v[i]) != 0;
    return known;
}

/* Steps where most rows have them, else time, else the order of rows; ascending across restarts. */
static double *axis_values(struct frame *f, const struct frame_rows *r, const size_t *row)
{
    const struct series *s = f->s;
    double *x = decode(r, s->col[F_STEP]), *time = decode(r, s->col[F_TIME]);
    size_t steps = count_known(x, r->n), times = count_known(time, r->n);
    f->axis = 2 * steps >= r->n && steps > 0        ? AXIS_STEP
              : 10 * times >= 9 * r->n && times > 0 ? AXIS_TIME
                                                    : AXIS_ROW;
    double before = NAN, segment = r->n ? r->segment[0] : 0;
    f->offset = 0;
    for (size_t i = 0; i < r->n; i++) {
        double v = f->axis == AXIS_STEP ? x[i] : f->axis == AXIS_TIME ? time[i] : (double)row[i];
        bool cut = r->segment[i] != segment;
        segment = r->segment[i];
        if (!isfinite(v))
            v = isnan(before) ? 0 : before - f->offset;
        if (cut && !isnan(before) && v + f->offset <= before)
            f->offset = before + 1 - v;
        v += f->offset;
        if (!isnan(before) && v < before)
            v = before;
        x[i] = before = v;
    }
    free(time);
    return x;
}

/* ---- rows by phase ---- */

static void track_init(struct track *t, double code, const struct frame_rows *r, const double *x,
                       const size_t *row)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n; i++)
        n += r->phase[i] == code;
    *t = (struct track){.n = n};
    t->row = mem_alloc((n + 1) * sizeof *t->row);
    t->x = mem_alloc((n + 1) * sizeof *t->x);
    t->restart = mem_zero(n + 1, 1);
    double segment = r->n ? r->segment[0] : 0;
    n = 0;
    for (size_t i = 0; i < r->n; i++) {
        if (r->phase[i] != code)
            continue;
        t->row[n] = row[i];
        t->x[n] = x[i];
        t->restart[n] = r->segment[i] != segment && n > 0;
        segment = r->segment[i];
        n++;
    }
}

static double *gather(const struct track *t, double code, const struct frame_rows *r, const double *all)
{
    double *v = mem_alloc((t->n + 1) * sizeof *v);
    size_t have = 0, n = 0;
    for (size_t i = 0; i < r->n; i++)
        if (r->phase[i] == code) {
            v[n++] = all[i];
            have += isfinite(all[i]) != 0;
        }
    if (have > 0)
        return v;
    free(v);
    return NULL;
}

static void read_column(struct frame *f, const struct frame_rows *r, const struct column *c, double **train,
                        double **eval)
{
    double *all = decode(r, c);
    *train = gather(&f->train, PHASE_TRAIN, r, all);
    *eval = gather(&f->eval, PHASE_EVAL, r, all);
    free(all);
}

static void read_columns(struct frame *f, const struct frame_rows *r)
{
    const struct series *s = f->s;
    for (size_t k = 0; k < sizeof wanted / sizeof *wanted; k++)
        if (s->col[wanted[k]])
            read_column(f, r, s->col[wanted[k]], &f->train.v[wanted[k]], &f->eval.v[wanted[k]]);
    f->n_sizes = s->n_sizes < FRAME_SIZES ? s->n_sizes : FRAME_SIZES;
    for (size_t k = 0; k < f->n_sizes; k++) {
        read_column(f, r, s->sizes[k].column, &f->train.size[k], &f->eval.size[k]);
        f->size_name[k] = s->sizes[k].name.p;
    }
}

static void track_release(struct track *t)
{
    for (size_t i = 0; i < F_COUNT; i++)
        free(t->v[i]);
    for (size_t i = 0; i < FRAME_SIZES; i++)
        free(t->size[i]);
    free(t->row);
    free(t->x);
    free(t->restart);
}

/* ---- small facts ---- */

static enum field first_present(const struct track *t, const enum field *order, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (t->v[order[i]])
            return order[i];
    return F_COUNT;
}

static void find_stride(struct frame *f)
{
    const struct track *t = &f->train;
    f->stride = 1;
    if (t->n < 3 || f->axis != AXIS_STEP)
        return;
    double *d = mem_alloc(t->n * sizeof *d);
    for (size_t i = 1; i < t->n; i++)
        d[i - 1] = t->x[i] - t->x[i - 1];
    double mid = stats_quantile_of(d, t->n - 1, 0.5);
    free(d);
    if (mid >= 1)
        f->stride = mid;
}

static void find_epochs(struct frame *f)
{
    const struct track *t = &f->train;
    f->per_epoch = series_meta(f->s, F_STEPS_PER_EPOCH);
    const double *e = t->v[F_EPOCH];
    if (f->per_epoch > 0 || !e || f->axis != AXIS_STEP)
        return;
    f->per_epoch = NAN;
    double first = NAN, from = NAN, gaps[256];
    size_t n = 0;
    for (size_t i = 0; i < t->n && n < 256; i++) {
        if (!isfinite(e[i]))
            continue;
        if (isnan(first) || t->restart[i])
            first = floor(e[i]), from = NAN;
        else if (floor(e[i]) == first + 1) {
            if (isfinite(from))
                gaps[n++] = t->x[i] - from;
            from = t->x[i];
            first += 1;
        } else if (floor(e[i]) != first)
            first = floor(e[i]), from = NAN;
    }
    if (n > 0)
        f->per_epoch = stats_median(gaps, n);
    else if (isfinite(from) &&
             t->n > 0) /* one boundary: the epoch before it, if the log began at its start */
        f->per_epoch = from - t->x[0];
}

static void find_warm(struct frame *f)
{
    double accum = series_meta(f->s, F_GRAD_ACCUM);
    f->micro = accum >= 2 && accum < 4096 ? (size_t)accum : 1;
    size_t tenth = f->train.n / 10, w = tenth < 60 ? tenth : 60;
    size_t least = f->micro + 1 < 8 ? f->micro + 1 : 8;
    f->warm = w > least ? w : least;
    if (f->warm * 3 > f->train.n)
        f->warm = f->train.n / 3;
}

static void find_peaks(struct frame *f)
{
    static const enum field order[] = {F_PEAK, F_PEAK_RESERVED, F_RESERVED, F_DEVICE_USED, F_ALLOCATED};
    f->peak_field = first_present(&f->train, order, 5);
    f->peak_known = f->peak_field != F_COUNT && f->peak_field != F_ALLOCATED;
    f->peak_max = f->peak_typical = NAN;
    if (f->peak_field == F_COUNT)
        return;
    const double *v = f->train.v[f->peak_field];
    f->peak_max = stats_max(v, f->train.n, &f->peak_max_at);
    f->peak_typical = frame_peak_quantile(f, 0.5);
}

/* Of a counter that is never reset, the value after k steps is the largest of k: it stands for the quantile
 * k / (k + 1). */
static double running_quantile(const struct frame *f, const double *v, double q)
{
    const struct track *t = &f->train;
    double k = q / (1 - q), x0 = t->x[0];
    size_t i = t->n > 2 && f->stride <= 1 ? 1 : 0;
    while (i + 1 < t->n && !(t->x[i] - x0 >= k && isfinite(v[i])))
        i++;
    return v[i];
}

double frame_peak_quantile(const struct frame *f, double q)
{
    if (f->peak_field == F_COUNT || f->train.n == 0)
        return NAN;
    const double *v = f->train.v[f->peak_field];
    if (f->peak_field == F_PEAK && f->reset == PEAK_RESET_NEVER)
        return running_quantile(f, v, q);
    size_t w = f->train.n > 3 ? f->warm : 0;
    return stats_quantile_of(v + w, f->train.n - w, q);
}

void frame_init(struct frame *f, const struct series *s, double capacity_setting)
{
    static const enum field floors[] = {F_ALLOCATED, F_PEAK, F_RESERVED, F_DEVICE_USED, F_PEAK_RESERVED};
    memset(f, 0, sizeof *f);
    f->s = s;
    struct frame_rows r;
    frame_rows_init(&r, s);
    f->train_rows = r.train_all;
    f->eval_rows = r.eval_all;
    size_t *row = row_numbers(&r);
    double *x = axis_values(f, &r, row);
    track_init(&f->train, PHASE_TRAIN, &r, x, row);
    track_init(&f->eval, PHASE_EVAL, &r, x, row);
    read_columns(f, &r);
    free(x), free(row);
    frame_rows_release(&r);
    f->floor_field = first_present(&f->train, floors, 5);
    find_stride(f);
    find_epochs(f);
    find_warm(f);
    frame_find_reset(f);
    find_peaks(f);
    frame_find_end(f);
    frame_find_room(f, capacity_setting);
}

void frame_release(struct frame *f)
{
    track_release(&f->train);
    track_release(&f->eval);
}

double frame_step(const struct frame *f, double x)
{
    return f->axis == AXIS_STEP ? x - f->offset : NAN;
}

double frame_constant(const struct frame *f, enum field field)
{
    const double *v = f->train.v[field];
    if (!v)
        return NAN;
    double low = stats_min(v, f->train.n, NULL), high = stats_max(v, f->train.n, NULL);
    return low == high ? low : NAN;
}

double frame_fail_shape(const struct frame *f, enum field field)
{
    if (!f->fail)
        return NAN;
    double v = record_number(&f->fail->rec, field);
    return isfinite(v) ? v : frame_constant(f, field);
}

double frame_fail_size(const struct frame *f, size_t k)
{
    if (!f->fail || k >= f->n_sizes)
        return NAN;
    for (unsigned i = 0; i < f->fail->rec.n_extra; i++)
        if (str_eq(f->fail->rec.extra[i].name, f->s->sizes[k].name))
            return f->fail->rec.extra[i].value;
    return NAN;
}

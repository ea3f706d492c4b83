#include "draw/reduce.h"
#include <math.h>

enum x_kind reduce_x_kind(const struct series *s)
{
    return series_has(s, F_STEP) ? X_STEP : series_has(s, F_TIME) ? X_TIME : X_ROW;
}

static void read_x(const struct series *s, enum x_kind kind, size_t first, size_t n, double *out)
{
    if (kind != X_ROW) {
        series_read(s, kind == X_STEP ? F_STEP : F_TIME, first, n, out);
        return;
    }
    for (size_t i = 0; i < n; i++)
        out[i] = (double)(first + i);
}

double reduce_x_at(const struct series *s, enum x_kind kind, size_t row)
{
    double x = NAN;
    if (row < s->rows)
        read_x(s, kind, row, 1, &x);
    return x;
}

bool reduce_x_range(const struct series *s, enum x_kind kind, double *lo, double *hi)
{
    double x[COLUMN_BLOCK], least = INFINITY, greatest = -INFINITY;
    for (size_t first = 0; first < s->rows; first += COLUMN_BLOCK) {
        size_t n = s->rows - first < COLUMN_BLOCK ? s->rows - first : COLUMN_BLOCK;
        read_x(s, kind, first, n, x);
        for (size_t i = 0; i < n; i++) {
            least = x[i] < least ? x[i] : least;
            greatest = x[i] > greatest ? x[i] : greatest;
        }
    }
    *lo = least;
    *hi = greatest;
    return isfinite(least) && isfinite(greatest);
}

/* Rows first .. first+n-1 of a block that fall into the same column, segment and phase. */
struct run {
    size_t first, n;
};

static void add_run(struct reduced_field *f, size_t column, const double *v, struct run r)
{
    double least = INFINITY, greatest = -INFINITY, sum = 0, count = 0;
    for (size_t i = r.first; i < r.first + r.n; i++) {
        double x = v[i];
        if (x - x != 0) /* missing or infinite */
            continue;
        least = x < least ? x : least;
        greatest = x > greatest ? x : greatest;
        sum += x;
        count++;
    }
    if (count == 0)
        return;
    bool fresh = f->count[column] == 0;
    f->min[column] = fresh ? least : fmin(f->min[column], least);
    f->max[column] = fresh ? greatest : fmax(f->max[column], greatest);
    f->mean[column] = fresh ? sum : f->mean[column] + sum;
    f->count[column] += count;
}

struct block {
    double x[COLUMN_BLOCK], phase[COLUMN_BLOCK], segment[COLUMN_BLOCK];
    double value[REDUCE_FIELDS][COLUMN_BLOCK];
    struct run runs[COLUMN_BLOCK];
    unsigned short column[COLUMN_BLOCK], of_segment[COLUMN_BLOCK];
    size_t n_runs;
};

/* Cuts the n rows of a block into runs. */
static void find_runs(struct block *b, size_t n, const struct reduce_spec *spec, bool phases, bool segments)
{
    const double per_x = (double)spec->n_columns / (spec->hi - spec->lo);
    b->n_runs = 0;
    for (size_t i = 0; i < n;) {
        double at = floor((b->x[i] - spec->lo) * per_x);
        if (!(b->x[i] >= spec->lo && b->x[i] <= spec->hi) || (phases && b->phase[i] != spec->phase)) {
            i++;
            continue;
        }
        size_t column = at >= (double)spec->n_columns ? spec->n_columns - 1 : (size_t)at;
        double from = b->x[i], to = spec->lo + ((double)column + 1) / per_x,
               segment = segments ? b->segment[i] : 0;
        size_t end = i + 1;
        while (end < n && b->x[end] >= from && b->x[end] < to && (!phases || b->phase[end] == spec->phase) &&
               (!segments || b->segment[end] == segment))
            end++;
        b->runs[b->n_runs] = (struct run){i, end - i};
        b->column[b->n_runs] = (unsigned short)column;
        b->of_segment[b->n_runs++] = (unsigned short)(segment >= REDUCE_SEGMENTS ? REDUCE_SEGMENTS - 1
                                                      : segment > 0              ? segment
                                                                                 : 0);
        i = end;
    }
}

static void allocate(struct reduced *out, struct arena *arena)
{
    out->segments = arena_alloc(arena, out->n_segments * sizeof *out->segments);
    for (size_t s = 0; s < out->n_segments; s++) {
        for (size_t k = 0; k < out->n_fields; k++) {
            struct reduced_field *f = &out->segments[s].field[k];
            f->min = arena_alloc(arena, 4 * out->n_columns * sizeof(double));
            f->mean = f->min + out->n_columns;
            f->max = f->mean + out->n_columns;
            f->count = f->max + out->n_columns;
            for (size_t i = 0; i < 3 * out->n_columns; i++)
                f->min[i] = NAN;
        }
    }
}

static void finish(struct reduced *out)
{
    for (size_t s = 0; s < out->n_segments; s++)
        for (size_t k = 0; k < out->n_fields; k++)
            for (size_t i = 0; i < out->n_columns; i++)
                out->segments[s].field[k].mean[i] /= out->segments[s].field[k].count[i];
}

static size_t count_segments(const struct series *s)
{
    double last = s->segment && s->rows ? column_at(s->segment, s->rows - 1) : 0;
    return last >= REDUCE_SEGMENTS ? REDUCE_SEGMENTS : last > 0 ? (size_t)last + 1 : 1;
}

void reduce(struct reduced *out, struct arena *arena, const struct series *s, const struct reduce_spec *spec)
{
    *out = (struct reduced){spec->n_columns, spec->n_fields, count_segments(s), NULL};
    allocate(out, arena);
    struct block *b = arena_alloc(arena, sizeof *b);
    bool phases = spec->phase >= 0 && s->phase, segments = out->n_segments > 1;
    for (size_t first = 0; first < s->rows; first += COLUMN_BLOCK) {
        size_t n = s->rows - first < COLUMN_BLOCK ? s->rows - first : COLUMN_BLOCK;
        read_x(s, spec->x, first, n, b->x);
        if (phases)
            column_read(s->phase, first, n, b->phase);
        if (segments)
            column_read(s->segment, first, n, b->segment);
        for (size_t k = 0; k < spec->n_fields; k++)
            series_read(s, spec->fields[k], first, n, b->value[k]);
        find_runs(b, n, spec, phases, segments);
        for (size_t k = 0; k < spec->n_fields; k++)
            for (size_t r = 0; r < b->n_runs; r++)
                add_run(&out->segments[b->of_segment[r]].field[k], b->column[r], b->value[k], b->runs[r]);
    }
    finish(out);
}

void reduce_join(double *v, size_t n)
{
    size_t last = n; /* n: none seen yet */
    for (size_t i = 0; i < n; i++) {
        if (isnan(v[i]))
            continue;
        for (size_t k = last == n ? i : last + 1; k < i; k++)
            v[k] = v[last] + (v[i] - v[last]) * (double)(k - last) / (double)(i - last);
        last = i;
    }
}

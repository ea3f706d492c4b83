#include "draw/reduce.h"
#include <math.h>

enum {
    LONG_SERIES = 1 << 18 /* rows */
};

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

/* Steps never go back within a segment, which spares reading all of them in long series. Where
 * n rows from `first` on lie in one segment and start and end with known steps: true, and those. */
static bool block_ends(const struct series *s, enum x_kind kind, size_t first, size_t n, double *from,
                       double *to)
{
    if (s->rows < LONG_SERIES || kind != X_STEP)
        return false;
    *from = column_at(s->col[F_STEP], first);
    *to = column_at(s->col[F_STEP], first + n - 1);
    return *from <= *to &&
           (!s->segment || column_at(s->segment, first) == column_at(s->segment, first + n - 1));
}

bool reduce_x_range(const struct series *s, enum x_kind kind, double *lo, double *hi)
{
    double x[COLUMN_BLOCK], least = INFINITY, greatest = -INFINITY;
    for (size_t first = 0; first < s->rows; first += COLUMN_BLOCK) {
        size_t n = s->rows - first < COLUMN_BLOCK ? s->rows - first : COLUMN_BLOCK;
        if (block_ends(s, kind, first, n, &x[0], &x[1]))
            n = 2;
        else
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

/* Least, greatest, sum and number of known values. */
struct tally {
    double least, greatest, sum, count;
};

static inline struct tally tally_add(struct tally t, double v)
{
    /* Comparisons with NAN are false: a missing value changes nothing. */
    return (struct tally){v < t.least ? v : t.least, v > t.greatest ? v : t.greatest,
                          t.sum + (v == v ? v : 0), t.count + (v == v ? 1 : 0)};
}

static void add_run(struct reduced_field *f, size_t column, const double *v, struct run r)
{
    const struct tally none = {INFINITY, -INFINITY, 0, 0};
    /* Two that take turns: an addition need not wait for the one before. */
    struct tally a = none, b = none;
    const double *end = v + r.first + r.n;
    for (v += r.first; end - v >= 2; v += 2) {
        a = tally_add(a, v[0]);
        b = tally_add(b, v[1]);
    }
    if (v < end)
        a = tally_add(a, *v);
    if (a.count + b.count == 0)
        return;
    double least = fmin(a.least, b.least), greatest = fmax(a.greatest, b.greatest);
    bool fresh = f->count[column] == 0;
    f->min[column] = fresh ? least : fmin(f->min[column], least);
    f->max[column] = fresh ? greatest : fmax(f->max[column], greatest);
    f->mean[column] = a.sum + b.sum + (fresh ? 0 : f->mean[column]); /* the sum, until finish() */
    f->count[column] += a.count + b.count;
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

/* The first of the rows first .. first+n-1, whose steps do not go back, that has a step of x or more. */
static size_t first_row_from(const struct series *s, size_t first, size_t n, double x)
{
    size_t low = first, high = first + n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (column_at(s->col[F_STEP], middle) >= x)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* The same for a block whose steps do not go back, from -> to, without reading them all. */
static void find_long_runs(struct block *b, const struct series *s, size_t first, size_t n, double from,
                           double to, const struct reduce_spec *spec)
{
    const double per_x = (double)spec->n_columns / (spec->hi - spec->lo);
    size_t row = from >= spec->lo ? first : first_row_from(s, first, n, spec->lo), end = first + n;
    double segment = s->segment ? column_at(s->segment, first) : 0;
    if (to > spec->hi)
        end = first_row_from(s, first, n, nextafter(spec->hi, INFINITY));
    b->n_runs = 0;
    while (row < end) {
        double at = floor((column_at(s->col[F_STEP], row) - spec->lo) * per_x);
        size_t column = at >= (double)spec->n_columns ? spec->n_columns - 1 : (size_t)at;
        size_t next = first_row_from(s, row + 1, end - row - 1, spec->lo + ((double)column + 1) / per_x);
        b->runs[b->n_runs] = (struct run){row - first, next - row};
        b->column[b->n_runs] = (unsigned short)column;
        b->of_segment[b->n_runs++] = (unsigned short)(segment >= REDUCE_SEGMENTS ? REDUCE_SEGMENTS - 1
                                                      : segment > 0              ? segment
                                                                                 : 0);
        row = next;
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
        double from, to;
        if (!phases && block_ends(s, spec->x, first, n, &from, &to)) {
            find_long_runs(b, s, first, n, from, to, spec);
        } else {
            read_x(s, spec->x, first, n, b->x);
            if (phases)
                column_read(s->phase, first, n, b->phase);
            if (segments)
                column_read(s->segment, first, n, b->segment);
            find_runs(b, n, spec, phases, segments);
        }
        for (size_t k = 0; k < spec->n_fields; k++)
            series_read(s, spec->fields[k], first, n, b->value[k]);
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

#include "analyse/traits.h"

#include "analyse/copies.h"
#include "analyse/cross_shape.h"
#include "analyse/stats.h"
#include "base/buf.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MEDIAN_ROWS = 4096, /* looked at in a run */
    DISTINCT_ROWS = 1 << 20
};

static size_t block_at(const struct series *s, size_t row)
{
    return s->rows - row < COLUMN_BLOCK ? s->rows - row : COLUMN_BLOCK;
}

/* Median of a column over train rows; the first MEDIAN_ROWS of them. */
static double median_of(const struct series *s, enum field field)
{
    double kept[MEDIAN_ROWS], block[COLUMN_BLOCK], phase[COLUMN_BLOCK];
    size_t got = 0;
    if (!series_has(s, field))
        return NAN;
    for (size_t row = 0; row < s->rows && got < MEDIAN_ROWS; row += COLUMN_BLOCK) {
        size_t n = block_at(s, row);
        series_read(s, field, row, n, block);
        series_read(s, F_PHASE, row, n, phase);
        for (size_t i = 0; i < n && got < MEDIAN_ROWS; i++)
            if (isfinite(block[i]) && phase[i] == PHASE_TRAIN)
                kept[got++] = block[i];
    }
    return stats_median(kept, got);
}

/* Peak, else peak reserved, device used, allocated, reserved, whichever is logged first in that order. */
static double peak_of(const struct series *s)
{
    static const enum field order[] = {F_PEAK, F_PEAK_RESERVED, F_DEVICE_USED, F_ALLOCATED, F_RESERVED};
    double block[COLUMN_BLOCK], most = NAN;
    for (size_t k = 0; k < sizeof order / sizeof order[0] && isnan(most); k++) {
        if (!series_has(s, order[k]))
            continue;
        for (size_t row = 0; row < s->rows; row += COLUMN_BLOCK) {
            size_t n = block_at(s, row);
            series_read(s, order[k], row, n, block);
            most = fmax(most, stats_max(block, n, NULL));
        }
    }
    return most;
}

static const struct event *last_failure_event(const struct series *s)
{
    for (size_t i = s->n_events; i > 0; i--)
        if (s->events[i - 1].kind == EVENT_OOM || s->events[i - 1].kind == EVENT_KILL)
            return &s->events[i - 1];
    return NULL;
}

static double epoch_steps(const struct run_report *r)
{
    double logged = series_meta(r->series, F_STEPS_PER_EPOCH);
    for (size_t k = 1; k < r->n_epochs_at; k++)
        logged = fmax(logged, r->epochs_at[k].from - r->epochs_at[k - 1].from);
    return logged;
}

struct str *traits_ids(size_t *n, struct arena *a, struct str csv)
{
    size_t start = 0, most = 1;
    struct buf b = {0};
    for (size_t i = 0; i < csv.n; i++)
        most += csv.p[i] == ';';
    struct str *ids = arena_alloc(a, most * sizeof *ids);
    *n = 0;
    for (size_t i = 0; i <= csv.n; i++) {
        if (i < csv.n && csv.p[i] == '\\' && i + 1 < csv.n) {
            buf_putc(&b, csv.p[++i]);
        } else if (i < csv.n && csv.p[i] != ';') {
            buf_putc(&b, csv.p[i]);
        } else {
            if (i > start)
                ids[(*n)++] = arena_str(a, buf_view(&b));
            buf_clear(&b);
            start = i + 1;
        }
    }
    buf_release(&b);
    return ids;
}

/* --- the failing batch --- */

/* Whether row holds the failing step itself, logged before it died. */
static bool is_failing_row(const struct series *s, size_t row, size_t failed_row, double step)
{
    return row + 1 == failed_row && s->col[F_STEP] && column_at(s->col[F_STEP], row) == step;
}

static int by_text(const void *x, const void *y)
{
    return str_cmp(*(const struct str *)x, *(const struct str *)y);
}

/* Which of the failing batch's ids an earlier step lived through; only the rows with the largest figures and
 * the last ones are known by their ids. */
static void passed_ids(struct run_traits *t, const struct series *s, size_t failed_row, struct arena *a)
{
    size_t n, once = 0, m;
    struct str *ids = traits_ids(&n, a, t->failing_ids), *passed = arena_alloc(a, (n + 1) * sizeof *passed);
    bool *hit = mem_zero(n + 1, sizeof *hit);
    qsort(ids, n, sizeof *ids, by_text);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || !str_eq(ids[i], ids[once - 1]))
            ids[once++] = ids[i];
    for (size_t k = 0; k < s->n_kept && once > 0; k++) {
        size_t row = s->kept[k].row;
        if (row >= failed_row || is_failing_row(s, row, failed_row, t->failing_step))
            continue;
        struct arena seen_in = {0};
        struct str *seen = traits_ids(&m, &seen_in, s->kept[k].ids);
        for (size_t i = 0; i < m; i++) {
            struct str *at = bsearch(&seen[i], ids, once, sizeof *ids, by_text);
            if (at)
                hit[at - ids] = true;
        }
        arena_release(&seen_in);
    }
    for (size_t i = 0; i < once; i++)
        if (hit[i])
            passed[t->n_passed_ids++] = ids[i];
    t->passed_ids = passed;
    free(hit);
}

/* True when an earlier step lived through a batch of the same hash. */
static bool hash_passed(const struct run_traits *t, const struct series *s, size_t failed_row)
{
    double code = series_content_code(t->failing_hash), v[COLUMN_BLOCK];
    size_t rows = s->content ? s->rows < failed_row ? s->rows : failed_row : 0;
    if (rows > 0 && s->col[F_STEP] && column_at(s->col[F_STEP], rows - 1) == t->failing_step)
        rows--;
    for (size_t row = 0; row < rows; row += COLUMN_BLOCK) {
        size_t n = rows - row < COLUMN_BLOCK ? rows - row : COLUMN_BLOCK;
        column_read(s->content, row, n, v);
        for (size_t i = 0; i < n; i++)
            if (v[i] == code)
                return true;
    }
    return false;
}

static int by_value(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static double distinct_batches(const struct series *s)
{
    if (!s->content)
        return NAN;
    size_t rows = s->rows < DISTINCT_ROWS ? s->rows : DISTINCT_ROWS, distinct = 0, known = 0;
    double *v = mem_zero(rows + 1, sizeof *v);
    column_read(s->content, 0, rows, v);
    for (size_t k = 0; k < rows; k++)
        if (!isnan(v[k]))
            v[known++] = v[k];
    qsort(v, known, sizeof *v, by_value);
    for (size_t k = 0; k < known; k++)
        distinct += k == 0 || v[k] != v[k - 1];
    free(v);
    return (double)distinct;
}

static struct str kept(struct arena *a, struct str s)
{
    return s.n ? arena_str(a, s) : (struct str){NULL, 0};
}

/* Ids, hash and step from the failure, the event or the row logged at that step. */
static void failing_batch(struct run_report *r, struct arena *a)
{
    struct run_traits *t = &r->traits;
    const struct series *s = r->series;
    const struct event *e = last_failure_event(s);
    size_t row = e ? e->row : s->rows;
    t->failing_step = r->has_failure ? r->failure.step : NAN;
    if (r->has_failure) {
        t->failing_ids = str_of(r->failure.batch_ids);
        t->failing_hash = str_of(r->failure.batch_hash);
    }
    if (t->failing_ids.n == 0 && e)
        t->failing_ids = kept(a, record_text(&e->rec, F_BATCH_IDS));
    if (t->failing_hash.n == 0 && e)
        t->failing_hash = kept(a, record_text(&e->rec, F_BATCH_HASH));
    if (isnan(t->failing_step))
        t->failing_step = e && record_has(&e->rec, F_STEP) ? record_number(&e->rec, F_STEP) : r->last_step;
    if (t->failing_ids.n == 0 && t->failing_hash.n == 0 && e && e->row > 0 &&
        is_failing_row(s, e->row - 1, e->row, t->failing_step))
        t->failing_ids = kept(a, series_ids(s, e->row - 1));
    if (!e && !r->has_failure)
        return;
    passed_ids(t, s, row, a);
    if (t->failing_hash.n > 0) {
        t->hash_passed = hash_passed(t, s, row);
        t->distinct_batches = distinct_batches(s);
    }
}

/* --- the order of batches --- */

/* The same number for the same step in every run, its low bits as good as drawn at random. */
static uint64_t lot(double step)
{
    uint64_t bits = 0;
    memcpy(&bits, &step, sizeof bits);
    bits = (bits ^ bits >> 32) * 0x9E3779B97F4A7C15u;
    return bits ^ bits >> 29;
}

/* Drops the steps whose lot is not a multiple of mask + 1. */
static void thin_order(struct run_traits *t, uint64_t mask)
{
    size_t left = 0;
    for (size_t k = 0; k < t->n_order; k++)
        if ((lot(t->order_step[k]) & mask) == 0) {
            t->order_step[left] = t->order_step[k];
            t->order_code[left++] = t->order_code[k];
        }
    t->n_order = left;
}

/* Steps by lot, every second one as often as it takes to leave ORDER_SAMPLE: of two runs the coarser sample
 * is a part of the finer one. */
static void order_of(struct run_traits *t, const struct series *s, struct arena *a)
{
    double step[COLUMN_BLOCK], code[COLUMN_BLOCK];
    uint64_t mask = 0;
    if (!s->content || !s->col[F_STEP])
        return;
    t->order_step = arena_alloc(a, ORDER_SAMPLE * sizeof *t->order_step);
    t->order_code = arena_alloc(a, ORDER_SAMPLE * sizeof *t->order_code);
    for (size_t row = 0; row < s->rows; row += COLUMN_BLOCK) {
        size_t n = block_at(s, row);
        series_read(s, F_STEP, row, n, step);
        column_read(s->content, row, n, code);
        for (size_t i = 0; i < n; i++) {
            if (isnan(step[i]) || isnan(code[i]))
                continue;
            while (t->n_order == ORDER_SAMPLE && mask < UINT64_MAX) {
                mask = 2 * mask + 1;
                thin_order(t, mask);
            }
            if ((lot(step[i]) & mask) != 0 || t->n_order == ORDER_SAMPLE)
                continue;
            t->order_step[t->n_order] = step[i];
            t->order_code[t->n_order++] = code[i];
        }
    }
}

void traits_fill(struct run_report *r, struct arena *a)
{
    const struct series *s = r->series;
    struct run_traits *t = &r->traits;
    *t = (struct run_traits){.peak_bytes = NAN,
                             .end_time = NAN,
                             .epoch_steps = NAN,
                             .typical_batch = NAN,
                             .typical_len = NAN,
                             .typical_floor = NAN,
                             .typical_peak = NAN,
                             .failing_step = NAN,
                             .distinct_batches = NAN};
    if (!s)
        return;
    const struct event *e = last_failure_event(s);
    t->digest = copies_digest(s);
    t->peak_bytes = peak_of(s);
    t->end_time = e ? record_number(&e->rec, F_TIME) : NAN;
    t->epoch_steps = epoch_steps(r);
    t->typical_batch = median_of(s, F_BATCH_SIZE);
    t->typical_len = median_of(s, F_MAX_LEN);
    t->typical_floor = median_of(s, F_ALLOCATED);
    t->typical_peak = median_of(s, F_PEAK);
    failing_batch(r, a);
    shape_stand(r);
    order_of(t, s, a);
}

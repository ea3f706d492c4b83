#include "analyse/cross_content.h"
#include "analyse/cross_null.h"
#include "analyse/cross_shape.h"
#include "base/buf.h"
#include "base/mem.h"
#include <math.h>
#include <stdlib.h>

enum {
    ORDER_ROWS = 4096, /* rows looked at to compare orders */
    ORDER_LEAST = 5,   /* common steps needed */
    DISTINCT_ROWS = 1 << 20
};

static const struct event *last_failure_event(const struct series *s)
{
    for (size_t i = s ? s->n_events : 0; i > 0; i--)
        if (s->events[i - 1].kind == EVENT_OOM || s->events[i - 1].kind == EVENT_KILL)
            return &s->events[i - 1];
    return NULL;
}

struct failed_run failed_run_of(const struct run_report *r)
{
    struct failed_run f = {.r = r, .seed = r->seed, .step = r->has_failure ? r->failure.step : NAN};
    const struct series *s = r->series;
    const struct event *e = last_failure_event(s);
    f.row = e ? e->row : s ? s->rows : 0;
    if (r->has_failure) {
        f.ids = str_of(r->failure.batch_ids);
        f.hash = str_of(r->failure.batch_hash);
    }
    if (f.ids.n == 0 && e)
        f.ids = record_text(&e->rec, F_BATCH_IDS);
    if (f.hash.n == 0 && e)
        f.hash = record_text(&e->rec, F_BATCH_HASH);
    if (isnan(f.step))
        f.step = e && record_has(&e->rec, F_STEP) ? record_number(&e->rec, F_STEP) : r->last_step;
    /* the failing step may have been logged before it died */
    if (f.ids.n == 0 && f.hash.n == 0 && s && e && e->row > 0 && s->col[F_STEP] &&
        column_at(s->col[F_STEP], e->row - 1) == f.step)
        f.ids = series_ids(s, e->row - 1);
    return f;
}

/* --- ids --- */

struct id_of {
    struct str id; /* without escapes, in the arena */
    size_t run;
    bool passed; /* the run had lived through it before */
};

static int by_id(const void *x, const void *y)
{
    const struct id_of *a = x, *b = y;
    return str_cmp(a->id, b->id);
}

static int by_id_then_run(const void *x, const void *y)
{
    const struct id_of *a = x, *b = y;
    int c = str_cmp(a->id, b->id);
    return c ? c : (a->run > b->run) - (a->run < b->run);
}

/* Splits "a;b\;c" into ids; returns how many there are. out may be NULL. */
static size_t split_ids(struct id_of *out, struct arena *a, struct str csv, size_t run)
{
    size_t n = 0, start = 0;
    struct buf b = {0};
    for (size_t i = 0; i <= csv.n; i++) {
        if (i < csv.n && csv.p[i] == '\\' && i + 1 < csv.n) {
            buf_putc(&b, csv.p[++i]);
        } else if (i < csv.n && csv.p[i] != ';') {
            buf_putc(&b, csv.p[i]);
        } else if (i > start) {
            if (out)
                out[n] = (struct id_of){arena_str(a, buf_view(&b)), run, false};
            n++;
            buf_clear(&b);
            start = i + 1;
        } else {
            start = i + 1;
        }
    }
    buf_release(&b);
    return n;
}

/* Steps of one epoch: as logged, else from where epochs began, else all steps seen by any run. */
static double epoch_steps(const struct failed_run *runs, size_t n)
{
    double logged = NAN, seen = 1;
    for (size_t i = 0; i < n; i++) {
        const struct run_report *r = runs[i].r;
        if (r->series && !isnan(series_meta(r->series, F_STEPS_PER_EPOCH)))
            logged = fmax(logged, series_meta(r->series, F_STEPS_PER_EPOCH));
        for (size_t k = 1; k < r->n_epochs_at; k++)
            logged = fmax(logged, r->epochs_at[k].from - r->epochs_at[k - 1].from);
        double last = fmax(r->last_step, runs[i].step);
        if (!isnan(last))
            seen = fmax(seen, last - (isnan(r->first_step) ? 0 : r->first_step) + 1);
    }
    return isnan(logged) ? seen : logged;
}

static int by_natural_order(const void *x, const void *y)
{
    const char *const *a = x, *const *b = y;
    return str_cmp_natural(str_of(*a), str_of(*b));
}

/* How many distinct runs failed on the id at ids[i] without having passed it; *next is the first entry of
 * another id. */
static size_t runs_of_id(const struct id_of *ids, size_t n, size_t i, size_t *next)
{
    size_t runs = !ids[i].passed, k = i + 1;
    for (; k < n && str_eq(ids[k].id, ids[i].id); k++)
        runs += ids[k].run != ids[k - 1].run && !ids[k].passed;
    *next = k;
    return runs;
}

/* Marks those of the failing batch's ids, n of them in order, that an earlier step of the run lived through.
 * Only the rows with the largest figures and the last ones are known by their ids. */
static void mark_passed(struct id_of *ids, size_t n, struct arena *a, const struct failed_run *f)
{
    const struct series *s = f->r->series;
    for (size_t k = 0; s && k < s->n_kept; k++) {
        size_t row = s->kept[k].row, m = split_ids(NULL, a, s->kept[k].ids, 0);
        if (row >= f->row ||
            (row + 1 == f->row && s->col[F_STEP] && column_at(s->col[F_STEP], row) == f->step))
            continue;
        struct id_of *seen = mem_zero(m + 1, sizeof *seen);
        split_ids(seen, a, s->kept[k].ids, 0);
        for (size_t i = 0; i < m; i++) {
            struct id_of *hit = n ? bsearch(&seen[i], ids, n, sizeof *ids, by_id) : NULL;
            if (hit)
                hit->passed = true;
        }
        free(seen);
    }
}

/* All ids of the failing batches, each once for a run, by id, then run. */
static struct id_of *ids_of_failures(size_t *total, size_t *largest, struct arena *a,
                                     const struct failed_run *runs, size_t n)
{
    size_t most = 0, at = 0;
    *largest = 0;
    for (size_t i = 0; i < n; i++)
        most += split_ids(NULL, a, runs[i].ids, i);
    struct id_of *ids = mem_zero(most + 1, sizeof *ids);
    for (size_t i = 0; i < n; i++) {
        size_t k = split_ids(ids + at, a, runs[i].ids, i), once = 0;
        *largest = k > *largest ? k : *largest;
        qsort(ids + at, k, sizeof *ids, by_id);
        for (size_t j = 0; j < k; j++)
            if (j == 0 || !str_eq(ids[at + j].id, ids[at + once - 1].id))
                ids[at + once++] = ids[at + j];
        mark_passed(ids + at, once, a, &runs[i]);
        at += once;
    }
    qsort(ids, at, sizeof *ids, by_id_then_run);
    *total = at;
    return ids;
}

/* Chance that `set` ids are in `agree` of n failing batches; where the batches that share an id are also the
 * largest of their runs, the chance of that, if smaller, as both would have to happen. */
static double chance_of_ids(const struct content *c, const struct failed_run *runs, const bool *sharing,
                            size_t n, double set, double batch)
{
    double samples = fmax(epoch_steps(runs, n) * batch, batch);
    double p = null_shared_set(set, c->agree, (double)n, samples, batch);
    return fmin(p, shape_largest_chance(runs, sharing, n));
}

static void compare_ids(struct content *out, struct arena *a, const struct failed_run *runs, size_t n)
{
    size_t total, largest, agree = 1, set = 0, next;
    struct id_of *ids = ids_of_failures(&total, &largest, a, runs, n);
    bool *sharing = mem_zero(n + 1, sizeof *sharing);
    for (size_t i = 0; i < total; i = next) {
        size_t k = runs_of_id(ids, total, i, &next);
        set = k > agree ? 1 : set + (k == agree);
        agree = k > agree ? k : agree;
        for (size_t j = i + 1; j < next; j++)
            out->passed_before = out->passed_before || ids[j].passed || ids[i].passed;
    }
    out->shared = arena_alloc(a, SHARED_IDS_MAX * sizeof *out->shared);
    for (size_t i = 0; i < total && agree > 1; i = next) {
        if (runs_of_id(ids, total, i, &next) != agree)
            continue;
        if (out->n_shared < SHARED_IDS_MAX)
            out->shared[out->n_shared++] = ids[i].id.p;
        for (size_t j = i; j < next; j++)
            sharing[ids[j].run] = true;
    }
    qsort(out->shared, out->n_shared, sizeof *out->shared, by_natural_order);
    out->by = BY_BATCH_IDS;
    out->tested = true;
    out->agree = (double)agree;
    out->p = agree < 2 ? 1 : chance_of_ids(out, runs, sharing, n, (double)set, (double)largest);
    out->repeated = agree > n / 2 && agree > 1 && out->p < 0.05;
    free(sharing);
    free(ids);
}

/* --- hash --- */

static int by_value(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

/* Distinct batches that the run with the most of them logged. */
static double distinct_batches(const struct failed_run *runs, size_t n)
{
    double most = 1;
    for (size_t i = 0; i < n; i++) {
        const struct series *s = runs[i].r->series;
        if (!s || !s->content)
            continue;
        size_t rows = s->rows < DISTINCT_ROWS ? s->rows : DISTINCT_ROWS, distinct = 0;
        double *v = mem_zero(rows + 1, sizeof *v);
        column_read(s->content, 0, rows, v);
        size_t known = 0;
        for (size_t k = 0; k < rows; k++)
            if (!isnan(v[k]))
                v[known++] = v[k];
        qsort(v, known, sizeof *v, by_value);
        for (size_t k = 0; k < known; k++)
            distinct += k == 0 || v[k] != v[k - 1];
        free(v);
        most = fmax(most, (double)distinct);
    }
    return most;
}

/* True when an earlier step of the run lived through a batch of the same hash. */
static bool batch_passed(const struct failed_run *f)
{
    const struct series *s = f->r->series;
    double code = series_content_code(f->hash), v[COLUMN_BLOCK];
    size_t rows = s && s->content ? s->rows < f->row ? s->rows : f->row : 0;
    if (rows > 0 && s->col[F_STEP] && column_at(s->col[F_STEP], rows - 1) == f->step)
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

static void compare_hashes(struct content *out, struct arena *a, const struct failed_run *runs, size_t n)
{
    struct id_of *hash = mem_zero(n + 1, sizeof *hash);
    size_t agree = 1, next, at = 0;
    for (size_t i = 0; i < n; i++)
        hash[i] = (struct id_of){runs[i].hash, i, batch_passed(&runs[i])};
    qsort(hash, n, sizeof *hash, by_id_then_run);
    for (size_t i = 0; i < n; i = next) {
        size_t k = runs_of_id(hash, n, i, &next);
        for (size_t j = i + 1; j < next; j++)
            out->passed_before = out->passed_before || hash[j].passed || hash[i].passed;
        if (k > agree) {
            agree = k;
            at = i;
        }
    }
    out->by = BY_BATCH_HASH;
    out->tested = true;
    out->agree = (double)agree;
    out->p = null_same((double)agree, (double)n, distinct_batches(runs, n));
    out->repeated = agree > n / 2 && agree > 1 && out->p < 0.05;
    if (agree > 1) {
        out->shared = arena_alloc(a, sizeof *out->shared);
        out->shared[out->n_shared++] = arena_strndup(a, hash[at].id.p, hash[at].id.n);
    }
    free(hash);
}

void content_compare(struct content *out, struct arena *a, const struct failed_run *runs, size_t n,
                     bool step_repeats)
{
    struct failed_run *ids = mem_zero(n + 1, sizeof *ids), *hashed = mem_zero(n + 1, sizeof *hashed);
    size_t n_ids = 0, n_hashed = 0;
    *out = (struct content){.by = BY_SHAPE, .p = NAN, .rank = NAN};
    for (size_t i = 0; i < n; i++) {
        if (runs[i].ids.n > 0)
            ids[n_ids++] = runs[i];
        if (runs[i].hash.n > 0)
            hashed[n_hashed++] = runs[i];
    }
    out->of = (double)n;
    if (n_ids >= 2) {
        out->of = (double)n_ids;
        compare_ids(out, a, ids, n_ids);
    } else if (n_hashed >= 2) {
        out->of = (double)n_hashed;
        compare_hashes(out, a, hashed, n_hashed);
    } else {
        shape_compare(out, runs, n, step_repeats);
    }
    free(ids);
    free(hashed);
}

int same_order(const struct run_report *x, const struct run_report *y)
{
    const struct series *a = x->series, *b = y->series;
    if (!a || !b || !a->content || !b->content || !a->col[F_STEP] || !b->col[F_STEP])
        return -1;
    size_t na = a->rows < ORDER_ROWS ? a->rows : ORDER_ROWS, nb = b->rows < ORDER_ROWS ? b->rows : ORDER_ROWS;
    double *v = mem_zero(2 * (na + nb) + 1, sizeof *v), *ca = v + na, *sb = ca + na, *cb = sb + nb;
    series_read(a, F_STEP, 0, na, v);
    column_read(a->content, 0, na, ca);
    series_read(b, F_STEP, 0, nb, sb);
    column_read(b->content, 0, nb, cb);
    size_t compared = 0, alike = 0;
    for (size_t i = 0, k = 0; i < na; i++) {
        while (k < nb && !(sb[k] >= v[i]))
            k++;
        if (k < nb && sb[k] == v[i] && !isnan(ca[i]) && !isnan(cb[k])) {
            compared++;
            alike += ca[i] == cb[k];
        }
    }
    free(v);
    if (compared < ORDER_LEAST)
        return -1;
    return (double)alike >= 0.9 * (double)compared;
}

#include "analyse/cross_content.h"
#include "analyse/cross_null.h"
#include "analyse/cross_shape.h"
#include "analyse/traits.h"
#include "base/buf.h"
#include "base/mem.h"
#include <math.h>
#include <stdlib.h>

enum {
    ORDER_LEAST = 5, /* common steps needed */
    DISTINCT_ROWS = 1 << 20
};

struct failed_run failed_run_of(const struct run_report *r)
{
    return (struct failed_run){.r = r,
                               .seed = r->seed,
                               .step = r->traits.failing_step,
                               .ids = r->traits.failing_ids,
                               .hash = r->traits.failing_hash};
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

/* Steps of one epoch: as logged, else from where epochs began, else all steps seen by any run. */
static double epoch_steps(const struct failed_run *runs, size_t n)
{
    double logged = NAN, seen = 1;
    for (size_t i = 0; i < n; i++) {
        const struct run_report *r = runs[i].r;
        logged = fmax(logged, r->traits.epoch_steps);
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
static void mark_passed(struct id_of *ids, size_t n, const struct run_traits *t)
{
    for (size_t k = 0; k < t->n_passed_ids; k++) {
        struct id_of key = {t->passed_ids[k], 0, false};
        struct id_of *hit = n ? bsearch(&key, ids, n, sizeof *ids, by_id) : NULL;
        if (hit)
            hit->passed = true;
    }
}

/* All ids of the failing batches, each once for a run, by id, then run. */
static struct id_of *ids_of_failures(size_t *total, size_t *largest, struct arena *a,
                                     const struct failed_run *runs, size_t n)
{
    size_t most = 0, at = 0;
    *largest = 0;
    struct str **of = mem_zero(n + 1, sizeof *of);
    size_t *count = mem_zero(n + 1, sizeof *count);
    for (size_t i = 0; i < n; i++) {
        of[i] = traits_ids(&count[i], a, runs[i].ids);
        most += count[i];
        *largest = count[i] > *largest ? count[i] : *largest;
    }
    struct id_of *ids = mem_zero(most + 1, sizeof *ids);
    for (size_t i = 0; i < n; i++) {
        size_t once = 0;
        for (size_t j = 0; j < count[i]; j++)
            ids[at + j] = (struct id_of){of[i][j], i, false};
        qsort(ids + at, count[i], sizeof *ids, by_id);
        for (size_t j = 0; j < count[i]; j++)
            if (j == 0 || !str_eq(ids[at + j].id, ids[at + once - 1].id))
                ids[at + once++] = ids[at + j];
        mark_passed(ids + at, once, &runs[i].r->traits);
        at += once;
    }
    free(of);
    free(count);
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

/* Distinct batches that the run with the most of them logged. */
static double distinct_batches(const struct failed_run *runs, size_t n)
{
    double most = 1;
    for (size_t i = 0; i < n; i++)
        most = fmax(most, runs[i].r->traits.distinct_batches);
    return most;
}

static void compare_hashes(struct content *out, struct arena *a, const struct failed_run *runs, size_t n)
{
    struct id_of *hash = mem_zero(n + 1, sizeof *hash);
    size_t agree = 1, next, at = 0;
    for (size_t i = 0; i < n; i++)
        hash[i] = (struct id_of){runs[i].hash, i, runs[i].r->traits.hash_passed};
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
    const struct run_traits *a = &x->traits, *b = &y->traits;
    size_t compared = 0, alike = 0;
    for (size_t i = 0, k = 0; i < a->n_order; i++) {
        while (k < b->n_order && !(b->order_step[k] >= a->order_step[i]))
            k++;
        if (k < b->n_order && b->order_step[k] == a->order_step[i]) {
            compared++;
            alike += a->order_code[i] == b->order_code[k];
        }
    }
    if (compared < ORDER_LEAST)
        return -1;
    return (double)alike >= 0.9 * (double)compared;
}

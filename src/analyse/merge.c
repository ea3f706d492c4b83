#include "analyse/merge.h"

#include "analyse/tables.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

size_t merge_room(const struct past_report *const *past, size_t n)
{
    size_t room = 0;
    for (size_t i = 0; i < n; i++)
        room += past[i]->n_runs;
    return room;
}

static int by_run_and_rank(const void *px, const void *py)
{
    const struct run_report *x = px, *y = py;
    int order = str_cmp_natural(str_of(x->run), str_of(y->run));
    if (order)
        return order;
    double rx = isnan(x->rank) ? -1 : x->rank, ry = isnan(y->rank) ? -1 : y->rank;
    if (rx != ry)
        return rx < ry ? -1 : 1;
    double sx = isnan(x->seed) ? -1 : x->seed, sy = isnan(y->seed) ? -1 : y->seed;
    if (sx != sy)
        return sx < sy ? -1 : 1;
    order = strcmp(x->source, y->source);
    return order ? order : (x->traits.digest > y->traits.digest) - (x->traits.digest < y->traits.digest);
}

/* --- each log once ---------------------------------------------------------------------- */

struct digested {
    uint64_t digest;
    size_t at;
};

static int by_digest(const void *px, const void *py)
{
    const struct digested *x = px, *y = py;
    if (x->digest != y->digest)
        return x->digest < y->digest ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

/* Leaves out runs that an earlier one is a copy of. */
static void drop_copies(struct analysis *a)
{
    struct digested *d = mem_zero(a->n_runs + 1, sizeof *d);
    bool *copy = mem_zero(a->n_runs + 1, sizeof *copy);
    size_t kept = 0;
    for (size_t i = 0; i < a->n_runs; i++)
        d[i] = (struct digested){a->runs[i].traits.digest, i};
    if (a->n_runs > 0)
        qsort(d, a->n_runs, sizeof *d, by_digest);
    for (size_t i = 1, first = 0; i < a->n_runs; i++) {
        if (d[i].digest != d[first].digest) {
            first = i;
        } else if (d[i].digest != 0) {
            copy[d[i].at] = true;
            quality_copy(a, a->runs[d[i].at].series, a->runs[d[first].at].series);
        }
    }
    for (size_t i = 0; i < a->n_runs; i++)
        if (!copy[i])
            a->runs[kept++] = a->runs[i];
    a->n_runs = kept;
    free(d);
    free(copy);
}

/* --- names -------------------------------------------------------------------------------- */

static bool clash(const struct run_report *x, const struct run_report *y)
{
    return strcmp(x->run, y->run) == 0 && (x->rank == y->rank || (isnan(x->rank) && isnan(y->rank)));
}

static bool differs(const char *x, const char *y)
{
    return strcmp(x ? x : "", y ? y : "") != 0;
}

/* What joining of logs calls a run that others of its name and rank stand beside: with its seed, its device
 * or its file behind it, else a number. */
static const char *name_apart(struct arena *a, const struct run_report *group, size_t n, size_t i, int round)
{
    const struct run_report *r = &group[i];
    bool seeds = false, devices = false, files = false, any = false;
    size_t number = 1;
    for (size_t k = 0; k < n; k++) {
        const struct run_report *other = &group[k];
        if (k == i || !clash(r, other))
            continue;
        any = true;
        seeds |= !isnan(r->seed) && r->seed != other->seed;
        devices |= r->device && differs(r->device, other->device);
        files |= differs(r->source, other->source);
        number += k < i;
    }
    if (!any)
        return r->run;
    if (seeds && round == 0)
        return arena_printf(a, "%s seed %.0f", r->run, r->seed);
    if (devices && round == 0)
        return arena_printf(a, "%s (%s)", r->run, r->device);
    if (files && round <= 1)
        return arena_printf(a, "%s (%s)", r->run, r->source);
    return arena_printf(a, "%s #%zu", r->run, number);
}

/* "x seed 3" is what run x was called beside others of its name. */
static void strip_seeds(struct analysis *a)
{
    for (size_t i = 0; i < a->n_runs; i++) {
        struct run_report *r = &a->runs[i];
        const char *behind = arena_printf(&a->arena, " seed %.0f", r->seed);
        size_t n = strlen(r->run), m = strlen(behind);
        if (!isnan(r->seed) && n > m && strcmp(r->run + n - m, behind) == 0)
            r->run = arena_strndup(&a->arena, r->run, n - m);
    }
}

/* Runs that even their files do not tell apart are of several reports: those have names. */
static void name_sources(struct analysis *a)
{
    if (a->n_runs > 0)
        qsort(a->runs, a->n_runs, sizeof *a->runs, by_run_and_rank);
    for (size_t i = 0, next; i < a->n_runs; i = next) {
        struct run_report *r = &a->runs[i];
        for (next = i + 1;
             next < a->n_runs && clash(r, &a->runs[next]) && !differs(r->source, a->runs[next].source);)
            next++;
        for (size_t k = i; next - i > 1 && k < next; k++)
            if (a->runs[k].traits.report)
                a->runs[k].source =
                    arena_printf(&a->arena, "%s: %s", a->runs[k].traits.report, a->runs[k].source);
    }
}

enum {
    GROUP_MAX = 4096 /* runs of one name that are told apart */
};

static void tell_apart(struct analysis *a)
{
    const char **names = mem_zero(a->n_runs + 1, sizeof *names);
    for (int round = 0; round < 3; round++) {
        if (a->n_runs > 0)
            qsort(a->runs, a->n_runs, sizeof *a->runs, by_run_and_rank);
        for (size_t i = 0, size; i < a->n_runs; i += size) {
            for (size = 1;
                 i + size < a->n_runs && size < GROUP_MAX && clash(&a->runs[i], &a->runs[i + size]);)
                size++;
            for (size_t k = 0; k < size; k++)
                names[i + k] = name_apart(&a->arena, &a->runs[i], size, k, round);
        }
        for (size_t i = 0; i < a->n_runs; i++)
            a->runs[i].run = names[i];
    }
    if (a->n_runs > 0)
        qsort(a->runs, a->n_runs, sizeof *a->runs, by_run_and_rank);
    free(names);
}

void merge_runs(struct analysis *a, const struct past_report *const *past, size_t n)
{
    if (n == 0)
        return;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < past[i]->n_runs; k++)
            a->runs[a->n_runs++] = past[i]->runs[k];
        for (size_t k = 0; k < past[i]->n_quality; k++)
            quality_add(a, past[i]->quality[k].code, past[i]->quality[k].text);
    }
    drop_copies(a);
    strip_seeds(a);
    name_sources(a);
    tell_apart(a);
}

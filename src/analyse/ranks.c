#include "analyse/ranks.h"
#include "analyse/stats.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/num.h"
#include <math.h>
#include <stdlib.h>

enum {
    STOPPED_WITHIN = 2 /* steps */
};

static bool has_failed(const struct run_report *r)
{
    return r->outcome == OUTCOME_OOM || r->outcome == OUTCOME_KILLED;
}

bool ranks_of_one_job(const struct run_report *a, const struct run_report *b)
{
    return a->run && b->run && strcmp(a->run, b->run) == 0 && !isnan(a->rank) && !isnan(b->rank);
}

/* True when x failed before y; by_time: both have times to compare. */
static bool before(const struct run_report *x, const struct run_report *y, bool by_time)
{
    if (x->outcome != y->outcome)
        return x->outcome == OUTCOME_OOM;
    double a = by_time ? x->traits.end_time : x->failure.step,
           b = by_time ? y->traits.end_time : y->failure.step;
    if (isnan(a) || isnan(b))
        return !isnan(a) && isnan(b);
    return a < b;
}

static long first_to_fail(const struct analysis *a, const struct job *j)
{
    bool by_time = true;
    for (size_t i = j->first; i < j->first + j->n; i++)
        if (has_failed(&a->runs[i]) && isnan(a->runs[i].traits.end_time))
            by_time = false;
    long first = JOB_NONE;
    for (size_t i = j->first; i < j->first + j->n; i++)
        if (has_failed(&a->runs[i]) && (first == JOB_NONE || before(&a->runs[i], &a->runs[first], by_time)))
            first = (long)i;
    return first;
}

size_t jobs_find(struct job **out, struct arena *arena, const struct analysis *a)
{
    struct job *jobs = arena_alloc(arena, (a->n_runs ? a->n_runs : 1) * sizeof *jobs);
    size_t n = 0;
    for (size_t i = 0; i < a->n_runs; i++) {
        if (a->runs[i].beside)
            continue;
        if (n == 0 || !ranks_of_one_job(&a->runs[jobs[n - 1].first], &a->runs[i]))
            jobs[n++] = (struct job){i, 0, JOB_NONE};
        jobs[n - 1].n++;
    }
    for (size_t k = 0; k < n; k++)
        jobs[k].failed = first_to_fail(a, &jobs[k]);
    *out = jobs;
    return n;
}

void ranks_fill(struct analysis *a)
{
    struct job *jobs;
    size_t n_jobs = jobs_find(&jobs, &a->arena, a);
    bool any = false;
    for (size_t k = 0; k < n_jobs; k++)
        any = any || jobs[k].n > 1;
    a->ranks = NULL;
    a->n_ranks = 0;
    if (!any)
        return;
    a->ranks = arena_alloc(&a->arena, a->n_runs * sizeof *a->ranks);
    a->n_ranks = a->n_runs;
    for (size_t i = 0; i < a->n_runs; i++) {
        const struct run_report *r = &a->runs[i];
        double peak = r->traits.peak_bytes;
        a->ranks[i] =
            (struct rank_row){.run = r->run,
                              .rank = r->rank,
                              .outcome = r->outcome,
                              .last_step = r->last_step,
                              .peak_bytes = peak,
                              .headroom_bytes = r->capacity_bytes - peak,
                              .slope_bytes_per_step = r->has_leak ? r->leak.slope_bytes_per_step : NAN};
    }
}

static double peak_of(const struct analysis *a, size_t i)
{
    return a->ranks && i < a->n_ranks ? a->ranks[i].peak_bytes : a->runs[i].traits.peak_bytes;
}

long rank_out_of_line(double *by, const struct analysis *a, const struct job *j)
{
    double *peak = mem_zero(j->n, sizeof *peak), *sorted = mem_zero(j->n, sizeof *sorted);
    size_t n = 0;
    long worst = JOB_NONE;
    *by = NAN;
    for (size_t i = 0; i < j->n; i++) {
        peak[i] = peak_of(a, j->first + i);
        if (!isnan(peak[i]))
            sorted[n++] = peak[i];
    }
    double median = stats_median(sorted, n), spread = stats_mad_sd(sorted, n);
    if (n == 2)
        median = stats_min(sorted, n, NULL);
    double limit = n == 2 ? 0.10 * median : fmax(5 * spread, 0.05 * median);
    for (size_t i = 0; n > 1 && i < j->n; i++) {
        double d = peak[i] - median;
        if (fabs(d) > limit && (isnan(*by) || fabs(d) > fabs(*by))) {
            *by = d;
            worst = (long)(j->first + i);
        }
    }
    free(peak);
    free(sorted);
    return worst;
}

/* Ranks of the job without a failure of their own that logged up to the failing step and no further. */
static size_t stopped_with(const struct analysis *a, const struct job *j)
{
    const struct run_report *f = &a->runs[j->failed];
    double step = isnan(f->failure.step) ? f->last_step : f->failure.step;
    size_t n = 0;
    for (size_t i = j->first; i < j->first + j->n; i++)
        n += !has_failed(&a->runs[i]) && a->runs[i].outcome != OUTCOME_COMPLETED &&
             fabs(a->runs[i].last_step - step) <= STOPPED_WITHIN;
    return n;
}

static void put_failures(struct buf *b, const struct analysis *a, const struct job *j)
{
    const struct run_report *f = &a->runs[j->failed];
    size_t also = 0;
    for (size_t i = j->first; i < j->first + j->n; i++)
        also += has_failed(&a->runs[i]) && (long)i != j->failed;
    buf_printf(b, "rank %.0f failed first", f->rank);
    if (!isnan(f->failure.step))
        buf_printf(b, ", at step %.0f", f->failure.step);
    if (also > 0)
        buf_printf(b, "; %zu other rank%s failed after it", also, also == 1 ? "" : "s");
    size_t stopped = stopped_with(a, j);
    if (stopped > 0)
        buf_printf(b, "; %zu other rank%s stopped with it", stopped, stopped == 1 ? "" : "s");
}

const char *ranks_text(struct analysis *a, const struct job *j)
{
    if (j->n < 2)
        return NULL;
    struct buf b = {0};
    if (j->failed != JOB_NONE)
        put_failures(&b, a, j);
    double by;
    long out = rank_out_of_line(&by, a, j);
    if (out != JOB_NONE) {
        buf_printf(&b, "%srank %.0f peaks ", b.n ? "; " : "", a->runs[out].rank);
        num_put_bytes(&b, fabs(by));
        if (j->n == 2)
            buf_printf(&b, " above the other rank");
        else
            buf_printf(&b, " %s the median of %zu ranks", by > 0 ? "above" : "below", j->n);
    }
    const char *text = b.n ? arena_strndup(&a->arena, b.p, b.n) : NULL;
    buf_release(&b);
    return text;
}

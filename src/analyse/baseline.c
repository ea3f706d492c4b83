/* baseline: this analysis beside an earlier report, with a band within which a difference is noise. */
#include "analyse/gates.h"

#include "analyse/ranks.h"
#include "analyse/say.h"
#include "analyse/stats.h"
#include "base/mem.h"
#include "base/utf8.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    METRICS_MAX = 5
};

static const double BAND_BYTES = 0x1p28; /* 256 MiB */
static const double BAND_SHARE = 0.02;

/* One figure of each job, and what a second such call may differ by. */
struct sample {
    double median, mad; /* mad: 0 below three jobs */
    double unsure;      /* largest of its figures' own uncertainty */
};

static struct sample sample_of(const struct job_figures *jobs, size_t n, size_t offset)
{
    double *v = mem_zero(n + 1, sizeof *v);
    size_t known = 0;
    struct sample s = {NAN, 0, 0};
    for (size_t i = 0; i < n; i++) {
        double x;
        memcpy(&x, (const char *)&jobs[i] + offset, sizeof x);
        if (isfinite(x))
            v[known++] = x;
        s.unsure = fmax(s.unsure, jobs[i].unsure);
    }
    if (known > 0)
        s.median = stats_median(v, known);
    if (known >= 3) {
        for (size_t i = 0; i < known; i++)
            v[i] = fabs(v[i] - s.median);
        s.mad = stats_median(v, known);
    }
    free(v);
    return s;
}

static void add(struct baseline *b, const char *id, const char *unit, double before, double now, double band,
                bool more_is_worse)
{
    struct baseline_metric *m = &b->metrics[b->n_metrics++];
    double worse = more_is_worse ? now - before : before - now;
    *m = (struct baseline_metric){id, unit, before, now, band, BASELINE_SAME};
    if (worse > band)
        m->says = BASELINE_WORSE;
    else if (-worse > band)
        m->says = BASELINE_BETTER;
}

static double band_of(struct sample before, struct sample now, double least)
{
    return fmax(fmax(least, BAND_SHARE * fabs(before.median)), 3 * fmax(before.mad, now.mad));
}

static double share_failed(const struct job_figures *jobs, size_t n)
{
    size_t failed = 0;
    for (size_t i = 0; i < n; i++)
        failed += jobs[i].failed;
    return n ? (double)failed / (double)n : NAN;
}

/* --- may they be compared ------------------------------------------------------------- */

/* Median of a figure of the runs; NAN unknown. */
static double median_of(const struct run_report *runs, size_t n, double (*figure)(const struct run_report *))
{
    double *v = mem_zero(n + 1, sizeof *v), result = NAN;
    size_t known = 0;
    for (size_t i = 0; i < n; i++)
        if (isfinite(figure(&runs[i])))
            v[known++] = figure(&runs[i]);
    if (known > 0)
        result = stats_median(v, known);
    free(v);
    return result;
}

static double capacity_of(const struct run_report *r)
{
    return r->capacity_bytes;
}

static double batch_of(const struct run_report *r)
{
    return r->traits.typical_batch;
}

static const char *device_of(const struct run_report *runs, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (runs[i].device && *runs[i].device)
            return runs[i].device;
    return NULL;
}

/* The same device, one of them perhaps read from a report, where bytes that are no UTF-8 are U+FFFD. */
static bool same_name(const char *x, const char *y)
{
    struct str a = str_of(x), b = str_of(y);
    while (a.n > 0 && b.n > 0) {
        uint32_t ca = 0xFFFD, cb = 0xFFFD;
        size_t na = utf8_next(&ca, a), nb = utf8_next(&cb, b);
        if ((na ? ca : 0xFFFD) != (nb ? cb : 0xFFFD))
            return false;
        a = (struct str){a.p + (na ? na : 1), a.n - (na ? na : 1)};
        b = (struct str){b.p + (nb ? nb : 1), b.n - (nb ? nb : 1)};
    }
    return a.n == 0 && b.n == 0;
}

/* Whether some run of either has a device that the other knows too, or one of them knows none. */
static bool same_device(const struct analysis *a, const struct past_report *p)
{
    if (!device_of(a->runs, a->n_runs) || !device_of(p->runs, p->n_runs))
        return true;
    for (size_t i = 0; i < a->n_runs; i++)
        for (size_t k = 0; k < p->n_runs && a->runs[i].device; k++)
            if (p->runs[k].device && same_name(a->runs[i].device, p->runs[k].device))
                return true;
    return false;
}

/* Ranks of the largest job. */
static size_t world_size(const struct run_report *runs, size_t n, const struct rank_row *ranks,
                         size_t n_ranks)
{
    size_t most = n > 0, now = 0;
    for (size_t i = 0; i < n; i++) {
        now = i > 0 && ranks_of_one_job(&runs[i - 1], &runs[i]) ? now + 1 : 1;
        most = now > most ? now : most;
    }
    now = 0;
    for (size_t i = 0; i < n_ranks; i++) {
        now = i > 0 && strcmp(ranks[i].run, ranks[i - 1].run) == 0 ? now + 1 : 1;
        most = now > most ? now : most;
    }
    return most;
}

static bool differ(double x, double y, double by)
{
    return fabs(x - y) > by * fmax(fabs(x), fabs(y)); /* false for an unknown one */
}

static const char *why_not(struct analysis *a, const struct past_report *p)
{
    struct arena *m = &a->arena;
    double c1 = median_of(p->runs, p->n_runs, capacity_of), c2 = median_of(a->runs, a->n_runs, capacity_of);
    double b1 = median_of(p->runs, p->n_runs, batch_of), b2 = median_of(a->runs, a->n_runs, batch_of);
    size_t w1 = world_size(p->runs, p->n_runs, p->ranks, p->n_ranks),
           w2 = world_size(a->runs, a->n_runs, a->ranks, a->n_ranks);
    if (p->n_runs == 0)
        return "the baseline holds no run";
    if (!same_device(a, p))
        return arena_printf(m, "the device was %s, now %s", device_of(p->runs, p->n_runs),
                            device_of(a->runs, a->n_runs));
    if (differ(c1, c2, 0.01))
        return arena_printf(m, "the capacity was %s, now %s", say_bytes(m, c1), say_bytes(m, c2));
    if (differ(b1, b2, 1e-9))
        return arena_printf(m, "the batch size was %s, now %s", say_count(m, b1), say_count(m, b2));
    if (w1 != w2)
        return arena_printf(m, "the job had %zu rank%s, now %zu", w1, w1 == 1 ? "" : "s", w2);
    return NULL;
}

/* --- the whole -------------------------------------------------------------------------- */

static double same_batch_ratio(const struct analysis *a)
{
    const struct cross_run *x = &a->cross;
    if (!a->has_cross || x->says == CROSS_NOT_TESTABLE)
        return NAN;
    return x->batch_reproducible ? 1 : 0;
}

void baseline_compare(struct analysis *a, const struct past_report *past, const char *name)
{
    size_t n, m;
    struct baseline *b = &a->baseline;
    const struct job_figures *now = gate_jobs(&n, &a->arena, a->runs, a->n_runs),
                             *before = gate_jobs(&m, &a->arena, past->runs, past->n_runs);
    *b = (struct baseline){.name = name, .why_not = why_not(a, past)};
    b->comparable = b->why_not == NULL;
    b->metrics = arena_alloc(&a->arena, METRICS_MAX * sizeof *b->metrics);
    a->has_baseline = true;
    struct sample p1 = sample_of(before, m, offsetof(struct job_figures, peak)),
                  p2 = sample_of(now, n, offsetof(struct job_figures, peak)),
                  h1 = sample_of(before, m, offsetof(struct job_figures, headroom)),
                  h2 = sample_of(now, n, offsetof(struct job_figures, headroom)),
                  g1 = sample_of(before, m, offsetof(struct job_figures, growth)),
                  g2 = sample_of(now, n, offsetof(struct job_figures, growth));
    add(b, "peak_bytes", "bytes", p1.median, p2.median, band_of(p1, p2, BAND_BYTES), true);
    add(b, "headroom_bytes", "bytes", h1.median, h2.median,
        fmax(band_of(h1, h2, BAND_BYTES), BAND_SHARE * fabs(p1.median)), false);
    add(b, "growth_bytes_per_step", "bytes/step", g1.median, g2.median,
        band_of(g1, g2, fmax(g1.unsure, g2.unsure)), true);
    add(b, "failed_runs_ratio", "ratio", share_failed(before, m), share_failed(now, n),
        m && n ? 0.5 / (double)(m > n ? m : n) : 0, true);
    add(b, "same_batch_ratio", "ratio", past->same_batch_ratio, same_batch_ratio(a), INFINITY, true);
    for (size_t i = 0; !b->comparable && i < b->n_metrics; i++)
        b->metrics[i].says = BASELINE_SAME; /* shown, never judged */
}

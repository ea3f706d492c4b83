#include "analyse/gates.h"

#include "analyse/ranks.h"
#include "analyse/say.h"

#include <math.h>
#include <string.h>

enum {
    GATES_MAX = 64
};

static void add(struct analysis *a, struct gate g)
{
    if (!a->gates)
        a->gates = arena_alloc(&a->arena, GATES_MAX * sizeof *a->gates);
    if (a->n_gates < GATES_MAX)
        a->gates[a->n_gates++] = g;
}

static bool is_failed(const struct run_report *r)
{
    return r->outcome == OUTCOME_OOM || r->outcome == OUTCOME_KILLED;
}

/* --- what a verdict says ------------------------------------------------------------ */

static bool fits(const struct verdict *v, const struct fail_on *f, enum certainty least)
{
    bool sure = v->certainty <= least;
    switch (f->kind) {
    case FAIL_ON_OOM:
        return v->status == STATUS_FAILED;
    case FAIL_ON_AT_RISK:
        return v->status == STATUS_FAILED || (v->status == STATUS_AT_RISK && sure);
    case FAIL_ON_CAUSE:
        return sure && v->cause == f->cause && (f->subtype == SUB_NONE || v->subtype == f->subtype) &&
               (v->status == STATUS_FAILED || v->status == STATUS_AT_RISK);
    case FAIL_ON_UNKNOWN:
        return v->cause == CAUSE_UNKNOWN;
    default:
        return false;
    }
}

static const char *what_failed(struct arena *a, const struct fail_on *f, enum certainty least)
{
    switch (f->kind) {
    case FAIL_ON_OOM:
        return " ran out of memory";
    case FAIL_ON_AT_RISK:
        return " ran out of memory or may";
    case FAIL_ON_CAUSE:
        return arena_printf(a, ": %s, %s%s", f->text, certainty_name(least),
                            least == CERTAINTY_CONFIRMED ? "" : " at least");
    default:
        return " of unknown cause";
    }
}

/* Jobs of which a rank fits. The verdict over all runs is surer than those of single runs: it counts for its
 * lead. */
static void check_verdicts(struct analysis *a, const struct fail_on *f, enum certainty least)
{
    struct job *jobs;
    size_t n = jobs_find(&jobs, &a->arena, a), failing = 0;
    for (size_t k = 0; k < n; k++) {
        bool any = false;
        for (size_t i = jobs[k].first; i < jobs[k].first + jobs[k].n; i++)
            any = any || fits(&a->runs[i].verdict, f, least) ||
                  (f->kind == FAIL_ON_OOM && is_failed(&a->runs[i])) ||
                  (i == a->lead && fits(&a->verdict, f, least));
        failing += any;
    }
    add(a, (struct gate){arena_printf(&a->arena, "fail-on=%s", f->text), (double)failing, 0, "runs",
                         failing ? GATE_FAIL : GATE_PASS,
                         arena_printf(&a->arena, "%zu of %zu run%s%s", failing, n, n == 1 ? "" : "s",
                                      what_failed(&a->arena, f, least))});
}

/* Whether the peaks were compared: two reports without figures differ in nothing. */
static bool peaks_compared(const struct baseline *b)
{
    for (size_t i = 0; i < b->n_metrics; i++)
        if (strcmp(b->metrics[i].id, "peak_bytes") == 0)
            return isfinite(b->metrics[i].before) && isfinite(b->metrics[i].now);
    return false;
}

static void check_regression(struct analysis *a, const struct fail_on *f)
{
    const struct baseline *b = &a->baseline;
    const char *id = arena_printf(&a->arena, "fail-on=%s", f->text), *which = NULL;
    size_t worse = 0;
    for (size_t i = 0; i < b->n_metrics; i++) {
        if (b->metrics[i].says != BASELINE_WORSE)
            continue;
        worse++;
        which = which ? arena_printf(&a->arena, "%s, %s", which, b->metrics[i].id) : b->metrics[i].id;
    }
    if (!b->comparable)
        add(a, (struct gate){id, NAN, 0, "metrics", GATE_NOT_TESTABLE,
                             arena_printf(&a->arena, "not comparable with the baseline: %s", b->why_not)});
    else if (worse == 0 && !peaks_compared(b))
        add(a, (struct gate){id, NAN, 0, "metrics", GATE_NOT_TESTABLE,
                             "this report or the baseline has no memory figure"});
    else
        add(a, (struct gate){id, (double)worse, 0, "metrics", worse ? GATE_FAIL : GATE_PASS,
                             worse ? arena_printf(&a->arena, "worse than the baseline: %s", which)
                                   : "nothing is worse than in the baseline"});
}

/* --- figures ------------------------------------------------------------------------ */

static const char *in_unit(struct arena *a, double v, const char *unit)
{
    if (strcmp(unit, "percent") == 0)
        return arena_printf(a, "%.1f %% of capacity", v);
    return arena_printf(a, "%s%s", say_bytes(a, v), strcmp(unit, "bytes/step") == 0 ? "/step" : "");
}

static void add_figure(struct analysis *a, const char *id, const char *what, double measured, double limit,
                       const char *unit, bool failed, const char *missing)
{
    struct gate g = {id, measured, limit, unit, failed ? GATE_FAIL : GATE_PASS, NULL};
    if (isnan(measured)) {
        g.result = GATE_NOT_TESTABLE;
        g.text = missing;
    } else {
        g.text = arena_printf(&a->arena, "%s %s, limit %s", what, in_unit(&a->arena, measured, unit),
                              in_unit(&a->arena, limit, unit));
    }
    add(a, g);
}

/* The figure of the run that is worst against the limit. */
static void check_size(struct analysis *a, const char *id, const struct size_limit *limit, bool headroom)
{
    double worst = NAN;
    bool share = isnan(limit->bytes);
    for (size_t i = 0; i < a->n_runs; i++) {
        const struct run_report *r = &a->runs[i];
        double v = headroom ? r->capacity_bytes - r->traits.peak_bytes : r->traits.peak_bytes;
        if (share)
            v = 100 * v / r->capacity_bytes;
        worst = headroom ? fmin(worst, v) : fmax(worst, v);
    }
    double bound = share ? 100 * limit->share : limit->bytes;
    add_figure(a, id, headroom ? "headroom is" : "peak is", worst, bound, share ? "percent" : "bytes",
               headroom ? worst < bound : worst > bound,
               share || headroom ? "no log has both a memory figure and the device's capacity (--capacity "
                                   "gives it)"
                                 : "no log has a memory figure of the device");
}

struct job_figures *gate_jobs(size_t *n, struct arena *arena, const struct run_report *runs, size_t n_runs)
{
    struct job_figures *jobs = arena_alloc(arena, (n_runs + 1) * sizeof *jobs);
    *n = 0;
    for (size_t i = 0; i < n_runs; i++) {
        const struct run_report *r = &runs[i];
        if (i == 0 || !ranks_of_one_job(&runs[i - 1], r))
            jobs[(*n)++] = (struct job_figures){NAN, NAN, NAN, NAN, false};
        struct job_figures *j = &jobs[*n - 1];
        j->peak = fmax(j->peak, r->traits.peak_bytes);
        j->headroom = fmin(j->headroom, r->capacity_bytes - r->traits.peak_bytes);
        j->failed = j->failed || is_failed(r);
        if (!r->has_leak || isnan(r->leak.slope_bytes_per_step))
            continue;
        bool told = r->leak.slope_low > 0;
        double growth = told ? r->leak.slope_bytes_per_step : 0;
        double unsure =
            told ? (r->leak.slope_high - r->leak.slope_low) / 2 : r->leak.minimum_detectable_bytes_per_step;
        if (!(growth < j->growth)) {
            j->growth = growth;
            j->unsure = unsure;
        }
    }
    return jobs;
}

static void check_growth(struct analysis *a, double limit)
{
    size_t n;
    double worst = NAN;
    struct job_figures *jobs = gate_jobs(&n, &a->arena, a->runs, a->n_runs);
    for (size_t k = 0; k < n; k++)
        worst = fmax(worst, jobs[k].growth);
    add_figure(a, "max-growth", "growth is", worst, limit, "bytes/step", worst > limit,
               "no log has rows enough of memory after a step to tell growth from noise");
}

static void check_max_regression(struct analysis *a, double limit)
{
    const struct baseline *b = &a->baseline;
    const struct baseline_metric *peak = NULL;
    for (size_t i = 0; i < b->n_metrics; i++)
        if (strcmp(b->metrics[i].id, "peak_bytes") == 0)
            peak = &b->metrics[i];
    struct gate g = {"max-regression", NAN, 100 * limit, "percent", GATE_NOT_TESTABLE, NULL};
    if (!b->comparable)
        g.text = arena_printf(&a->arena, "not comparable with the baseline: %s", b->why_not);
    else if (!peak || !(peak->before > 0) || isnan(peak->now))
        g.text = "this report or the baseline has no memory figure";
    else {
        g.measured = 100 * (peak->now / peak->before - 1);
        g.result = g.measured > g.limit && peak->says == BASELINE_WORSE ? GATE_FAIL : GATE_PASS;
        g.text =
            arena_printf(&a->arena, "peak is %+.1f %% against the baseline, limit %.1f %%%s", g.measured,
                         g.limit, g.measured > g.limit && g.result == GATE_PASS ? "; within the noise" : "");
    }
    add(a, g);
}

void gates_check(struct analysis *a, const struct gate_settings *g)
{
    for (size_t i = 0; i < g->n_fail_on; i++) {
        if (g->fail_on[i].kind == FAIL_ON_REGRESSION)
            check_regression(a, &g->fail_on[i]);
        else
            check_verdicts(a, &g->fail_on[i], g->min_certainty);
    }
    if (g->max_peak.given)
        check_size(a, "max-peak", &g->max_peak, false);
    if (g->min_headroom.given)
        check_size(a, "min-headroom", &g->min_headroom, true);
    if (!isnan(g->max_growth))
        check_growth(a, g->max_growth);
    if (!isnan(g->max_regression))
        check_max_regression(a, g->max_regression);
}

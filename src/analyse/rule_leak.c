/* Grows? The floor (allocated after the step, train rows), with what the
 * batch's shape explains taken out; else the best column there is. */
#include "analyse/carrier.h"
#include "analyse/forecast.h"
#include "analyse/leak_shapes.h"
#include "analyse/records.h"
#include "analyse/rules.h"
#include "analyse/say.h"
#include "analyse/stats.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MIB 1048576.0

/* Floors within an accumulation cycle differ; keep the micro-step whose floor is lowest. */
static void fold_accumulation(const struct frame *f, double *y)
{
    size_t k = f->micro, n = f->train.n;
    if (k < 2 || k > 64 || f->stride > 1 || n < 6 * k)
        return;
    double *v = mem_alloc((n / k + 2) * sizeof *v), low = INFINITY, high = -INFINITY;
    size_t best = 0;
    for (size_t p = 0; p < k; p++) {
        size_t got = 0;
        for (size_t i = p; i < n && got < n / k + 2; i += k)
            if (isfinite(y[i]))
                v[got++] = y[i];
        double mid = stats_median(v, got);
        if (mid < low) {
            low = mid;
            best = p;
        }
        high = fmax(high, mid);
    }
    free(v);
    if (high - low < 0.02 * f->capacity && high - low < 0.1 * high)
        return;
    for (size_t i = 0; i < n; i++)
        if (i % k != best)
            y[i] = NAN;
}

/* A column that may keep what it once took, and does: one that falls from step to step shows the steps. */
static bool cumulative(const struct frame *f, enum field column)
{
    if (column == F_PEAK)
        return f->reset == PEAK_RESET_NEVER;
    if (column != F_RESERVED && column != F_DEVICE_USED && column != F_PEAK_RESERVED)
        return false;
    size_t falls = 0, seen = 0;
    double before = NAN;
    for (size_t i = f->warm; i < f->train.n; i++) {
        double v = f->train.v[column][i];
        if (!isfinite(v))
            continue;
        falls += v < before * 0.9995 && !f->train.restart[i];
        before = v;
        seen++;
    }
    return falls * 10 < seen;
}

/* Held memory that has reached the ceiling cannot rise further: what comes after says nothing of growth. */
static void cut_at_ceiling(const struct frame *f, double *y)
{
    size_t n = f->train.n;
    double high = stats_max(y, n, NULL);
    bool at_ceiling =
        high > 0.95 * f->capacity || (f->room_measured && f->fail && !f->killed && high > 0.97 * f->room);
    if (!at_ceiling || !(high < 1.005 * f->capacity))
        return;
    for (size_t i = f->warm + 8; i < n; i++)
        if (y[i] > 0.99 * high) {
            for (size_t k = i + 1; k < n; k++)
                y[k] = NAN;
            return;
        }
}

/* Growth of y from the warm-up on; pieces cut by restarts are judged by the longest of them. */
static void test_floor(struct growth *g, const struct frame *f, const double *y, double effect)
{
    const struct track *t = &f->train;
    size_t from = f->warm, n = t->n - from;
    growth_test(g, t->x + from, y + from, t->restart + from, n, effect);
    if (!g->teeth_at_restarts || g->shape != GROWTH_TEETH)
        return;
    size_t best = 0, len = 0, start = 0, pieces = 1;
    for (size_t i = 1; i <= n; i++) {
        if (i < n && !t->restart[from + i])
            continue;
        if (i - start > len) {
            len = i - start;
            best = start;
        }
        pieces += i < n;
        start = i;
    }
    size_t skip = best > 0 && len > 60 ? f->warm / 4 : 0; /* a new process warms up too */
    struct growth longest;
    growth_test(&longest, t->x + from + best + skip, y + from + best + skip, NULL, len - skip, effect);
    longest.teeth = pieces;
    longest.teeth_at_restarts = true;
    longest.last_rise = g->last_rise;
    longest.tooth_slope = g->tooth_slope;
    longest.least_slope = fmin(longest.least_slope, INFINITY);
    *g = longest;
}

/* ---- what carries it ---- */

static bool carries(const struct carried *c)
{
    return c->jumps >= 2 && c->share >= 0.7 && c->rising >= 0.6 && c->last_rises;
}

static void find_carrier(struct run_ctx *c, const double *y)
{
    struct frame *f = c->f;
    struct found_leak *l = &c->leak;
    struct boundaries *b = mem_alloc(sizeof *b);
    l->carrier = SUB_STEP;
    l->share = 1;
    boundaries_of_eval(b, f);
    if (b->n == 0 && series_meta(f->s, F_EVAL_EVERY) >= 2)
        boundaries_of_cadence(b, f, series_meta(f->s, F_EVAL_EVERY));
    struct carried eval = carrier_share(b, y, f->warm, f->train.n);
    boundaries_of_epochs(b, f);
    struct carried epoch = carrier_share(b, y, f->warm, f->train.n);
    struct carried *by = carries(&eval) ? &eval : carries(&epoch) ? &epoch : NULL;
    if (by && by == &eval && carries(&epoch) && epoch.share > eval.share + 0.15)
        by = &epoch;
    if (by) {
        l->carrier = by == &eval ? SUB_EVAL : SUB_EPOCH;
        l->share = fmin(1, by->share);
        l->carrier_jumps = (double)by->jumps;
        l->carrier_jump = by->jump;
        if (!growth_climbs(&l->floor) && by->jumps >= 3 && by->share < 1.15 &&
            l->floor.total_rise > l->effect && l->floor.shape != GROWTH_TEETH) {
            l->floor.shape = GROWTH_STAIRS;
            l->floor.strength = 0.9;
            l->floor.rise = l->floor.total_rise;
        }
        free(b);
        return;
    }
    free(b);
    if (!growth_climbs(&l->floor) || l->held)
        return;
    double share, period = carrier_period(f, y, f->warm, &share), batch = carrier_batch(f, y, f->warm);
    if (isfinite(period)) {
        l->carrier = SUB_PERIODIC;
        l->period = period;
        l->share = share;
    } else if (batch > 0) {
        l->carrier = SUB_BATCH;
        l->share = batch;
    }
}

/* ---- how sure ---- */

static double near_top(const struct run_ctx *c, const double *y)
{
    const struct frame *f = c->f;
    double last = NAN, high = -INFINITY, low = INFINITY;
    for (size_t i = f->warm; i < f->train.n; i++)
        if (isfinite(y[i])) {
            last = y[i];
            high = fmax(high, y[i]);
            low = fmin(low, y[i]);
        }
    return high > low ? (last - low) / (high - low) : 0;
}

/* The record process decides, the line only gives the slope. */
static void weigh_records(struct run_ctx *c, const double *y)
{
    struct frame *f = c->f;
    struct found_leak *l = &c->leak;
    struct growth *g = &l->floor;
    struct records r;
    records_count(&r, f, y, l->effect);
    l->records_seen = (double)r.rises;
    l->records = r.p < 0.4 && r.rises * 2 <= r.rows;
    l->p = r.p * (l->column == F_PEAK ? 1 : 0.9);
    if (!r.sized && g->late_share < 0.12)
        l->p *= 0.5;
    if (fabs(l->size_tau) > 0.8 && !(r.without_size >= 4))
        l->p = fmin(l->p, 0.3); /* sizes rise along: the counter had to */
    if (l->p >= 0.4 && !growth_climbs(g)) {
        g->shape = GROWTH_LINE;
        g->strength = l->p;
    }
    l->doubted = l->p < 0.4 && growth_climbs(g);
    l->rise = l->p >= 0.4 ? fmax(g->rise, g->total_rise) : 0;
}

static void weigh(struct run_ctx *c, const double *y)
{
    struct frame *f = c->f;
    struct found_leak *l = &c->leak;
    struct growth *g = &l->floor;
    l->rise = growth_climbs(g) ? fmax(g->rise, g->shape == GROWTH_STAIRS ? g->total_rise : 0) : 0;
    l->p = growth_climbs(g) ? g->strength : 0.02;
    if (g->shape == GROWTH_WANDER || g->shape == GROWTH_PLATEAU)
        l->p = fmin(0.2, 0.3 * g->strength + 0.03);
    if (g->shape == GROWTH_TEETH) {
        /* falls all the way: only a death near the top of a tooth is a leak */
        bool dies_high = f->fail && !f->killed && near_top(c, y) > 0.75;
        double high = stats_quantile_of(y + f->warm, f->train.n - f->warm, 0.99);
        double act = f->peak_field == F_PEAK && l->column == F_ALLOCATED ? f->peak_max - high : 0;
        double top = (high + fmax(act, 0)) / f->room;
        bool tight = top > 0.85;
        l->p = dies_high && g->last_rise > l->effect
                   ? 0.9 * g->strength * (tight || isnan(f->room) ? 1 : 0.75)
               : !f->fail && tight ? 0.05 + 0.5 * g->strength * fmin((top - 0.85) / 0.1, 1)
                                   : 0.05;
        l->rise = g->last_rise;
    }
    if (l->column != F_ALLOCATED && !l->held)
        l->p *= 0.96;
    if (l->held)
        weigh_records(c, y);
    if (l->collinear && l->column != F_ALLOCATED)
        l->p = fmin(l->p, 0.35);
    /* sizes that rise along, and a law that is a little out, look like a small climb */
    if (l->column != F_ALLOCATED && !l->held && fabs(l->size_tau) > 0.8 &&
        l->rise < 0.1 * fabs(l->raw.total_rise - g->total_rise))
        l->p = fmin(l->p, 0.3);
    if (!isfinite(l->rise))
        l->rise = 0;
    double missing = isfinite(f->at.missing) ? f->at.missing : 0;
    double least = fmax(missing, isfinite(f->capacity) ? 0.02 * f->capacity : l->effect);
    l->sufficient = l->rise >= least;
    l->covers = least > 0 ? l->rise / least : 0;
}

/* ---- figures and tests ---- */

/* The first step logged from x on. */
static double logged_step(const struct frame *f, double x)
{
    size_t i = 0;
    if (f->axis != AXIS_STEP || f->train.n == 0)
        return NAN;
    while (i + 1 < f->train.n && f->train.x[i] < x)
        i++;
    return column_at(f->s->col[F_STEP], f->train.row[i]);
}

static void figures(struct run_ctx *c)
{
    struct frame *f = c->f;
    struct found_leak *l = &c->leak;
    struct growth *g = &l->floor;
    struct leak_figures *o = &c->out->leak;
    c->out->has_leak = g->shape != GROWTH_UNTESTED;
    double per = g->slope;
    if (g->shape == GROWTH_STAIRS && g->x_last > g->x_first && !(per > 0))
        per = g->total_rise / (g->x_last - g->x_first);
    l->slope = per;
    /* teeth: the middle of several slopes may lie outside the interval of one of them */
    l->low = fmin(g->low, per);
    l->high = fmax(g->high, per);
    bool steps = f->axis == AXIS_STEP && !l->doubted;
    o->slope_bytes_per_step = steps ? per : NAN;
    o->slope_low = steps ? l->low : NAN;
    o->slope_high = steps ? l->high : NAN;
    o->onset_step = growth_climbs(g) ? logged_step(f, g->onset) : NAN;
    o->share_of_growth = growth_climbs(g) && !l->doubted ? l->share : NAN;
    o->retained_bytes = l->rise;
    o->minimum_detectable_bytes_per_step = steps ? g->least_slope : NAN;
    o->column = l->column;
    o->fit_step0 = frame_step(f, g->x0);
    o->fit_bytes0 = g->y0;
    o->increment_vs_activation = o->slope_bytes_per_second = NAN;
    if (f->train.v[F_ALLOCATED] && f->train.v[F_PEAK] && f->reset != PEAK_RESET_NEVER) {
        double a = stats_quantile_of(f->train.v[F_ALLOCATED] + f->warm, f->train.n - f->warm, 0.5);
        if (f->peak_typical > a)
            o->increment_vs_activation = per / (f->peak_typical - a);
    }
    if (f->axis == AXIS_TIME)
        o->slope_bytes_per_second = per;
    else if (f->train.v[F_TIME] && steps && f->train.n > 2) {
        const double *t = f->train.v[F_TIME];
        double span = t[f->train.n - 1] - t[f->warm], x = f->train.x[f->train.n - 1] - f->train.x[f->warm];
        if (span > 0 && x > 0)
            o->slope_bytes_per_second = per * x / span;
    }
    o->oom_step_forecast = o->forecast_low = o->forecast_high = NAN;
    l->closure = NAN;
}

static const char *column_word(enum field column)
{
    switch (column) {
    case F_ALLOCATED:
        return "allocated memory after each step";
    case F_PEAK:
        return "the step's peak, with what the batch's shape explains taken out,";
    case F_RESERVED:
    case F_PEAK_RESERVED:
        return "reserved memory";
    default:
        return "the device's used memory";
    }
}

static void tests_of_trend(struct run_ctx *c)
{
    struct frame *f = c->f;
    struct found_leak *l = &c->leak;
    struct growth *g = &l->floor;
    struct arena *a = c->arena;
    bool climbs = growth_climbs(g) && !l->doubted;
    size_t last = f->train.n ? f->train.row[f->train.n - 1] : ROW_NONE;
    const char *per = f->axis == AXIS_STEP ? "step" : f->axis == AXIS_TIME ? "second" : "row";
    const char *unit = f->axis == AXIS_STEP ? "bytes/step" : f->axis == AXIS_TIME ? "bytes/s" : "bytes/row";
    if (climbs)
        rule_test(c, Q_GROWS, "floor_slope", g->slope, unit, g->least_slope, SAYS_FOR, last,
                  arena_printf(a, "Over %s rows %s climbed %s a %s%s.", say_count(a, (double)g->n),
                               column_word(l->column), say_bytes(a, g->slope), per,
                               say_interval(a, l->low, l->high)));
    else if (l->doubted)
        rule_test(c, Q_GROWS, "floor_slope", NAN, unit, NAN, SAYS_NOTHING, last,
                  arena_printf(a,
                               "Over %s rows %s rose by %s. It does not fall back between steps, so a larger "
                               "batch raises it for good: a rise alone is no growth.",
                               say_count(a, (double)g->n), column_word(l->column),
                               say_bytes(a, g->total_rise)));
    else
        rule_test(c, Q_GROWS, "floor_slope", g->slope, unit, g->least_slope, SAYS_AGAINST, last,
                  arena_printf(a, "Over %s rows there is no lasting climb of %s larger than %s a %s.",
                               say_count(a, (double)g->n), column_word(l->column),
                               say_bytes(a, g->least_slope), per));
    rule_test(c, Q_GROWS, "rise", l->rise, "bytes", l->effect, climbs ? SAYS_FOR : SAYS_AGAINST, last,
              climbs && l->rise < l->effect
                  ? arena_printf(a, "The lasting rise is %s: less than %s, but as steady as only growth is.",
                                 say_bytes(a, l->rise), say_bytes(a, l->effect))
                  : arena_printf(a, "The lasting rise is %s; below %s a rise does not count.",
                                 say_bytes(a, l->rise), say_bytes(a, l->effect)));
    if (isfinite(g->tau) && !l->doubted)
        rule_test(c, Q_GROWS, "rank_trend", g->tau, "1", 0.6, g->tau >= 0.6 ? SAYS_FOR : SAYS_AGAINST,
                  ROW_NONE,
                  arena_printf(
                      a, "Kendall's tau over the low points of up to 12 blocks is %s (1 is a steady rise).",
                      say_number(a, g->tau, 2)));
    if (isfinite(g->late_share) && g->rise > 0 && !l->doubted && (climbs || g->rise >= l->effect))
        rule_test(c, Q_GROWS, "late_share", g->late_share, "1", 0.15,
                  g->late_share >= 0.15 ? SAYS_NOTHING : SAYS_AGAINST, ROW_NONE,
                  arena_printf(
                      a,
                      "%s of the rise falls in its last third (a straight climb has 33 %%, a warm-up none).",
                      say_percent(a, g->late_share)));
}

static void tests_of_cause(struct run_ctx *c, const struct shapes_taken *taken)
{
    struct frame *f = c->f;
    struct found_leak *l = &c->leak;
    struct growth *g = &l->floor;
    struct arena *a = c->arena;
    bool climbs = growth_climbs(g) && !l->doubted;
    if (taken->taken)
        rule_test(c, Q_GROWS, "explained_by_shape", taken->share, "1", NAN,
                  l->by_shape ? SAYS_AGAINST : SAYS_NOTHING, ROW_NONE,
                  arena_printf(a, "The logged shapes explain %s of its variation%s.",
                               say_percent(a, taken->share),
                               l->by_shape ? ", and with them taken out the climb is gone" : ""));
    if (g->teeth >= 2)
        rule_test(c, Q_GROWS, "saw_tooth", (double)g->teeth, "1", NAN,
                  g->shape == GROWTH_TEETH_UP ? SAYS_FOR : SAYS_NOTHING, ROW_NONE,
                  arena_printf(a, "It falls back %s %s (%s), and climbs %s between falls.",
                               say_count(a, (double)g->teeth - 1),
                               say_plural((double)g->teeth - 1, "time", "times"),
                               g->teeth_at_restarts          ? "at restarts of the process"
                               : g->shape == GROWTH_TEETH_UP ? "not all the way: its low points rise"
                                                             : "to where it began",
                               say_bytes(a, g->tooth)));
    if (climbs && l->carrier != SUB_STEP)
        rule_test(c, Q_GROWS, "carrier", l->share, "1", 0.7, SAYS_FOR, ROW_NONE,
                  l->carrier == SUB_PERIODIC ? arena_printf(a, "%s of the rise happens every %s steps.",
                                                            say_percent(a, l->share), say_count(a, l->period))
                  : l->carrier == SUB_BATCH
                      ? arena_printf(
                            a, "The rise follows the size of the batches: %s of it is proportional to them.",
                            say_percent(a, l->share))
                      : arena_printf(a, "%s of the rise happens at the %s %s boundaries.",
                                     say_percent(a, l->share), say_count(a, l->carrier_jumps),
                                     l->carrier == SUB_EPOCH ? "epoch" : "evaluation"));
    if (f->fail && !f->killed && climbs)
        rule_test(
            c, Q_GROWS, "sufficient", l->rise, "bytes",
            fmax(isfinite(f->at.missing) ? f->at.missing : 0, 0.02 * f->capacity),
            l->sufficient       ? SAYS_FOR
            : l->covers >= 0.75 ? SAYS_NOTHING
                                : SAYS_AGAINST,
            ROW_FAILURE,
            arena_printf(a,
                         l->sufficient ? "Without the %s retained the failing allocation would have fitted."
                         : l->covers >= 0.75 ? "The %s retained are most of what was missing at the failure."
                                             : "The %s retained do not account for the failure.",
                         say_bytes(a, l->rise)));
    if (l->records)
        rule_test(c, Q_GROWS, "records", l->records_seen, "1", NAN, SAYS_AGAINST, ROW_NONE,
                  l->column == F_PEAK
                      ? "The counter is never reset, and new records become rare like log(step): larger "
                        "batches turn up, nothing is kept."
                      : "What is held does not fall back between steps, and new records become rare like "
                        "log(step): larger batches turn up, nothing is kept.");
}

void rule_leak(struct run_ctx *c)
{
    struct frame *f = c->f;
    struct found_leak *l = &c->leak;
    l->column = f->floor_field;
    l->period = l->closure = l->latest = l->size_tau = NAN;
    l->ahead = (struct ahead){NAN, NAN, NAN};
    l->carrier_jump = NAN;
    l->carrier = SUB_STEP;
    l->p = 0.02;
    l->effect = fmax(32 * MIB, isfinite(f->capacity) ? 0.002 * f->capacity : 0);
    c->out->leak = (struct leak_figures){.slope_bytes_per_step = NAN, .column = l->column};
    if (l->column == F_COUNT || f->train.n < 8) {
        rule_test(c, Q_GROWS, "floor_slope", NAN, "bytes/step", NAN, SAYS_NOTHING, ROW_NONE,
                  arena_printf(c->arena,
                               "%s training %s with a memory figure: too few to test growth (8 are needed).",
                               say_count(c->arena, (double)f->train.n),
                               say_plural((double)f->train.n, "row", "rows")));
        return;
    }
    size_t n = f->train.n;
    double *y = mem_alloc((n + 1) * sizeof *y), *adj = mem_alloc((n + 1) * sizeof *adj);
    memcpy(y, f->train.v[l->column], n * sizeof *y);
    if (l->column == F_ALLOCATED || l->column == F_PEAK)
        fold_accumulation(f, y);
    struct shapes_taken taken = {.size_tau = NAN};
    l->held = cumulative(f, l->column);
    if (l->held && l->column != F_PEAK)
        cut_at_ceiling(f, y);
    if (l->held) {
        memcpy(adj, y, n * sizeof *adj);
        struct shapes_taken look = leak_take_out_shapes(adj, f, y, l->column == F_ALLOCATED);
        l->size_tau = look.size_tau;
        l->sorted = look.sorted;
        memcpy(adj, y, n * sizeof *adj);
    } else
        taken = leak_take_out_shapes(adj, f, y, l->column == F_ALLOCATED);
    l->sorted = l->sorted || taken.sorted;
    if (isfinite(taken.size_tau))
        l->size_tau = taken.size_tau;
    test_floor(&l->floor, f, adj, l->effect);
    if (!growth_climbs(&l->floor) && l->floor.shape != GROWTH_TEETH && l->column == F_ALLOCATED) {
        /* a small climb that is straight beyond doubt counts too */
        struct growth fine;
        test_floor(&fine, f, adj, fmax(4 * MIB, l->effect / 5));
        if (fine.shape == GROWTH_LINE && fine.strength > 0.8 && fine.t > 40 && fine.late_share > 0.25 &&
            fine.late_share < 0.45) {
            l->floor = fine;
            l->floor.strength = 0.8;
        }
    }
    if (taken.taken)
        test_floor(&l->raw, f, y, l->effect);
    l->by_shape = taken.taken && growth_climbs(&l->raw) && !growth_climbs(&l->floor);
    l->collinear = taken.collinear;
    find_carrier(c, adj);
    weigh(c, adj);
    figures(c);
    if (l->p >= 0.4)
        forecast_failure(c, adj);
    tests_of_trend(c);
    tests_of_cause(c, &taken);
    free(y), free(adj);
}

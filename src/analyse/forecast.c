/* The step of failure is a first passage: the floor climbs, each batch adds what it adds, and the run fails
 * at the first step where the two together pass the ceiling. With p(x) the chance that one batch does so at
 * x, the chance to have failed by x is 1 - exp(-H), H the sum of -log(1 - p) over the steps. */
#include "analyse/forecast.h"

#include "analyse/stats.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

#define GIB 1073741824.0

enum {
    SAMPLE = 2048,
    GRID = 400
};

/* What a step adds to the floor [B]: an empirical distribution, and above its 90 % quantile a generalised
 * Pareto tail whose scale and shape come from the excesses' mean and variance (Hosking and Wallis, 1987). */
struct adds {
    double v[SAMPLE + 1]; /* n, ascending */
    size_t n;
    double high, scale, shape;
    double most;  /* no batch adds more; INFINITY where larger ones may come */
    double drift; /* [B/x] of what a step adds, where batches come in order of size */
};

/* The climb as it goes on. */
struct climb {
    double x, level;  /* a point */
    double slope, se; /* [B/x] */
};

/* Where the tested column stands when an allocation fails [B]. */
struct ceiling {
    double at, slack; /* 90 % of runs within slack */
};

struct outlook {
    double step, low, high; /* on the axis */
};

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double line_at(const struct growth *g, double x)
{
    return g->y0 + g->slope * (x - g->x0);
}

static void fit_tail(struct adds *a)
{
    qsort(a->v, a->n, sizeof *a->v, ascending);
    size_t k = a->n * 9 / 10, n = a->n - k;
    double mean = 0, var = 0;
    a->high = a->v[k];
    for (size_t i = k; i < a->n; i++)
        mean += (a->v[i] - a->high) / (double)n;
    for (size_t i = k; i < a->n; i++)
        var += (a->v[i] - a->high - mean) * (a->v[i] - a->high - mean) / (double)n;
    /* few excesses say little of the shape: they are pulled to -0.15, lengths being bounded */
    double shape = var > 0 ? 0.5 * (1 - mean * mean / var) : -0.15, weight = (double)n / ((double)n + 20);
    a->shape = fmin(fmax(weight * shape - (1 - weight) * 0.15, -0.5), 0.1);
    a->scale = mean * (1 - a->shape);
}

/* Batches in order of size: what they add drifts; v becomes what is left about the drift, seen from row n
 * - 1. */
static void take_drift(struct adds *a, const struct frame *f, size_t n)
{
    double x[SAMPLE], intercept;
    for (size_t i = 0; i < a->n; i++)
        x[i] = f->train.x[f->warm + (n - 1 - f->warm) * i / a->n];
    size_t half = a->n / 2, m = 0;
    struct stats_bins b;
    stats_bin(&b, x + half, a->v + half, a->n - half, 48);
    a->drift = fmax(0, stats_theil_sen(b.x, b.mid, b.n, &intercept));
    if (!(a->drift > 0))
        a->drift = 0;
    for (size_t i = half; i < a->n; i++)
        a->v[m++] = a->v[i] + a->drift * (f->train.x[n - 1] - x[i]);
    a->n = m;
}

/* Memory that a column holds and does not give back between steps. */
static bool held(const struct run_ctx *c)
{
    enum field k = c->leak.column;
    return k == F_RESERVED || k == F_PEAK_RESERVED || k == F_DEVICE_USED ||
           (k == F_PEAK && c->f->reset == PEAK_RESET_NEVER);
}

/* From the first n train rows. Held memory has the batches in it already. */
static void adds_init(struct adds *a, const struct run_ctx *c, const double *y, size_t n,
                      const struct growth *g)
{
    const struct frame *f = c->f;
    size_t stride = n / SAMPLE + 1;
    const double *p = f->peak_field == F_PEAK && f->reset != PEAK_RESET_NEVER ? f->train.v[F_PEAK] : NULL;
    *a = (struct adds){.most = INFINITY};
    if (held(c)) {
        a->n = 1;
        return;
    }
    for (size_t i = f->warm; p && i < n && a->n < SAMPLE; i += stride) {
        double floor_now = c->leak.column == F_ALLOCATED && f->micro < 2 ? y[i] : line_at(g, f->train.x[i]);
        if (isfinite(p[i]) && isfinite(floor_now))
            a->v[a->n++] = p[i] - floor_now;
    }
    if (a->n > 16 && c->leak.sorted)
        take_drift(a, f, n);
    if (a->n > 0)
        fit_tail(a);
}

/* Least distance of two columns in the first n rows [B]: device used less reserved is what is outside the
 * framework. */
static double least_between(const struct frame *f, size_t n, enum field high, enum field low)
{
    const double *u = f->train.v[high], *r = f->train.v[low];
    double least = NAN;
    for (size_t i = 0; u && r && i < n; i++)
        if (u[i] >= r[i])
            least = fmin(least, u[i] - r[i]);
    return least;
}

/* Outside the framework: as logged, else what a clean process needs (context and libraries, 0.4 to 1 GiB), no
 * more than the device's use over the peak leaves. Inside: a hundredth of the device is cached and of no use
 * when memory is short. Held memory may pass the ceiling before that, as caches are given back first. */
static struct ceiling ceiling_of(const struct run_ctx *c, size_t n)
{
    const struct frame *f = c->f;
    double all = f->capacity, outside = least_between(f, n, F_DEVICE_USED, F_RESERVED);
    struct ceiling k = {NAN, 0.004 * all};
    if (isnan(outside)) {
        double most = least_between(f, n, F_DEVICE_USED, F_PEAK);
        outside = fmin(fmin(0.65 * GIB, 0.08 * all), isnan(most) ? INFINITY : most);
        k.slack += fmin(0.2 * GIB, 0.03 * all);
    }
    switch (c->leak.column) {
    case F_DEVICE_USED:
        k = (struct ceiling){1.014 * all, 0.012 * all};
        break;
    case F_RESERVED:
    case F_PEAK_RESERVED:
        k.at = all - outside + 0.01 * all;
        k.slack += 0.002 * all;
        break;
    default:
        k.at = all - outside - 0.01 * all;
        if (f->peak_field == F_PEAK) {
            double fitted = stats_max(f->train.v[F_PEAK], n, NULL);
            k.at = fitted > k.at && fitted <= all ? fitted : k.at;
        }
    }
    return k;
}

/* Half of what the n rows spread about the line: a record comes before or after its time by as much. */
static double spread(const struct run_ctx *c, const double *y, size_t n, const struct growth *g)
{
    size_t from = c->f->warm, stride = n / SAMPLE + 1, got = 0;
    double d[SAMPLE];
    for (size_t i = from; i < n && got < SAMPLE; i += stride)
        if (isfinite(y[i]))
            d[got++] = y[i] - line_at(g, c->f->train.x[i]);
    return got > 1 ? stats_mad_sd(d, got) : 0;
}

/* Chance that a batch adds more than t. */
static double adds_more(const struct adds *a, double t)
{
    if (t >= a->most)
        return 0;
    if (t >= a->high) {
        double z = a->scale > 0 ? (t - a->high) / a->scale : INFINITY;
        double base = 1 + a->shape * z;
        if (!(base > 0) || isinf(z))
            return 0;
        return 0.1 * (fabs(a->shape) < 1e-6 ? exp(-z) : pow(base, -1 / a->shape));
    }
    size_t lo = 0, hi = a->n;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (a->v[mid] > t)
            hi = mid;
        else
            lo = mid + 1;
    }
    return (double)(a->n - lo) / (double)a->n;
}

/* x at which the chance to have failed reaches q, from x0 on; `latest` where it is certain. What is added is
 * of `every` steps together. */
static double passage(const struct adds *a, const struct climb *m, double ceiling, double x0, double latest,
                      double q, double every)
{
    double h = 0, goal = -log(1 - q), dx = (latest - x0) / GRID;
    for (int i = 0; i < GRID; i++) {
        double x = x0 + (i + 0.5) * dx;
        double p = fmin(adds_more(a, ceiling - m->level - m->slope * (x - m->x)), 0.999);
        double step = -log(1 - p) * dx / every;
        if (h + step >= goal)
            return x0 + (i + (step > 0 ? (goal - h) / step : 0)) * dx;
        h += step;
    }
    return latest;
}

static bool climb_of(struct climb *m, const struct run_ctx *c, const double *y, size_t n,
                     const struct growth *g)
{
    const struct frame *f = c->f;
    double last[9];
    size_t got = 0;
    m->x = f->train.x[n - 1];
    m->slope = g->slope;
    m->se = fmax((g->high - g->low) / 3.92, 0.004 * g->slope);
    m->level = line_at(g, m->x);
    if (g->shape != GROWTH_LINE || g->teeth > 1) {
        for (size_t i = n; i-- > 0 && got < 9;)
            if (isfinite(y[i]))
                last[got++] = y[i];
        m->level = stats_median(last, got);
    }
    if (g->shape == GROWTH_TEETH_UP || g->shape == GROWTH_STAIRS) {
        m->slope = g->total_rise / fmax(g->x_last - g->x_first, 1);
        m->se = fmax(m->se, 0.1 * m->slope);
    }
    return m->slope > 0 && isfinite(m->level);
}

/* Moves a distance from the reference by the slope's uncertainty. */
static double moved(const struct climb *m, double x, double ref, double z)
{
    double s = m->slope + z * m->se;
    return ref + (x - ref) * m->slope / fmax(s, 0.2 * m->slope);
}

static double root_of_squares(double a, double b, double c)
{
    return sqrt(a * a + b * b + c * c);
}

/* 90 % of runs: the batches to come (larger than any so far, or none as large), the ceiling and the slope are
 * uncertain, each by itself, so that their distances add in squares. */
static void widen(struct outlook *o, struct adds *a, const struct climb *m, const struct ceiling *k,
                  double x0, double latest, double every, double ref)
{
    double mid = passage(a, m, k->at, x0, latest, 0.5, every), shape = a->shape, scale = a->scale;
    a->shape = fmin(a->shape + 0.05, 0.2);
    a->scale *= 1.05;
    double low = passage(a, m, k->at, x0, latest, 0.05, every);
    a->most = a->v[a->n - 1] + 1;
    a->shape = shape;
    a->scale = scale;
    double high = passage(a, m, k->at, x0, latest, 0.95, every);
    double room = k->slack / m->slope;
    o->step = mid;
    o->low = mid - root_of_squares(mid - fmin(low, mid), room, mid - moved(m, mid, ref, 1.64));
    o->high = mid + root_of_squares(fmax(high, mid) - mid, room, moved(m, mid, ref, -1.64) - mid);
}

/* from: NAN: what follows the n rows, given that the run got so far; else the whole run from that x. */
static struct outlook look(const struct run_ctx *c, const double *y, size_t n, const struct growth *g,
                           double from)
{
    const struct frame *f = c->f;
    struct outlook o = {NAN, NAN, NAN};
    struct climb m;
    struct adds *a = mem_alloc(sizeof *a);
    adds_init(a, c, y, n, g);
    if (a->n > 0 && isfinite(f->capacity) && climb_of(&m, c, y, n, g)) {
        m.slope += a->drift;
        m.se += 0.25 * a->drift;
        struct ceiling k = ceiling_of(c, n);
        if (held(c))
            k.slack += 0.5 * spread(c, y, n, g);
        double x0 = isfinite(from) ? from : m.x;
        double latest = fmax(x0, m.x + (k.at - m.level - a->v[a->n / 20]) / m.slope) + 1;
        double ref = fmax(g->onset, f->train.x[0]);
        bool together = f->reset == PEAK_RESET_INTERVAL && f->peak_field == F_PEAK && !held(c);
        widen(&o, a, &m, &k, x0, latest, together ? fmax(1, f->stride) : 1, ref);
        o.step = fmax(x0, o.step);
        o.low = fmax(x0, o.low - 1);
        o.high = fmax(o.step, o.high + 1);
    }
    free(a);
    return o;
}

/* The step by which the floor alone fills the room [x]; NAN when it does not climb. */
static double at_the_latest(const struct run_ctx *c, const double *y)
{
    struct climb m;
    if (isnan(c->f->room) || !climb_of(&m, c, y, c->f->train.n, &c->leak.floor))
        return NAN;
    return m.x + fmax(0, (c->f->room - m.level) / m.slope);
}

/* x of the last row of either phase. */
static double last_logged(const struct frame *f)
{
    return fmax(f->train.x[f->train.n - 1], f->eval.n ? f->eval.x[f->eval.n - 1] : -INFINITY);
}

/* What was logged did not fail. */
static void not_before(struct outlook *o, double x)
{
    if (isnan(o->step))
        return;
    o->low = fmax(o->low, x);
    o->step = fmax(o->step, x);
    o->high = fmax(o->high, x);
}

void forecast_failure(struct run_ctx *c, const double *y)
{
    static const double shares[] = {0.5, 0.7, 0.9};
    struct frame *f = c->f;
    struct leak_figures *o = &c->out->leak;
    bool failed = f->fail && !f->killed;
    struct outlook now = look(c, y, f->train.n, &c->leak.floor, failed ? f->train.x[f->warm] : NAN);
    c->leak.latest = at_the_latest(c, y);
    if (failed && isfinite(f->fail_x) && isfinite(now.step) && f->fail_x > f->train.x[0])
        c->leak.closure = (now.step - f->train.x[0]) / (f->fail_x - f->train.x[0]);
    not_before(&now, last_logged(f));
    o->oom_step_forecast = frame_step(f, now.step);
    o->forecast_low = frame_step(f, now.low);
    o->forecast_high = frame_step(f, now.high);
    if (f->axis == AXIS_TIME)
        c->leak.ahead =
            (struct ahead){now.step - last_logged(f), now.low - last_logged(f), now.high - last_logged(f)};
    o->n_backtest = 0;
    size_t rows = f->train.n - f->warm;
    if (rows < 24)
        return;
    for (size_t k = 0; k < 3; k++) {
        size_t n = f->warm + (size_t)(shares[k] * (double)rows);
        struct growth g;
        struct backtest *b = &o->backtest[o->n_backtest++];
        growth_test(&g, f->train.x + f->warm, y + f->warm, f->train.restart + f->warm, n - f->warm,
                    c->leak.effect / 5);
        *b = (struct backtest){shares[k], NAN, NAN, NAN};
        if (!growth_climbs(&g) && g.shape != GROWTH_TEETH)
            continue;
        struct outlook then = look(c, y, n, &g, NAN);
        not_before(&then, f->train.x[n - 1]);
        b->step = frame_step(f, then.step);
        b->low = frame_step(f, then.low);
        b->high = frame_step(f, then.high);
    }
}

/* A saw-tooth: do the low points rise, or does it fall back all the way? */
#include "analyse/growth_parts.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

enum {
    STARTS = 256
};

struct tooth {
    double slope, rise, low, high, start, x, weight;
};

static size_t fit_teeth(struct tooth *f, const double *x, const double *y, const struct pieces *p)
{
    size_t n = 0;
    for (size_t i = 0; i < p->n; i++) {
        size_t from = p->from[i], len = p->from[i + 1] - from;
        if (len < 3)
            continue;
        struct stats_bins b;
        stats_bin(&b, x + from, y + from, len, p->n > 64 ? 24 : 64);
        struct line_fit l = growth_fit(&b, 0, b.n);
        f[n++] = (struct tooth){.slope = l.slope,
                                .rise = l.slope * (b.x[b.n - 1] - b.x[0]),
                                .low = l.slope - 1.96 * l.error,
                                .high = l.slope + 1.96 * l.error,
                                .start = b.mid[0],
                                .x = b.x[0],
                                .weight = (double)len};
    }
    return n;
}

/* Climb of the pieces' low points, with the rank trend in *tau. The first piece starts with the process and
 * says little where there are others. */
static double climb_of_starts(const struct tooth *f, size_t n, double *tau, double *slope)
{
    double x[STARTS], y[STARTS], intercept;
    size_t skip = n >= 4 ? 1 : 0, m = 0, stride = (n - skip + STARTS - 1) / STARTS;
    for (size_t i = skip; i < n && m < STARTS; i += stride) {
        x[m] = f[i].x;
        y[m++] = f[i].start;
    }
    *slope = stats_theil_sen(x, y, m, &intercept);
    *tau = stats_trend_tau(y, m);
    return isnan(*slope) ? 0 : *slope * (x[m - 1] - x[0]);
}

static double median_tooth(const struct tooth *f, size_t n, bool slopes)
{
    double *v = mem_alloc(n * sizeof *v);
    for (size_t i = 0; i < n; i++)
        v[i] = slopes ? f[i].slope : f[i].rise;
    double mid = stats_median(v, n);
    free(v);
    return mid;
}

/* Half a 95 % interval of the median slope, from how the teeth differ; 0 for fewer than three. */
static double spread_of_slopes(const struct tooth *f, size_t n)
{
    double *v = mem_alloc(n * sizeof *v);
    for (size_t i = 0; i < n; i++)
        v[i] = f[i].slope;
    double sd = n >= 3 ? stats_mad_sd(v, n) : 0;
    free(v);
    return isfinite(sd) ? 1.96 * 1.25 * sd / sqrt((double)n) : 0; /* the median's error: 1.25 of the mean's */
}

static void judge(struct growth *g, const struct tooth *f, size_t n, const double *y, const struct pieces *p,
                  double effect)
{
    size_t best = 0, up = 0;
    double half; /* of the interval */
    g->tooth = median_tooth(f, n, false);
    for (size_t i = 0; i < n; i++) {
        best = f[i].weight > f[best].weight ? i : best;
        up += f[i].rise > 0.3 * fabs(g->tooth);
    }
    bool steady = (double)up >= 0.7 * (double)n;
    double base;
    g->tooth_slope = n >= 3 ? median_tooth(f, n, true) : f[best].slope;
    g->last_rise = f[n - 1].rise;
    g->total_rise = climb_of_starts(f, n, &g->tau, &base);
    g->slope = f[best].slope;
    g->x0 = f[best].x;
    g->y0 = f[best].start;
    g->onset = f[0].x;
    g->rise = g->tooth;
    g->jump_share = 0;
    g->late_share = NAN;
    g->teeth_at_restarts = p->restarts + 1 >= p->n;
    double climbs = growth_margin(log2(fmax(g->total_rise, 1) / effect), 0, 1.2);
    double rising = fmin(fmin(climbs, growth_margin(g->tau, 0.5, 0.85)),
                         growth_margin(g->total_rise / fmax(g->tooth, 1), 0.1, 0.3));
    if (n - (n >= 4) >= 3 && !g->teeth_at_restarts && rising >= 0.5) {
        g->shape = GROWTH_TEETH_UP;
        g->strength = rising;
        g->rise = y[p->from[p->n] - 1] - f[0].start;
        g->slope = steady && g->tooth_slope > 0 ? g->tooth_slope : base;
    } else {
        g->shape = GROWTH_TEETH;
        g->strength = steady ? fmin(growth_margin(log2(fmax(g->tooth, 1) / effect), 0, 1.2), 0.95) : 0.2;
        g->slope = g->tooth_slope > 0 ? g->tooth_slope : g->slope;
    }
    half = fmax(fmax(f[best].high - f[best].slope, fabs(g->slope - f[best].slope)), spread_of_slopes(f, n));
    g->low = g->slope - half;
    g->high = g->slope + half;
}

void growth_judge_teeth(struct growth *g, const double *x, const double *y, const struct pieces *p,
                        double effect)
{
    struct tooth *f = mem_zero(p->n, sizeof *f);
    g->teeth = fit_teeth(f, x, y, p);
    if (g->teeth >= 2)
        judge(g, f, g->teeth, y, p, effect);
    else
        g->shape = GROWTH_WANDER;
    free(f);
}

#include "analyse/forecast.h"

#include "analyse/stats.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

struct outlook {
    double step, low, high; /* on the axis */
};

/* What a step needs above the tested column: 5 %, 50 % and 99 % quantiles over rows up to n. */
static void activation(const struct run_ctx *c, const double *y, size_t n, double *low, double *mid,
                       double *high)
{
    const struct frame *f = c->f;
    *low = *mid = *high = 0;
    if (f->peak_field == c->leak.column || f->peak_field == F_COUNT)
        return;
    const double *p = f->train.v[f->peak_field];
    double *d = mem_alloc((n + 1) * sizeof *d);
    size_t got = 0, stride = n > 32768 ? n / 32768 : 1;
    for (size_t i = f->warm; i < n; i += stride)
        if (isfinite(p[i]) && isfinite(y[i]))
            d[got++] = p[i] - y[i];
    *low = stats_quantile(d, got, 0.25);
    *mid = stats_quantile(d, got, 0.9);
    *high = stats_quantile(d, got, 1);
    free(d);
}

static struct outlook look(const struct run_ctx *c, const double *y, size_t n, const struct growth *g)
{
    const struct frame *f = c->f;
    struct outlook o = {NAN, NAN, NAN};
    double low, mid, high;
    activation(c, y, n, &low, &mid, &high);
    if (!(g->slope > 0) || isnan(f->room))
        return o;
    double x = f->train.x[n - 1], level = g->y0 + g->slope * (x - g->x0);
    if (g->shape == GROWTH_TEETH || g->shape == GROWTH_TEETH_UP || g->shape == GROWTH_STAIRS ||
        g->teeth > 1) {
        double last[9];
        size_t got = 0;
        for (size_t i = n; i-- > 0 && got < 9;)
            if (isfinite(y[i]))
                last[got++] = y[i];
        level = stats_median(last, got);
    }
    double slope = g->slope;
    if (g->shape == GROWTH_TEETH_UP || g->shape == GROWTH_STAIRS)
        slope = fmax(g->total_rise, 1) / fmax(g->x_last - g->x_first, 1);
    double half = fmax((g->high - g->low) / 2, 0.02 * slope);
    double span = fmax((f->room - level - mid) / slope, 0);
    o.step = x + span;
    o.low = x + fmax(0, (f->room - level - high) / (slope + half));
    o.high = x + fmax(0, (f->room - level - low) / fmax(slope - half, 0.2 * slope));
    double pad = 0.02 * span;
    o.low = fmax(x, fmin(o.low, o.step) - pad);
    o.high = fmax(o.high, o.step) + pad;
    return o;
}

void forecast_failure(struct run_ctx *c, const double *y)
{
    static const double shares[] = {0.5, 0.7, 0.9};
    struct frame *f = c->f;
    struct leak_figures *o = &c->out->leak;
    struct outlook now = look(c, y, f->train.n, &c->leak.floor);
    o->oom_step_forecast = frame_step(f, now.step);
    o->forecast_low = frame_step(f, now.low);
    o->forecast_high = frame_step(f, now.high);
    if (f->fail && isfinite(f->fail_x) && isfinite(now.step) && f->fail_x > f->train.x[0])
        c->leak.closure = (now.step - f->train.x[0]) / (f->fail_x - f->train.x[0]);
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
        struct outlook then = look(c, y, n, &g);
        b->step = frame_step(f, then.step);
        b->low = frame_step(f, then.low);
        b->high = frame_step(f, then.high);
    }
}

#include "analyse/growth_parts.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

enum {
    BINS = 96,
    LEAST = 8
};

double growth_margin(double v, double limit, double full)
{
    return isnan(v) ? 0 : 1 / (1 + exp(-2.94 * (v - limit) / (full - limit)));
}

double growth_noise(const double *y, size_t n)
{
    if (n < 5)
        return 0;
    double *d = mem_alloc(n * sizeof *d);
    size_t stride = n > 8192 ? n / 8192 : 1, got = 0;
    for (size_t i = 1; i + 1 < n; i += stride)
        d[got++] = (y[i + 1] - 2 * y[i] + y[i - 1]) / sqrt(6.0);
    double sd = stats_mad_sd(d, got);
    free(d);
    return isfinite(sd) ? sd : 0;
}

struct line_fit growth_fit(const struct stats_bins *b, size_t from, size_t to)
{
    struct line_fit f = {0};
    double squares = 0;
    f.slope = stats_theil_sen(b->x + from, b->mid + from, to - from, &f.intercept);
    if (isnan(f.slope))
        f.slope = 0;
    f.error = stats_slope_error(b->x + from, b->mid + from, to - from, f.slope, f.intercept);
    for (size_t i = from; i < to; i++) {
        double r = b->mid[i] - f.intercept - f.slope * b->x[i];
        squares += r * r;
    }
    f.sd = sqrt(squares / (double)(to - from));
    return f;
}

/* A fall of a level, not of one reading: what comes after stays low, what came before was not a spike. */
static bool falls_at(const double *y, size_t n, size_t i, double fall)
{
    double d = y[i - 1] - y[i];
    if (!(d > fall))
        return false;
    if (i + 1 < n && y[i + 1] > y[i] + 0.5 * d)
        return false;
    return !(i >= 2 && y[i - 2] < y[i - 1] - 0.5 * d);
}

static void find_pieces(struct pieces *p, const double *y, const unsigned char *restart, size_t n,
                        double noise, double effect)
{
    double range = stats_quantile_of(y, n, 0.98) - stats_quantile_of(y, n, 0.02);
    double fall = fmax(fmax(0.12 * range, 8 * noise), fmin(0.5 * effect, 0.15 * range));
    p->n = 1;
    p->from[0] = 0;
    p->restarts = 0;
    for (size_t i = 1; i < n && p->n < PIECES_MAX; i++) {
        if ((!restart[i] && !falls_at(y, n, i, fall)) || i < p->from[p->n - 1] + 3)
            continue;
        p->restarts += restart[i];
        p->from[p->n++] = i;
    }
    p->from[p->n] = n;
}

/* A fall gives back only part of what the piece before it climbed: the level goes on up. */
static bool falls_partly(const double *y, const struct pieces *p)
{
    double back = 0, climbed = 0;
    for (size_t i = 1; i < p->n; i++) {
        size_t from = p->from[i - 1], to = p->from[i];
        climbed += fmax(0, y[to - 1] - y[from]);
        back += y[to - 1] - y[to];
    }
    return back < 0.7 * climbed;
}

static void judge(struct growth *out, const double *x, const double *y, const unsigned char *restart,
                  size_t n, double effect)
{
    out->x_first = x[0];
    out->x_last = x[n - 1];
    out->noise = growth_noise(y, n);
    out->teeth = 1;
    struct pieces *p = mem_alloc(sizeof *p);
    find_pieces(p, y, restart, n, out->noise, effect);
    struct stats_bins b;
    stats_bin(&b, x, y, n, BINS);
    growth_judge_piece(out, &b, effect);
    if (p->n > 1 && p->n < n / 4) {
        struct growth t = *out;
        growth_judge_teeth(&t, x, y, p, effect);
        bool goes_on = out->shape == GROWTH_LINE && out->tau > 0.8 && p->restarts == 0 && falls_partly(y, p);
        if (t.shape == GROWTH_TEETH_UP ||
            (t.shape == GROWTH_TEETH && t.tooth > effect && t.strength > 0.3 && !goes_on))
            *out = t;
    }
    free(p);
}

void growth_test(struct growth *out, const double *x, const double *y, const unsigned char *restart, size_t n,
                 double effect)
{
    *out = (struct growth){.shape = GROWTH_UNTESTED,
                           .slope = NAN,
                           .low = NAN,
                           .high = NAN,
                           .least_slope = NAN,
                           .onset = NAN,
                           .tau = NAN,
                           .late_share = NAN,
                           .x0 = NAN,
                           .y0 = NAN};
    double *cx = mem_alloc((n + 1) * sizeof *cx), *cy = mem_alloc((n + 1) * sizeof *cy);
    unsigned char *cr = mem_zero(n + 1, 1);
    size_t m = 0;
    bool pending = false;
    for (size_t i = 0; i < n; i++) {
        pending = pending || (restart && restart[i]);
        if (!isfinite(y[i]) || !isfinite(x[i]))
            continue;
        cx[m] = x[i];
        cy[m] = y[i];
        cr[m] = pending && m > 0;
        m++;
        pending = false;
    }
    out->n = m;
    if (m >= LEAST)
        judge(out, cx, cy, cr, m, effect);
    free(cx), free(cy), free(cr);
}

bool growth_climbs(const struct growth *g)
{
    return g->shape == GROWTH_LINE || g->shape == GROWTH_STAIRS || g->shape == GROWTH_TEETH_UP;
}

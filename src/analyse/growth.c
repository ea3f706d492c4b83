#include "analyse/growth.h"

#include "analyse/stats.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

enum {
    BINS = 128,
    BLOCKS = 12,
    LEAST = 8
};

/* A margin in 0..1: 0.5 at the limit, 0.95 at `full`. */
static double margin(double v, double limit, double full)
{
    if (isnan(v))
        return 0;
    return 1 / (1 + exp(-2.94 * (v - limit) / (full - limit)));
}

/* Spread of y about its local level: second differences take out levels, slopes
 * and single jumps. */
static double local_noise(const double *y, size_t n)
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

/* ---- pieces between falls ---- */

enum {
    PIECES_MAX = 4096
};

struct pieces {
    size_t n;
    size_t from[PIECES_MAX + 1];
    size_t restarts;
};

/* A fall: the level a few values later is well below the level before. */
static void find_pieces(struct pieces *p, const double *y, const unsigned char *restart, size_t n,
                        double noise, double effect)
{
    double range = stats_quantile_of(y, n, 0.98) - stats_quantile_of(y, n, 0.02);
    double fall = fmax(fmax(0.12 * range, 8 * noise), 0.5 * effect);
    p->n = 1;
    p->from[0] = 0;
    p->restarts = 0;
    for (size_t i = 1; i < n; i++) {
        bool cut = restart && restart[i];
        bool falls = y[i] < y[i - 1] - fall;
        if (falls && i + 1 < n && y[i + 1] > y[i] + 0.5 * (y[i - 1] - y[i]))
            falls = false; /* a single low reading */
        if (falls && i >= 2 && y[i - 2] < y[i - 1] - 0.5 * (y[i - 1] - y[i]))
            falls = false; /* the end of a single high reading */
        if ((!cut && !falls) || i < p->from[p->n - 1] + 3)
            continue;
        if (p->n == PIECES_MAX)
            break;
        p->restarts += cut;
        p->from[p->n++] = i;
    }
    p->from[p->n] = n;
}

/* ---- one piece ---- */

struct line_fit {
    double slope, intercept, error, sse;
};

static struct line_fit fit_bins(const struct stats_bins *b, size_t from, size_t to)
{
    struct line_fit f = {0};
    f.slope = stats_theil_sen(b->x + from, b->mid + from, to - from, &f.intercept);
    if (isnan(f.slope))
        f.slope = 0;
    f.error = stats_slope_error(b->x + from, b->mid + from, to - from, f.slope, f.intercept);
    for (size_t i = from; i < to; i++) {
        double r = b->mid[i] - f.intercept - f.slope * b->x[i];
        f.sse += r * r;
    }
    return f;
}

/* The bin at which the last regime begins: the split into two lines that leaves
 * the least, if that is much less than one line leaves. */
static size_t last_regime(const struct stats_bins *b, double noise_bin)
{
    struct stats_sums all = {0}, left = {0};
    for (size_t i = 0; i < b->n; i++)
        stats_sums_add(&all, b->x[i] - b->x[0], b->mid[i] - b->mid[0]);
    double one = stats_sums_line(all, NULL), best = one;
    size_t at = 0, edge = b->n / 16 > 3 ? b->n / 16 : 3;
    for (size_t k = 1; k + edge <= b->n; k++) {
        stats_sums_add(&left, b->x[k - 1] - b->x[0], b->mid[k - 1] - b->mid[0]);
        if (k < edge)
            continue;
        double two = stats_sums_line(left, NULL) + stats_sums_line(stats_sums_minus(all, left), NULL);
        if (two < best) {
            best = two;
            at = k;
        }
    }
    double rest = best / (double)b->n + noise_bin * noise_bin + 1e-9;
    return at > 0 && (one - best) / rest > 20 + 0.25 * (double)b->n ? at : 0;
}

static double level(const struct stats_bins *b, size_t from, size_t to)
{
    double copy[STATS_BINS_MAX];
    for (size_t i = from; i < to; i++)
        copy[i - from] = b->mid[i];
    return stats_median(copy, to - from);
}

/* Largest rise between neighbouring bins, and how many bins rise by a good part of it. */
static double largest_jump(const struct stats_bins *b, size_t from, double *median_step)
{
    double best = 0, steps[STATS_BINS_MAX];
    size_t n = 0;
    for (size_t i = from + 1; i < b->n; i++) {
        steps[n] = b->mid[i] - b->mid[i - 1];
        best = fmax(best, steps[n++]);
    }
    *median_step = n ? stats_median(steps, n) : 0;
    return best;
}

/* Jumps that each carry at least 8 % of the climb; whether they go on to the end. */
static size_t count_jumps(const struct stats_bins *b, size_t from, double rise, double noise_bin, bool *go_on,
                          double *carried)
{
    size_t n = 0, last = from, first = from;
    double limit = fmax(0.08 * rise, 6 * noise_bin);
    *carried = 0;
    for (size_t i = from + 1; i < b->n; i++) {
        double d = b->mid[i] - b->mid[i - 1];
        if (i + 1 < b->n && d > 0 &&
            b->mid[i + 1] - b->mid[i] > 0.25 * d) { /* a jump split by a bin's edge */
            d = b->mid[i + 1] - b->mid[i - 1];
            i++;
        }
        if (d < limit)
            continue;
        *carried += d;
        last = i;
        first = n++ ? first : i;
    }
    double spacing = n > 1 ? (double)(last - first) / (double)(n - 1) : (double)(b->n - from);
    *go_on = n >= 2 && (double)(b->n - last) <= 1.6 * spacing + 1;
    if (rise > 0)
        *carried /= rise;
    return n;
}

static void judge_piece(struct growth *g, const struct stats_bins *b, double effect)
{
    double noise_bin = local_noise(b->mid, b->n);
    size_t k = last_regime(b, noise_bin);
    size_t edge = b->n >= 30 ? b->n / 10 : (b->n >= 9 ? 3 : 1);
    g->total_rise = level(b, b->n - edge, b->n) - level(b, 0, edge);
    struct line_fit whole = fit_bins(b, 0, b->n);
    double span = b->x[b->n - 1] - b->x[0];
    double sd = sqrt(whole.sse / (double)b->n);
    g->slope = whole.slope;
    g->low = whole.slope - 1.96 * whole.error;
    g->high = whole.slope + 1.96 * whole.error;
    g->x0 = b->x[0];
    g->y0 = whole.intercept + whole.slope * b->x[0];
    g->onset = b->x[0];
    g->rise = whole.slope * span;
    g->t = whole.error > 0 ? whole.slope / whole.error : (whole.slope > 0 ? 1e6 : 0);

    bool go_on;
    double carried, median_step;
    size_t jumps = count_jumps(b, 0, g->total_rise, noise_bin, &go_on, &carried);
    double jump = largest_jump(b, 0, &median_step);
    g->jump_share = g->total_rise > 0 ? fmin(1, jump / g->total_rise) : 0;

    struct line_fit last = whole;
    size_t from = 0;
    bool stairs = jumps >= 3 && go_on && carried >= 0.6 && g->jump_share < 0.75;
    if (k > 0 && !stairs) {
        last = fit_bins(b, k, b->n);
        double part = last.slope * (b->x[b->n - 1] - b->x[k]);
        from = k;
        g->slope = last.slope;
        g->low = last.slope - 1.96 * last.error;
        g->high = last.slope + 1.96 * last.error;
        g->x0 = b->x[k];
        g->y0 = last.intercept + last.slope * b->x[k];
        g->onset = b->x[k];
        g->rise = part;
        g->t = last.error > 0 ? last.slope / last.error : (last.slope > 0 ? 1e6 : 0);
        sd = sqrt(last.sse / (double)(b->n - k));
    }
    /* late share and block minima over the climbing part */
    size_t m = b->n - from, third = m / 3;
    double blocks[BLOCKS];
    size_t n_blocks = m < BLOCKS ? m : BLOCKS;
    for (size_t i = 0; i < n_blocks; i++) {
        size_t f = from + i * m / n_blocks, t = from + (i + 1) * m / n_blocks;
        blocks[i] = stats_min(b->low + f, t - f, NULL);
    }
    g->tau = stats_trend_tau(blocks, n_blocks);
    if (third >= 1 && m >= 6) {
        size_t e = third >= 3 ? third / 3 : 1;
        double a0 = level(b, from, from + e), a1 = level(b, b->n - e, b->n);
        size_t mid = b->n - third;
        size_t lo = mid > from + e ? mid - e / 2 : mid;
        double am = level(b, lo, lo + e);
        g->late_share = a1 > a0 ? (a1 - am) / (a1 - a0) : 0;
    } else
        g->late_share = g->rise > 0 ? 1.0 / 3 : 0;
    double se = isfinite(whole.error) ? whole.error : 0;
    g->least_slope = span > 0 ? fmax(effect / span, 4 * se) : NAN;

    double strong = fmin(fmin(margin(log2(fmax(g->rise, 1) / effect), 0, 1.2), margin(g->t, 5, 15)),
                         fmin(margin(g->tau, 0.5, 0.85), margin(g->late_share, 0.16, 0.27)));
    strong = fmin(strong, margin(log2(fmax(g->rise, 1) / fmax(3.5 * sd, 1)), 0, 1));
    if (from > 0 && !stairs) /* a short last regime proves less */
        strong = fmin(strong, margin((double)m / (double)b->n, 0.10, 0.22));
    g->strength = strong;
    if (stairs) {
        g->shape = GROWTH_STAIRS;
        g->strength =
            fmin(margin(log2(fmax(g->total_rise, 1) / effect), 0, 1.2), margin((double)jumps, 2.2, 3.6));
        g->rise = g->total_rise;
        if (g->strength < 0.5)
            g->shape = GROWTH_FLAT;
        return;
    }
    if (strong >= 0.5)
        g->shape = GROWTH_LINE;
    else if (g->total_rise < effect)
        g->shape = GROWTH_FLAT;
    else if (from > 0 && g->jump_share >= 0.6 && fabs(last.slope * span) < 0.25 * g->total_rise + effect)
        g->shape = GROWTH_SHIFT;
    else if (from > 0 || g->late_share < 0.12)
        g->shape = g->jump_share >= 0.6 ? GROWTH_SHIFT : GROWTH_PLATEAU;
    else
        g->shape = g->jump_share >= 0.6 ? GROWTH_SHIFT : GROWTH_WANDER;
}

/* ---- several pieces ---- */

struct piece_fit {
    double slope, rise, low, high, start, end, x, weight;
};

static void judge_teeth(struct growth *g, const double *x, const double *y, const struct pieces *p,
                        double effect)
{
    struct piece_fit *f = mem_zero(p->n, sizeof *f);
    double *v = mem_alloc((p->n + 1) * sizeof *v), *w = mem_alloc((p->n + 1) * sizeof *w);
    size_t n = 0;
    for (size_t i = 0; i < p->n; i++) {
        size_t from = p->from[i], len = p->from[i + 1] - from;
        if (len < 3)
            continue;
        struct stats_bins b;
        stats_bin(&b, x + from, y + from, len, p->n > 64 ? 24 : 64);
        struct line_fit l = fit_bins(&b, 0, b.n);
        f[n] = (struct piece_fit){.slope = l.slope,
                                  .rise = l.slope * (b.x[b.n - 1] - b.x[0]),
                                  .start = b.mid[0],
                                  .end = b.mid[b.n - 1],
                                  .x = b.x[0],
                                  .weight = (double)len};
        f[n].low = l.slope - 1.96 * l.error;
        f[n].high = l.slope + 1.96 * l.error;
        n++;
    }
    g->teeth = n;
    if (n < 2) {
        free(f), free(v), free(w);
        g->shape = GROWTH_WANDER;
        return;
    }
    size_t best = 0;
    for (size_t i = 0; i < n; i++) {
        v[i] = f[i].rise;
        if (f[i].weight > f[best].weight)
            best = i;
    }
    g->tooth = stats_median(v, n);
    size_t up = 0;
    for (size_t i = 0; i < n; i++)
        up += f[i].rise > 0.3 * fabs(g->tooth);
    for (size_t i = 0; i < n; i++)
        v[i] = f[i].slope;
    g->tooth_slope = n >= 3 ? stats_median(v, n) : f[best].slope;
    g->last_rise = f[n - 1].rise;
    /* starts of the pieces: does the low point rise? The first piece starts with the process. */
    size_t skip = n >= 4 ? 1 : 0;
    for (size_t i = skip; i < n; i++) {
        v[i - skip] = f[i].start;
        w[i - skip] = f[i].x;
    }
    size_t m = n - skip < 256 ? n - skip : 256;
    double intercept, base = stats_theil_sen(w, v, m, &intercept);
    g->tau = stats_trend_tau(v, m);
    double climb = isnan(base) ? 0 : base * (w[m - 1] - w[0]);
    g->total_rise = climb;
    bool steady = (double)up >= 0.7 * (double)n;
    double up_strength =
        m >= 3 ? fmin(fmin(margin(log2(fmax(climb, 1) / effect), 0, 1.2), margin(g->tau, 0.5, 0.85)),
                      margin(climb / fmax(g->tooth, 1), 0.1, 0.3))
               : 0;
    if (p->restarts + 1 >= p->n)
        up_strength = 0;
    g->slope = f[best].slope;
    g->low = f[best].low;
    g->high = f[best].high;
    g->x0 = f[best].x;
    g->y0 = f[best].start;
    g->onset = f[0].x;
    g->rise = g->tooth;
    g->jump_share = 0;
    g->late_share = NAN;
    g->teeth_at_restarts = p->restarts + 1 >= p->n;
    if (up_strength >= 0.5) {
        g->shape = GROWTH_TEETH_UP;
        g->strength = up_strength;
        g->rise = y[p->from[p->n] - 1] - f[0].start;
        if (steady && g->tooth_slope > 0)
            g->slope = g->tooth_slope;
        else
            g->slope = base;
    } else {
        g->shape = GROWTH_TEETH;
        g->strength = steady ? fmin(margin(log2(fmax(g->tooth, 1) / effect), 0, 1.2), 0.95) : 0.2;
        if (g->tooth_slope > 0)
            g->slope = g->tooth_slope;
    }
    free(f), free(v), free(w);
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
    if (m >= LEAST) {
        out->x_first = cx[0];
        out->x_last = cx[m - 1];
        out->noise = local_noise(cy, m);
        struct pieces *p = mem_alloc(sizeof *p);
        find_pieces(p, cy, cr, m, out->noise, effect);
        struct stats_bins b;
        stats_bin(&b, cx, cy, m, BINS);
        judge_piece(out, &b, effect);
        out->teeth = 1;
        if (p->n > 1 && p->n < m / 4) {
            struct growth t = *out;
            judge_teeth(&t, cx, cy, p, effect);
            if (t.shape == GROWTH_TEETH_UP ||
                (t.shape == GROWTH_TEETH && t.tooth > effect && t.strength > 0.3))
                *out = t;
        }
        free(p);
    }
    free(cx), free(cy), free(cr);
}

bool growth_climbs(const struct growth *g)
{
    return g->shape == GROWTH_LINE || g->shape == GROWTH_STAIRS || g->shape == GROWTH_TEETH_UP;
}

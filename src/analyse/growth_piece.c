/* One piece: a line, a late line, stairs, or what only looks like them. */
#include "analyse/growth_parts.h"

#include <math.h>

enum {
    BLOCKS = 12
};

/* The bin at which the last regime begins: the split into two lines that leaves the least, if that is much
 * less than one line leaves; else 0. */
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

struct jumps {
    size_t n;
    double largest;
    double carried; /* share of the rise */
    double late;    /* share of what they carry that lies in the second half */
    bool go_on;     /* to the end, at their usual distance */
};

/* Jumps between bins that each carry at least 8 % of the rise. */
static struct jumps find_jumps(const struct stats_bins *b, double rise, double noise_bin)
{
    struct jumps j = {0};
    size_t first = 0, last = 0;
    double limit = fmax(0.08 * rise, 6 * noise_bin);
    for (size_t i = 1; i < b->n; i++) {
        double d = b->mid[i] - b->mid[i - 1];
        j.largest = fmax(j.largest, d);
        if (i + 1 < b->n && d > 0 &&
            b->mid[i + 1] - b->mid[i] > 0.25 * d) { /* a jump split by a bin's edge */
            j.largest = fmax(j.largest, b->mid[i + 1] - b->mid[i]);
            d = b->mid[i + 1] - b->mid[i - 1];
            i++;
        }
        if (d < limit)
            continue;
        j.carried += d;
        j.late += 2 * i > b->n ? d : 0;
        last = i;
        first = j.n++ ? first : i;
    }
    double spacing = j.n > 1 ? (double)(last - first) / (double)(j.n - 1) : (double)b->n;
    j.go_on = j.n >= 2 && (double)(b->n - last) <= 1.6 * spacing + 1;
    j.late = j.carried > 0 ? j.late / j.carried : 0;
    j.carried = rise > 0 ? j.carried / rise : 0;
    return j;
}

static void take_line(struct growth *g, const struct stats_bins *b, size_t from, const struct line_fit *l)
{
    g->slope = l->slope;
    g->low = l->slope - 1.96 * l->error;
    g->high = l->slope + 1.96 * l->error;
    g->x0 = g->onset = b->x[from];
    g->y0 = l->intercept + l->slope * b->x[from];
    g->rise = l->slope * (b->x[b->n - 1] - b->x[from]);
    g->t = l->error > 0 ? l->slope / l->error : l->slope > 0 ? 1e6 : 0;
}

/* Rank trend of block minima, and the share of the climb in its last third. */
static void trend_and_late_share(struct growth *g, const struct stats_bins *b, size_t from)
{
    size_t m = b->n - from, third = m / 3;
    double blocks[BLOCKS];
    size_t n_blocks = m < BLOCKS ? m : BLOCKS;
    for (size_t i = 0; i < n_blocks; i++) {
        size_t f = from + i * m / n_blocks, t = from + (i + 1) * m / n_blocks;
        blocks[i] = stats_min(b->low + f, t - f, NULL);
    }
    g->tau = stats_trend_tau(blocks, n_blocks);
    g->late_share = g->rise > 0 ? 1.0 / 3 : 0;
    if (m < 6)
        return;
    size_t e = third >= 3 ? third / 3 : 1, mid = b->n - third;
    double first = level(b, from, from + e), last = level(b, b->n - e, b->n);
    size_t lo = mid > from + e ? mid - e / 2 : mid;
    g->late_share = last > first ? (last - level(b, lo, lo + e)) / (last - first) : 0;
}

/* The shape of what is no lasting climb. */
static enum growth_shape shape_of_rest(const struct growth *g, size_t from, double last_slope, double span,
                                       double effect)
{
    if (g->total_rise < effect)
        return GROWTH_FLAT;
    if (g->jump_share >= 0.6)
        return GROWTH_SHIFT;
    bool ended = from > 0 && last_slope * span < 0.5 * g->total_rise + effect;
    return ended || from > 0 || g->late_share < 0.16 ? GROWTH_PLATEAU : GROWTH_WANDER;
}

static double strength(const struct growth *g, double sd, double part, double effect)
{
    double rise = log2(fmax(g->rise, 1) / effect), above = log2(fmax(g->rise, 1) / fmax(3.5 * sd, 1));
    double s = fmin(fmin(growth_margin(rise, 0, 1.2), growth_margin(g->t, 5, 15)),
                    fmin(growth_margin(g->tau, 0.5, 0.85), growth_margin(g->late_share, 0.16, 0.27)));
    s = fmin(s, growth_margin(above, 0, 1));
    return part < 1 ? fmin(s, growth_margin(part, 0.10, 0.22)) : s; /* a short last regime proves less */
}

/* Two regimes that climb alike are one climb, however well two lines fit it: what adds up batch by batch
 * wanders about its line. */
static bool one_climb(const struct stats_bins *b, size_t from, double last_slope)
{
    if (from < 4 || !(last_slope > 0))
        return false;
    double before = growth_fit(b, 0, from).slope;
    return before > 0.5 * last_slope && before < 2 * last_slope;
}

void growth_judge_piece(struct growth *g, const struct stats_bins *b, double effect)
{
    double noise_bin = growth_noise(b->mid, b->n), span = b->x[b->n - 1] - b->x[0];
    size_t edge = b->n >= 30 ? b->n / 10 : b->n >= 9 ? 3 : 1;
    g->total_rise = level(b, b->n - edge, b->n) - level(b, 0, edge);
    struct line_fit whole = growth_fit(b, 0, b->n), last = whole;
    struct jumps jumps = find_jumps(b, g->total_rise, noise_bin);
    g->jump_share = g->total_rise > 0 ? fmin(1, jumps.largest / g->total_rise) : 0;
    bool stairs = jumps.n >= 3 && jumps.go_on && jumps.carried >= 0.6 && g->jump_share < 0.75;
    size_t from = stairs ? 0 : last_regime(b, noise_bin);
    if (from > 0) {
        last = growth_fit(b, from, b->n);
        if (one_climb(b, from, last.slope)) {
            from = 0;
            last = whole;
        }
    }
    take_line(g, b, from, &last);
    trend_and_late_share(g, b, from);
    /* the last regime is where a climb would have to show */
    double se = isfinite(last.error) ? fmin(last.error, isfinite(whole.error) ? whole.error : INFINITY) : 0;
    double seen = b->x[b->n - 1] - b->x[from];
    g->least_slope = seen > 0 ? fmax(effect / seen, 4 * se) : NAN;
    if (stairs) {
        g->rise = g->total_rise;
        g->strength =
            fmin(growth_margin(log2(fmax(g->rise, 1) / effect), 0, 1.2),
                 fmin(growth_margin((double)jumps.n, 2.2, 3.6), growth_margin(jumps.late, 0.2, 0.33)));
        g->shape = g->strength >= 0.5 ? GROWTH_STAIRS : GROWTH_FLAT;
        return;
    }
    g->strength = strength(g, last.sd, (double)(b->n - from) / (double)b->n, effect);
    g->shape = g->strength >= 0.5 ? GROWTH_LINE : shape_of_rest(g, from, last.slope, span, effect);
}

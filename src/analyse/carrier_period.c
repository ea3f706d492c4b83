/* A rise carried by every k-th step: the increments folded by k. */
#include "analyse/carrier.h"

#include "analyse/stats.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROWS = 4096,
    EVERY = 256, /* all periods up to this are tried, above it the usual ones */
    LONGEST = 4096
};

struct fold {
    size_t n;
    const double *y;
    int *at;      /* step of each row less the first, n */
    double *d;    /* increment to each row, d[0] is 0 */
    double total; /* rise over the rows */
    double *by;   /* scratch, LONGEST */
};

/* Whether a stair that steps at phase j of period p leaves clearly less than a straight line. */
static bool stair_beats_line(const struct fold *f, int p, int j)
{
    struct stats_sums line = {0}, stair = {0};
    for (size_t i = 0; i < f->n; i++) {
        if (!isfinite(f->y[i]))
            continue;
        double v = f->y[i] - f->y[0];
        stats_sums_add(&line, f->at[i], v);
        stats_sums_add(&stair, (f->at[i] + p - j) / p, v);
    }
    return stats_sums_line(stair, NULL) < 0.7 * stats_sums_line(line, NULL);
}

/* Share of the rise in the best phase of period p, 0 when none carries it. */
static double share_of(const struct fold *f, int p)
{
    memset(f->by, 0, (size_t)p * sizeof *f->by);
    for (size_t i = 1; i < f->n; i++)
        f->by[f->at[i] % p] += f->d[i];
    int best = 0;
    double least = 0;
    for (int j = 1; j < p; j++) {
        best = f->by[j] > f->by[best] ? j : best;
        least = fmin(least, f->by[j]);
    }
    double high = f->by[best];
    if (high < 0.7 * f->total || high > 1.3 * f->total || least < -0.35 * high)
        return 0;
    return stair_beats_line(f, p, best) ? fmin(1, high / f->total) : 0;
}

static void fold_init(struct fold *f, const struct frame *fr, const double *y, size_t from)
{
    size_t n = fr->train.n - from < ROWS ? fr->train.n - from : ROWS;
    *f = (struct fold){.n = n, .y = y + from};
    f->at = mem_alloc((n + 1) * sizeof *f->at);
    f->d = mem_alloc((n + 1) * sizeof *f->d);
    f->by = mem_alloc(LONGEST * sizeof *f->by);
    for (size_t i = 0; i < n; i++) {
        double step = fr->train.x[from + i] - fr->train.x[from];
        f->at[i] = step < 1e9 ? (int)step : 1000000000;
        double d = i > 0 ? f->y[i] - f->y[i - 1] : 0;
        f->d[i] = isfinite(d) ? d : 0;
    }
    size_t edge = n / 12 + 1;
    f->total = stats_quantile_of(f->y + n - edge, edge, 0.5) - stats_quantile_of(f->y, edge, 0.5);
}

double carrier_period(const struct frame *f, const double *y, size_t from, double *share)
{
    static const int usual[] = {300, 320, 400, 500, 512, 600, 640, 800, 1000, 1024, 2000};
    static const enum field configured[] = {F_LOG_EVERY, F_EVAL_EVERY, F_SAVE_EVERY};
    *share = 0;
    if (f->axis != AXIS_STEP || f->train.n < from + 16)
        return NAN;
    struct fold fold;
    fold_init(&fold, f, y, from);
    int span = fold.at[fold.n - 1], found = 0;
    /* the longest period that carries it: its divisors carry it as well */
    for (int k = 3; fold.total > 0 && k <= LONGEST; k++) {
        bool try = k <= EVERY;
        for (size_t u = 0; u < sizeof usual / sizeof *usual && !try; u++)
            try = usual[u] == k;
        for (size_t u = 0; u < 3 && !try; u++)
            try = series_meta(f->s, configured[u]) == k;
        if (!try || k < 3 * f->stride || span / 4 < k)
            continue;
        double got = share_of(&fold, k);
        if (got > 0) {
            found = k;
            *share = got;
        }
    }
    free(fold.at), free(fold.d), free(fold.by);
    return found > 0 ? found : NAN;
}

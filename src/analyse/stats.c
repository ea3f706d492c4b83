#include "analyse/stats.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    COPY_MAX = 16384
};

static void swap_values(double *a, double *b)
{
    double t = *a;
    *a = *b;
    *b = t;
}

/* Quickselect with a median-of-three pivot and a three-way split, so that runs
 * of equal values (flat memory) stay linear. */
double stats_select(double *v, size_t n, size_t k)
{
    size_t lo = 0, hi = n;
    while (hi - lo > 1) {
        double a = v[lo], b = v[lo + (hi - lo) / 2], c = v[hi - 1];
        double pivot = a < b ? (b < c ? b : (a < c ? c : a)) : (a < c ? a : (b < c ? c : b));
        size_t lt = lo, i = lo, gt = hi;
        while (i < gt) {
            if (v[i] < pivot)
                swap_values(&v[lt++], &v[i++]);
            else if (v[i] > pivot)
                swap_values(&v[i], &v[--gt]);
            else
                i++;
        }
        if (k < lt)
            hi = lt;
        else if (k >= gt)
            lo = gt;
        else
            return pivot;
    }
    return v[lo];
}

double stats_quantile(double *v, size_t n, double q)
{
    if (n == 0)
        return NAN;
    double at = q * (double)(n - 1);
    size_t k = (size_t)floor(at);
    double low = stats_select(v, n, k);
    double part = at - (double)k;
    if (part <= 0 || k + 1 >= n)
        return low;
    double high = v[k + 1];
    for (size_t i = k + 2; i < n; i++)
        if (v[i] < high)
            high = v[i];
    return low + part * (high - low);
}

double stats_median(double *v, size_t n)
{
    return stats_quantile(v, n, 0.5);
}

/* At most COPY_MAX finite values, evenly spread over v. */
static size_t copy_spread(double *out, const double *v, size_t n)
{
    size_t got = 0;
    double stride = n > COPY_MAX ? (double)n / COPY_MAX : 1;
    size_t want = n > COPY_MAX ? COPY_MAX : n;
    for (size_t i = 0; i < want; i++) {
        double y = v[(size_t)((double)i * stride)];
        if (isfinite(y))
            out[got++] = y;
    }
    return got;
}

double stats_quantile_of(const double *v, size_t n, double q)
{
    if (n == 0)
        return NAN;
    double *copy = mem_alloc((n > COPY_MAX ? COPY_MAX : n) * sizeof *copy);
    size_t got = copy_spread(copy, v, n);
    double r = stats_quantile(copy, got, q);
    free(copy);
    return r;
}

double stats_mad_sd(const double *v, size_t n)
{
    if (n == 0)
        return NAN;
    double *copy = mem_alloc((n > COPY_MAX ? COPY_MAX : n) * sizeof *copy);
    size_t got = copy_spread(copy, v, n);
    double r = NAN;
    if (got >= 2) {
        double mid = stats_median(copy, got);
        for (size_t i = 0; i < got; i++)
            copy[i] = fabs(copy[i] - mid);
        r = 1.4826 * stats_median(copy, got);
    }
    free(copy);
    return r;
}

double stats_max(const double *v, size_t n, size_t *at)
{
    double best = NAN;
    for (size_t i = 0; i < n; i++)
        if (v[i] > best || (isnan(best) && !isnan(v[i]))) {
            best = v[i];
            if (at)
                *at = i;
        }
    return best;
}

double stats_min(const double *v, size_t n, size_t *at)
{
    double best = NAN;
    for (size_t i = 0; i < n; i++)
        if (v[i] < best || (isnan(best) && !isnan(v[i]))) {
            best = v[i];
            if (at)
                *at = i;
        }
    return best;
}

void stats_bin(struct stats_bins *out, const double *x, const double *y, size_t n, size_t want)
{
    if (want > STATS_BINS_MAX)
        want = STATS_BINS_MAX;
    if (want > n)
        want = n;
    out->n = 0;
    double *copy = mem_alloc((n / (want ? want : 1) + 2) * sizeof *copy);
    for (size_t b = 0; b < want; b++) {
        size_t from = (size_t)((double)b * (double)n / (double)want);
        size_t to = b + 1 == want ? n : (size_t)((double)(b + 1) * (double)n / (double)want);
        size_t got = 0;
        double sum = 0, low = INFINITY;
        for (size_t i = from; i < to; i++) {
            if (!isfinite(y[i]))
                continue;
            copy[got++] = y[i];
            sum += x[i];
            low = fmin(low, y[i]);
        }
        if (got == 0)
            continue;
        out->x[out->n] = sum / (double)got;
        out->low[out->n] = low;
        out->first[out->n] = from;
        out->mid[out->n++] = stats_median(copy, got);
    }
    out->first[out->n] = n;
    free(copy);
}

double stats_theil_sen(const double *x, const double *y, size_t n, double *intercept)
{
    size_t pairs = n < 2 ? 0 : n * (n - 1) / 2, got = 0;
    double *s = mem_alloc((pairs + n + 1) * sizeof *s);
    for (size_t i = 0; i + 1 < n; i++)
        for (size_t j = i + 1; j < n; j++)
            if (x[j] != x[i])
                s[got++] = (y[j] - y[i]) / (x[j] - x[i]);
    double slope = stats_median(s, got);
    for (size_t i = 0; i < n; i++)
        s[i] = y[i] - (isnan(slope) ? 0 : slope * x[i]);
    *intercept = stats_median(s, n);
    free(s);
    return slope;
}

double stats_slope_error(const double *x, const double *y, size_t n, double slope, double intercept)
{
    if (n < 3)
        return NAN;
    double mean = 0, spread = 0, rr = 0, lag = 0, before = 0;
    for (size_t i = 0; i < n; i++)
        mean += x[i] / (double)n;
    for (size_t i = 0; i < n; i++) {
        double r = y[i] - intercept - slope * x[i];
        spread += (x[i] - mean) * (x[i] - mean);
        rr += r * r;
        if (i > 0)
            lag += r * before;
        before = r;
    }
    double rho = rr > 0 ? lag / rr : 0;
    rho = fmin(fmax(rho, 0), 0.9);
    return sqrt(rr / (double)(n - 2) / spread * (1 + rho) / (1 - rho));
}

double stats_trend_tau(const double *v, size_t n)
{
    if (n < 2)
        return NAN;
    double s = 0;
    for (size_t i = 0; i + 1 < n; i++)
        for (size_t j = i + 1; j < n; j++)
            s += (v[j] > v[i]) - (v[j] < v[i]);
    return s / (0.5 * (double)n * (double)(n - 1));
}

void stats_sums_add(struct stats_sums *s, double x, double y)
{
    s->n += 1;
    s->x += x;
    s->y += y;
    s->xx += x * x;
    s->xy += x * y;
    s->yy += y * y;
}

struct stats_sums stats_sums_minus(struct stats_sums a, struct stats_sums b)
{
    return (struct stats_sums){a.n - b.n, a.x - b.x, a.y - b.y, a.xx - b.xx, a.xy - b.xy, a.yy - b.yy};
}

double stats_sums_flat(struct stats_sums s)
{
    return s.n > 0 ? fmax(0, s.yy - s.y * s.y / s.n) : 0;
}

double stats_sums_line(struct stats_sums s, double *slope)
{
    double sxx = s.n > 0 ? s.xx - s.x * s.x / s.n : 0;
    double sxy = s.n > 0 ? s.xy - s.x * s.y / s.n : 0;
    double b = s.n >= 2 && sxx > 1e-12 * s.xx ? sxy / sxx : 0;
    if (slope)
        *slope = b;
    return fmax(0, stats_sums_flat(s) - b * sxy);
}

size_t stats_change_point(const double *v, size_t n, size_t edge, double *shift)
{
    *shift = 0;
    if (edge == 0)
        edge = 1;
    if (n < 2 * edge)
        return 0;
    double total = 0, before = 0, best = -1;
    size_t at = 0;
    for (size_t i = 0; i < n; i++)
        total += v[i];
    for (size_t k = 1; k < n; k++) {
        before += v[k - 1];
        if (k < edge || n - k < edge)
            continue;
        double d = (total - before) / (double)(n - k) - before / (double)k;
        double score = fabs(d) * sqrt((double)k * (double)(n - k) / (double)n);
        if (score > best) {
            best = score;
            at = k;
            *shift = d;
        }
    }
    return at;
}

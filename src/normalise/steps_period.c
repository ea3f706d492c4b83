/* The level is sampled, its autocorrelation gives the period, and each period ends at
 * its lowest level near the expected place. */
#include "normalise/steps_period.h"
#include "base/mem.h"
#include <math.h>
#include <stdlib.h>

enum {
    SAMPLES = 4096,
    EVENTS_MIN = 64,
    LAG_MIN = 8,
    PERIODS_MIN = 4
};

/* Mean level over each of n equal pieces of the trace. */
static void sample(const struct trace_device *d, double *out, size_t n)
{
    struct trace_cursor c;
    struct trace_op op;
    double level = (double)d->totals.base;
    double *count = mem_zero(n, sizeof *count);
    memset(out, 0, n * sizeof *out);
    trace_cursor_init(&c, d);
    while (trace_next(&c, &op)) {
        level += (double)trace_op_delta(d, &op);
        size_t i = (size_t)((double)c.index * (double)n / (double)d->n);
        i = i < n ? i : n - 1;
        out[i] += level;
        count[i]++;
    }
    for (size_t i = 0; i < n; i++)
        out[i] = count[i] > 0 ? out[i] / count[i] : i ? out[i - 1] : level;
    free(count);
}

/* Growth would drown the period: the difference to a line through both halves' means is taken. */
static void level_out(double *v, size_t n)
{
    double left = 0, right = 0;
    for (size_t i = 0; i < n; i++)
        *(i < n / 2 ? &left : &right) += v[i];
    left /= (double)(n / 2);
    right /= (double)(n - n / 2);
    double slope = (right - left) / ((double)n / 2), mean = (left + right) / 2;
    for (size_t i = 0; i < n; i++)
        v[i] -= mean + slope * ((double)i - (double)n / 2);
}

/* Lag of the first high peak of the autocorrelation, or 0. */
static size_t find_lag(const double *v, size_t n)
{
    double zero = 0, *r = mem_alloc(n * sizeof *r);
    size_t most = n / PERIODS_MIN, lag = 0;
    for (size_t i = 0; i < n; i++)
        zero += v[i] * v[i];
    double best = 0;
    for (size_t k = 0; k < most; k++) {
        double sum = 0;
        for (size_t i = 0; i + k < n; i++)
            sum += v[i] * v[i + k];
        r[k] = zero > 0 ? sum / zero * (double)n / (double)(n - k) : 0;
    }
    size_t from = 1;
    while (from < most && r[from] > 0) /* the central peak */
        from++;
    for (size_t k = from; k + 1 < most; k++)
        best = r[k] > best ? r[k] : best;
    for (size_t k = from; k + 1 < most && !lag; k++)
        if (k >= LAG_MIN && r[k] > 0.9 * best && r[k] >= r[k - 1] && r[k] >= r[k + 1])
            lag = k;
    free(r);
    return best > 0.35 ? lag : 0;
}

/* Lowest level within half a period around each multiple. */
static uint64_t *cut(const struct trace_device *d, double period, size_t *n)
{
    size_t most = (size_t)((double)d->n / period) + 2;
    uint64_t *at = mem_zero(most, sizeof *at);
    double level = (double)d->totals.base, low = INFINITY;
    struct trace_cursor c;
    struct trace_op op;
    uint64_t low_at = 0;
    double from = 0.6 * period, to = 1.4 * period;
    *n = 0;
    trace_cursor_init(&c, d);
    while (trace_next(&c, &op)) {
        level += (double)trace_op_delta(d, &op);
        double i = (double)c.index;
        if (i >= from && level <= low) {
            low = level;
            low_at = c.index + 1;
        }
        if (i >= to && *n < most) {
            at[(*n)++] = low_at;
            from = (double)low_at + 0.6 * period;
            to = (double)low_at + 1.4 * period;
            low = INFINITY;
        }
    }
    return at;
}

uint64_t *steps_period(const struct trace_device *d, size_t *n)
{
    *n = 0;
    if (d->n < EVENTS_MIN)
        return NULL;
    size_t samples = d->n < SAMPLES ? (size_t)d->n : SAMPLES;
    double *v = mem_alloc(samples * sizeof *v);
    sample(d, v, samples);
    level_out(v, samples);
    size_t lag = find_lag(v, samples);
    free(v);
    return lag ? cut(d, (double)lag * (double)d->n / (double)samples, n) : NULL;
}

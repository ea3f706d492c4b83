#include "draw/scale.h"
#include <math.h>

double scale_px(const struct scale *s, double v)
{
    return s->from + (v - s->lo) / (s->hi - s->lo) * (s->to - s->from);
}

double scale_px_clamped(const struct scale *s, double v)
{
    if (isnan(v))
        return NAN;
    return scale_px(s, fmin(fmax(v, s->lo), s->hi));
}

/* The k-th step of 1, 2, 5, 10, 20, … times 10^exponent. */
static double nth_step(int exponent, int k)
{
    static const double mantissa[] = {1, 2, 5};
    int e = exponent + k / 3;
    /* 10^-n is exact only as a quotient. */
    return e < 0 ? mantissa[k % 3] / pow(10, -e) : mantissa[k % 3] * pow(10, e);
}

static struct ticks with_step(double lo, double hi, double step)
{
    /* A tick that misses an end by rounding only still counts. */
    double first = ceil(lo / step - 1e-9), last = floor(hi / step + 1e-9);
    double n = last - first + 1;
    struct ticks t = {first * step + 0.0, step, n < 0 ? 0 : n > 1000 ? 1000 : (int)n, 0};
    while (t.decimals < 9 && fabs(step * pow(10, t.decimals) - round(step * pow(10, t.decimals))) > 1e-6)
        t.decimals++;
    return t;
}

struct ticks ticks_choose(double lo, double hi, bool whole)
{
    /* Below a ten-thousandth of a millionth of the value doubles cannot tell ticks apart. */
    double range = fmax(hi - lo, fmax(fabs(lo), fabs(hi)) * 1e-10);
    int exponent = (int)floor(log10(range)) - 2;
    if (whole && exponent < 0)
        exponent = 0;
    struct ticks previous = {0};
    for (int k = 0; k < 15; k++) {
        struct ticks t = with_step(lo, hi, nth_step(exponent, k));
        if (t.n <= TICKS_MAX) {
            bool finer = t.n < TICKS_MIN && previous.n == TICKS_MAX + 1;
            return finer ? previous : t;
        }
        previous = t;
    }
    return previous;
}

struct ticks ticks_round_up(double lo, double *hi, bool whole)
{
    struct ticks t = ticks_choose(lo, *hi, whole);
    if (t.n >= TICKS_MIN && t.n <= TICKS_MAX)
        return t;
    double step = t.step;
    if (t.n > TICKS_MAX) { /* eight ticks: take the next step and go up to its tick */
        double unit = pow(10, floor(log10(step) + 1e-9)), mantissa = round(step / unit);
        step = mantissa == 2 ? 5 * unit : mantissa == 1 ? 2 * unit : 10 * unit;
    }
    t = with_step(lo, *hi, step);
    if (t.n < TICKS_MIN) {
        *hi = t.first + (TICKS_MIN - 1) * step;
        t = with_step(lo, *hi, step);
    }
    return t;
}

double tick_at(const struct ticks *t, int i)
{
    /* From whole multiples, so that 0 is 0 and 0.3 is 0.3. */
    return (round(t->first / t->step) + i) * t->step + 0.0;
}

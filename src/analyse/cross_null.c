#include "analyse/cross_null.h"
#include <math.h>

static double log_choose(double n, double k)
{
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1);
}

double null_at_least(double m, double k, double q)
{
    if (m <= 0)
        return 1;
    if (m > k || q <= 0)
        return 0;
    if (q >= 1)
        return 1;
    double p = 0;
    for (double j = m; j <= k; j++)
        p += exp(log_choose(k, j) + j * log(q) + (k - j) * log1p(-q));
    return fmin(1, p);
}

double null_range(double k, double n, double w)
{
    if (k < 2 || w >= n - 1)
        return 1;
    if (w < 0)
        return 0;
    double part = w / n, next = (w + 1) / n;
    return fmin(1, (n - w) * (pow(next, k) - pow(part, k)) + pow(part, k));
}

double null_shared(double m, double k, double n, double b)
{
    if (k < 2 || b >= n)
        return 1;
    return fmin(1, n * null_at_least(m, k, b / n));
}

double null_choices(double m, double k)
{
    return m < 0 || m > k ? 0 : exp(log_choose(k, m));
}

double null_shared_set(double s, double m, double k, double n, double b)
{
    if (k < 2 || m < 2 || s < 1 || s > b || b >= n)
        return 1;
    double each = null_at_least(m, k, b / n);
    double p = each > 0 ? exp(log_choose(n, s) + s * log(each)) : 0;
    return fmin(1, p + (m < k ? null_shared(m + 1, k, n, b) : 0));
}

double null_same(double m, double k, double n)
{
    if (k < 2 || m < 2 || n <= 1)
        return 1;
    return fmin(1, exp(log_choose(k, m) - (m - 1) * log(n)));
}

double null_large(double k, double u)
{
    return pow(fmin(1, fmax(0, u)), k);
}

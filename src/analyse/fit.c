#include "analyse/fit.h"

#include "analyse/stats.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    P = FIT_TERMS + 1,
    ROUNDS = 12
};

/* Solves the normal equations by Gaussian elimination with pivoting; a pivot
 * that is nothing beside its own diagonal (a column that repeats others) gives
 * a zero coefficient. */
static void solve(double a[P][P + 1], size_t p, double *out)
{
    bool dead[P] = {false};
    double diagonal[P];
    for (size_t i = 0; i < p; i++)
        diagonal[i] = a[i][i];
    for (size_t i = 0; i < p; i++) {
        if (!(a[i][i] > 1e-10 * diagonal[i]) || diagonal[i] <= 0) {
            dead[i] = true;
            continue;
        }
        for (size_t r = 0; r < p; r++) {
            if (r == i || a[r][i] == 0)
                continue;
            double k = a[r][i] / a[i][i];
            for (size_t c = i; c <= p; c++)
                a[r][c] -= k * a[i][c];
        }
    }
    for (size_t i = 0; i < p; i++)
        out[i] = dead[i] ? 0 : a[i][p] / a[i][i];
}

struct scaled {
    const double *const *x;
    double mean[FIT_TERMS], scale[FIT_TERMS];
    bool used[FIT_TERMS];
};

static double scaled_at(const struct scaled *s, size_t t, size_t i)
{
    return (s->x[t][i] - s->mean[t]) / s->scale[t];
}

static void weighted(const struct scaled *s, const double *y, const double *w, size_t n, size_t terms,
                     double *beta)
{
    double a[P][P + 1];
    size_t index[FIT_TERMS], p = 1;
    memset(a, 0, sizeof a);
    for (size_t t = 0; t < terms; t++)
        if (s->used[t])
            index[p++ - 1] = t;
    for (size_t i = 0; i < n; i++) {
        double row[P] = {1};
        for (size_t j = 1; j < p; j++)
            row[j] = scaled_at(s, index[j - 1], i);
        for (size_t j = 0; j < p; j++) {
            for (size_t k = 0; k < p; k++)
                a[j][k] += w[i] * row[j] * row[k];
            a[j][p] += w[i] * row[j] * y[i];
        }
    }
    double got[P] = {0};
    solve(a, p, got);
    for (size_t t = 0; t <= terms; t++)
        beta[t] = 0;
    beta[0] = got[0];
    for (size_t j = 1; j < p; j++)
        beta[index[j - 1] + 1] = got[j];
}

static double predict(const struct scaled *s, const double *beta, size_t terms, size_t i)
{
    double v = beta[0];
    for (size_t t = 0; t < terms; t++)
        if (s->used[t])
            v += beta[t + 1] * scaled_at(s, t, i);
    return v;
}

/* No coefficient of a scaled column moved by a thousandth of the residuals' spread. */
static bool settled(const double *before, const double *beta, size_t terms, double sd)
{
    for (size_t t = 0; t <= terms; t++)
        if (fabs(beta[t] - before[t]) > 0.001 * sd)
            return false;
    return true;
}

static void huber_rounds(const struct scaled *s, const double *y, size_t n, size_t terms, double *w,
                         double *r, double *beta)
{
    double before[P] = {0};
    for (size_t i = 0; i < n; i++)
        w[i] = 1;
    for (int round = 0; round < ROUNDS; round++) {
        weighted(s, y, w, n, terms, beta);
        for (size_t i = 0; i < n; i++)
            w[i] = r[i] = fabs(y[i] - predict(s, beta, terms, i));
        double sd = 1.4826 * stats_median(w, n); /* w is reordered, and filled anew below */
        if (!(sd > 0) || (round > 0 && settled(before, beta, terms, sd)))
            break;
        for (size_t i = 0; i < n; i++)
            w[i] = r[i] <= 1.345 * sd ? 1 : 1.345 * sd / r[i];
        memcpy(before, beta, sizeof before);
    }
}

bool fit_huber(struct fit *out, const double *const *x, const double *y, size_t n, size_t terms,
               unsigned signed_terms)
{
    *out = (struct fit){.terms = terms, .n = n};
    if (n < terms + 3 || terms > FIT_TERMS)
        return false;
    struct scaled s = {.x = x};
    size_t varying = 0;
    for (size_t t = 0; t < terms; t++) {
        double sum = 0, var = 0;
        for (size_t i = 0; i < n; i++)
            sum += x[t][i];
        s.mean[t] = sum / (double)n;
        for (size_t i = 0; i < n; i++)
            var += (x[t][i] - s.mean[t]) * (x[t][i] - s.mean[t]);
        s.scale[t] = sqrt(var / (double)n);
        s.used[t] = s.scale[t] > 1e-9 * fabs(s.mean[t]);
        varying += s.used[t];
    }
    if (varying == 0)
        return false;
    double *w = mem_alloc(n * sizeof *w), *r = mem_alloc(n * sizeof *r), beta[P];
    double mean = 0, total = 0, rest = 0;
    for (bool again = true; again;) {
        huber_rounds(&s, y, n, terms, w, r, beta);
        again = false;
        for (size_t t = 0; t < terms; t++)
            if (s.used[t] && beta[t + 1] < 0 && !(signed_terms >> t & 1)) {
                s.used[t] = false;
                again = true;
                break;
            }
    }
    out->base = beta[0];
    for (size_t t = 0; t < terms; t++)
        if (s.used[t]) {
            out->c[t] = beta[t + 1] / s.scale[t];
            out->base -= out->c[t] * s.mean[t];
        }
    for (size_t i = 0; i < n; i++)
        mean += y[i] / (double)n;
    for (size_t i = 0; i < n; i++) {
        total += (y[i] - mean) * (y[i] - mean);
        r[i] = y[i] - predict(&s, beta, terms, i);
        rest += r[i] * r[i];
    }
    out->r2 = total > 0 ? fmax(0, 1 - rest / total) : 0;
    out->sd = stats_mad_sd(r, n);
    free(w), free(r);
    return true;
}

double fit_at(const struct fit *f, const double *values)
{
    double v = f->base;
    for (size_t t = 0; t < f->terms; t++)
        v += f->c[t] * values[t];
    return v;
}

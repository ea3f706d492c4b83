#include "analyse/leak_shapes.h"

#include "analyse/shapes.h"
#include "analyse/stats.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SAMPLE = 4096,
    BLOCKS = 64,
    MODELS = 4 + FRAME_SIZES
};

/* v about its own straight line within each block of rows: only fast variation is left, which a trend in
 * time cannot fake. */
static void local_residual(double *out, const double *v, size_t n, size_t block)
{
    for (size_t from = 0; from < n; from += block) {
        size_t to = from + block < n ? from + block : n;
        struct stats_sums s = {0};
        double base = NAN;
        for (size_t i = from; i < to; i++)
            if (isfinite(v[i])) {
                if (isnan(base))
                    base = v[i];
                stats_sums_add(&s, (double)(i - from), v[i] - base);
            }
        double slope;
        stats_sums_line(s, &slope);
        double mid = s.n > 0 ? (s.y - slope * s.x) / s.n : 0;
        for (size_t i = from; i < to; i++)
            out[i] = v[i] - base - mid - slope * (double)(i - from);
    }
}

static double mean_of(const double *v, size_t n)
{
    double sum = 0, got = 0;
    for (size_t i = 0; i < n; i++)
        if (isfinite(v[i])) {
            sum += v[i];
            got++;
        }
    return got > 0 ? sum / got : 0;
}

/* A fit on at most SAMPLE contiguous-block rows where everything is finite. */
static bool fit_rows(struct fit *fit, double *const *x, const double *y, size_t n, size_t terms,
                     unsigned sign)
{
    double *space = mem_alloc((SAMPLE + 1) * (FIT_TERMS + 1) * sizeof *space);
    const double *cols[FIT_TERMS];
    size_t got = 0, stride = n > SAMPLE ? n / SAMPLE : 1;
    for (size_t i = 0; i < n && got < SAMPLE; i += stride) {
        bool ok = isfinite(y[i]);
        for (size_t k = 0; k < terms; k++)
            ok = ok && isfinite(x[k][i]);
        if (!ok)
            continue;
        for (size_t k = 0; k < terms; k++)
            space[k * SAMPLE + got] = x[k][i];
        space[FIT_TERMS * SAMPLE + got++] = y[i];
    }
    for (size_t k = 0; k < terms; k++)
        cols[k] = space + k * SAMPLE;
    bool ok = got >= 12 && fit_huber(fit, cols, space + FIT_TERMS * SAMPLE, got, terms, sign);
    free(space);
    return ok;
}

static void subtract(double *adj, const double *y, const struct shape_model *m, const struct fit *fit,
                     size_t n)
{
    double mean[FIT_TERMS];
    for (size_t k = 0; k < m->terms; k++)
        mean[k] = mean_of(m->x[k], n);
    for (size_t i = 0; i < n; i++) {
        double v = y[i];
        for (size_t k = 0; k < m->terms; k++)
            if (fit->c[k] != 0 && isfinite(m->x[k][i]))
                v -= fit->c[k] * (m->x[k][i] - mean[k]);
        adj[i] = v;
    }
}

/* Fast variation: how much of it the model explains, with the coefficients in fit. */
static bool fit_within(struct fit *fit, const struct shape_model *m, const double *local_y, size_t n,
                       size_t block)
{
    double *local[FIT_TERMS];
    for (size_t k = 0; k < m->terms; k++) {
        local[k] = mem_alloc((n + 1) * sizeof *local[k]);
        local_residual(local[k], m->x[k], n, block);
    }
    bool ok = fit_rows(fit, local, local_y, n, m->terms, 0);
    for (size_t k = 0; k < m->terms; k++)
        free(local[k]);
    double least = 12.0 / (double)n; /* chance alone explains about terms / n */
    return ok && fit->r2 > fmax(0.05, least);
}

/* Goodman and Kruskal's gamma of block medians against time, where blocks differ as much as batches do;
 * stages of equal size are ties, not noise. */
static double trend_of_size(const struct shape_model *m, const double *x, size_t n)
{
    struct stats_bins b;
    stats_bin(&b, x, m->x[0], n, 24);
    double low = stats_min(b.mid, b.n, NULL), high = stats_max(b.mid, b.n, NULL);
    double spread = stats_quantile_of(m->x[0], n, 0.9) - stats_quantile_of(m->x[0], n, 0.1);
    if (!(high - low > 0.5 * spread))
        return stats_trend_tau(b.mid, b.n);
    double up = 0, down = 0, tie = 0.05 * (high - low);
    for (size_t i = 0; i < b.n; i++)
        for (size_t k = i + 1; k < b.n; k++) {
            up += b.mid[k] > b.mid[i] + tie;
            down += b.mid[k] < b.mid[i] - tie;
        }
    return up + down > 0 ? (up - down) / (up + down) : 0;
}

/* Slow variation: shapes beside time. When the shapes follow time closely only the shapes are used. */
static bool fit_between(struct fit *fit, struct shape_model *m, const double *y, const double *x, size_t n,
                        bool *collinear)
{
    double *cols[FIT_TERMS];
    for (size_t k = 0; k < m->terms; k++)
        cols[k] = m->x[k];
    struct fit of_time, alone, both;
    bool timed = m->terms < FIT_TERMS;
    double *time = mem_alloc((n + 1) * sizeof *time);
    memcpy(time, x, n * sizeof *time);
    bool ok = fit_rows(&alone, cols, y, n, m->terms, 0);
    *collinear = ok && fit_rows(&of_time, cols, time, n, m->terms, 0xf) && of_time.r2 > 0.985;
    *fit = alone;
    if (ok && timed && !*collinear) {
        cols[m->terms] = time;
        if (fit_rows(&both, cols, y, n, m->terms + 1, 1u << m->terms) && both.r2 > alone.r2) {
            *fit = both;
            fit->r2 = alone.r2; /* what the shapes alone explain */
        }
    }
    free(time);
    return ok && fit->r2 > 0.3 && (fit->c[0] > 0 || fit->c[1] > 0);
}

/* Spread that is left about a straight line in time, over block medians. */
static double left_over(const double *x, const double *y, size_t n)
{
    struct stats_bins b;
    double intercept, r[STATS_BINS_MAX];
    stats_bin(&b, x, y, n, 48);
    double slope = stats_theil_sen(b.x, b.mid, b.n, &intercept);
    for (size_t i = 0; i < b.n; i++)
        r[i] = fabs(b.mid[i] - intercept - (isnan(slope) ? 0 : slope * b.x[i]));
    return stats_quantile(r, b.n, 0.8);
}

/* Sizes that come in stages: few changes from row to row. */
static bool in_stages(const double *v, size_t n)
{
    size_t changes = 0;
    for (size_t i = 1; i < n; i++)
        changes += v[i] != v[i - 1];
    return changes * 10 <= n;
}

static bool rises_row_by_row(const double *v, size_t n)
{
    size_t falls = 0, changes = 0;
    for (size_t i = 1; i < n; i++) {
        falls += v[i] < v[i - 1];
        changes += v[i] != v[i - 1];
    }
    return changes * 10 > n && falls * 10 <= changes;
}

struct attempt {
    double *best;  /* adj so far */
    double left;   /* what it leaves */
    double *trial; /* scratch */
};

/* Takes the trial if it leaves clearly less than what stands. */
static bool keep_better(struct attempt *a, const struct frame *f, const double *y,
                        const struct shape_model *m, const struct fit *fit, double share,
                        struct shapes_taken *got, bool collinear)
{
    size_t from = f->warm, n = f->train.n;
    subtract(a->trial, y, m, fit, n);
    double left = left_over(f->train.x + from, a->trial + from, n - from);
    if (got->taken && !(left < 0.85 * a->left))
        return false;
    got->taken = true;
    got->share = share;
    got->collinear = collinear;
    a->left = left;
    memcpy(a->best, a->trial, n * sizeof *a->best);
    return true;
}

struct shapes_taken leak_take_out_shapes(double *adj, const struct frame *f, const double *y, bool is_floor)
{
    struct shapes_taken got = {.size_tau = NAN};
    size_t n = f->train.n, from = f->warm, rows = n - from;
    memcpy(adj, y, n * sizeof *adj);
    struct shape_model all[MODELS];
    size_t models = n > 12 ? shape_candidates(all, MODELS, f, &f->train) : 0;
    size_t block = rows / BLOCKS > 8 ? rows / BLOCKS : 8;
    double *local = mem_alloc((n + 1) * sizeof *local);
    struct attempt a = {.best = adj, .trial = mem_alloc((n + 1) * sizeof *local)};
    local_residual(local, y + from, rows, block);
    for (size_t i = 0; i < models; i++) {
        struct shape_model m = all[i], view;
        struct fit fit;
        bool collinear = false;
        shape_fill(&m, f, &f->train);
        view = m;
        for (size_t k = 0; k < m.terms; k++)
            view.x[k] = m.x[k] + from;
        double tau = trend_of_size(&view, f->train.x + from, rows);
        if (isnan(got.size_tau) || fabs(tau) > fabs(got.size_tau))
            got.size_tau = tau;
        got.sorted = got.sorted || rises_row_by_row(view.x[0], rows);
        bool fast = fit_within(&fit, &view, local, rows, block);
        if (fast)
            keep_better(&a, f, y, &m, &fit, fit.r2, &got, false);
        /* A floor that follows smoothly sorted batches is growth: only the last batch lives on in it. */
        bool slow = fabs(tau) > 0.3 && (!is_floor || m.kind == SHAPE_SIZE || in_stages(view.x[0], rows)) &&
                    fit_between(&fit, &view, y + from, f->train.x + from, rows, &collinear);
        if (slow)
            keep_better(&a, f, y, &m, &fit, fit.r2, &got, collinear);
        shape_release(&m);
    }
    free(local), free(a.trial);
    return got;
}

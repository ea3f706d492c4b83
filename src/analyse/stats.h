/* stats: robust statistics on plain arrays of doubles.
 *
 * Values are finite unless a function says otherwise; the caller drops missing
 * ones. No function keeps state or draws from a random source. Knows nothing of
 * memory logs. */
#ifndef OOMREPORT_ANALYSE_STATS_H
#define OOMREPORT_ANALYSE_STATS_H

#include <stdbool.h>
#include <stddef.h>

enum {
    STATS_BINS_MAX = 512
};

/* The k-th smallest (0-based) of n > k values; reorders v. O(n) on average. */
double stats_select(double *v, size_t n, size_t k);
/* Quantile q in 0..1 by linear interpolation of order statistics (type 7 of
 * Hyndman and Fan, 1996); reorders v; NAN when n is 0. */
double stats_quantile(double *v, size_t n, double q);
double stats_median(double *v, size_t n);
/* The same without reordering: at most 16384 values, evenly spread, are looked
 * at; missing values (NAN) are left out. */
double stats_quantile_of(const double *v, size_t n, double q);
/* 1.4826 times the median absolute deviation from the median, of a copy as
 * above: estimates a standard deviation under normal noise. NAN below two. */
double stats_mad_sd(const double *v, size_t n);
/* Largest value; NAN ignores; NAN when there is none. Index in *at if at is not NULL. */
double stats_max(const double *v, size_t n, size_t *at);
double stats_min(const double *v, size_t n, size_t *at);

/* Equal-count bins over pairs in order. */
struct stats_bins {
    size_t n;
    double x[STATS_BINS_MAX];         /* mean x of the bin */
    double mid[STATS_BINS_MAX];       /* median y */
    double low[STATS_BINS_MAX];       /* smallest y */
    size_t first[STATS_BINS_MAX + 1]; /* index of the bin's first pair */
};
/* min(want, n, STATS_BINS_MAX) bins; pairs with a NAN y are skipped. */
void stats_bin(struct stats_bins *out, const double *x, const double *y, size_t n, size_t want);

/* Theil-Sen line (Sen, 1968) through n <= STATS_BINS_MAX points; the median of
 * all pairwise slopes and the median of y - slope * x. Slope NAN for fewer than
 * two distinct x. */
double stats_theil_sen(const double *x, const double *y, size_t n, double *intercept);
/* Standard error of a line's slope from the residuals, widened for their lag-1
 * autocorrelation r by sqrt((1 + r) / (1 - r)), r cut to 0..0.9. NAN below three. */
double stats_slope_error(const double *x, const double *y, size_t n, double slope, double intercept);
/* Kendall's tau-a of n values against their order (Mann-Kendall); NAN below two. */
double stats_trend_tau(const double *v, size_t n);

/* Least-squares sums of a run of points, for fits of any piece in O(1). */
struct stats_sums {
    double n, x, y, xx, xy, yy;
};
void stats_sums_add(struct stats_sums *s, double x, double y);
struct stats_sums stats_sums_minus(struct stats_sums a, struct stats_sums b);
/* Residual sum of squares about the mean, and about the least-squares line (slope in *slope). */
double stats_sums_flat(struct stats_sums s);
double stats_sums_line(struct stats_sums s, double *slope);

/* Where the mean of n values shifts most: the split k (values 0..k-1 against
 * the rest, at least `edge` on each side) with the largest standardised shift;
 * *shift is mean after minus mean before. 0 when n < 2 * edge. */
size_t stats_change_point(const double *v, size_t n, size_t edge, double *shift);

#endif

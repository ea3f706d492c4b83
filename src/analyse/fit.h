/* fit: a robust linear fit of one quantity on a few others.
 *
 * Huber's M-estimator (Huber, 1964; k = 1.345) by iteratively reweighted least
 * squares until nothing moves, at most 12 rounds, with the scale from the median
 * absolute residual; coefficients kept at zero or above where asked: memory does
 * not fall when a batch grows. Knows of numbers only. */
#ifndef OOMREPORT_ANALYSE_FIT_H
#define OOMREPORT_ANALYSE_FIT_H

#include <stdbool.h>
#include <stddef.h>

enum {
    FIT_TERMS = 4
};

struct fit {
    size_t terms;        /* besides the constant */
    double base;         /* the constant */
    double c[FIT_TERMS]; /* 0 for a term that was dropped */
    double r2;           /* of all points, unweighted */
    double sd;           /* robust spread of the residuals */
    size_t n;
};

/* y (n) on terms columns x[0..terms-1] (n each). signed_terms: bit t set when
 * coefficient t may be negative. False when there are fewer than terms + 3
 * points, or nothing varies. */
bool fit_huber(struct fit *out, const double *const *x, const double *y, size_t n, size_t terms,
               unsigned signed_terms);
double fit_at(const struct fit *f, const double *values);

#endif

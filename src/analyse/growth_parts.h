/* growth_parts: what growth_test is made of; for growth*.c only. */
#ifndef OOMREPORT_ANALYSE_GROWTH_PARTS_H
#define OOMREPORT_ANALYSE_GROWTH_PARTS_H

#include "analyse/growth.h"
#include "analyse/stats.h"

enum {
    PIECES_MAX = 4096
};

/* Pieces between falls: values from[i] .. from[i + 1] - 1. */
struct pieces {
    size_t n;
    size_t from[PIECES_MAX + 1];
    size_t restarts; /* cuts that are restarts of the process */
};

struct line_fit {
    double slope, intercept, error;
    double sd; /* of the residuals */
};

/* How far v is on the good side of a limit: 0.5 at the limit, 0.95 at `full`; 0 for NAN. */
double growth_margin(double v, double limit, double full);
/* Spread of y about its local level, by second differences. */
double growth_noise(const double *y, size_t n);
/* Theil-Sen line through bins from .. to - 1. */
struct line_fit growth_fit(const struct stats_bins *b, size_t from, size_t to);
/* Judges one piece as a whole; sets every figure of g but the teeth's. */
void growth_judge_piece(struct growth *g, const struct stats_bins *b, double effect);
/* Judges a run that falls back at least once. */
void growth_judge_teeth(struct growth *g, const double *x, const double *y, const struct pieces *p,
                        double effect);

#endif

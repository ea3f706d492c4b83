/* carrier: which events of a run carry a rise. */
#ifndef OOMREPORT_ANALYSE_CARRIER_H
#define OOMREPORT_ANALYSE_CARRIER_H

#include "analyse/frame.h"

enum {
    CARRIER_BOUNDARIES = 2048
};

struct boundaries {
    size_t n;
    size_t at[CARRIER_BOUNDARIES]; /* index in the train track of the first row after it, ascending */
};

struct carried {
    double share;  /* of the total rise [1] */
    size_t jumps;  /* boundaries looked at */
    double rising; /* share of them that rise by a fair part of the median jump */
    double jump;   /* median jump [y] */
    bool last_rises;
};

void boundaries_of_epochs(struct boundaries *b, const struct frame *f);
void boundaries_of_eval(struct boundaries *b, const struct frame *f);
/* Every `period` steps, for cadences that are configured and not logged. */
void boundaries_of_cadence(struct boundaries *b, const struct frame *f, double period);
/* y over train rows, from row `from` on. */
struct carried carrier_share(const struct boundaries *b, const double *y, size_t from, size_t n);
/* The period [step] that carries at least 70 % of the rise of y, or NAN. */
double carrier_period(const struct frame *f, const double *y, size_t from, double *share);
/* How far the batch's size carries the rise: share of the rise that follows the accumulated size, 0 when it
 * does not or the size is constant. */
double carrier_batch(const struct frame *f, const double *y, size_t from);

#endif

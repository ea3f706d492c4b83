/* records: growth in a counter that is never reset, or in reserved memory, which seldom falls.
 *
 * Such a column climbs in any run. Records of a steady process are uniform in log(step) (Renyi, 1962), so
 * about ln 2 = 0.7 of them fall in the second half of the rows; and where the batch's shape is logged, a
 * record without a record in size is growth. */
#ifndef OOMREPORT_ANALYSE_RECORDS_H
#define OOMREPORT_ANALYSE_RECORDS_H

#include "analyse/frame.h"

struct records {
    size_t rows;             /* after the warm-up, with a figure */
    size_t rises;            /* of them, those that set a record */
    size_t late;             /* of them in the second half, neighbours counted once */
    double late_rise;        /* [B] risen in the second half */
    bool sized;              /* the shape is logged, varies, and every step is logged */
    size_t without_size;     /* records set by batches well below the largest before */
    double unexplained;      /* [B] risen over what a batch as large had needed before */
    double unexplained_half; /* [B] of it, in the first half of the rows */
    size_t unexplained_late; /* times it rose in the second half */
    double p;                /* 0..1 that the column grows by itself */
};

void records_count(struct records *out, const struct frame *f, const double *y, double effect);

#endif

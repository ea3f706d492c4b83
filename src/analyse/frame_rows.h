/* frame_rows: which rows of a series are looked at.
 *
 * All of them up to FRAME_ROWS; of longer series contiguous stretches spread over
 * the run (neighbouring steps stay neighbours), evaluation rows, both ends, the
 * rows around events, and the rows with the largest peaks. */
#ifndef OOMREPORT_ANALYSE_FRAME_ROWS_H
#define OOMREPORT_ANALYSE_FRAME_ROWS_H

#include "model/series.h"

enum {
    FRAME_ROWS = 98304
};

struct row_run {
    size_t from, len;
};

struct frame_rows {
    size_t n;             /* rows picked */
    struct row_run *runs; /* n_runs, ascending, not touching */
    size_t n_runs;
    double *phase, *segment;    /* codes of the picked rows; missing ones 0 */
    size_t train_all, eval_all; /* rows of each phase in the whole series */
};

void frame_rows_init(struct frame_rows *r, const struct series *s);
void frame_rows_release(struct frame_rows *r);
/* Column c (NULL: never logged) of the picked rows into out (n values). */
void frame_rows_read(const struct frame_rows *r, const struct column *c, double *out);

#endif

/* reduce: the rows of a series to least, mean and greatest value per column of pixels.
 *
 * One pass over the rows, block by block, for all wanted fields; a value of one
 * row among millions is still the greatest of its column. Knows nothing of drawing. */
#ifndef OOMREPORT_DRAW_REDUCE_H
#define OOMREPORT_DRAW_REDUCE_H

#include "base/arena.h"
#include "model/series.h"

enum {
    REDUCE_FIELDS = 6,
    REDUCE_COLUMNS = 2000,
    REDUCE_SEGMENTS = 32 /* later processes of a run that restarted more often share the last one */
};

/* What stands on the x axis: the optimizer step, else the time, else the row. */
enum x_kind {
    X_STEP,
    X_TIME,
    X_ROW
};

enum x_kind reduce_x_kind(const struct series *s);
/* Least and greatest x; false when there is none. */
bool reduce_x_range(const struct series *s, enum x_kind kind, double *lo, double *hi);
/* x of one row; NAN when it has none. */
double reduce_x_at(const struct series *s, enum x_kind kind, size_t row);

struct reduced_field {
    double *min, *mean, *max; /* n_columns each; NAN where no row falls */
    double *count;
};

struct reduced_segment {
    struct reduced_field field[REDUCE_FIELDS];
};

struct reduced {
    size_t n_columns, n_fields, n_segments;
    struct reduced_segment *segments;
};

struct reduce_spec {
    enum x_kind x;
    double lo, hi;    /* x of the left edge of the first and the right edge of the last column */
    size_t n_columns; /* at most REDUCE_COLUMNS */
    const enum field *fields;
    size_t n_fields; /* at most REDUCE_FIELDS */
    int phase;       /* only rows of this phase; -1: all */
};

void reduce(struct reduced *out, struct arena *arena, const struct series *s, const struct reduce_spec *spec);
/* Fills gaps between values by straight lines; the ends stay NAN (n values). */
void reduce_join(double *v, size_t n);

#endif

/* bands: live memory over a trace, by the lines of code that hold most of it.
 *
 * The events are cut into columns of equal length; each column has the state at its highest
 * level, so that the peak is in it, and the parts add up to a level that there was. */
#ifndef OOMREPORT_ANALYSE_BANDS_H
#define OOMREPORT_ANALYSE_BANDS_H

#include "analyse/study.h"

enum {
    BANDS_MAX = 10
};

struct band {
    const char *site; /* "file:line function"; NULL: blocks without a stack */
    uint32_t frame;   /* TRACE_NONE for NULL */
    double *bytes;    /* [B] n_columns */
    double highest;   /* [B] over all events */
};

struct bands {
    size_t n_columns, n;
    struct band band[BANDS_MAX]; /* n, the one named first, then largest first */
    size_t n_others;             /* sites beyond those */
    double *others;              /* [B] n_columns */
    double *level;               /* [B] n_columns: all together */
    double *reserved;            /* [B] n_columns: highest within each */
};

/* n_columns > 0. first: the frame whose band comes first when it is there, or TRACE_NONE; where it is no site
 * itself, or below is set, it is all that was asked for below it. Everything is in the arena.
 * False when the trace has no events. */
bool bands_make(struct bands *out, struct arena *a, const struct trace_file *t, const struct trace_device *d,
                size_t n_columns, uint32_t first, bool below);

#endif

/* traits: what a comparison of runs needs of a run besides its figures.
 *
 * Taken from the series once; a report carries them, so that runs read from reports compare as
 * runs read from logs do. Plain data; strings are owned by the analysis's arena. */
#ifndef OOMREPORT_MODEL_TRAITS_H
#define OOMREPORT_MODEL_TRAITS_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SHAPE_MEASURES = 6, /* tokens, batch x max_len, ... as cross_shape names them */
    ORDER_SAMPLE = 128  /* steps that the order of batches is compared at */
};

/* How a failing batch stands among its run's batches of its phase, by one measure of size. */
struct standing {
    double n, as_large; /* batches logged; those at least as large */
    double records;     /* batches larger than all before them */
    bool varies;
};

struct run_traits {
    const char *report;                 /* name of the report that the run was read from, or NULL */
    uint64_t digest;                    /* of all that was logged; 0: none */
    double peak_bytes;                  /* [B] largest memory figure; NAN */
    double end_time;                    /* [s] of the event that ended it; NAN */
    double epoch_steps;                 /* steps of an epoch, as logged; NAN */
    double typical_batch, typical_len;  /* medians over training rows; NAN */
    double typical_floor, typical_peak; /* [B] likewise, allocated and peak; NAN */
    /* of the batch that it failed on */
    double failing_step;
    struct str failing_ids, failing_hash; /* CSV form; {NULL, 0} unknown */
    bool hash_passed;                     /* an earlier step lived through it */
    const struct str *passed_ids;         /* n_passed_ids of failing_ids that earlier steps lived through */
    size_t n_passed_ids;
    double distinct_batches; /* by content */
    struct standing standing[SHAPE_MEASURES];
    /* which batch stood at some steps, in the order of the log */
    double *order_step, *order_code; /* n_order */
    size_t n_order;
};

#endif

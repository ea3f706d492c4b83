/* past: what an earlier report.json holds, as the analysis had it. */
#ifndef OOMREPORT_MODEL_PAST_H
#define OOMREPORT_MODEL_PAST_H

#include "model/verdict.h"

struct past_report {
    struct arena arena;
    struct run_report *runs; /* n_runs; their series, of reduced points, are owned */
    size_t n_runs;
    struct rank_row *ranks; /* n_ranks; a line for each rank, also of those that are not in runs */
    size_t n_ranks;
    struct quality *quality; /* n_quality */
    size_t n_quality;
    double same_batch_ratio; /* of the failed runs, those on the same batch; NAN unknown */
    bool mergeable;          /* it carries what merging needs (reports of older versions do not) */
};

void past_report_free(struct past_report *p);

#endif

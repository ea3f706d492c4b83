/* analyse: series -> verdicts.
 *
 * Four questions in order (grows, outlier batch, eval boundary, capacity), each
 * answered with tests and figures even after an earlier one decided; then the
 * runs against each other. Reads series only; may not know of inputs, pictures
 * or pages. */
#ifndef OOMREPORT_ANALYSE_ANALYSE_H
#define OOMREPORT_ANALYSE_ANALYSE_H

#include "analyse/what_if.h"
#include "model/past.h"

struct analyse_settings {
    double capacity_bytes;                /* --capacity [B]; NAN: from the logs */
    const struct what_if_change *what_if; /* n_what_if of --what-if */
    size_t n_what_if;
    bool hide_ids;                         /* no sentence names a sample */
    const struct past_report *const *past; /* n_past earlier reports, whose runs join in */
    size_t n_past;
};

/* The series must outlive the analysis. out is released with analysis_release. */
void analyse(struct analysis *out, const struct series_set *set, const struct analyse_settings *settings);
void analysis_release(struct analysis *a);

#endif

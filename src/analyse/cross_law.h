/* cross_law: runs with other batch sizes held against the memory law.
 *
 * Activations are linear in the batch: what a run of one batch size needs follows from a run of another,
 * its fixed part and what a sample of the same length adds. Where a run needs what the law of another says,
 * the batch's size alone makes the difference; where it does not, something else differs between them. */
#ifndef OOMREPORT_ANALYSE_CROSS_LAW_H
#define OOMREPORT_ANALYSE_CROSS_LAW_H

#include "analyse/ranks.h"
#include "model/verdict.h"

/* One sentence in a's arena, on the two batch sizes furthest apart; NULL when all runs have one batch size,
 * when it is not logged, or when no run has rows enough to tell its fixed part. */
const char *cross_law_text(struct analysis *a, const struct job *jobs, size_t n_jobs);

#endif

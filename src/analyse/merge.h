/* merge: runs of earlier reports beside those that were read from logs. */
#ifndef OOMREPORT_ANALYSE_MERGE_H
#define OOMREPORT_ANALYSE_MERGE_H

#include "model/past.h"

/* Room that a->runs needs for the runs of n reports. */
size_t merge_room(const struct past_report *const *past, size_t n);
/* Puts the runs of n reports into a->runs, which has room for them: each log once, runs of one name told
 * apart as builder does, all sorted by run and rank. Also what the reports say of their quality. */
void merge_runs(struct analysis *a, const struct past_report *const *past, size_t n);

#endif

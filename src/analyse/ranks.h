/* ranks: the ranks of one job against each other.
 *
 * Which rank failed first, which is out of line in its peak, which merely
 * stopped with the one that failed. May not know of causes. */
#ifndef OOMREPORT_ANALYSE_RANKS_H
#define OOMREPORT_ANALYSE_RANKS_H

#include "model/verdict.h"

enum {
    JOB_NONE = -1
};

/* A job: the ranks of one run, a->runs[first .. first+n-1] (a->runs is sorted by run). */
struct job {
    size_t first, n;
    long failed; /* index into a->runs of the rank that failed first, or JOB_NONE */
};

/* True when both have the same name and a rank: they are one job. Every grouping rests on this. */
bool ranks_of_one_job(const struct run_report *a, const struct run_report *b);

/* The jobs of a, in order. Failed first: device OOM before host kill; then by the time of the
 * event where all failed ranks have one, else by step, else by rank. */
size_t jobs_find(struct job **out, struct arena *arena, const struct analysis *a);

/* Fills a->ranks and a->n_ranks with a line for each rank, when some job has two or more. */
void ranks_fill(struct analysis *a);

/* The rank whose peak is furthest out of line: more than 5 robust standard deviations (1.4826
 * MAD) and 5 % away from the median of three ranks or more; of two, 10 % above the other.
 * Index into a->runs, or JOB_NONE. *by is its distance from the median [B], signed. */
long rank_out_of_line(double *by, const struct analysis *a, const struct job *j);

/* One sentence on a job of two ranks or more (in a's arena); NULL when there is nothing to say:
 * "rank 3 failed first, at step 120; 7 other ranks stopped with it; rank 3 peaks 4.20 GiB above
 * the median of 8 ranks". Stopped with it: no failure of their own, last step within 2 steps. */
const char *ranks_text(struct analysis *a, const struct job *j);

#endif

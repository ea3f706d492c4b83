/* facts: small answers about an analysis that several outputs need.
 *
 * Reads the analysis only; texts are made in an arena. */
#ifndef OOMREPORT_REPORT_FACTS_H
#define OOMREPORT_REPORT_FACTS_H

#include "report/words.h"

/* --label, else the common part of the runs' names, else the first with "+N more". */
const char *facts_label(struct arena *a, const struct analysis *an, const char *label);
/* "LEAK (likely) - OOM at step 11874 - label". */
const char *facts_title(struct arena *a, const struct analysis *an, const char *label);
/* The lead run, or NULL. */
const struct run_report *facts_lead(const struct analysis *an);
/* Highest memory of a run [B], NAN unknown; *what says of which quantity: "peak allocated", "reserved", … */
double facts_peak(const struct run_report *r, const char **what);
/* Runs by name; the ranks of one job are one. */
size_t facts_runs(const struct analysis *an);
/* Of the ranks of the run that `i` belongs to, the one that failed first, else the first. */
bool facts_stands_for_run(const struct analysis *an, size_t i);
size_t facts_failed_runs(const struct analysis *an);
/* Runs whose own verdict has the overall cause. */
size_t facts_agreeing_runs(const struct analysis *an);
/* "seeds" when every run has another seed, else "runs". */
const char *facts_run_word(const struct analysis *an, size_t n);
/* Failed runs that died on the same batch, the largest such group; 0 when not known. */
size_t facts_same_batch(const struct analysis *an);
/* "1 of 5 seeds", "not tested (1 run)", … */
const char *facts_same_batch_text(struct arena *a, const struct analysis *an);
/* "step 11874, rank 0, train"; or how far it came. `what` is "Failed at", "Killed at", "Completed", "Log ends
 * at". */
const char *facts_where(struct arena *a, const struct analysis *an, const struct run_report *r,
                        const char **what);
/* The causes that were tested and put aside: the runner-up first. Calls `say` for each with its reason. */
void facts_ruled_out(struct arena *a, const struct analysis *an,
                     void (*say)(void *context, const char *cause, const char *reason), void *context);
/* Which rank failed first and which is out of line, as a sentence; NULL where there are not several. */
const char *facts_ranks(struct arena *a, const struct analysis *an);
/* What the ranks say, then "The same cause in 5 of 5 seeds." or "1 run: repeatability not tested."; NULL when
 * the summary says it. */
const char *facts_agreement(struct arena *a, const struct analysis *an);
/* "2026-11-28 01:12 to 07:40 UTC" from the logs' own times; NULL when they have none. */
const char *facts_times(struct arena *a, const struct analysis *an);

/* "+3.1 MiB/step"; of a run that does not grow "none above 76.2 KiB/step"; NULL when untested. */
const char *facts_growth(struct arena *a, const struct run_report *r);

#endif

/* names: run, seed and rank as the names of files tell them. */
#ifndef OOMREPORT_NORMALISE_NAMES_H
#define OOMREPORT_NORMALISE_NAMES_H

#include "base/arena.h"

#include <stdbool.h>

struct run_name {
    struct str run;    /* never empty */
    double seed, rank; /* [1] or NAN */
};

/* "run1_seed3_rank12.jsonl" is run "run1_seed3", seed 3, rank 12; ranks of one job share the run. A name
 * that says nothing ("metrics.csv", "rank3.jsonl") leaves the run to the folder above it.
 * pattern, or NULL: "{run}-s{seed}-r{rank}.csv" with "*" for any run of bytes; matched against as many
 * components of the path, from its end, as it has. Texts go into a. */
void run_name_find(struct run_name *out, const char *path, const char *pattern, struct arena *a);

/* False where the pattern names none of {run}, {seed} and {rank}, one of them twice, or another word in
 * braces. */
bool run_name_pattern_ok(const char *pattern);

#endif

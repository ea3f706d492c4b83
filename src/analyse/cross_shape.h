/* cross_shape: how large the failing batches are among their runs' batches.
 *
 * Part of cross_run, whose header states the null models. A batch's size is what is logged of its shape
 * (tokens, batch times length, pixels, ...). Where batches come in order of size (three times as many records
 * as a random order sets) a rank says nothing, and none is given. */
#ifndef OOMREPORT_ANALYSE_CROSS_SHAPE_H
#define OOMREPORT_ANALYSE_CROSS_SHAPE_H

#include "analyse/cross_content.h"

/* Fills r->traits.standing: how the failing batch stands by each measure of size. */
void shape_stand(struct run_report *r);
/* Compares n >= 2 failures by the rank of their batch's size; false, and out as it was, where the
 * shapes do not tell. step_repeats raises the bar. */
bool shape_compare(struct content *out, const struct failed_run *runs, size_t n, bool step_repeats);

/* The chance that in some m of n unrelated failures (those that `which` marks) the failing batch is larger
 * than every batch its run logged before: C(n,m) times the product of 1 / (batches + 1), times the number of
 * measures of size that were tried. 1 where one of them is not, or the shapes do not tell. */
double shape_largest_chance(const struct failed_run *runs, const bool *which, size_t n);

#endif

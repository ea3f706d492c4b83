/* cross_run: runs of one job under other seeds, against each other.
 *
 * A failure that comes back with the same sample is the data's; one that comes
 * back at the same step is the schedule's. Failing runs are laid side by side
 * by step and by the content of their failing batches, and how well they agree
 * is weighed against what unrelated failures would do by chance
 * (cross_null.h). Reads run reports and their series; may not know of files.
 *
 * The ranks of one job are one run: the rank that failed first counts. Of runs
 * with the same seed one counts, unless what they logged shows that their data
 * came in another order: the same seed twice repeats everything, which says
 * nothing of content. Runs without a seed count one each, unless their logged
 * batches show the same order.
 *
 * Null models (k failures that count, m of them agree):
 *  step    uniform and independent on the n steps from the first to the last that any run
 *          reached; null_range(k, n, spread). Repeated: spread is 0, or it is at most a tenth of n
 *          and the probability is below 0.05 (0.005 where content agrees too, because two
 *          explanations are then tried; 0.2 where every run alone was found to leak, because
 *          a leak must end at about one step).
 *  ids     batches drawn at random from the samples of one epoch (steps per epoch as logged,
 *          else steps seen, times the batch); null_shared_set(s, m, k, samples, batch) for s samples that
 *          are in m failing batches. One giant sample shared by otherwise different batches counts.
 *          Two batches of 8 out of 720 share a sample in 1 case of 11, so that in a short run ids alone
 *          prove little. Where each of the m batches is also larger than all its run had logged before, as
 *          a giant's is, unrelated failures would need both: p is the smaller of the two chances, the second
 *          C(k,m) times the product of 1 / (batches + 1) (batches exchangeable: no rank where they come in
 *          order of size). Repeated: m > k/2 and p < 0.05.
 *          An id that the same run had lived through in an earlier step counts for no failure of that run.
 *  hash    all distinct batches equally likely; null_same(m, k, distinct batches logged).
 *          Repeated as for ids; a batch that had passed earlier in its run does not count.
 *  shape   where no content is logged: the share u of a run's own batches of that phase that are at
 *          least as large as the failing one is uniform; null_large(k, largest u). Repeated: p < 0.01
 *          and every u <= 0.1; where the step agrees too every u <= 0.02, because a leak also tips
 *          over at a large batch. Needs 10 batches in each run.
 * p_chance is that of the content; NAN where no content can be tested. */
#ifndef OOMREPORT_ANALYSE_CROSS_RUN_H
#define OOMREPORT_ANALYSE_CROSS_RUN_H

#include "model/verdict.h"

/* Fills a->has_cross (two runs or more) and a->cross, and takes what it says into a->verdict, whose
 * cause and confidence must have been set (how many runs were given that cause is in them
 * already): the odds of the cause are multiplied by
 *   data           peak 4, leak and capacity 1/3, eval 1
 *   schedule       leak 2, eval 3, capacity 2, peak 1/3 (peak/schedule 3)
 *   deterministic  1.5 for any cause
 * Then certainty: confirmed from 0.95 when two or more failing runs were given the verdict's cause
 * and the agreement does not speak against it; likely from 0.75; possible from 0.4; else cannot
 * tell. Verdicts "none" and "unknown", and comparisons that are not testable, are left alone. */
void cross_run(struct analysis *a);

#endif

/* forecast: at which step a climb meets the ceiling.
 *
 * The floor climbs along its line, each batch adds what it adds, and the run dies at the first step where the
 * two pass the ceiling: a first passage, whose step depends on the largest batches to come and not on their
 * mean. With p(x) the chance that one batch does so at x, the chance to have failed by x is 1 - exp(-H(x)), H
 * the sum of -log(1 - p) over the steps; the forecast is where it is a half. What batches add is their
 * empirical distribution, with a generalised Pareto tail above its 90 % quantile (Hosking and Wallis 1987).
 *
 * The interval holds the step in nine cases of ten. Three uncertainties, independent, add in squares: the
 * batches to come (5 % with a heavier tail; 95 % if none is larger than the largest so far), the ceiling
 * (what is not logged of context, caches and rounding) over the slope, and the slope (1.64 standard errors).
 *
 * The ceiling is the column's own. Allocated or peak: the device less what is outside the framework and a
 * hundredth that is cached and of no use. Reserved: the device less what is outside, and a hundredth more, as
 * caches are given back before an allocation fails. Device used: the device, and 1.4 % more for the same
 * reason. Outside: device used less reserved where both are logged, else 0.65 GiB (a clean process: 0.5
 * to 1.6). Held memory (reserved, device used, a counter that is never reset) has the batches in it, so they
 * are not added again.
 *
 * Nothing that the failure says enters, but for the device's size: the forecast of a run that failed and its
 * back-tests are what the rows before them say. What shapes explain is taken out over the whole run. */
#ifndef OOMREPORT_ANALYSE_FORECAST_H
#define OOMREPORT_ANALYSE_FORECAST_H

#include "analyse/rules.h"

/* Fills oom_step_forecast, its interval and the back-test of c->out->leak from the tested column y
 * (train rows), and c->leak.closure. */
void forecast_failure(struct run_ctx *c, const double *y);

#endif

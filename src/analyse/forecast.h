/* forecast: at which step a climb meets the ceiling. */
#ifndef OOMREPORT_ANALYSE_FORECAST_H
#define OOMREPORT_ANALYSE_FORECAST_H

#include "analyse/rules.h"

/* Fills oom_step_forecast, its interval and the back-test of c->out->leak from the tested column y
 * (train rows), and c->leak.closure. */
void forecast_failure(struct run_ctx *c, const double *y);

#endif

/* steps_period: steps told by nothing but the level's coming and going. */
#ifndef OOMREPORT_NORMALISE_STEPS_PERIOD_H
#define OOMREPORT_NORMALISE_STEPS_PERIOD_H

#include "model/trace.h"

/* Events at which a period of the replayed level ends (*n, ascending; to be freed); NULL when the
 * level has no period. */
uint64_t *steps_period(const struct trace_device *d, size_t *n);

#endif

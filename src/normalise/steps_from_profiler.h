/* steps_from_profiler: a profiler's trace -> step records, as a log would have given them.
 *
 * A record of a step has what was allocated behind its last event, the highest level and the
 * reserved memory; a failed request becomes an oom event. Without annotations of steps there is one record
 * for each device, of the whole trace. */
#ifndef OOMREPORT_NORMALISE_STEPS_FROM_PROFILER_H
#define OOMREPORT_NORMALISE_STEPS_FROM_PROFILER_H

#include "normalise/normalise.h"
#include "read/profiler.h"

/* Sends the records of the steps in the settings' range, device by device. Returns how many. *first and *last
 * become the least and greatest step of the trace; untouched when there is none. */
uint64_t steps_from_profiler(const struct profiler_trace *t, const struct normalise_settings *settings,
                             double *first, double *last, const struct record_sink *sink);

#endif

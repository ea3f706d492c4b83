/* steps_from_trace: a device's trace -> step records, as a log would have given them.
 *
 * Steps are told by the profiler's annotations, else by the optimiser's frames, else by
 * the period of the replayed level. A record has the lowest level within its step (what stays), the
 * highest, and the reserved memory; a failed request becomes an oom event. */
#ifndef OOMREPORT_NORMALISE_STEPS_FROM_TRACE_H
#define OOMREPORT_NORMALISE_STEPS_FROM_TRACE_H

#include "model/trace.h"
#include "normalise/normalise.h"

/* Finds the steps of every device, keeps those in the settings' range, and sends their records. Returns how
 * many records. *first and *last (they may be NULL) become the least and greatest step found; untouched
 * when there is none. */
uint64_t steps_from_trace(struct trace_file *t, const struct normalise_settings *settings, double *first,
                          double *last, const struct record_sink *sink);
/* Name of a device as its records have it: "cuda:3". */
const char *steps_device_name(uint32_t device, struct arena *a);

#endif

/* holders: who holds the memory that a snapshot shows, and whom to blame for its growth.
 *
 * A site is the innermost frame of the user's own Python: outside the framework, installed
 * packages and the standard library; else the innermost Python frame; else the innermost frame.
 * Blocks without a stack are a site of their own. */
#ifndef OOMREPORT_ANALYSE_HOLDERS_H
#define OOMREPORT_ANALYSE_HOLDERS_H

#include "analyse/study.h"
#include "model/verdict.h"

/* The figures of a device's trace. */
void holders_figures(struct run_report *out, const struct trace_file *t, const struct trace_device *d,
                     struct arena *a);
/* The holders at each moment, and their categories. */
void holders_fill(struct run_report *out, struct study *s, struct arena *a);

#endif

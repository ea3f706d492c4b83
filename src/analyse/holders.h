/* holders: who holds the memory that a snapshot shows, and whom to blame for its growth.
 *
 * A site is the innermost frame of the user's own Python: outside the framework, installed
 * packages and the standard library; else the innermost Python frame; else the innermost frame.
 * Blocks without a stack are a site of their own. */
#ifndef OOMREPORT_ANALYSE_HOLDERS_H
#define OOMREPORT_ANALYSE_HOLDERS_H

#include "model/trace.h"
#include "model/verdict.h"

/* Fills snapshot, holders of the run from its series' trace; nothing without one. */
void holders_fill(struct run_report *out, struct arena *a);

#endif

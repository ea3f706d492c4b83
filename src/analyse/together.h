/* together: inputs of one job that say more side by side: a step log and a memory snapshot, or
 * two snapshots of one process. */
#ifndef OOMREPORT_ANALYSE_TOGETHER_H
#define OOMREPORT_ANALYSE_TOGETHER_H

#include "model/verdict.h"

/* Fills joined and grown of a, and marks the runs that another speaks for. A log belongs to a snapshot whose
 * name begins alike, else the only log given does; their ranks must not differ. Two snapshots are of one
 * process when at least 30 % of what is live in one lies at the same addresses in the other. */
void together_find(struct analysis *a);
/* Adds to the verdict over all what was found. */
void together_say(struct analysis *a);

#endif

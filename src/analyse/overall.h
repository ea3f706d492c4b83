/* overall: one verdict over all runs, and the run that the page shows. */
#ifndef OOMREPORT_ANALYSE_OVERALL_H
#define OOMREPORT_ANALYSE_OVERALL_H

#include "model/verdict.h"

/* Sets lead and verdict. Runs that agree raise the confidence, others lower it. */
void overall(struct analysis *a);

#endif

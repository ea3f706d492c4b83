/* tables: the plain facts of a run report: failure, phases, checkpoints, evaluation spans, epochs. */
#ifndef OOMREPORT_ANALYSE_TABLES_H
#define OOMREPORT_ANALYSE_TABLES_H

#include "analyse/rules.h"

/* Fills everything of c->out that needs no rule. */
void tables_fill(struct run_ctx *c);
void quality_run(struct analysis *a, const struct run_ctx *c);
/* Says that one log is a copy of another. */
void quality_copy(struct analysis *a, const struct series *copy, const struct series *first);

#endif

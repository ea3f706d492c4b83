/* tables: the plain facts of a run report: failure, phases, checkpoints, evaluation spans, epochs. */
#ifndef OOMREPORT_ANALYSE_TABLES_H
#define OOMREPORT_ANALYSE_TABLES_H

#include "analyse/rules.h"

/* Fills everything of c->out that needs no rule. */
void tables_fill(struct run_ctx *c);
void quality_run(struct analysis *a, const struct run_ctx *c);
/* A line that an earlier report has, unless it stands already. */
void quality_add(struct analysis *a, const char *code, const char *text);
/* Says that one log is a copy of another. */
void quality_copy(struct analysis *a, const struct series *copy, const struct series *first);

#endif

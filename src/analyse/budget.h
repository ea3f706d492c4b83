/* budget: what the memory law allows, and what a batch not yet met would need. */
#ifndef OOMREPORT_ANALYSE_BUDGET_H
#define OOMREPORT_ANALYSE_BUDGET_H

#include "analyse/rules.h"
#include "analyse/shapes.h"

/* Fills safe_*, corpus_max_predicted_bytes and p_oom_next_epoch of the report's peak figures, and the risk of
 * c->peak. */
void budget_fill(struct run_ctx *c, const struct shape_model *m);

#endif

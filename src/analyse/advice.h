/* advice: the texts of a verdict, once cause and subtype stand. */
#ifndef OOMREPORT_ANALYSE_ADVICE_H
#define OOMREPORT_ANALYSE_ADVICE_H

#include "analyse/rules.h"

/* Fills summary, fix, advice, counterfactual and next_run of c->out->verdict. */
void advice_fill(struct run_ctx *c);
/* The one-sentence finding with the deciding figures. */
const char *advice_summary(struct run_ctx *c);
/* Why the cause that came second lost. */
const char *advice_why_not(struct run_ctx *c, enum cause second);

/* The cheapest run or field to log that would settle the verdict; NULL: nothing is open. */
const char *advice_next_run(const struct run_ctx *c);

#endif

/* traits: series -> what a comparison of runs needs of it (model/traits.h). */
#ifndef OOMREPORT_ANALYSE_TRAITS_H
#define OOMREPORT_ANALYSE_TRAITS_H

#include "model/verdict.h"

/* Fills r->traits from r->series and r's other figures, which stand already. */
void traits_fill(struct run_report *r, struct arena *a);
/* The ids of a CSV form, without escapes, in the arena; *n of them. */
struct str *traits_ids(size_t *n, struct arena *a, struct str csv);

#endif

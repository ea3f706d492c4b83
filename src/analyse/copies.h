/* copies: logs that say the same, step by step.
 *
 * Two runs never agree in every figure; the same log under two names does, and is no second witness. */
#ifndef OOMREPORT_ANALYSE_COPIES_H
#define OOMREPORT_ANALYSE_COPIES_H

#include "model/series.h"

/* What a series logged as one number: its rows, events, seed, rank and the run's own name;
 * not the file's. Never 0; 0 stands
 * for a series that is not compared (nothing logged, or a snapshot). */
uint64_t copies_digest(const struct series *s);
/* Index below k whose digest is that of k, or k. */
size_t copies_first(const uint64_t *digest, size_t k);

#endif

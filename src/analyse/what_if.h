/* what_if: what a run would have needed with another device, batch or length.
 *
 * Answers from what was fitted on the run itself: the law of its peaks gives what a change takes off or
 * adds, the failing step's own figures give the level, and a leak moves by the room gained over its slope.
 * What the log does not tell is said and never guessed. May not know of other runs. */
#ifndef OOMREPORT_ANALYSE_WHAT_IF_H
#define OOMREPORT_ANALYSE_WHAT_IF_H

#include "analyse/rules.h"
#include "model/verdict.h"

/* Changes made together; NAN: as it was. */
struct what_if_change {
    const char *given;     /* "batch_size=4,max_len=2048" */
    double capacity_bytes; /* [B] */
    double batch_size;     /* samples of a full batch; smaller batches are at most as large */
    double max_len;        /* longer batches are cut to it */
    double eval_batch;     /* times the evaluation batch */
};

/* n answers in the order of the changes, in the arena. After decide(). */
struct what_if_answer *what_if_run(struct run_ctx *c, const struct what_if_change *changes, size_t n);

#endif

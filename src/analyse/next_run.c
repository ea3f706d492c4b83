/* The cheapest run, or field to log, that would settle the verdict. */
#include "analyse/advice.h"

static const char *next_run_of_capacity(enum subtype sub)
{
    switch (sub) {
    case SUB_FRAGMENTATION:
        return "Repeat the run with expandable_segments:True: if it passes, fragmentation was the cause.";
    case SUB_EXTERNAL:
        return "Repeat the run on an empty device.";
    case SUB_SAVE:
        return "Save a checkpoint after the first step, with peak_bytes logged before and after: it must "
               "show "
               "the same rise.";
    case SUB_RESUME:
        return "Start the same configuration from nothing: if its first steps fit, what loading leaves on "
               "the "
               "device is the cause.";
    case SUB_OPTIMIZER:
        return "Run three updates with plain SGD, which keeps no state: if they pass, the optimiser's state "
               "is "
               "the cause.";
    default:
        return "Run 50 steps at half the batch size and log every step.";
    }
}

const char *advice_next_run(const struct run_ctx *c)
{
    const struct verdict *v = &c->out->verdict;
    const struct frame *f = c->f;
    const struct track *t = &f->train;
    if (t->n == 0 && f->fail)
        return "Log 50 steps with allocated_bytes, peak_bytes and the batch's shape from the start: the "
               "message alone shows the moment, not the way to it.";
    if (!t->v[F_ALLOCATED])
        return "Log allocated_bytes at the end of each step (torch.cuda.memory_allocated()): it separates "
               "growth from large batches at once.";
    if (!c->peak.shapes_logged)
        return "Log batch_size and max_len (or tokens) of each step: they separate large batches from "
               "growth.";
    if (!t->v[F_PEAK])
        return "Log peak_bytes of each step (max_memory_allocated, reset every step): it shows what a batch "
               "needs.";
    switch (v->cause) {
    case CAUSE_LEAK:
        if (v->subtype == SUB_HOST)
            return "Run 500 steps with num_workers=0 and host_rss_bytes logged: if it stays flat, the "
                   "workers hold the memory.";
        return v->subtype == SUB_EVAL
                   ? "Run 300 steps with evaluation off: without it allocated memory must stay flat."
               : v->subtype == SUB_EPOCH
                   ? "Run three epochs of 50 steps each: if memory steps up at each end, what runs there "
                     "keeps it."
                   : "Run 200 steps at a fixed batch shape with gc.collect() after each: a remaining climb "
                     "is held by live references.";
    case CAUSE_PEAK:
        return v->subtype == SUB_UNEXPLAINED
                   ? "Log the size that varies as size_* and replay the failing batch first."
               : c->out->failure.batch_ids
                   ? "Replay the failing batch (its batch_ids) as the first step: if the verdict holds it "
                     "fails there."
                   : "Run a batch of the failing one's shape as the first step: if the verdict holds it "
                     "fails "
                     "there; with batch_ids logged, a second seed would tell whether one sample is behind "
                     "it.";
    case CAUSE_EVAL:
        return "Run one evaluation pass before training, logged with phase=eval.";
    case CAUSE_CAPACITY:
        return next_run_of_capacity(v->subtype);
    case CAUSE_NONE:
        return f->eval.n == 0
                   ? "Log evaluation rows (phase=eval) too, and give corpus_max_len: both are untested here."
                   : NULL;
    default:
        return f->fail ? "Run again with another seed and batch_ids logged: whether step or batch comes back "
                         "separates the causes."
                       : "Log more steps (200 or more).";
    }
}

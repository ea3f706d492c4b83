/* snapshot_loop: a trace and its blocks, made by taking and giving memory. */
#ifndef SNAPSHOT_LOOP_H
#define SNAPSHOT_LOOP_H

#include "normalise/steps_from_trace.h"
#include <math.h>
#include <stdlib.h>

/* A little training loop: its trace, and the blocks at its end. */
struct loop {
    struct trace_file *t;
    uint64_t next, open[4096], size[4096];
    uint32_t stack[4096];
    size_t n;
};

static inline uint32_t frame(struct loop *l, const char *file, uint64_t line, const char *name)
{
    struct trace_names *n = &l->t->names;
    return trace_frame(n, trace_string(n, str_of(name)), trace_string(n, str_of(file)), line);
}

static inline uint32_t stack(struct loop *l, const uint32_t *frames, size_t n)
{
    return trace_stack(&l->t->names, frames, n);
}

static inline void event(struct loop *l, enum trace_action action, uint64_t addr, uint64_t size, uint32_t st)
{
    struct trace_event e = {
        .addr = addr, .size = size, .stack = st, .action = action, .has_addr = true, .has_size = true};
    trace_device_add(trace_file_device(l->t, 0), &l->t->names, &e);
}

static inline uint64_t take(struct loop *l, uint64_t size, uint32_t st)
{
    uint64_t addr = l->next += 1 << 20;
    event(l, TRACE_ALLOC, addr, size, st);
    l->open[l->n] = addr;
    l->size[l->n] = size;
    l->stack[l->n++] = st;
    return addr;
}

static inline void give(struct loop *l, uint64_t addr)
{
    size_t i = 0;
    while (l->open[i] != addr)
        i++;
    event(l, TRACE_FREE_REQUESTED, addr, l->size[i], 0);
    l->n--;
    l->open[i] = l->open[l->n];
    l->size[i] = l->size[l->n];
    l->stack[i] = l->stack[l->n];
}

/* What is open becomes the blocks of one segment each. */
static inline void finish(struct loop *l)
{
    struct trace_file *t = l->t;
    t->segments = calloc(l->n + 1, sizeof *t->segments);
    t->blocks = calloc(l->n + 1, sizeof *t->blocks);
    for (size_t i = 0; i < l->n; i++) {
        t->blocks[i] = (struct trace_block){
            .address = l->open[i], .size = l->size[i], .requested = l->size[i], .stack = l->stack[i]};
        t->segments[i] =
            (struct trace_segment){.address = l->open[i], .total = l->size[i], .first = (uint32_t)i, .n = 1};
    }
    t->n_blocks = t->n_segments = l->n;
    trace_file_finish(t);
}

static inline void ignore(void *ctx, const struct record *r, const struct process_use *p, size_t n)
{
    (void)ctx;
    (void)r;
    (void)p;
    (void)n;
}

/* The steps of its devices, all of them. */
static inline void find_steps_of(struct trace_file *t)
{
    struct normalise_settings settings = {.step_from = NAN, .step_to = NAN};
    steps_from_trace(t, &settings, NULL, NULL, &(struct record_sink){.record = ignore});
}

#endif

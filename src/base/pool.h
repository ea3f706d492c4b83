/* pool: worker threads for numbered jobs, which start in the order of their numbers. */
#ifndef OOMREPORT_BASE_POOL_H
#define OOMREPORT_BASE_POOL_H

#include <stddef.h>

struct pool;

/* Starts job(ctx, 0) .. job(ctx, n-1) on up to `threads` threads. Jobs that are more than `ahead` beyond the
 * last one waited for do not start yet. NULL when not even one thread can be started. */
struct pool *pool_new(size_t threads, size_t n, size_t ahead, void (*job)(void *ctx, size_t i), void *ctx);
/* Returns when job i is done; jobs are waited for in ascending order. */
void pool_wait(struct pool *p, size_t i);
/* Jobs that have not begun are dropped; returns when the others are done. */
void pool_free(struct pool *p);
/* Processors that this process may run on now, at least 1. */
size_t pool_processors(void);

#endif

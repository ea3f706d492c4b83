/* stack_cache: stacks by the bytes they were written with.
 *
 * In a training loop the same few thousand stacks come again and again, mostly in the same order: comparing
 * the text at hand with that of the stack that followed the last two saves taking it apart.
 * Where nearly every stack is another, the cache gives itself up. */
#ifndef OOMREPORT_READ_STACK_CACHE_H
#define OOMREPORT_READ_STACK_CACHE_H

#include "base/buf.h"
#include <stdint.h>

struct stack_text {
    uint32_t at, n; /* bytes in raw; n 0: none kept */
};

struct stack_cache {
    struct stack_text *of; /* by stack */
    size_t n_of;
    struct buf raw;
    uint32_t *next; /* the stack that came after these two */
    uint32_t last, before;
    uint64_t tried, hit;
    bool off;
};

/* {0} is an empty cache. */
void stack_cache_release(struct stack_cache *c);
/* When the text at p (left bytes) begins with that of the expected stack: its length; else 0. */
size_t stack_cache_find(struct stack_cache *c, const void *p, size_t left, uint32_t *stack);
/* After a miss: this is the stack at p, n bytes of text. */
void stack_cache_learn(struct stack_cache *c, uint32_t stack, const void *p, size_t n);

#endif

#define _DEFAULT_SOURCE /* madvise */

#include "base/mem.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

static void exhausted(size_t n)
{
    fprintf(stderr, "oomreport: error: this host has no memory left (asked for %zu bytes)\n", n);
    exit(70);
}

void *mem_alloc(size_t n)
{
    void *p = malloc(n ? n : 1);
    if (!p)
        exhausted(n);
    return p;
}

void *mem_zero(size_t n, size_t size)
{
    void *p = calloc(n ? n : 1, size ? size : 1);
    if (!p)
        exhausted(n);
    return p;
}

void *mem_grow(void *p, size_t n, size_t size)
{
    if (size && n > SIZE_MAX / size)
        exhausted(SIZE_MAX);
    size_t bytes = n * size;
    void *q = realloc(p, bytes ? bytes : 1);
    if (!q)
        exhausted(bytes);
    return q;
}

void *mem_run(size_t n)
{
    if (n < MEM_HUGE)
        return mem_alloc(n);
    size_t whole = (n + MEM_HUGE - 1) / MEM_HUGE * MEM_HUGE;
    void *p = whole < n ? NULL : aligned_alloc(MEM_HUGE, whole);
    if (!p)
        exhausted(n);
#ifdef MADV_HUGEPAGE
    madvise(p, whole, MADV_HUGEPAGE); /* advice: without it the pages are small */
#endif
    return p;
}

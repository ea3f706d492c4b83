/* mem: allocation that does not fail.
 *
 * A batch program that cannot get memory for its own tables has nothing useful
 * left to do: these print one line to standard error and leave with exit status
 * 70. The report directory is only ever exchanged whole, so an older report
 * survives. Sizes derived from an input must be bounded before they come here. */
#ifndef OOMREPORT_BASE_MEM_H
#define OOMREPORT_BASE_MEM_H

#include <stddef.h>

/* n bytes [B], not initialised; never NULL (n 0 gives one byte). Free with free(). */
void *mem_alloc(size_t n);
/* n * size bytes [B], zeroed; overflow counts as exhaustion. Free with free(). */
void *mem_zero(size_t n, size_t size);
/* As realloc() of n * size bytes [B]; p may be NULL. */
void *mem_grow(void *p, size_t n, size_t size);
/* n bytes [B] that are going to be written from front to end: from MEM_HUGE on in pages as large as
 * the system has, which take a fraction of the faults. Free with free(). */
enum {
    MEM_HUGE = 2 * 1024 * 1024
};
void *mem_run(size_t n);

#endif

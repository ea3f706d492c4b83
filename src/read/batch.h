/* batch: rows of one shape gathered into columns, for handlers that take many at once.
 *
 * Cells are copied out as numbers and views of text, which must stay in place until the batch is flushed.
 * Internal to this layer. */
#ifndef OOMREPORT_READ_BATCH_H
#define OOMREPORT_READ_BATCH_H

#include "read/read.h"

enum {
    BATCH_ROWS = 64,
    BATCH_ITEMS_MAX = 48,
    BATCH_PAUSE = 64 /* rows that come one by one after a handler answered BATCH_LATER */
};
#define BATCH_PAUSE_FOR_GOOD UINT32_MAX

struct batch_rows {
    const struct row_handler *h;
    struct batch_item items[BATCH_ITEMS_MAX]; /* n_items */
    size_t n_items;
    size_t n; /* rows that wait */
    uint64_t line;
    const char *at[BATCH_ROWS]; /* where each of them begins */
    struct batch_column *columns;
};

/* A handler that takes no batches gets none: then batch_add always refuses. */
void batch_init(struct batch_rows *b, const struct row_handler *h);
void batch_release(struct batch_rows *b);
/* Adds the row that begins at `at`, in the line after that of the row before. False, and nothing done, when
 * it has not the shape of the rows that wait, or is for no batch at all, or there is no more room. */
bool batch_add(struct batch_rows *b, uint64_t line, const char *at, const struct cell *cells, size_t n);
/* Hands the rows on; unless they were taken they have to come one by one: at[0 .. *n-1]. *pause rows of
 * their shape had better do so too. Afterwards no row waits. */
bool batch_flush(struct batch_rows *b, size_t *n, uint32_t *pause);

#endif

/* column: one measured quantity over the rows of a series, packed.
 *
 * Values are doubles to the outside; NAN is missing. Whole numbers below 2^53
 * are kept exactly. Inside, blocks of COLUMN_BLOCK rows hold a minimum and
 * offsets of 0 to 8 bytes, so that a constant or absent block costs nothing.
 * Opaque: the packing is the invariant. */
#ifndef OOMREPORT_MODEL_COLUMN_H
#define OOMREPORT_MODEL_COLUMN_H

#include <stddef.h>
#include <stdint.h>

enum {
    COLUMN_BLOCK = 4096,
    COLUMN_CUT_MAX = 8 /* rows that column_cut can take away */
};

struct column;

/* Where columns put their packed blocks, one after the other; {0} is an empty one. */
struct column_store {
    void **chunks; /* n_chunks */
    size_t n_chunks;
    unsigned char *at;
    size_t left, size; /* [B] in the last chunk; of it */
};
void column_store_release(struct column_store *s);

/* The store has to outlive the column. */
struct column *column_new(struct column_store *store);
void column_free(struct column *c);
/* Appends a value at row `row` (0-based), which must be >= column_rows(c);
 * rows between are missing. */
void column_set_next(struct column *c, size_t row, double v);
/* The same for n values at rows row, row+1, …. */
void column_append(struct column *c, size_t row, const double *v, size_t n);
/* Takes rows from `rows` on away again: at most COLUMN_CUT_MAX of them, appended since the column
 * was made or sealed. */
void column_cut(struct column *c, size_t rows);
/* Rows appended so far; reading beyond gives NAN. */
size_t column_rows(const struct column *c);
/* Packs the tail and gives back the staging memory; appending may go on afterwards. */
void column_seal(struct column *c);
/* Rows first .. first+n-1 into out (n values), missing ones as NAN. */
void column_read(const struct column *c, size_t first, size_t n, double *out);
/* The value of one row; for loops use column_read. */
double column_at(const struct column *c, size_t row);
/* Memory held [B]. */
size_t column_bytes(const struct column *c);

#endif

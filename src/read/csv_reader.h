/* csv_reader: what the parts of the CSV reader share: the columns, and the line at hand. Private to
 * read_csv.c, csv_plain.c and csv_header.c. */
#ifndef OOMREPORT_READ_CSV_READER_H
#define OOMREPORT_READ_CSV_READER_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/diag.h"
#include "read/batch.h"
#include "read/between.h"
#include "read/csv_sniff.h"
#include "read/readers.h"
#include "read/source.h"

enum {
    COLUMNS_MAX = 65536 /* further ones are left out */
};

struct csv_field {
    struct str text; /* trimmed unless quoted, without quotes */
    uint32_t col;    /* 0: unknown */
    size_t offset;   /* in scratch, while libcsv is at work */
};

struct csv {
    const struct row_handler *h;
    const char *name;
    uint64_t *skipped;
    struct diag *d;
    struct source *s;
    char delimiter;
    bool own;        /* written by this program: a line with all its cells is a row, whatever they say */
    size_t patience; /* lines that a quoted cell may go over */

    int *slots;       /* n_columns */
    size_t n_columns; /* 0: no header yet */
    uint32_t *wanted; /* n_wanted columns, ascending */
    size_t n_wanted;
    uint32_t *ends;    /* n_columns: where the cells of a plain line end */
    struct str *names; /* n_names, the columns' names, ascending: to know a header that comes again */
    size_t n_names;
    struct arena arena; /* of names */
    struct between between;

    struct csv_field *field; /* of the line at hand: n_fields, of which at most COLUMNS_MAX are kept */
    size_t n_fields, cap_fields;
    struct buf scratch;
    struct cell *cells;
    struct batch_rows batch;
    uint32_t pause; /* so many plain rows come one by one */
};

/* Fields of the line at hand that are kept. */
static inline size_t csv_kept(const struct csv *c)
{
    return c->n_fields < COLUMNS_MAX ? c->n_fields : COLUMNS_MAX;
}

/* csv_plain.c: the plain lines at the front of the window, which are nearly all. 0, or what the handler
 * returned. */
int csv_plain_rows(struct csv *c);

/* csv_header.c: the names of the columns from the line at hand, */
void csv_header_set(struct csv *c, uint64_t line);
/* or from the layout, else "1", "2", ...: a file without a header of n columns. */
void csv_header_number(struct csv *c, const struct read_layout *layout, size_t n);
/* Files that were joined: is the line at hand a header again, with the same names or others? Names all of
 * them, each once, and one of them known. */
bool csv_header_again(struct csv *c);

#endif

/* read: bytes -> rows of wanted fields.
 *
 * A source is one opened input: gunzipped, transcoded to UTF-8, BOM and NUL
 * runs taken out, lines counted. A syntax (CSV, JSONL, one JSON document, text)
 * is found by content, never by suffix. A reader walks a source once and hands
 * out rows: views into its buffer of the values that the handler asked for.
 * May not know what a field means: that is normalise. */
#ifndef OOMREPORT_READ_READ_H
#define OOMREPORT_READ_READ_H

#include "base/arena.h"
#include "base/diag.h"
#include "base/str.h"

enum syntax {
#define READER(id, name, function) SYNTAX_##id,
#include "read/readers.def"
#undef READER
    SYNTAX_COUNT /* not recognised */
};
const char *syntax_name(enum syntax s); /* "csv", "jsonl", "json", "text" */

struct source;

/* Opens a file, or standard input for "-". NULL with a diagnostic (cannot-open,
 * cannot-read, empty-input, bad-gzip) when there is nothing to read. */
struct source *source_open(const char *path, struct diag *d);
/* A source over bytes that the caller keeps alive; name is used in places. */
struct source *source_of_memory(const char *name, struct str bytes);
void source_close(struct source *s);
const char *source_name(const struct source *s);
/* Size of the input as stored [B] (compressed size for gzip; 0 for a pipe until read). */
uint64_t source_size(const struct source *s);
/* The first bytes (decoded, at most SOURCE_HEAD, ends anywhere), without consuming them. */
enum {
    SOURCE_HEAD = 256 * 1024
};
struct str source_head(struct source *s);

/* By content. rule: see detect.c. SYNTAX_COUNT when it is none (binary, a
 * pickle, a git-lfs pointer, a zip); *what then names it for the user, else NULL. */
enum syntax read_detect(struct str head, const char **what);

enum cell_kind {
    CELL_NUMBER,
    CELL_STRING,
    CELL_TRUE,
    CELL_FALSE,
    CELL_NULL,
    CELL_LIST,
    CELL_OBJECT
};

/* One wanted value. CSV cells are CELL_STRING (unquoted; empty ones are not handed out).
 * JSON: NUMBER as written (also NaN, Infinity); STRING unescaped; LIST and OBJECT as raw JSON text. */
struct cell {
    int slot; /* what handler.key returned */
    enum cell_kind kind;
    struct str text; /* valid until the row callback returns */
    uint32_t col;    /* 1-based byte column of the value in its line; 0 unknown */
    uint8_t
        plain; /* CELL_PLAIN(n): the text is a number, whole * 10^-n; 0: not looked at, or not so simple */
    uint64_t whole;
};

/* Numbers without a sign and an exponent, of at most 18 digits, n of them decimals. */
#define CELL_PLAIN(n) (uint8_t)((n) + 1)

struct row {
    uint64_t line;            /* 1-based, where the row begins */
    const struct cell *cells; /* n, in the order of the input; of a repeated key the last one counts */
    size_t n;
    /* false: the enclosing document's own scalars (layout.rows), given once before its rows */
    bool is_row;
};

enum {
    KEY_UNWANTED = -1
};

/* Rows of consecutive lines whose cells have the same slots and kinds, column by column. */
struct batch_item {
    int slot;
    enum cell_kind kind;    /* NUMBER, STRING or LIST */
    const double *value;    /* NUMBER: n values */
    const struct str *text; /* else: n texts */
};
struct batch {
    uint64_t line; /* of the first row */
    size_t n;
    const struct batch_item *items; /* n_items, in the order of the input */
    size_t n_items;
};
enum batch_answer {
    BATCH_TAKEN,
    BATCH_LATER, /* these rows come one by one */
    BATCH_NEVER  /* rows of these slots and kinds always come one by one */
};

struct row_handler {
    void *ctx;
    /* Called once for each new key (CSV column name, JSON key; nested keys as
     * "outer.inner", list items not entered): a slot >= 0, or KEY_UNWANTED.
     * Called again for a header that comes again. */
    int (*key)(void *ctx, struct str name);
    /* A row. 0 goes on, anything else stops reading and is returned. */
    int (*row)(void *ctx, const struct row *row);
    /* A line that is no row (banner, traceback between records); may be NULL.
     * True when the handler made use of it: then it is no diagnostic. */
    bool (*text)(void *ctx, uint64_t line, struct str text);
    /* Many rows at once, instead of as many calls of row; may be NULL. */
    enum batch_answer (*batch)(void *ctx, const struct batch *b);
};

/* What a mapping knows of the shape of its files; all optional. */
struct read_layout {
    const char
        *rows; /* JSON document: path of the list (or object of objects) that holds the rows: "log_history" */
    bool transposed; /* JSON document {metric: {…, "values": {"STEP": value}}}: rows by STEP, key "step" */
    char delimiter;  /* CSV: 0 = found by content (',', ';', tab, runs of blanks) */
    const char *const *columns; /* CSV without a header line: n_columns names */
    size_t n_columns;
};

/* Reads the whole source. Bad rows give a diagnostic and are counted in
 * *skipped; reading goes on. 0, or what handler.row returned, or -1 when the
 * source cannot be read any further (diagnostic given; rows so far were delivered). */
int read_rows(struct source *s, enum syntax syntax, const struct read_layout *layout,
              const struct row_handler *h, uint64_t *skipped, struct diag *d);

#endif

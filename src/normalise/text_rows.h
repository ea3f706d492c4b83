/* text_rows: lines of a text log -> records, by the patterns of all text formats at once.
 *
 * One search says which lines can hold anything; only those are matched. A file may hold records of several
 * formats, and out-of-memory errors of any writer. Internal to this layer. */
#ifndef OOMREPORT_NORMALISE_TEXT_ROWS_H
#define OOMREPORT_NORMALISE_TEXT_ROWS_H

#include "normalise/mapping.h"
#include "normalise/normalise.h"

struct text_rows;

/* only: that mapping's patterns, or NULL for those of all of set (which may be NULL). All must live
 * as long. */
struct text_rows *text_rows_new(const struct mapping_set *set, const struct mapping *only, const char *file,
                                const struct normalise_settings *settings, const struct record_sink *sink,
                                struct arena *a, struct diag *d);
void text_rows_free(struct text_rows *t);
/* row_handler.text; ctx is a struct text_rows. */
bool text_rows_line(void *ctx, uint64_t line, struct str text);
/* After the last line: sends on what was held back. */
void text_rows_end(struct text_rows *t);

struct text_outcome {
    uint64_t records;             /* events too */
    uint64_t matched;             /* records by patterns */
    double first_step, last_step; /* as in struct rows */
    bool has_memory, built_in;
    const char *format;        /* "megatron, deepspeed", or "text" */
    const struct mapping *own; /* a contributing format that is not built in, or NULL */
    int score;                 /* the highest of the contributing formats */
};
void text_rows_outcome(struct text_outcome *out, const struct text_rows *t);

/* What the patterns make of text alone (the head of a file): nothing goes anywhere. */
void text_rows_try(struct text_outcome *out, const struct mapping_set *set, const struct mapping *only,
                   struct str text);

#endif

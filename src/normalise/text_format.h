/* text_format: what the lines of one text format make together: rows of cells, with the values that earlier
 * lines left for later ones and records that stand over several lines.
 *
 * Knows nothing of patterns and how they are matched. Internal to this layer. */
#ifndef OOMREPORT_NORMALISE_TEXT_FORMAT_H
#define OOMREPORT_NORMALISE_TEXT_FORMAT_H

#include "normalise/rows.h"
#include "normalise/text_carry.h"
#include "read/text_match.h"

/* {.m = a mapping} is a valid empty one. */
struct text_format {
    const struct mapping *m;
    struct rows *rows; /* heap; must be there before the first text_format_take() */
    struct carry carry, parts;
    uint64_t matched, last_step; /* rows sent; hash of the last row's step and epoch */
};

/* The values of one match, at most one for a slot of the rows. */
struct text_cells {
    struct cell c[TEXT_MATCH_GROUPS + MAP_PATTERN_MAX + 2 * CARRY_CELLS];
    size_t n;
};

/* Where a match stands. */
struct text_origin {
    uint64_t line;
    double rank, time; /* [1] [s] of the line's prefix, or NAN */
};

/* Nothing is added to a slot that is taken, or below zero (unwanted). */
void text_cells_add(struct text_cells *cells, int slot, struct str text);
/* Takes the values of a match as its use says; cells may be added to. True when they are (part of) a record.
 */
bool text_format_take(struct text_format *f, enum map_use use, struct text_cells *cells,
                      const struct text_origin *o);
/* Sends the records that wait for further lines. */
void text_format_flush(struct text_format *f);
void text_format_release(struct text_format *f);

#endif

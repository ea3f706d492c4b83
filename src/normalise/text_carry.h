/* text_carry: values that lines of a text log leave for later ones.
 *
 * A step in one line and its memory in the next; a table whose lines are parts of one record. Values are kept
 * by rank, as lines of ranks are interleaved. Internal to this layer. */
#ifndef OOMREPORT_NORMALISE_TEXT_CARRY_H
#define OOMREPORT_NORMALISE_TEXT_CARRY_H

#include "base/str.h"
#include <stdint.h>

enum {
    CARRY_CELLS = 24,
    CARRY_TEXT = 120, /* [B] of a value; longer ones are cut */
    CARRY_RANKS = 1024
};

struct carry_cell {
    int slot;
    bool once; /* for one record only */
    size_t n;
    char text[CARRY_TEXT];
};

struct carry_set {
    double rank; /* [1] or NAN */
    uint64_t line;
    double time;
    size_t n;
    struct carry_cell cells[CARRY_CELLS];
};

/* {0} is a valid empty one. */
struct carry {
    struct carry_set *sets; /* n */
    size_t n, cap;
    size_t last; /* of the rank found last */
    size_t any;  /* 1 + number of the set without a rank; 0: none */
};

void carry_release(struct carry *c);
/* The set of that rank, made when it is new; NULL when there are too many. */
struct carry_set *carry_open(struct carry *c, double rank);
/* The set of that rank, or NULL. */
struct carry_set *carry_find(struct carry *c, double rank);
void carry_put(struct carry_set *s, int slot, struct str text, bool once);
bool carry_has(const struct carry_set *s, int slot);
/* Drops what was for one record only. */
void carry_used(struct carry_set *s);

#endif

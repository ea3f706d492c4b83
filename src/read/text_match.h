/* text_match: a pattern with named groups, searched for along a line.
 *
 * The work for a line is bounded whatever the pattern and the line: the pattern sees a piece of at most
 * TEXT_MATCH_PIECE bytes at a time, and a match that needs too many steps is given up. Knows nothing of
 * formats. */
#ifndef OOMREPORT_READ_TEXT_MATCH_H
#define OOMREPORT_READ_TEXT_MATCH_H

#include "base/arena.h"
#include "base/str.h"

enum {
    TEXT_MATCH_GROUPS = 32,
    TEXT_MATCH_PIECE = 16 * 1024, /* [B]; of longer lines records up to half as long are found */
    TEXT_MATCH_STRIKES = 8        /* matches given up before a pattern is given up */
};

struct text_match;

/* Names of groups as in Perl, (?<step>\d+). NULL when the pattern is none: *error then says why (in the
 * arena) and *at is the offset [B]. fast: worth compiling to machine code. */
struct text_match *text_match_new(struct str pattern, bool fast, const char **error, size_t *at,
                                  struct arena *a);
void text_match_free(struct text_match *m);
size_t text_match_groups(const struct text_match *m);
struct str text_match_group(const struct text_match *m, size_t i);
/* The first match in line at or after *from, which moves behind it. values[i] is the text of group i, {NULL,
 * 0} when it took no part. */
bool text_match_next(struct text_match *m, struct str line, size_t *from,
                     struct str values[TEXT_MATCH_GROUPS]);
/* True once the pattern took too many steps TEXT_MATCH_STRIKES times: it matches nothing any more. */
bool text_match_gave_up(const struct text_match *m);

#endif

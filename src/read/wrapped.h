/* wrapped: comparing text that a log may have wrapped.
 *
 * Logs wrap a long sentence: terminals in the middle of a word, boxes of pretty
 * tracebacks at blanks, with bars and padding around. Whether a wrap stood for
 * a blank is lost, so blanks, wraps and bars are ignored altogether: text is
 * compared with templates that are written without blanks. Knows nothing of
 * what the sentences say. All functions look at a bounded number of bytes
 * beyond the characters they match. */
#ifndef OOMREPORT_READ_WRAPPED_H
#define OOMREPORT_READ_WRAPPED_H

#include "base/str.h"

/* A cursor over p[0..n); functions move i only when they succeed. */
struct wrapped {
    const char *p;
    size_t n, i;
};

/* Moves over blanks, ornaments, launchers' line prefixes and at most one line end (a blank line ends a
 * sentence). */
void wrapped_skip(struct wrapped *c);
/* True when lit (no blanks in it) comes next; moves behind it. */
bool wrapped_match(struct wrapped *c, const char *lit);
/* A decimal number without sign or exponent; moves behind it. */
bool wrapped_number(struct wrapped *c, double *out);
/* Compares backwards from offset `from`: the offset where lit begins, or (size_t)-1. */
size_t wrapped_match_back(struct str t, size_t from, const char *lit);
/* Length [B] of the ornament at i < n: a colour sequence, a box character (U+2500-259F, U+2771) or '|'; else
 * 0. */
size_t wrapped_ornament(const char *p, size_t n, size_t i);

#endif

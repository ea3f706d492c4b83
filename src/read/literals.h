/* literals: which of many short texts stand in a line, in one pass.
 *
 * Most lines of a log hold none of them; such a line costs a fraction of a pass over its
 * bytes (the search skips). Knows nothing of what the texts are for. */
#ifndef OOMREPORT_READ_LITERALS_H
#define OOMREPORT_READ_LITERALS_H

#include "base/str.h"
#include <stdint.h>

enum {
    LITERALS_MAX = 1024,
    LITERAL_MIN = 3 /* [B] */
};

struct literals;

/* texts must live as long as the set; n <= LITERALS_MAX, each of LITERAL_MIN bytes or more. */
struct literals *literals_new(const struct str *texts, size_t n);
void literals_free(struct literals *l);
/* Sets bit i of found (n bits in words of 64; not cleared before) for each text i that t holds. True when
 * there is any. */
bool literals_find(const struct literals *l, struct str t, uint64_t *found);

#endif

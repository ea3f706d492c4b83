/* text_prefix: what launchers and loggers put in front of a line: a rank, a point in time. */
#ifndef OOMREPORT_NORMALISE_TEXT_PREFIX_H
#define OOMREPORT_NORMALISE_TEXT_PREFIX_H

#include "base/str.h"

struct text_prefix {
    double rank; /* [1] or NAN */
    double time; /* [s] since 1970, or NAN */
};

/* "[rank3]: ", "[Rank 3]", "[node:3]:", "6: ", "[RANK:5]", "(Worker rank=1 pid=2)"; "2024-01-19
 * 08:21:59,758". */
void text_prefix_read(struct text_prefix *out, struct str line);
/* The line behind launchers' prefixes ("[rank3]:", "node-1: ", a logger's brackets); for labels. */
struct str text_prefix_skip(struct str line);

#endif

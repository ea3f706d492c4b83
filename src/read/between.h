/* between: lines of text (a traceback, a banner) between the records of a table or of JSON lines.
 *
 * Each by itself would look like a broken record; together they are one remark. */
#ifndef OOMREPORT_READ_BETWEEN_H
#define OOMREPORT_READ_BETWEEN_H

#include "base/diag.h"
#include "base/str.h"

struct between {
    uint64_t lines, first; /* how many, and where the first stands; 0: none */
};

/* True when the line is text, not a record that is torn: words or a bare mark, not figures,
 * JSON or the tail of either. */
bool between_is_text(struct str line);
void between_add(struct between *b, uint64_t line);
/* The note, when there was any. */
void between_say(const struct between *b, const char *name, struct diag *d);

#endif

/* explain: what the words of a verdict mean, for --explain. */
#ifndef OOMREPORT_CLI_EXPLAIN_H
#define OOMREPORT_CLI_EXPLAIN_H

#include "base/arena.h"
#include "base/buf.h"

/* Appends the explanation of a cause, of "cause/subtype" or of a subtype (every
 * one of that name). NULL, or one line (in the arena) when there is no such word. */
const char *explain(struct buf *out, const char *word, struct arena *a);

#endif

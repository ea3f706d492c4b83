/* dump: what a stage made, as text, for --dump and for the golden tests.
 *
 * One line for each thing, fields apart by tabs, "-" for what is unknown. */
#ifndef OOMREPORT_CLI_DUMP_H
#define OOMREPORT_CLI_DUMP_H

#include "base/buf.h"
#include "base/diag.h"
#include "model/verdict.h"

#include <stdio.h>

/* The rows that the reader finds in one input, every value that stands in them.
 * 0, or -1 when it cannot be read (diagnostics in d). */
int dump_rows(FILE *out, const char *path, struct diag *d);
void dump_series(FILE *out, const struct series_set *set);
void dump_verdicts(struct buf *out, const struct analysis *a);

#endif

/* dump: what this stage made, as stable text, for --dump=records and --dump=series. */
#ifndef OOMREPORT_NORMALISE_DUMP_H
#define OOMREPORT_NORMALISE_DUMP_H

#include "base/buf.h"
#include "model/series.h"
#include "normalise/normalise.h"

/* A sink that appends each record to b as one JSON object a line, with its place and, for an event, the
 * processes that its message names. */
struct record_sink dump_records(struct buf *b);
/* Appends the series as text: header fields, a table of its columns, events, checkpoints. */
void dump_series(struct buf *b, const struct series_set *set);

#endif

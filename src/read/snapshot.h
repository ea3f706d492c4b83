/* snapshot: memory snapshots of PyTorch's allocator -> a trace.
 *
 * Takes what torch.cuda.memory._dump_snapshot and its kin write: a pickle (read without
 * executing anything), the same dictionary as JSON, and the page that trace_plot makes of
 * it. Knows the keys of all versions; may not know what the figures mean for a run. */
#ifndef OOMREPORT_READ_SNAPSHOT_H
#define OOMREPORT_READ_SNAPSHOT_H

#include "base/diag.h"
#include "model/trace.h"
#include "read/read.h"

enum snapshot_form {
    SNAPSHOT_NONE,
    SNAPSHOT_PICKLE,
    SNAPSHOT_JSON,
    SNAPSHOT_HTML
};

/* By content. A pickle that holds something else is found out while reading. */
enum snapshot_form snapshot_detect(struct str head);
/* The trace, finished, with the events of the window; NULL with a diagnostic when there is nothing of a
 * snapshot in it. *skipped counts what could not be used. */
struct trace_file *snapshot_read(struct source *s, enum snapshot_form form, struct trace_window window,
                                 uint64_t *skipped, struct diag *d);

#endif

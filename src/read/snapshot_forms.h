/* snapshot_forms: the ways in which a snapshot is written, for snapshot.c. */
#ifndef OOMREPORT_READ_SNAPSHOT_FORMS_H
#define OOMREPORT_READ_SNAPSHOT_FORMS_H

#include "base/diag.h"
#include "read/raw.h"
#include "read/read.h"
#include "read/snapshot_build.h"

bool snapshot_is_json(struct str head);
bool snapshot_is_html(struct str head);
/* Each reads all of its input into b and finishes it: true when something of a snapshot was in it. */
bool snapshot_pickle(struct raw *in, struct snap_build *b, const struct source *s, struct diag *d);
bool snapshot_json(struct source *s, struct snap_build *b, struct diag *d);
bool snapshot_html(struct source *s, struct snap_build *b, struct diag *d);
/* raw's read function for a source. */
size_t snapshot_source_read(void *ctx, char *p, size_t n);

#endif

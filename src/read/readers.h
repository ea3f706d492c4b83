/* readers: the functions that readers.def names, one per syntax. */
#ifndef OOMREPORT_READ_READERS_H
#define OOMREPORT_READ_READERS_H

#include "read/read.h"

/* Same contract as read_rows. */
#define READER(id, name, function)                                                                           \
    int function(struct source *s, const struct read_layout *layout, const struct row_handler *h,            \
                 uint64_t *skipped, struct diag *d);
#include "read/readers.def"
#undef READER

#endif

/* snapshot_record: dictionaries that are whole and wait for their list; for snapshot_build and
 * snapshot_lists. */
#ifndef OOMREPORT_READ_SNAPSHOT_RECORD_H
#define OOMREPORT_READ_SNAPSHOT_RECORD_H

#include "read/snapshot_build.h"

struct snap_record {
    uint32_t kind; /* enum snap_tag */
    union {
        struct trace_event event;
        struct trace_block block;
        struct trace_segment segment;
        struct trace_mark mark;
        struct trace_settings settings;
    } u;
};

/* The value that stands for a record from now on. */
struct snap_value snap_put_record(struct snap_build *b, const struct snap_record *r);
bool snap_is_record(const struct snap_value *v);
/* The record of a value of that kind; NULL when it is none, or gone. */
const struct snap_record *snap_record_of(const struct snap_build *b, const struct snap_value *v,
                                         uint32_t kind);

#endif

/* snapshot_build: dictionaries and lists of a snapshot -> a trace, while they are read.
 *
 * A reader (pickle or JSON) hands over each dictionary when all its items are known and
 * gets back what it stands for: a frame, an event, a block, ... in a few bytes. No tree of
 * the input is ever built. Records lie on a stack, as their values do in the reader: whoever
 * takes a value takes its record, and those above it, away. */
#ifndef OOMREPORT_READ_SNAPSHOT_BUILD_H
#define OOMREPORT_READ_SNAPSHOT_BUILD_H

#include "model/trace.h"

enum snap_tag {
    SNAP_OPAQUE, /* something that no figure needs */
    SNAP_NONE,
    SNAP_BOOL,
    SNAP_INT, /* v: two's complement */
    SNAP_FLOAT,
    SNAP_STR,   /* v: string */
    SNAP_PAIR,  /* tuple of two integers: v, aux (cut to 32 bits) */
    SNAP_FRAME, /* v */
    SNAP_STACK, /* v */
    SNAP_EVENT, /* v: record; and so for the next */
    SNAP_BLOCK,
    SNAP_SEGMENT,
    SNAP_MARK,
    SNAP_HISTORY,  /* v: record */
    SNAP_SETTINGS, /* v: record */
    SNAP_TOP,      /* taken over already */
    SNAP_LIST_EMPTY,
    SNAP_BLOCKS,   /* v: first << 32 | n */
    SNAP_SEGMENTS, /* likewise */
    SNAP_TRACE,    /* v: number of the trace */
    SNAP_TRACES,   /* v: first << 32 | n in build.trace_lists */
    SNAP_MARKS,
    SNAP_READER /* first tag that a reader may use for itself */
};

struct snap_value {
    uint32_t tag, aux;
    uint64_t v;
};

struct snap_pair {
    struct snap_value key, value;
};

struct snap_record;

/* A list that is being filled. {0} is an empty one. */
struct snap_list {
    uint32_t kind; /* tag of its items; SNAP_OPAQUE: nothing known was in it yet */
    uint32_t trace;
    size_t first, n;
    uint32_t *items; /* frames, traces */
    size_t cap;
};

struct snap_build {
    struct trace_file *file;
    uint8_t *key_of; /* enum snap_key of each string */
    size_t n_keys;
    uint8_t *action_of; /* enum trace_action or block state, + 1, of each string; 0: neither */
    struct snap_record *records;
    size_t n_records, cap_records;
    struct trace_device **traces; /* in the order they were met; moved to the file at the end */
    size_t n_traces, cap_traces;
    uint32_t *trace_lists;
    size_t n_trace_lists, cap_trace_lists;
    bool has_top, has_segments, has_traces;
    uint64_t volume; /* [B] of blocks taken so far */
    /* what was left out, for the diagnostics */
    uint64_t strange_blocks, strange_items, unknown_actions;
    uint32_t unknown_action; /* string: the first */
    bool has_unknown_action;
    uint64_t unknown_keys; /* of the top dictionary */
    uint32_t unknown_key;
};

void snap_build_init(struct snap_build *b, struct trace_file *file);
void snap_build_release(struct snap_build *b);

struct snap_value snap_string(struct snap_build *b, struct str s);
/* The dictionary with these items (later ones win); their records are gone afterwards. */
struct snap_value snap_dict(struct snap_build *b, const struct snap_pair *pairs, size_t n);
/* Appends n items in order; their records are gone afterwards. */
void snap_list_add(struct snap_build *b, struct snap_list *l, const struct snap_value *items, size_t n);
/* What the list stands for; it is empty afterwards and keeps its memory. */
struct snap_value snap_list_end(struct snap_build *b, struct snap_list *l);
void snap_list_release(struct snap_list *l);
/* Takes a value's record away without using it. */
void snap_drop(struct snap_build *b, const struct snap_value *v);
/* The value that the input as a whole is. */
void snap_root(struct snap_build *b, const struct snap_value *v);
/* True when something of a snapshot was found; the trace is finished. */
bool snap_build_finish(struct snap_build *b);

/* For the fast path of whole events: the enum snap_key of a string; what to fill in. */
enum snap_key {
    KEY_UNKNOWN,
    KEY_ACTION,
    KEY_ADDR,
    KEY_SIZE,
    KEY_STREAM,
    KEY_TIME_US,
    KEY_FRAMES,
    KEY_DEVICE_FREE,
    KEY_COMPILE_CONTEXT,
    KEY_USER_METADATA,
    KEY_POOL_ID,
    KEY_NAME,
    KEY_FILENAME,
    KEY_LINE,
    KEY_ADDRESS,
    KEY_REQUESTED_SIZE,
    KEY_STATE,
    KEY_HISTORY,
    KEY_REAL_SIZE,
    KEY_DEVICE,
    KEY_TOTAL_SIZE,
    KEY_SEGMENT_TYPE,
    KEY_SEGMENT_POOL_ID,
    KEY_IS_EXPANDABLE,
    KEY_BLOCKS,
    KEY_STAGE,
    KEY_SEGMENTS,
    KEY_DEVICE_TRACES,
    KEY_ALLOCATOR_SETTINGS,
    KEY_EXTERNAL_ANNOTATIONS,
    KEY_CONF,
    KEY_MAX_SPLIT_SIZE,
    KEY_EXPANDABLE_SEGMENTS,
    KEY_OVERFLOWED,
    KEY_COUNT
};
/* Action of a string; TRACE_OTHER, counted, when there is none of that name. */
enum trace_action snap_action(struct snap_build *b, uint32_t string);
/* The trace that l is or becomes, or NULL when it is a list of something else. */
struct trace_device *snap_list_trace(struct snap_build *b, struct snap_list *l);

#endif

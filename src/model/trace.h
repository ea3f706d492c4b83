/* trace: what a memory snapshot of PyTorch's allocator says: the events of each
 * device, its segments and blocks at the end, and the stacks they came from.
 *
 * Strings, frames and stacks are interned: equal ones have one number. Events are
 * not kept as they came: each allocation is paired with its free while reading,
 * and what is left is a packed log of a few bytes an event, from which levels can be
 * replayed by stack. Sizes are requested bytes [B]. Knows nothing of files,
 * pickles and JSON. */
#ifndef OOMREPORT_MODEL_TRACE_H
#define OOMREPORT_MODEL_TRACE_H

#include "base/buf.h"
#include "base/str.h"
#include "model/trace_names.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum trace_action {
    TRACE_ALLOC,
    TRACE_FREE_REQUESTED,
    TRACE_FREE_COMPLETED,
    TRACE_SEGMENT_ALLOC,
    TRACE_SEGMENT_FREE,
    TRACE_SEGMENT_MAP,
    TRACE_SEGMENT_UNMAP,
    TRACE_SNAPSHOT,
    TRACE_OOM,
    TRACE_OTHER, /* an action that is not known, or an entry without one */
    TRACE_ACTIONS
};

enum {
    TRACE_NONE = 0xffffffff /* no event, no device */
};

/* An entry of a device's trace, as it is handed to trace_device_add. */
struct trace_event {
    uint64_t addr; /* of TRACE_OOM: bytes that the device had free */
    uint64_t size; /* [B] */
    uint64_t time_us;
    uint32_t stack; /* 0: none */
    enum trace_action action;
    bool has_size, has_addr, has_time;
};

enum trace_state {
    BLOCK_ALLOCATED,
    BLOCK_PENDING, /* freed, but still in use by another stream */
    BLOCK_INACTIVE
};

struct trace_block {
    uint64_t address, size;
    uint64_t requested; /* [B] of allocated and pending blocks; size where it is not known */
    uint32_t stack;     /* 0: none */
    uint32_t born;      /* event of its allocation; TRACE_NONE: not in the trace */
    bool later;         /* allocated behind the events that were chosen */
    uint8_t state;      /* enum trace_state */
    bool traced;        /* its allocation is in the trace */
};

struct trace_segment {
    uint64_t address, total;
    uint64_t pool[2];
    uint32_t device;
    uint32_t first, n; /* of its blocks */
    uint32_t stack;
    bool large, expandable;
};

/* A START or END mark of the profiler. */
struct trace_mark {
    uint64_t time_us;
    uint32_t name; /* string */
    uint32_t device;
    bool start;
};

struct trace_settings {
    bool known;
    uint32_t conf; /* string: PYTORCH_CUDA_ALLOC_CONF; TRACE_NONE unknown */
    bool expandable_segments;
    double max_split_size; /* [B]; NAN unknown or unlimited */
    bool overflowed;       /* the ring of events is known to have wrapped */
};

/* A request that failed. */
struct trace_oom {
    uint64_t event; /* index in the device's trace */
    uint64_t requested, device_free, time_us;
    uint64_t live;     /* [B] by replay */
    uint64_t reserved; /* [B] by replay */
    uint32_t stack;
};

/* What allocations of one stack and size have in common. */
struct trace_class {
    uint64_t size;
    uint32_t stack;
};

enum trace_phase {
    TRACE_OPTIMIZER,
    TRACE_EVALUATION,
    TRACE_PHASES
};

/* Neighbouring events whose stacks belong to one phase: [first, last]. */
struct trace_run {
    uint64_t first, last;
    uint64_t allocs; /* allocations among them */
};

struct trace_runs {
    struct trace_run *at; /* n, ascending */
    size_t n, cap;
    bool open; /* the last run may still grow */
};

/* Levels of a device, exact. */
struct trace_totals {
    int64_t base;          /* [B] live before the first event */
    uint64_t peak;         /* [B] */
    uint64_t peak_event;   /* TRACE_BEFORE: it lies before the first event */
    uint64_t live_end;     /* [B] requested, allocated blocks */
    uint64_t allocated;    /* [B] the same, rounded */
    uint64_t pending;      /* [B] rounded, awaiting a free */
    uint64_t reserved;     /* [B] at the end */
    int64_t reserved_base; /* [B] before the first event */
    uint64_t reserved_peak;
    uint64_t reserved_at_peak; /* [B] when peak_event came */
    uint64_t inactive, inactive_split, largest_free;
    uint64_t private_pools; /* [B] free in pools that nobody else may use */
    uint64_t blocks;        /* allocated ones */
};
#define TRACE_BEFORE UINT64_MAX

/* The events [begin, end) of one step of the training loop. */
struct trace_step {
    uint64_t begin, end;
    uint64_t peak;  /* [B] highest level of training in it */
    uint64_t floor; /* [B] lowest level between its end and the end of the next step: what stays; UINT64_MAX
                     * when the trace ends too early */
    uint64_t floor_event;
    uint64_t reserved;              /* [B] at its end */
    uint64_t eval_first, eval_last; /* events of an evaluation before training went on; eval_last 0: none */
    uint64_t eval_peak, eval_after; /* [B] highest level in it, and the level behind it */
    uint64_t time_us;               /* of its last event; 0 unknown */
    double number;
};

/* Entries of a device's trace that are looked at: n from the from-th on; n 0: all from there. */
struct trace_window {
    uint64_t from, n;
};

struct trace_live; /* addresses that are open, while reading */

struct trace_device {
    uint32_t index;
    struct trace_window window;    /* events are counted from its beginning on everywhere but here */
    uint64_t first;                /* entries before the window */
    uint64_t after;                /* entries behind it */
    int64_t net_after, held_after; /* [B] what those do to the live and the reserved memory */
    struct buf log;                /* the packed events */
    struct buf times;              /* deltas, one for each event, when any has a time */
    uint64_t first_time, last_time;
    bool timed;
    uint64_t n;                    /* entries of the trace within the window */
    uint64_t count[TRACE_ACTIONS]; /* of them by action */
    struct trace_class *classes;   /* n_classes */
    size_t n_classes, cap_classes;
    uint32_t *class_slots; /* while reading */
    size_t class_mask;
    struct trace_live *live;     /* while reading */
    uint64_t unmatched, orphans; /* frees without their allocation */
    uint64_t orphan_bytes, unmatched_bytes;
    uint64_t volume;        /* [B] of all events so far */
    uint64_t replaced;      /* allocations on an address that was still open */
    uint64_t impossible;    /* entries with sizes beyond any device */
    uint64_t lost;          /* [B] open in the trace, not among the blocks */
    uint64_t untraced;      /* allocated blocks whose allocation is not in the trace */
    struct trace_oom *ooms; /* n_ooms */
    size_t n_ooms, cap_ooms;
    struct trace_runs runs[TRACE_PHASES];
    bool truncated; /* the trace begins after the first allocation */
    struct trace_totals totals;
    /* filled by normalise */
    struct trace_step *steps; /* n_steps, ascending */
    size_t n_steps;
    int steps_by; /* enum steps_by of verdict.h */
};

struct trace_file {
    unsigned references;
    struct trace_names names;
    struct trace_device **devices; /* n_devices, by index; never NULL inside */
    size_t n_devices, cap_devices;
    struct trace_segment *segments;
    size_t n_segments, cap_segments;
    struct trace_block *blocks;
    size_t n_blocks, cap_blocks;
    struct trace_mark *marks;
    size_t n_marks, cap_marks;
    struct trace_settings settings;
    struct trace_window window; /* of every device; what lies before is as if the trace began there */
};

struct trace_file *trace_file_new(void);
struct trace_file *trace_file_share(struct trace_file *t);
/* Gives one reference back. */
void trace_file_free(struct trace_file *t);

struct trace_device *trace_device_new(void);
void trace_device_free(struct trace_device *d);
/* The next entry of a device's trace; names is where its stack stands. */
void trace_device_add(struct trace_device *d, const struct trace_names *names, const struct trace_event *e);
/* The device of that index, made when there is none; NULL beyond TRACE_DEVICES_MAX. */
enum {
    TRACE_DEVICES_MAX = 4096
};
struct trace_device *trace_file_device(struct trace_file *t, uint32_t index);
/* Once all is read: pairs blocks with the trace, computes the totals, gives back what only reading needs. */
void trace_file_finish(struct trace_file *t);

/* --- going over the events again ----------------------------------------------------- */

enum trace_op_kind {
    OP_ALLOC,        /* class */
    OP_FREE,         /* class: of the allocation */
    OP_REPLACE,      /* class; was: the allocation that must have been freed unseen */
    OP_UNKNOWN_FREE, /* size: of a block from before the trace */
    OP_SEGMENT_ADD,  /* size */
    OP_SEGMENT_TAKE, /* size */
    OP_OOM,
    OP_COMPLETED, /* the memory of an earlier free becomes available */
    OP_ORPHAN,    /* size: completed without a request in the trace */
    OP_NOTHING
};

struct trace_op {
    enum trace_op_kind kind;
    uint32_t class, was;
    uint64_t size; /* [B] of kinds with a class too */
};

struct trace_cursor {
    const unsigned char *p, *end, *t, *t_end;
    const struct trace_device *d;
    uint64_t index;   /* of the event given last */
    uint64_t time_us; /* of the event given last; 0 where none has one */
    bool orphans_free;
};

void trace_cursor_init(struct trace_cursor *c, const struct trace_device *d);
/* The next event; false at the end. */
bool trace_next(struct trace_cursor *c, struct trace_op *op);
/* What the event does to the live bytes [B]. */
int64_t trace_op_delta(const struct trace_device *d, const struct trace_op *op);

#endif

/* trace_live: the addresses that are open while a trace is read. */
#ifndef OOMREPORT_MODEL_TRACE_LIVE_H
#define OOMREPORT_MODEL_TRACE_LIVE_H

#include "model/trace.h"

struct trace_live_slot {
    uint64_t addr;
    uint32_t class;
    uint32_t born : 30; /* event of the allocation, as far as it fits */
    uint32_t state : 2; /* 0: free slot */
};
#define LIVE_BORN_MAX (((uint32_t)1 << 30) - 1)

enum {
    LIVE_OPEN = 1,
    LIVE_REQUESTED = 2, /* freed; its completion is still to come */
    LIVE_LATER = 3      /* allocated behind the window */
};

struct trace_live *trace_live_new(void);
void trace_live_free(struct trace_live *l); /* NULL too */
/* The slot of an address, or NULL. Valid until the next call. */
struct trace_live_slot *trace_live_find(struct trace_live *l, uint64_t addr);
void trace_live_put(struct trace_live *l, uint64_t addr, uint32_t class, uint64_t born);
void trace_live_drop(struct trace_live *l, struct trace_live_slot *s);
/* Removes an open address: its class (and the event that it was born with), or TRACE_NONE. */
uint32_t trace_live_take(struct trace_live *l, uint64_t addr, uint32_t *born);
/* Sum of what is open [B]. */
uint64_t trace_live_bytes(const struct trace_live *l, const struct trace_device *d);

#endif

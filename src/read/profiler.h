/* profiler: traces of torch.profiler (Kineto's Chrome trace) -> device memory over time, and the steps.
 *
 * Takes the object with "traceEvents" that export_chrome_trace and tensorboard_trace_handler
 * write, and of it the [memory] events of CUDA devices (profile_memory=True), failed requests and the
 * ProfilerStep#N annotations. The file is walked once, an event at a time, so its size does not matter;
 * events stand in no order of time in it. May not know what the figures mean for a run. */
#ifndef OOMREPORT_READ_PROFILER_H
#define OOMREPORT_READ_PROFILER_H

#include "base/diag.h"
#include "read/read.h"

enum {
    PROFILER_DEVICES_MAX = 4096,
    PROFILER_SAMPLES_MAX = 1 << 20, /* beyond it neighbours are merged */
    PROFILER_STEPS_MAX = 1 << 20,
    PROFILER_OOMS_MAX = 1 << 16
};

/* What the allocator of a device held, told by one event, or by neighbours that were merged. */
struct profiler_sample {
    double time_us;     /* of the last event */
    uint64_t order;     /* of events of the same time: as in the file */
    uint64_t allocated; /* [B] behind the last event */
    uint64_t peak;      /* [B] highest of allocated */
    uint64_t reserved;  /* [B] highest */
    uint32_t device;
};

/* A ProfilerStep#N. */
struct profiler_step {
    double begin_us, end_us; /* both within it; where steps touch, the moment belongs to the later */
    uint64_t number;
};

/* An [OutOfMemory] event: a request that failed. */
struct profiler_oom {
    double time_us;
    uint64_t requested, allocated, reserved; /* [B] */
    uint32_t device;
};

struct profiler_capacity {
    uint64_t bytes; /* [B] */
    uint32_t device;
};

struct profiler_trace {
    struct profiler_sample *samples; /* n_samples; once read: by device, then time */
    size_t n_samples, cap_samples, limit;
    struct profiler_step *steps; /* n_steps; once read: ascending, without overlap */
    size_t n_steps, cap_steps;
    struct profiler_oom *ooms; /* n_ooms; once read: by device, then time */
    size_t n_ooms, cap_ooms;
    struct profiler_capacity *capacities; /* n_capacities; deviceProperties */
    size_t n_capacities, cap_capacities;
    uint64_t events;  /* [memory] events of CUDA devices that were used */
    uint64_t others;  /* [memory] events of the CPU and of other kinds of device */
    uint64_t strange; /* events without a usable time, device or total */
    double base_s;    /* [s] since 1970 at time 0; 0 where times are since 1970 themselves */
    uint64_t rank, world_size;
    bool has_rank, has_world_size;
};

/* By content: a JSON object whose first bytes are those of a Chrome trace. */
bool profiler_detect(struct str head);
/* Reads all of the source into *t, to be released. Damage is told by a diagnostic; what came before it is
 * kept. *skipped counts events that could not be used. */
void profiler_read(struct profiler_trace *t, struct source *s, uint64_t *skipped, struct diag *d);
void profiler_release(struct profiler_trace *t);

/* The two halves of it, for tests. At most `limit` samples are kept: when they are full, neighbours
 * in time are merged by pairs, which loses no peak. */
void profiler_add(struct profiler_trace *t, const struct profiler_sample *sample);
void profiler_finish(struct profiler_trace *t);

#endif

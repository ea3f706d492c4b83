/* Any bytes as a trace of torch.profiler: what is kept is in order and within bounds. */
#include "read/profiler.h"
#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct diag d;
    struct profiler_trace t;
    uint64_t skipped = 0;
    diag_init(&d);
    struct source *s = source_of_memory("fuzz.json", (struct str){(const char *)data, size});
    profiler_read(&t, s, &skipped, &d);
    assert(skipped == t.strange);
    for (size_t i = 0; i < t.n_samples; i++) {
        const struct profiler_sample *p = &t.samples[i];
        assert(p->peak >= p->allocated && p->device < PROFILER_DEVICES_MAX);
        assert(i == 0 || p->device > p[-1].device || p->time_us >= p[-1].time_us);
    }
    for (size_t i = 0; i < t.n_steps; i++) {
        assert(t.steps[i].begin_us <= t.steps[i].end_us);
        assert(i == 0 || t.steps[i].begin_us >= t.steps[i - 1].end_us);
    }
    profiler_release(&t);
    source_close(s);
    diag_release(&d);
    return 0;
}

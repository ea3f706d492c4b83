/* Any bytes as a pickle: it ends with a reason, and all numbers of the trace lie within their tables. */
#include "base/mem.h"
#include "read/pickle.h"
#include <assert.h>
#include <stdlib.h>

struct feed {
    const uint8_t *p;
    size_t left;
};

static size_t feed_read(void *ctx, char *p, size_t n)
{
    struct feed *f = ctx;
    size_t got = f->left < n ? f->left : n;
    memcpy(p, f->p, got);
    f->p += got;
    f->left -= got;
    return got;
}

static void check(const struct trace_file *t)
{
    static uint32_t frames[TRACE_DEPTH_MAX];
    for (size_t i = 0; i < t->n_segments; i++) {
        assert((size_t)t->segments[i].first + t->segments[i].n <= t->n_blocks);
        assert(t->segments[i].device < t->n_devices && t->segments[i].stack < t->names.n_stacks);
    }
    for (size_t i = 0; i < t->n_blocks; i++)
        assert(t->blocks[i].stack < t->names.n_stacks);
    for (size_t i = 0; i < t->names.n_stacks; i++) {
        size_t n = trace_stack_frames(&t->names, (uint32_t)i, frames);
        for (size_t k = 0; k < n; k++)
            assert(frames[k] < t->names.n_frames);
    }
    for (size_t i = 0; i < t->n_devices; i++) {
        const struct trace_device *d = t->devices[i];
        struct trace_cursor c;
        struct trace_op op;
        uint64_t n = 0;
        int64_t level = d->totals.base, peak = level;
        trace_cursor_init(&c, d);
        while (trace_next(&c, &op)) {
            assert(c.index == n++);
            level += trace_op_delta(d, &op);
            peak = level > peak ? level : peak;
        }
        assert(n == d->n && (uint64_t)peak == d->totals.peak);
        for (size_t k = 0; k < d->n_classes; k++)
            assert(d->classes[k].stack < t->names.n_stacks);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct feed f = {data, size};
    struct raw in;
    struct arena a = {0};
    struct snap_build b;
    struct trace_file *t = trace_file_new();
    snap_build_init(&b, t);
    raw_init(&in, feed_read, &f);
    struct pickle_result r = pickle_read(&in, &b, &a);
    assert(r.end == PICKLE_WHOLE || r.why);
    assert(r.at <= size && r.ops <= size + 1);
    if (r.end != PICKLE_REFUSED) {
        snap_build_finish(&b);
        check(t);
    }
    raw_release(&in);
    snap_build_release(&b);
    trace_file_free(t);
    arena_release(&a);
    return 0;
}

/* Any bytes as a snapshot in JSON, or, with '<' first, as the page that trace_plot writes. */
#include "read/snapshot.h"
#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    struct diag d;
    uint64_t skipped = 0;
    diag_init(&d);
    struct source *s = source_of_memory("fuzz.json", (struct str){(const char *)data, size});
    struct trace_file *t = snapshot_read(s, data[0] == '<' ? SNAPSHOT_HTML : SNAPSHOT_JSON,
                                         (struct trace_window){0}, &skipped, &d);
    assert(t || d.n > 0); /* nothing is refused without a word */
    for (size_t i = 0; t && i < t->n_segments; i++)
        assert((size_t)t->segments[i].first + t->segments[i].n <= t->n_blocks);
    trace_file_free(t);
    source_close(s);
    diag_release(&d);
    return 0;
}

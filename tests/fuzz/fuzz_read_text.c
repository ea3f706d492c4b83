#include "read/readers.h"
#include <stdlib.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
    uint64_t line; /* of the text handed out last */
    size_t bytes;
};

static bool text(void *ctx, uint64_t line, struct str t)
{
    struct seen *s = ctx;
    if (line == 0 || line < s->line || (t.n > 0 && !t.p))
        abort();
    s->line = line;
    s->bytes += t.n;
    return false;
}

static int key(void *ctx, struct str name)
{
    (void)ctx;
    (void)name;
    return KEY_UNWANTED;
}

static int row(void *ctx, const struct row *r)
{
    (void)ctx;
    (void)r;
    return 0;
}

/* Lines come in order, and no more text than there was, but for blanks put back at wraps. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct diag d;
    struct seen s = {0};
    struct row_handler h = {.ctx = &s, .key = key, .row = row, .text = text};
    uint64_t skipped = 0;
    diag_init(&d);
    struct source *source = source_of_memory("fuzz.log", (struct str){(const char *)data, size});
    if (source) {
        read_text(source, &(struct read_layout){0}, &h, &skipped, &d);
        source_close(source);
    }
    if (data && size > 0 && data[0] != 0x1F && data[0] < 0x80 && s.bytes > 3 * size)
        abort();
    diag_release(&d);
    return 0;
}

/* One JSON document on any bytes; the first byte says what is known of its shape.
 * Rows must come with ascending lines unless they are put in order by step. */
#include "read/read.h"
#include <assert.h>
#include <stdlib.h>

struct seen {
    int keys;
    uint64_t line, outer, rows;
    bool ordered;
};

static int on_key(void *ctx, struct str name)
{
    struct seen *s = ctx;
    return name.n % 5 == 4 ? KEY_UNWANTED : s->keys++;
}

static int on_row(void *ctx, const struct row *row)
{
    struct seen *s = ctx;
    volatile char sink = 0;
    for (size_t i = 0; i < row->n; i++) {
        assert(row->cells[i].slot >= 0 && row->cells[i].slot < s->keys);
        for (size_t k = 0; k < row->cells[i].text.n; k++)
            sink ^= row->cells[i].text.p[k];
    }
    (void)sink;
    assert(row->line > 0);
    if (s->ordered)
        assert(row->line >= s->line);
    s->line = row->line;
    *(row->is_row ? &s->rows : &s->outer) += 1;
    return s->rows > 5000 ? 7 : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct read_layout LAYOUTS[] = {
        {0}, {.rows = "log_history"}, {.rows = "a.b"}, {.transposed = true}};
    if (size == 0)
        return 0;
    struct seen seen = {.ordered = data[0] % 4 != 3};
    struct diag d;
    diag_init(&d);
    struct source *s = source_of_memory("fuzz.json", (struct str){(const char *)data + 1, size - 1});
    struct row_handler h = {&seen, on_key, on_row, NULL, NULL};
    uint64_t skipped = 0;
    int r = read_rows(s, SYNTAX_JSON, &LAYOUTS[data[0] % 4], &h, &skipped, &d);
    assert(r == 0 || r == 7);
    source_close(s);
    diag_release(&d);
    return 0;
}

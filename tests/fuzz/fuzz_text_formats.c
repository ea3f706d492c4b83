/* A text log of any bytes through all built-in formats, the series builder and the converter. */
#include "normalise/source_run.h"
#include "normalise/text_rows.h"
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void take(void *ctx, const struct record *r, const struct process_use *processes, size_t n)
{
    struct record_sink *next = ctx;
    if (record_has(r, F_EVENT) && !record_text(r, F_EVENT).n)
        abort();
    next->record(next->ctx, r, processes, n);
}

static void read_into(const struct mapping_set *set, struct str log, const struct record_sink *to,
                      struct arena *a, struct diag *d)
{
    struct normalise_settings settings = {.mappings = set, .step_from = NAN, .step_to = NAN};
    struct record_sink copy = *to, sink = {&copy, take, NULL};
    struct text_rows *t = text_rows_new(set, NULL, "a.log", &settings, &sink, a, d);
    struct row_handler h = {.ctx = t, .text = text_rows_line};
    struct source *s = source_of_memory("a.log", log);
    uint64_t skipped = 0;
    read_rows(s, SYNTAX_TEXT, NULL, &h, &skipped, d);
    text_rows_end(t);
    source_close(s);
    text_rows_free(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct mapping_set *set;
    struct arena a = {0};
    struct diag d;
    struct str log = {(const char *)data, size};
    struct series_set series;
    struct input_info info = {.name = "a.log", .format = "text"};
    diag_init(&d);
    if (!set)
        set = mapping_set_new(NULL, NULL, &d);
    struct builder *b = builder_new(NULL);
    struct record_sink sink = builder_sink(b, "a.log", "a.log", &d);
    read_into(set, log, &sink, &a, &d);
    builder_input_end(b, &info);
    builder_finish(&series, b);
    series_set_release(&series);
    builder_free(b);
    struct converter *c = converter_new(NULL, size % 2 ? CONVERT_CSV : CONVERT_JSONL, true);
    sink = converter_sink(c);
    read_into(set, log, &sink, &a, &d);
    converter_close(c);
    diag_release(&d);
    arena_release(&a);
    return 0;
}

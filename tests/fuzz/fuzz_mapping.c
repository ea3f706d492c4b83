/* A mapping file of any bytes; where it is one, its samples are run, so that rows of any bytes reach the
 * rules, the builder and the converter too. The bytes behind a line "----" are a log for it. */
#include "normalise/mapping.h"
#include "normalise/source_run.h"
#include <math.h>
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void drop(void *ctx, const struct record *r, const struct process_use *processes, size_t n)
{
    (void)ctx;
    (void)r;
    (void)processes;
    (void)n;
}

static void read_log(const struct mapping *m, struct str log, struct arena *a, struct diag *d)
{
    struct normalise_settings settings = {.step_from = NAN, .step_to = NAN};
    struct record_sink sink = {NULL, drop, NULL};
    struct input_info info = {.name = "run_seed1_rank2.log"};
    struct source *s = source_of_memory(info.name, log);
    normalise_source(&info, &sink, s, &settings, m, a, d);
    source_close(s);

    struct builder *b = builder_new(NULL);
    struct series_set set;
    sink = builder_sink(b, info.name, info.name, d);
    s = source_of_memory(info.name, log);
    normalise_source(&info, &sink, s, &settings, m, a, d);
    source_close(s);
    builder_input_end(b, &info);
    builder_finish(&set, b);
    series_set_release(&set);
    builder_free(b);

    struct converter *c = converter_new(NULL, log.n % 2 ? CONVERT_CSV : CONVERT_JSONL, true);
    sink = converter_sink(c);
    s = source_of_memory(info.name, log);
    normalise_source(&info, &sink, s, &settings, m, a, d);
    source_close(s);
    converter_close(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a = {0};
    struct diag d;
    struct str all = {(const char *)data, size};
    size_t mark = str_find(all, STR_LIT("\n----\n"));
    struct str text = mark == (size_t)-1 ? all : (struct str){all.p, mark};
    struct str log = mark == (size_t)-1 ? STR_LIT("") : (struct str){all.p + mark + 6, all.n - mark - 6};
    diag_init(&d);
    struct mapping *m = mapping_parse("fuzz.json", text, &a, &d);
    if (m) {
        mapping_check(m, &a, &d);
        if (log.n)
            read_log(m, log, &a, &d);
    }
    diag_release(&d);
    arena_release(&a);
    return 0;
}

/* ingest FILE...: reads logs into columns, and no more; prints the rows and the bytes that a row keeps. */
#include "base/mem.h"
#include "normalise/mapping.h"
#include "normalise/normalise.h"
#include <math.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    struct diag d;
    struct arena a;
    struct series_set set;
    size_t rows = 0, bytes = 0;
    diag_init(&d);
    arena_init(&a);
    struct mapping_set *mappings = mapping_set_new(NULL, NULL, &d);
    struct normalise_settings settings = {.mappings = mappings, .step_from = NAN, .step_to = NAN};
    struct builder *b = builder_new(NULL);
    for (int i = 1; i < argc; i++) {
        struct input_info info;
        struct record_sink sink = builder_sink(b, argv[i], argv[i], &d);
        normalise_input(&info, &sink, argv[i], &settings, &a, &d);
        builder_input_end(b, &info);
    }
    builder_finish(&set, b);
    for (size_t i = 0; i < set.n; i++) {
        rows += set.items[i]->rows;
        bytes += series_bytes(set.items[i]);
    }
    printf("%zu rows, %.1f bytes a row\n", rows, rows ? (double)bytes / (double)rows : 0);
    series_set_release(&set);
    builder_free(b);
    mapping_set_free(mappings);
    arena_release(&a);
    diag_release(&d);
    return 0;
}

/* Runs text through normalise, for the unit tests of that layer. */
#ifndef TESTS_NORMALISE_RUN_H
#define TESTS_NORMALISE_RUN_H

#include "normalise/source_run.h"
#include <math.h>
#include <stdlib.h>

struct run {
    struct arena a;
    struct diag d;
    struct mapping_set *set;
    struct normalise_settings settings;
    struct input_info info;
};

static inline void run_init(struct run *r)
{
    *r = (struct run){0};
    arena_init(&r->a);
    diag_init(&r->d);
    r->set = mapping_set_new(NULL, NULL, &r->d);
    r->settings = (struct normalise_settings){.mappings = r->set, .step_from = NAN, .step_to = NAN};
}

static inline void run_release(struct run *r)
{
    mapping_set_free(r->set);
    diag_release(&r->d);
    arena_release(&r->a);
}

static inline int run_sink(struct run *r, const char *name, struct str text, const struct record_sink *sink)
{
    struct source *s = source_of_memory(name, text);
    r->info = (struct input_info){.name = name};
    int rc = normalise_source(&r->info, sink, s, &r->settings, NULL, &r->a, &r->d);
    source_close(s);
    return rc;
}

/* The converted text, in the arena. */
static inline const char *run_convert(struct run *r, struct str text, enum convert_format f)
{
    char *out = NULL;
    size_t n = 0;
    FILE *file = open_memstream(&out, &n);
    struct converter *c = converter_new(file, f, false);
    struct record_sink sink = converter_sink(c);
    run_sink(r, "in", text, &sink);
    converter_close(c);
    fclose(file);
    const char *kept = arena_strndup(&r->a, out, n);
    free(out);
    return kept;
}

static inline const char *run_jsonl(struct run *r, const char *text)
{
    return run_convert(r, str_of(text), CONVERT_JSONL);
}

/* Diagnostics of a kind so far. */
static inline uint64_t run_seen(const struct run *r, enum diag_code code)
{
    return r->d.seen[code];
}

#endif

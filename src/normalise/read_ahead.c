#include "normalise/read_ahead.h"
#include "base/mem.h"
#include "base/pool.h"
#include "model/trace.h"
#include <stdlib.h>

enum {
    AHEAD = 64 /* inputs that are read and wait for their turn, at most */
};

struct read_input {
    struct arena arena;
    struct diag d;
    struct builder *builder;
    struct input_info info;
    bool *map_found;
    int status;
};

struct read_ahead {
    struct pool *pool;
    const struct named_input *inputs; /* n */
    size_t n, next;
    const struct normalise_settings *settings;
    const char *name_pattern;
    struct read_input *read; /* n */
};

static int read_into(struct builder *b, struct input_info *info, const struct named_input *input,
                     const struct normalise_settings *settings, struct arena *a, struct diag *d)
{
    struct record_sink sink = builder_sink(b, input->path, input->name, d);
    int status = normalise_input(info, &sink, input->path, settings, a, d);
    builder_input_end(b, info);
    return status;
}

static void read_one(void *ctx, size_t i)
{
    struct read_ahead *r = ctx;
    struct read_input *input = &r->read[i];
    struct normalise_settings settings = *r->settings;
    input->map_found = mem_zero(settings.n_maps, sizeof *input->map_found);
    if (settings.map_found)
        settings.map_found = input->map_found;
    input->builder = builder_new(r->name_pattern);
    diag_init(&input->d);
    input->status =
        read_into(input->builder, &input->info, &r->inputs[i], &settings, &input->arena, &input->d);
}

struct read_ahead *read_ahead_new(const struct named_input *inputs, size_t n, size_t threads,
                                  const struct normalise_settings *settings, const char *name_pattern)
{
    struct read_ahead *r = mem_zero(1, sizeof *r);
    r->inputs = inputs;
    r->n = n;
    r->settings = settings;
    r->name_pattern = name_pattern;
    r->read = mem_zero(n, sizeof *r->read);
    r->pool = pool_new(threads, n, AHEAD, read_one, r);
    if (r->pool)
        return r;
    read_ahead_free(r);
    return NULL;
}

int read_ahead_next(struct read_ahead *r, struct builder *b, struct input_info *info, struct diag *d)
{
    size_t i = r->next++;
    struct read_input *input = &r->read[i];
    pool_wait(r->pool, i);
    bool moved = builder_absorb(b, input->builder);
    builder_free(input->builder);
    input->builder = NULL;
    if (!moved) {
        trace_file_free(input->info.trace);
        diag_release(&input->d);
        diag_init(&input->d);
        input->status = read_into(b, &input->info, &r->inputs[i], r->settings, &input->arena, &input->d);
    }
    for (size_t k = 0; r->settings->map_found && k < r->settings->n_maps; k++)
        r->settings->map_found[k] |= input->map_found[k];
    free(input->map_found);
    input->map_found = NULL;
    diag_release(d);
    *d = input->d;
    input->d = (struct diag){0};
    *info = input->info;
    input->info.trace = NULL;
    return input->status;
}

void read_ahead_free(struct read_ahead *r)
{
    if (!r)
        return;
    pool_free(r->pool);
    for (size_t i = 0; i < r->n; i++) {
        struct read_input *input = &r->read[i];
        builder_free(input->builder);
        trace_file_free(input->info.trace);
        free(input->map_found);
        diag_release(&input->d);
        arena_release(&input->arena);
    }
    free(r->read);
    free(r);
}

/* The changes of --what-if. */
#include "base/num.h"
#include "cli/options.h"

#include <math.h>

enum what {
    WHAT_CAPACITY,
    WHAT_BATCH_SIZE,
    WHAT_MAX_LEN,
    WHAT_EVAL_BATCH,
    WHAT_COUNT
};

static const char *const names[] = {"capacity", "batch_size", "max_len", "eval_batch"};

static bool whole(double *out, const char *text)
{
    return num_parse(str_of(text), out) && *out >= 1 && *out <= 1e9 && *out == floor(*out);
}

static const char *one(struct what_if_change *out, const char *name, const char *value, struct arena *a)
{
    double *slots[WHAT_COUNT] = {&out->capacity_bytes, &out->batch_size, &out->max_len, &out->eval_batch};
    int what = 0;
    while (what < WHAT_COUNT && strcmp(name, names[what]) != 0)
        what++;
    if (what == WHAT_COUNT) {
        const char *near = options_nearest(name, names, WHAT_COUNT);
        return near
                   ? arena_printf(a, "--what-if: unknown \"%s\"; did you mean %s?", name, near)
                   : arena_printf(
                         a, "--what-if: unknown \"%s\"; expected capacity, batch_size, max_len or eval_batch",
                         name);
    }
    if (!isnan(*slots[what]))
        return arena_printf(a, "--what-if: %s is given twice", name);
    if (what == WHAT_CAPACITY && !options_size(slots[what], value))
        return arena_printf(
            a, "--what-if: capacity=\"%s\" is no size; expected a number with its unit, such as 40GiB",
            value);
    if ((what == WHAT_BATCH_SIZE || what == WHAT_MAX_LEN) && !whole(slots[what], value))
        return arena_printf(a, "--what-if: %s=\"%s\" is no whole number from 1 on", name, value);
    if (what == WHAT_EVAL_BATCH &&
        !(num_parse(str_of(value), slots[what]) && *slots[what] > 0 && *slots[what] <= 1000))
        return arena_printf(
            a, "--what-if: eval_batch=\"%s\" is no factor; 0.5 halves the evaluation batch, at most 1000",
            value);
    return NULL;
}

const char *options_what_if(struct what_if_change *out, const char *text, struct arena *a)
{
    *out = (struct what_if_change){text, NAN, NAN, NAN, NAN};
    for (const char *p = text;; p++) {
        size_t n = strcspn(p, ","), name = strcspn(p, "=,");
        const char *part = arena_strndup(a, p, n);
        if (name >= n)
            return arena_printf(a, "--what-if: \"%s\" is no change; expected one such as batch_size=4", part);
        const char *why = one(out, arena_strndup(a, p, name), part + name + 1, a);
        if (why)
            return why;
        p += n;
        if (!*p)
            return NULL;
    }
}

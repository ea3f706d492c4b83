#include "model/trace_names.h"
#include "base/mem.h"
#include <stdlib.h>

enum {
    CHUNK = 64 * 1024
};

/* --- hashing ------------------------------------------------------------------------ */

static uint64_t mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 29;
}

static uint32_t hash_bytes(const void *p, size_t n)
{
    const unsigned char *b = p;
    uint64_t h = n, v;
    for (; n >= 8; n -= 8, b += 8) {
        memcpy(&v, b, 8);
        h = mix(h, v);
    }
    v = 0;
    memcpy(&v, b, n);
    h = mix(mix(h, v), 0);
    return (uint32_t)(h >> 32);
}

static void table_init(struct trace_table *t)
{
    t->mask = 1023;
    t->slots = mem_zero(t->mask + 1, sizeof *t->slots);
}

/* Room for one more of n; the caller puts all back when it grew. */
static bool table_full(struct trace_table *t, size_t n)
{
    if (n * 3 < (t->mask + 1) * 2)
        return false;
    free(t->slots);
    t->mask = t->mask * 2 + 1;
    t->slots = mem_zero(t->mask + 1, sizeof *t->slots);
    return true;
}

/* A slot has four bits of the hash above the number, so that few of the wrong ones are looked at. */
#define SLOT_NUMBER (((uint32_t)1 << 28) - 1)

static void table_put(struct trace_table *t, uint32_t hash, uint32_t number)
{
    size_t i = hash & t->mask;
    while (t->slots[i])
        i = (i + 1) & t->mask;
    t->slots[i] = (number + 1) | (hash & ~SLOT_NUMBER);
}

/* The next number from slot *i on that may be of this hash; false: it is in none. */
static bool table_next(const struct trace_table *t, uint32_t hash, size_t *i, uint32_t *number)
{
    for (; t->slots[*i]; *i = (*i + 1) & t->mask) {
        uint32_t slot = t->slots[*i];
        if ((slot ^ hash) & ~SLOT_NUMBER)
            continue;
        *number = (slot & SLOT_NUMBER) - 1;
        *i = (*i + 1) & t->mask;
        return true;
    }
    return false;
}

static void *grown(void *p, size_t *cap, size_t size)
{
    *cap = *cap ? *cap + *cap / 2 : 64;
    return mem_grow(p, *cap, size);
}

/* --- strings ------------------------------------------------------------------------ */

static const char *keep(struct trace_names *t, struct str s)
{
    if (s.n > CHUNK / 8)
        return arena_strndup(&t->bytes, s.p, s.n);
    if (!t->chunk || t->chunk_left < s.n) {
        t->chunk = arena_alloc(&t->bytes, CHUNK);
        t->chunk_left = CHUNK;
    }
    char *p = t->chunk;
    if (s.n)
        memcpy(p, s.p, s.n);
    t->chunk += s.n;
    t->chunk_left -= s.n;
    return p;
}

uint32_t trace_string(struct trace_names *t, struct str s)
{
    if (!s.p)
        s.p = "";
    uint32_t hash = hash_bytes(s.p, s.n);
    uint32_t number;
    for (size_t i = hash & t->string_table.mask; table_next(&t->string_table, hash, &i, &number);) {
        const struct trace_string *e = &t->strings[number];
        if (e->hash == hash && e->n == s.n && memcmp(e->p, s.p, s.n) == 0)
            return number;
    }
    if (t->n_strings >= SLOT_NUMBER - 1)
        return 0;
    if (t->n_strings == t->cap_strings)
        t->strings = grown(t->strings, &t->cap_strings, sizeof *t->strings);
    uint32_t id = (uint32_t)t->n_strings++;
    t->strings[id] = (struct trace_string){keep(t, s), (uint32_t)s.n, hash};
    if (table_full(&t->string_table, t->n_strings))
        for (size_t k = 0; k < id; k++)
            table_put(&t->string_table, t->strings[k].hash, (uint32_t)k);
    table_put(&t->string_table, hash, id);
    return id;
}

struct str trace_string_at(const struct trace_names *t, uint32_t string)
{
    if (string >= t->n_strings)
        return (struct str){NULL, 0};
    return (struct str){t->strings[string].p, t->strings[string].n};
}

/* --- frames ------------------------------------------------------------------------- */

bool trace_file_is_python(struct str file)
{
    if (file.n == 0 || str_is(file, "??"))
        return false;
    if (str_ends(file, ".py") || str_ends(file, ".pyx") || str_ends(file, ".ipynb"))
        return true;
    if (file.p[0] == '<')
        return true;
    /* notebooks: /tmp/ipykernel_12/123.py is caught above; a path without a suffix is a script */
    size_t slash = file.n;
    while (slash && file.p[slash - 1] != '/' && file.p[slash - 1] != '\\')
        slash--;
    return memchr(file.p + slash, '.', file.n - slash) == NULL && slash > 0 && slash < file.n;
}

static bool word(struct str s, const char *w)
{
    size_t n = strlen(w);
    for (size_t i = 0; i + n <= s.n; i++) {
        if (!str_eq_nocase((struct str){s.p + i, n}, str_of(w)))
            continue;
        char before = i ? s.p[i - 1] : '_', after = i + n < s.n ? s.p[i + n] : '_';
        bool left = !((before >= 'a' && before <= 'z') || (before >= 'A' && before <= 'Z'));
        bool right = !(after >= 'a' && after <= 'z');
        if (left && right)
            return true;
    }
    return false;
}

/* Names that stand for evaluation: validate, evaluation_loop, run_eval, validation_step, … */
static bool names_eval(struct str name)
{
    static const char *const WORDS[] = {"eval",       "evaluate", "evaluation", "validate",
                                        "validation", "val",      "valid"};
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++)
        if (word(name, WORDS[i]))
            return true;
    return false;
}

static uint8_t flags_of(struct str name, struct str file)
{
    uint8_t f = 0;
    if (!trace_file_is_python(file))
        return 0;
    f |= STACK_PYTHON;
    bool torch = str_has(file, "/torch/optim/") || str_has(file, "\\torch\\optim\\");
    bool optim = torch || str_has(file, "/optim/") || str_has(file, "\\optim\\") ||
                 str_has(file, "optimizer") || str_has(file, "bitsandbytes") || str_has(file, "lion_pytorch");
    bool set_up = word(name, "__init__") || word(name, "add_param_group") || word(name, "load_state_dict");
    if (optim && word(name, "zero_grad"))
        f |= STACK_ZERO_GRAD;
    else if (optim && !set_up && (torch || word(name, "step")))
        f |= STACK_OPTIMIZER;
    bool package = str_has(file, "-packages/torch/") || str_has(file, "-packages\\torch\\");
    if (!package && names_eval(name) && !str_is(name, "eval"))
        f |= STACK_EVAL;
    return f;
}

uint32_t trace_frame(struct trace_names *t, uint32_t name, uint32_t file, uint64_t line)
{
    struct trace_frame f = {name, file, line};
    uint32_t hash = (uint32_t)(mix(mix(line, name), file) >> 32);
    struct trace_table *table = &t->frame_table;
    uint32_t number;
    for (size_t i = hash & table->mask; table_next(table, hash, &i, &number);) {
        const struct trace_frame *e = &t->frames[number];
        if (e->name == name && e->file == file && e->line == line)
            return number;
    }
    if (t->n_frames >= SLOT_NUMBER - 1)
        return 0;
    if (t->n_frames == t->cap_frames) {
        t->frames = grown(t->frames, &t->cap_frames, sizeof *t->frames);
        t->frame_flags = mem_grow(t->frame_flags, t->cap_frames, 1);
    }
    uint32_t id = (uint32_t)t->n_frames++;
    t->frames[id] = f;
    t->frame_flags[id] = flags_of(trace_string_at(t, name), trace_string_at(t, file));
    if (table_full(table, t->n_frames))
        for (size_t k = 0; k < id; k++) {
            const struct trace_frame *e = &t->frames[k];
            table_put(table, (uint32_t)(mix(mix(e->line, e->name), e->file) >> 32), (uint32_t)k);
        }
    table_put(table, hash, id);
    return id;
}

/* --- stacks ------------------------------------------------------------------------- */

static unsigned char *put_number(unsigned char *p, uint32_t v)
{
    while (v >= 0x80) {
        *p++ = (unsigned char)(v | 0x80);
        v >>= 7;
    }
    *p++ = (unsigned char)v;
    return p;
}

uint32_t trace_stack(struct trace_names *t, const uint32_t *frames, size_t n)
{
    if (n > TRACE_DEPTH_MAX)
        n = TRACE_DEPTH_MAX;
    unsigned char *begin = (unsigned char *)buf_room(&t->packed, n * 5 + 8), *p = begin;
    uint32_t flags = 0;
    for (size_t i = 0; i < n; i++) {
        p = put_number(p, frames[i]);
        flags |= t->frame_flags[frames[i]];
    }
    uint32_t bytes = (uint32_t)(p - begin), hash = hash_bytes(begin, bytes);
    struct trace_table *table = &t->stack_table;
    uint32_t number;
    for (size_t i = hash & table->mask; table_next(table, hash, &i, &number);) {
        const struct trace_stack *e = &t->stacks[number];
        if (e->hash == hash && e->bytes == bytes && memcmp(t->packed.p + e->at, begin, bytes) == 0)
            return number;
    }
    if (t->n_stacks >= SLOT_NUMBER - 1)
        return 0;
    if (t->n_stacks == t->cap_stacks)
        t->stacks = grown(t->stacks, &t->cap_stacks, sizeof *t->stacks);
    uint32_t id = (uint32_t)t->n_stacks++;
    t->stacks[id] = (struct trace_stack){t->packed.n, bytes, (uint32_t)n, hash, flags};
    t->packed.n += bytes;
    if (table_full(table, t->n_stacks))
        for (size_t k = 0; k < id; k++)
            table_put(table, t->stacks[k].hash, (uint32_t)k);
    table_put(table, hash, id);
    return id;
}

size_t trace_stack_frames(const struct trace_names *t, uint32_t stack, uint32_t *out)
{
    if (stack >= t->n_stacks)
        return 0;
    const unsigned char *p = trace_stack_begin(t, stack);
    size_t n = t->stacks[stack].n;
    for (size_t i = 0; i < n; i++)
        out[i] = trace_stack_next(&p);
    return n;
}

void trace_names_init(struct trace_names *t)
{
    *t = (struct trace_names){0};
    arena_init(&t->bytes);
    buf_init(&t->packed);
    table_init(&t->string_table);
    table_init(&t->frame_table);
    table_init(&t->stack_table);
    trace_string(t, STR_LIT(""));
    trace_stack(t, NULL, 0);
}

void trace_names_release(struct trace_names *t)
{
    arena_release(&t->bytes);
    buf_release(&t->packed);
    free(t->strings);
    free(t->frames);
    free(t->frame_flags);
    free(t->stacks);
    free(t->string_table.slots);
    free(t->frame_table.slots);
    free(t->stack_table.slots);
}

#include "read/json_transposed.h"
#include "base/mem.h"
#include "base/num.h"
#include <stdlib.h>

enum {
    ENTRIES_MAX = 16 * 1024 * 1024
};

struct entry {
    uint64_t step;
    uint64_t line;
    struct cell cell;
    struct str step_text;
    size_t order; /* in the input: the later of two values of a metric at a step counts */
};

struct table {
    struct json_rows *r;
    struct json_text *t;
    const char *counted;
    uint64_t line;
    int step_slot;
    struct entry *entries;
    size_t n, cap;
};

static uint64_t line_of(struct table *b, const char *p)
{
    const char *nl;
    while ((nl = memchr(b->counted, '\n', (size_t)(p - b->counted))) != NULL) {
        b->counted = nl + 1;
        b->line++;
    }
    return b->line;
}

/* The key at p, of which *name is the text between the quotes; behind its colon. */
static const char *read_key(struct json_text *t, const char *p, struct str *name, bool *escaped)
{
    if (*p != '"')
        return json_fail(t, p, "");
    const char *start = p + 1;
    p = json_skip_string(t, p, escaped);
    if (!p)
        return NULL;
    *name = (struct str){start, (size_t)(p - 1 - start)};
    p = json_space(t, p);
    return *p == ':' ? json_space(t, p + 1) : json_fail(t, p, "");
}

/* Calls each() for the members of the object at p; behind it, or NULL. */
static const char *each_member(struct table *b, const char *p, int slot,
                               const char *(*each)(struct table *, const char *, struct str, bool, int))
{
    if (*p != '{')
        return json_skip(b->t, p);
    p = json_space(b->t, p + 1);
    if (*p == '}')
        return p + 1;
    for (;;) {
        struct str name;
        bool escaped;
        if (!(p = read_key(b->t, p, &name, &escaped)))
            return NULL;
        if (!(p = each(b, p, name, escaped, slot)))
            return NULL;
        p = json_space(b->t, p);
        if (*p == '}' && p < b->t->end)
            return p + 1;
        if (*p != ',')
            return json_fail(b->t, p, "");
        p = json_space(b->t, p + 1);
    }
}

static const char *read_figure(struct table *b, const char *p, struct str name, bool escaped, int slot)
{
    (void)escaped;
    const char *start = p;
    uint64_t step;
    p = json_skip(b->t, p);
    if (!p)
        return NULL;
    uint64_t line = line_of(b, start);
    uint32_t col = start - b->counted < (ptrdiff_t)UINT32_MAX ? (uint32_t)(start - b->counted) + 1 : 0;
    if (!num_parse_u64(name, &step)) {
        ++*b->r->skipped;
        diag_add(b->r->d, DIAG_BAD_NUMBER, (struct place){b->r->name, line, 0},
                 "expected a step number as the key of a value, found \"%.*s\"; the value is left out",
                 name.n < 40 ? (int)name.n : 40, name.p);
        return p;
    }
    if (b->n == ENTRIES_MAX)
        return p;
    if (b->n == b->cap) {
        b->cap = b->cap ? b->cap * 2 : 1024;
        b->entries = mem_grow(b->entries, b->cap, sizeof *b->entries);
    }
    struct cell c = {
        .slot = slot, .kind = json_kind(*start), .text = {start, (size_t)(p - start)}, .col = col};
    if (c.kind == CELL_STRING) /* "nan"; an escape in here stays as it is */
        c.text = (struct str){start + 1, c.text.n - 2};
    b->entries[b->n] = (struct entry){step, line, c, name, b->n};
    b->n++;
    return p;
}

static const char *read_part(struct table *b, const char *p, struct str name, bool escaped, int slot)
{
    (void)escaped;
    return str_is(name, "values") ? each_member(b, p, slot, read_figure) : json_skip(b->t, p);
}

static const char *read_metric(struct table *b, const char *p, struct str name, bool escaped, int unused)
{
    (void)unused;
    if (*p != '{')
        return json_skip(b->t, p);
    char *plain = mem_alloc(name.n);
    struct str text = {plain, escaped ? json_unescape(plain, name.p, name.n) : name.n};
    if (!escaped && name.n)
        memcpy(plain, name.p, name.n);
    int slot = b->r->h->key(b->r->h->ctx, text);
    free(plain);
    return slot < 0 ? json_skip(b->t, p) : each_member(b, p, slot, read_part);
}

static int by_step(const void *x, const void *y)
{
    const struct entry *a = x, *b = y;
    if (a->step != b->step)
        return a->step < b->step ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

static int deliver(struct table *b)
{
    struct cell *cells = NULL;
    size_t cap = 0;
    int stop = 0;
    for (size_t i = 0, next; i < b->n && stop == 0; i = next) {
        size_t n = 0;
        for (next = i; next < b->n && b->entries[next].step == b->entries[i].step; next++)
            ;
        if (next - i + 1 > cap) {
            cap = (next - i + 1) * 2;
            cells = mem_grow(cells, cap, sizeof *cells);
        }
        if (b->step_slot >= 0)
            cells[n++] =
                (struct cell){.slot = b->step_slot, .kind = CELL_NUMBER, .text = b->entries[i].step_text};
        for (size_t k = i; k < next; k++) {
            cells[n] = b->entries[k].cell;
            if (b->entries[k].line != b->entries[i].line)
                cells[n].col = 0; /* columns are of the row's line */
            n++;
        }
        struct row row = {b->entries[i].line, cells, n, true};
        stop = b->r->h->row(b->r->h->ctx, &row);
    }
    free(cells);
    return stop;
}

int json_transposed(struct json_rows *r, struct json_text *t, const char *p, uint64_t line)
{
    struct table b = {.r = r, .t = t, .counted = t->line, .line = line};
    b.step_slot = r->h->key(r->h->ctx, STR_LIT("step"));
    each_member(&b, p, KEY_UNWANTED, read_metric);
    if (b.n == ENTRIES_MAX)
        diag_add(r->d, DIAG_TOO_MANY_FIELDS, (struct place){r->name, line, 0},
                 "more than %d values in one document; further ones are left out", ENTRIES_MAX);
    if (b.n)
        qsort(b.entries, b.n, sizeof *b.entries, by_step);
    int stop = deliver(&b);
    free(b.entries);
    return stop;
}

#include "read/json_scan.h"
#include "base/mem.h"
#include "read/json_value.h"
#include <stdint.h>
#include <stdlib.h>

/* Which object a cell belongs to: needed only when a key came twice. */
struct json_cell_note {
    uint32_t key;
    uint64_t inside;  /* serial number of the object it stood in */
    size_t unescaped; /* where in scratch its text is, or NOT_UNESCAPED */
};

#define NOT_UNESCAPED SIZE_MAX

/* --- objects whose values are wanted --------------------------------------------------------- */

void json_scan_init(struct json_scan *j, int (*key)(void *, struct str), void *ctx)
{
    *j = (struct json_scan){0};
    json_keys_init(&j->keys, key, ctx);
}

void json_scan_release(struct json_scan *j)
{
    json_keys_release(&j->keys);
    free(j->cells);
    free(j->notes);
    free(j->scratch);
    free(j->trace.leaf);
    *j = (struct json_scan){0};
}

static inline bool same_bytes(const char *a, const char *b, size_t n)
{
    if (n < 8)
        return memcmp(a, b, n) == 0;
    for (size_t i = 0; i + 8 < n; i += 8) {
        uint64_t x, y;
        memcpy(&x, a + i, 8);
        memcpy(&y, b + i, 8);
        if (x != y)
            return false;
    }
    uint64_t x, y; /* the last eight, whatever was compared before */
    memcpy(&x, a + n - 8, 8);
    memcpy(&y, b + n - 8, 8);
    return x == y;
}

static inline uint32_t follow(const struct json_order *o, const struct json_text *t, const char **p)
{
    for (int i = 0; i < JSON_EDGES; i++) {
        const struct json_edge *e = &o->edge[i];
        if (e->n && (size_t)(t->end - *p) > e->n && same_bytes(*p, e->glue, e->n)) {
            *p += e->n;
            return e->to;
        }
    }
    return JSON_NO_KEY;
}

/* From behind a value, or behind '{' (first), to the next value. *id is its key,
 * or JSON_NO_KEY for one that is not kept; NULL on an error, and behind '}' with
 * *over at the end of the object. */
static const char *next_key(struct json_scan *j, struct json_text *t, const char *p, uint32_t self,
                            bool first, uint32_t *id, bool *over)
{
    p = json_blanks(t, p);
    *over = *p == '}' && p < t->end;
    if (*over)
        return p + 1;
    if (!first && *p != ',')
        return json_fail(t, p, "expected ',' or '}'");
    if (!first)
        p = json_blanks(t, p + 1);
    if (*p != '"')
        return json_fail(t, p, "expected a key in double quotes");
    bool escaped;
    const char *key = p + 1;
    p = json_skip_string(t, p, &escaped);
    if (!p)
        return NULL;
    struct str text = {key, (size_t)(p - 1 - key)};
    p = json_blanks(t, p);
    if (*p != ':')
        return json_fail(t, p, "expected ':' after the key");
    p = json_blanks(t, p + 1);
    *id = json_keys_find(&j->keys, self, text, escaped);
    return p;
}

static void note_duplicate(struct json_scan *j, uint32_t id, const char *at)
{
    j->keys.all[id].inside = 0; /* what an earlier object of that name held does not count */
    if (j->duplicate)
        return;
    j->duplicate = true;
    j->duplicate_key = j->keys.all[id].name;
    j->duplicate_at = at;
}

static void room_for_cells(struct json_scan *j)
{
    j->cap_cells = j->keys.cap + 1; /* json_scan_add */
    j->cells = mem_grow(j->cells, j->cap_cells, sizeof *j->cells);
    j->notes = mem_grow(j->notes, j->cap_cells, sizeof *j->notes);
}

/* Unescapes into scratch, which may move: the note keeps the offset. */
static size_t unescape(struct json_scan *j, const char *raw, size_t n, size_t *length)
{
    if (j->scratch_cap - j->scratch_n < n) {
        j->scratch_cap = (j->scratch_n + n) * 2;
        j->scratch = mem_grow(j->scratch, j->scratch_cap, 1);
    }
    size_t at = j->scratch_n;
    *length = json_unescape(j->scratch + at, raw, n);
    j->scratch_n += *length;
    return at;
}

static inline struct cell *keep(struct json_scan *j, const struct json_text *t, uint32_t id, const char *p,
                                const char *end, enum cell_kind kind, bool escaped)
{
    struct json_key *key = &j->keys.all[id];
    if (j->cap_cells <= j->keys.cap)
        room_for_cells(j);
    if (key->cell_object != j->object) {
        key->cell_object = j->object;
        key->cell = (uint32_t)j->n_cells++;
    }
    struct cell *c = &j->cells[key->cell];
    struct json_cell_note *note = &j->notes[key->cell];
    c->slot = key->slot;
    c->kind = kind;
    c->text = (struct str){p, (size_t)(end - p)};
    c->col = p < t->line_end && p - t->line < (ptrdiff_t)UINT32_MAX ? (uint32_t)(p - t->line) + 1 : 0;
    c->plain = 0;
    *note = (struct json_cell_note){id, key->stamp, NOT_UNESCAPED};
    if (kind == CELL_STRING) {
        c->text.p++;
        c->text.n -= 2;
        if (escaped)
            note->unescaped = unescape(j, c->text.p, c->text.n, &c->text.n);
    }
    return c;
}

static void note_leaf(struct json_trace *trace, const char *start, const char *end, unsigned depth, int slot)
{
    if (trace->n == trace->cap)
        trace->odd = true;
    else
        trace->leaf[trace->n++] = (struct json_leaf){start, end, depth, slot};
}

static const char *members(struct json_scan *j, struct json_text *t, const char *p, uint32_t self,
                           unsigned depth);

static const char *value(struct json_scan *j, struct json_text *t, const char *p, uint32_t id, unsigned depth)
{
    bool escaped = false, entered = false;
    const char *start = p;
    const struct json_key *key = &j->keys.all[id];
    if (json_is_digit(*p) && key->slot >= 0) {
        struct num_plain number;
        const char *end = num_scan_plain(p, &number);
        if (end) {
            struct cell *c = keep(j, t, id, p, end, CELL_NUMBER, false);
            c->plain = CELL_PLAIN(number.decimals);
            c->whole = number.whole;
            if (j->trace.leaf)
                note_leaf(&j->trace, start, end, depth, key->slot);
            return end;
        }
    }
    if (*p == '{' || *p == '[') {
        if (key->stop) {
            j->stop_value = p;
            return json_skip_below(t, p, depth);
        }
        entered = *p == '{' && depth < JSON_ENTER_MAX;
        p = entered ? members(j, t, p + 1, id, depth + 1) : json_skip_below(t, p, depth);
        key = &j->keys.all[id];
    } else {
        p = json_scalar(t, p, &escaped);
    }
    if (p && j->trace.leaf) {
        if (!entered)
            note_leaf(&j->trace, start, p, depth, key->slot);
        j->trace.odd |= escaped || (entered && key->slot >= 0) || (*start == '{' && !entered);
    }
    if (p && key->slot >= 0)
        keep(j, t, id, start, p, json_kind(*start), escaped);
    return p;
}

/* What usually comes after key `before`, or first in the object of key self. */
static inline struct json_order *order_after(struct json_scan *j, uint32_t self, uint32_t before)
{
    return before == JSON_NO_KEY ? &j->keys.all[self].first : &j->keys.all[before].next;
}

/* p is behind the '{' of the object that is the value of key self. */
static const char *members(struct json_scan *j, struct json_text *t, const char *p, uint32_t self,
                           unsigned depth)
{
    uint64_t serial = ++j->serial;
    j->keys.all[self].inside = serial;
    uint32_t before = JSON_NO_KEY;   /* the key whose value was last */
    bool first = true, known = true; /* known: before is the key right before */
    for (;; first = false) {
        struct json_order *order = NULL;
        uint32_t id = JSON_NO_KEY;
        if (known) {
            order = order_after(j, self, before);
            if (*p != '}')
                id = follow(order, t, &p);
        }
        if (id == JSON_NO_KEY) {
            bool over;
            const char *glue = p;
            p = next_key(j, t, p, self, first, &id, &over);
            if (!p || over)
                return p;
            if (id == JSON_NO_KEY) {
                p = json_skip_below(t, p, depth);
                if (!p)
                    return NULL;
                known = false;
                j->trace.odd = true;
                continue;
            }
            if (order) {
                order = order_after(j, self, before); /* the keys may have moved */
                json_keys_learn(&j->keys, order, (struct str){glue, (size_t)(p - glue)}, id);
            }
        } else if (*p <= ' ') {
            p = json_blanks(t, p);
        }
        struct json_key *key = &j->keys.all[id];
        if (key->stamp == serial)
            note_duplicate(j, id, p);
        key->stamp = serial;
        p = value(j, t, p, id, depth);
        if (!p)
            return NULL;
        before = id;
        known = true;
    }
}

/* A key came twice: values of the earlier object of that name do not count. */
static void drop_overwritten(struct json_scan *j)
{
    size_t n = 0;
    for (size_t i = 0; i < j->n_cells; i++) {
        uint32_t id = j->notes[i].key;
        uint64_t inside = j->notes[i].inside;
        bool stands = true;
        while (stands && id != JSON_ROOT) {
            uint32_t parent = j->keys.all[id].parent;
            stands = j->keys.all[parent].inside == inside;
            inside = j->keys.all[parent].stamp;
            id = parent;
        }
        if (!stands)
            continue;
        j->cells[n] = j->cells[i];
        j->notes[n++] = j->notes[i];
    }
    j->n_cells = n;
}

const char *json_scan_object(struct json_scan *j, struct json_text *t, const char *p)
{
    j->object++;
    j->n_cells = 0;
    j->scratch_n = 0;
    j->duplicate = false;
    j->stop_value = NULL;
    j->trace.n = 0;
    j->trace.odd = false;
    p = members(j, t, p + 1, JSON_ROOT, 1);
    if (j->duplicate)
        drop_overwritten(j);
    j->trace.odd |= j->duplicate;
    if (j->scratch_n)
        for (size_t i = 0; i < j->n_cells; i++)
            if (j->notes[i].unescaped != NOT_UNESCAPED)
                j->cells[i].text.p = j->scratch + j->notes[i].unescaped;
    return p;
}

void json_scan_trace(struct json_scan *j, size_t n)
{
    j->trace.cap = n;
    j->trace.leaf = mem_grow(j->trace.leaf, n, sizeof *j->trace.leaf);
}

void json_scan_add(struct json_scan *j, struct cell c)
{
    if (j->cap_cells <= j->keys.cap)
        room_for_cells(j);
    j->cells[j->n_cells++] = c;
}

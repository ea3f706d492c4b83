#include "read/json_scan.h"
#include "base/mem.h"
#include "base/num_scan.h"
#include "base/utf8.h"
#include <stdint.h>
#include <stdlib.h>
#if defined(__SSE2__) && !defined(OOMREPORT_SCALAR)
#include <emmintrin.h>
#endif

/* Which object a cell belongs to: needed only when a key came twice. */
struct json_cell_note {
    uint32_t key;
    uint64_t inside;  /* serial number of the object it stood in */
    size_t unescaped; /* where in scratch its text is, or NOT_UNESCAPED */
};

#define NOT_UNESCAPED SIZE_MAX

void json_text_init(struct json_text *t, struct str text)
{
    *t = (struct json_text){.end = text.p + text.n, .line = text.p, .line_end = text.p + text.n};
}

const char *json_fail(struct json_text *t, const char *at, const char *what)
{
    t->at = at;
    t->what = what;
    t->cut = at >= t->end;
    if (t->cut)
        t->what = "the text ends within a value";
    return NULL;
}

static inline const char *space(const struct json_text *t, const char *p)
{
    while (p < t->end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'))
        p++;
    return p;
}

const char *json_space(const struct json_text *t, const char *p)
{
    return space(t, p);
}

enum cell_kind json_kind(char c)
{
    switch (c) {
    case '"':
        return CELL_STRING;
    case '{':
        return CELL_OBJECT;
    case '[':
        return CELL_LIST;
    case 't':
        return CELL_TRUE;
    case 'f':
        return CELL_FALSE;
    case '-':
    case 'N':
    case 'I':
        return CELL_NUMBER;
    default:
        return c >= '0' && c <= '9' ? CELL_NUMBER : CELL_NULL;
    }
}

/* --- strings ------------------------------------------------------------------------ */

static int hex4(const char *p)
{
    int v = 0;
    for (int i = 0; i < 4; i++) {
        char c = p[i];
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0)
            return -1 - i;
        v = v << 4 | digit;
    }
    return v;
}

/* p is behind "\u". Behind the escape (and its second half), or NULL. */
static const char *skip_unicode(struct json_text *t, const char *p)
{
    int c = hex4(p), low = -1;
    if (c < 0)
        return json_fail(t, p + (-1 - c), "expected four hexadecimal digits after \\u");
    if (c >= 0xd800 && c < 0xdc00 && p[4] == '\\' && p[5] == 'u')
        low = hex4(p + 6);
    if (low >= 0xdc00 && low < 0xe000)
        return p + 10;
    if (c >= 0xd800 && c < 0xe000 && !t->bad_text)
        t->bad_text = p - 2;
    return p + 4;
}

static const char *skip_escape(struct json_text *t, const char *p)
{
    switch (p[1]) {
    case '"':
    case '\\':
    case '/':
    case 'b':
    case 'f':
    case 'n':
    case 'r':
    case 't':
        return p + 2;
    case 'u':
        return skip_unicode(t, p + 2);
    default:
        return json_fail(t, p + 1, "unknown escape after a backslash");
    }
}

/* The first byte from p on that is a quote, a backslash, a control character or not ASCII. */
static inline const char *special(const char *p)
{
#if defined(__SSE2__) && !defined(OOMREPORT_SCALAR)
    /* stops within the pad at the latest; signed: bytes from 0x80 are below 0x20 too */
    for (;; p += 16) {
        __m128i b = _mm_loadu_si128((const __m128i *)(const void *)p);
        __m128i hit = _mm_or_si128(
            _mm_cmpeq_epi8(b, _mm_set1_epi8('"')),
            _mm_or_si128(_mm_cmpeq_epi8(b, _mm_set1_epi8('\\')), _mm_cmplt_epi8(b, _mm_set1_epi8(0x20))));
        unsigned mask = (unsigned)_mm_movemask_epi8(hit);
        if (mask)
            return p + __builtin_ctz(mask);
    }
#else
    while (*p != '"' && *p != '\\' && (unsigned char)*p >= 0x20 && (unsigned char)*p < 0x80)
        p++;
    return p;
#endif
}

const char *json_skip_string(struct json_text *t, const char *p, bool *escaped)
{
    *escaped = false;
    p++;
    for (;;) {
        p = special(p);
        if (*p == '"' && p < t->end)
            return p + 1;
        if (p >= t->end)
            return json_fail(t, p, "");
        if (*p == '\\') {
            *escaped = true;
            p = skip_escape(t, p);
            if (!p)
                return NULL;
        } else if ((unsigned char)*p < 0x20) {
            return json_fail(t, p, "control character within a string");
        } else {
            uint32_t code;
            size_t n = utf8_next(&code, (struct str){p, (size_t)(t->end - p)});
            if (n == 0 && !t->bad_text)
                t->bad_text = p;
            p += n ? n : 1;
        }
    }
}

static size_t put_code(char *to, uint32_t c)
{
    if (c >= 0xd800 && c < 0xe000)
        c = 0xfffd;
    char *start = to;
    if (c < 0x80) {
        *to++ = (char)c;
        return 1;
    }
    int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const unsigned char LEAD[] = {0, 0xc0, 0xe0, 0xf0};
    *to++ = (char)(LEAD[more] | c >> (6 * more));
    while (more-- > 0)
        *to++ = (char)(0x80 | (c >> (6 * more) & 0x3f));
    return (size_t)(to - start);
}

size_t json_unescape(char *to, const char *raw, size_t n)
{
    static const char FROM[] = "\"\\/bfnrt", TO[] = "\"\\/\b\f\n\r\t";
    char *start = to;
    const char *end = raw + n;
    while (raw < end) {
        if (*raw != '\\') {
            *to++ = *raw++;
            continue;
        }
        const char *simple = raw[1] == 'u' ? NULL : strchr(FROM, raw[1]);
        if (simple) {
            *to++ = TO[simple - FROM];
            raw += 2;
            continue;
        }
        uint32_t c = (uint32_t)hex4(raw + 2);
        raw += 6;
        if (c >= 0xd800 && c < 0xdc00 && end - raw >= 6 && raw[0] == '\\' && raw[1] == 'u') {
            uint32_t low = (uint32_t)hex4(raw + 2);
            if (low >= 0xdc00 && low < 0xe000) {
                c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
                raw += 6;
            }
        }
        to += put_code(to, c);
    }
    return (size_t)(to - start);
}

/* --- numbers and words ---------------------------------------------------------------- */

static inline bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static const char *skip_word(struct json_text *t, const char *p, const char *word)
{
    for (; *word; word++, p++)
        if (*p != *word)
            return json_fail(t, p, "expected a value: a number, a string, true, false, null, [ or {");
    return p;
}

static inline const char *skip_number(struct json_text *t, const char *p)
{
    if (*p == '-')
        p++;
    if (!is_digit(*p)) {
        if (*p == 'I')
            return skip_word(t, p, "Infinity");
        return json_fail(t, p, "expected a digit");
    }
    if (*p++ != '0')
        p = num_skip_digits(p);
    if (*p == '.') {
        if (!is_digit(*++p))
            return json_fail(t, p, "expected a digit after the decimal point");
        p = num_skip_digits(p);
    }
    if (*p == 'e' || *p == 'E') {
        p++;
        if (*p == '+' || *p == '-')
            p++;
        if (!is_digit(*p))
            return json_fail(t, p, "expected a digit in the exponent");
        p = num_skip_digits(p);
    }
    return p;
}

/* A value that is no list and no object. */
static inline const char *skip_scalar(struct json_text *t, const char *p, bool *escaped)
{
    *escaped = false;
    if (*p == '"')
        return json_skip_string(t, p, escaped);
    if (is_digit(*p) || *p == '-')
        return skip_number(t, p);
    switch (*p) {
    case 't':
        return skip_word(t, p, "true");
    case 'f':
        return skip_word(t, p, "false");
    case 'N':
        return skip_word(t, p, "NaN");
    case 'I':
        return skip_word(t, p, "Infinity");
    default:
        return skip_word(t, p, "null");
    }
}

/* --- whole values ------------------------------------------------------------------------ */

/* p is where a key must be; behind its colon and blanks. */
static const char *skip_key(struct json_text *t, const char *p)
{
    bool escaped;
    if (*p != '"')
        return json_fail(t, p, "expected a key in double quotes");
    p = json_skip_string(t, p, &escaped);
    if (!p)
        return NULL;
    p = space(t, p);
    if (*p != ':')
        return json_fail(t, p, "expected ':' after the key");
    return space(t, p + 1);
}

/* A list of strings and whole numbers without escapes and beyond ASCII, as batch ids are logged. Behind it,
 * or NULL when it is not as simple as that: then it is for skip_below. p is behind '['. */
static inline const char *skip_plain_list(const struct json_text *t, const char *p)
{
    for (;;) {
        if (*p == '"') {
            p = special(p + 1);
            if (*p != '"')
                return NULL;
            p++;
        } else {
            const char *start = p;
            p = num_skip_digits(p);
            if (p == start || *start == '0')
                return NULL;
        }
        if (*p == ']')
            return p < t->end ? p + 1 : NULL;
        if (*p != ',' || p >= t->end)
            return NULL;
        p++;
        p += *p == ' ';
    }
}

static const char *skip_below(struct json_text *t, const char *p, unsigned depth)
{
    if (*p == '[' && depth < JSON_DEPTH_MAX) {
        const char *end = skip_plain_list(t, p + 1);
        if (end)
            return end;
    }
    unsigned char is_list[JSON_DEPTH_MAX / 8 + 1] = {0}; /* one bit for each level */
    unsigned level = depth;
    bool escaped;
    for (;;) {
        if (*p == '{' || *p == '[') {
            bool list = *p == '[';
            if (level == JSON_DEPTH_MAX)
                return json_fail(t, p, "nested too deeply");
            level++;
            is_list[level / 8] =
                (unsigned char)((is_list[level / 8] & ~(1u << level % 8)) | (unsigned)list << level % 8);
            p = space(t, p + 1);
            if (*p == (list ? ']' : '}')) {
                p++;
                level--;
            } else {
                if (!list && !(p = skip_key(t, p)))
                    return NULL;
                continue;
            }
        } else if (!(p = skip_scalar(t, p, &escaped))) {
            return NULL;
        }
        /* behind a value: the lists and objects that end here, then a comma */
        while (level > depth) {
            bool list = is_list[level / 8] >> level % 8 & 1;
            p = space(t, p);
            if (*p == ',') {
                p = space(t, p + 1);
                if (!list && !(p = skip_key(t, p)))
                    return NULL;
                break;
            }
            if (*p != (list ? ']' : '}'))
                return json_fail(t, p, list ? "expected ',' or ']'" : "expected ',' or '}'");
            p++;
            level--;
        }
        if (level == depth)
            return p;
    }
}

const char *json_skip(struct json_text *t, const char *p)
{
    return skip_below(t, p, 0);
}

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
    p = space(t, p);
    *over = *p == '}' && p < t->end;
    if (*over)
        return p + 1;
    if (!first && *p != ',')
        return json_fail(t, p, "expected ',' or '}'");
    if (!first)
        p = space(t, p + 1);
    if (*p != '"')
        return json_fail(t, p, "expected a key in double quotes");
    bool escaped;
    const char *key = p + 1;
    p = json_skip_string(t, p, &escaped);
    if (!p)
        return NULL;
    struct str text = {key, (size_t)(p - 1 - key)};
    p = space(t, p);
    if (*p != ':')
        return json_fail(t, p, "expected ':' after the key");
    p = space(t, p + 1);
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

static const char *members(struct json_scan *j, struct json_text *t, const char *p, uint32_t self,
                           unsigned depth);

static const char *value(struct json_scan *j, struct json_text *t, const char *p, uint32_t id, unsigned depth)
{
    bool escaped = false;
    const char *start = p;
    const struct json_key *key = &j->keys.all[id];
    if (is_digit(*p) && key->slot >= 0) {
        struct num_plain number;
        const char *end = num_scan_plain(p, &number);
        if (end) {
            struct cell *c = keep(j, t, id, p, end, CELL_NUMBER, false);
            c->plain = CELL_PLAIN(number.decimals);
            c->whole = number.whole;
            return end;
        }
    }
    if (*p == '{' || *p == '[') {
        if (key->stop) {
            j->stop_value = p;
            return skip_below(t, p, depth);
        }
        bool enter = *p == '{' && depth < JSON_ENTER_MAX;
        p = enter ? members(j, t, p + 1, id, depth + 1) : skip_below(t, p, depth);
        key = &j->keys.all[id];
    } else {
        p = skip_scalar(t, p, &escaped);
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
                p = skip_below(t, p, depth);
                if (!p)
                    return NULL;
                known = false;
                continue;
            }
            if (order) {
                order = order_after(j, self, before); /* the keys may have moved */
                json_keys_learn(&j->keys, order, (struct str){glue, (size_t)(p - glue)}, id);
            }
        } else if (*p <= ' ') {
            p = space(t, p);
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
    p = members(j, t, p + 1, JSON_ROOT, 1);
    if (j->duplicate)
        drop_overwritten(j);
    if (j->scratch_n)
        for (size_t i = 0; i < j->n_cells; i++)
            if (j->notes[i].unescaped != NOT_UNESCAPED)
                j->cells[i].text.p = j->scratch + j->notes[i].unescaped;
    return p;
}

void json_scan_add(struct json_scan *j, struct cell c)
{
    if (j->cap_cells <= j->keys.cap)
        room_for_cells(j);
    j->cells[j->n_cells++] = c;
}

/* The dictionary of a snapshot as JSON, as json.dump writes it: a machine with a level for each open
 * container, over a window. Lists hand on each item as soon as it is whole. */
#include "base/mem.h"
#include "base/num.h"
#include "read/json_scan.h"
#include "read/snapshot_forms.h"
#include "read/source.h"
#include "read/stack_cache.h"
#include <inttypes.h>
#include <stdlib.h>

enum {
    LEVELS = 64,
    PAIRS_MAX = 4096, /* items of a dictionary that are kept */
    TEXT_MAX = 64 * 1024
};

struct level {
    struct snap_list list;
    struct snap_value first, second; /* the first items of a list */
    size_t pairs;                    /* of this dictionary begin here */
    uint64_t items;
    uint64_t begin; /* offset of its bracket */
    bool dict;
    bool frames; /* the value of "frames" */
};

struct reader {
    struct raw in;
    struct snap_build *b;
    struct level level[LEVELS];
    size_t depth;
    struct snap_pair *pairs; /* of all open dictionaries */
    size_t n_pairs, cap_pairs;
    struct snap_value key; /* waits for its value */
    struct snap_value root;
    struct stack_cache cache;
    struct buf text;
    const char *why;
    bool cut, done;
};

bool snapshot_is_json(struct str head)
{
    struct str t = str_trim(head);
    if (t.n == 0 || (t.p[0] != '{' && t.p[0] != '['))
        return false;
    bool blocks = str_has(t, "\"total_size\"") && str_has(t, "\"blocks\"");
    if (t.p[0] == '[')
        return blocks && str_has(t, "\"address\"");
    bool traces = str_has(t, "\"device_traces\"");
    return (str_has(t, "\"segments\"") && (blocks || traces)) || (traces && str_has(t, "\"action\""));
}

/* --- bytes -------------------------------------------------------------------------- */

static bool more(struct reader *r)
{
    size_t n = r->in.end - r->in.at;
    return raw_want(&r->in, n + 1);
}

static void fail(struct reader *r, const char *why)
{
    if (!r->why)
        r->why = why;
    r->done = true;
}

static void cut(struct reader *r)
{
    r->cut = true;
    fail(r, "the file ends within a value");
}

/* The next byte that is no white space, not used up; 0 at the end. */
static unsigned char peek(struct reader *r)
{
    for (;;) {
        struct raw *in = &r->in;
        while (in->at < in->end && (in->w[in->at] == ' ' || in->w[in->at] == '\n' || in->w[in->at] == '\r' ||
                                    in->w[in->at] == '\t'))
            in->at++;
        if (in->at < in->end)
            return in->w[in->at];
        if (!raw_fill(in))
            return 0;
    }
}

/* --- scalars ------------------------------------------------------------------------ */

static bool read_string(struct reader *r, struct snap_value *out)
{
    struct raw *in = &r->in;
    bool escaped;
    const char *p, *end;
    for (;;) {
        struct json_text t;
        p = (const char *)in->w + in->at;
        json_text_init(&t, (struct str){p, in->end - in->at});
        end = json_skip_string(&t, p, &escaped);
        if (end && (size_t)(end - p) <= in->end - in->at)
            break;
        if (!end && !t.cut) {
            fail(r, t.what);
            return false;
        }
        if (!more(r)) {
            cut(r);
            return false;
        }
    }
    in->at = (size_t)(end - (const char *)in->w);
    struct str s = {p + 1, (size_t)(end - p) - 2};
    *out = (struct snap_value){.tag = SNAP_OPAQUE};
    if (s.n > TEXT_MAX)
        return true;
    if (escaped) {
        buf_clear(&r->text);
        r->text.n = json_unescape(buf_room(&r->text, s.n), s.p, s.n);
        s = buf_view(&r->text);
    }
    *out = snap_string(r->b, s);
    return true;
}

static bool in_number(unsigned char c)
{
    return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || (c >= 'a' && c <= 'z') ||
           (c >= 'A' && c <= 'Z');
}

/* A number, or a word: true, false, null, NaN, Infinity. */
static bool read_word(struct reader *r, struct snap_value *out)
{
    struct raw *in = &r->in;
    size_t n = 0;
    for (;;) {
        while (in->at + n < in->end && in_number(in->w[in->at + n]))
            n++;
        if (in->at + n < in->end || n > 400)
            break;
        if (!more(r))
            break;
    }
    struct str s = {(const char *)in->w + in->at, n};
    in->at += n;
    uint64_t v = 0;
    double d;
    size_t i = 0;
    for (; i < s.n && i < 18 && s.p[i] >= '0' && s.p[i] <= '9'; i++)
        v = v * 10 + (uint64_t)(s.p[i] - '0');
    if (s.n && i == s.n) {
        *out = (struct snap_value){.tag = SNAP_INT, .v = v};
        return true;
    }
    bool minus = s.n && s.p[0] == '-';
    if (str_is(s, "true") || str_is(s, "false"))
        *out = (struct snap_value){.tag = SNAP_BOOL, .v = s.n == 4};
    else if (str_is(s, "null"))
        *out = (struct snap_value){.tag = SNAP_NONE};
    else if (num_parse_u64((struct str){s.p + minus, s.n - minus}, &v))
        *out = (struct snap_value){.tag = SNAP_INT, .v = minus ? 0 - v : v};
    else if (num_parse(s, &d)) {
        memcpy(&v, &d, sizeof v);
        *out = (struct snap_value){.tag = SNAP_FLOAT, .v = v};
    } else if (in->at == in->end && in->eof) {
        cut(r);
        return false;
    } else {
        fail(r, "expected a value");
        return false;
    }
    return true;
}

/* --- containers --------------------------------------------------------------------- */

static void put_value(struct reader *r, struct snap_value v);

static void add_pair(struct reader *r, struct snap_value v)
{
    if (r->n_pairs == r->cap_pairs) {
        r->cap_pairs *= 2;
        r->pairs = mem_grow(r->pairs, r->cap_pairs, sizeof *r->pairs);
    }
    r->pairs[r->n_pairs++] = (struct snap_pair){r->key, v};
}

static void open_level(struct reader *r, bool dict)
{
    if (r->depth == LEVELS) {
        fail(r, "nested deeper than any snapshot");
        return;
    }
    struct level *l = &r->level[r->depth];
    bool frames = !dict && r->depth && r->level[r->depth - 1].dict && r->key.tag == SNAP_STR &&
                  r->b->key_of[r->key.v] == KEY_FRAMES;
    if (frames) {
        uint32_t stack;
        size_t n = stack_cache_find(&r->cache, r->in.w + r->in.at, r->in.end - r->in.at, &stack);
        if (n) {
            r->in.at += n;
            put_value(r, (struct snap_value){.tag = SNAP_STACK, .v = stack});
            return;
        }
    }
    l->dict = dict;
    l->frames = frames;
    l->items = 0;
    l->pairs = r->n_pairs;
    l->begin = raw_offset(&r->in);
    l->first = l->second = (struct snap_value){.tag = SNAP_OPAQUE};
    if (r->depth && r->level[r->depth - 1].dict) { /* its key is kept as a pair without a value */
        add_pair(r, (struct snap_value){.tag = SNAP_OPAQUE});
        l->pairs = r->n_pairs;
    }
    r->depth++;
    r->in.at++;
}

static struct snap_value list_value(struct reader *r, struct level *l)
{
    if (l->items == 0)
        return (struct snap_value){.tag = SNAP_LIST_EMPTY};
    if (l->items == 2 && l->first.tag == SNAP_INT && l->second.tag == SNAP_INT)
        return (struct snap_value){.tag = SNAP_PAIR, .v = l->first.v, .aux = (uint32_t)l->second.v};
    return snap_list_end(r->b, &l->list);
}

static void close_level(struct reader *r)
{
    struct level *l = &r->level[--r->depth];
    struct snap_value v;
    if (l->dict) {
        v = snap_dict(r->b, r->pairs + l->pairs, r->n_pairs - l->pairs);
        r->n_pairs = l->pairs;
    } else {
        v = list_value(r, l);
    }
    if (r->depth && r->level[r->depth - 1].dict)
        r->key = r->pairs[--r->n_pairs].key;
    if (l->frames && v.tag == SNAP_STACK && l->begin >= r->in.base)
        stack_cache_learn(&r->cache, (uint32_t)v.v, r->in.w + (l->begin - r->in.base),
                          (size_t)(raw_offset(&r->in) - l->begin));
    put_value(r, v);
}

/* After an error: lists and the outermost dictionary are closed as they are; any other dictionary is
 * half a thing, and left out. */
static void close_cut(struct reader *r)
{
    struct level *l = &r->level[r->depth - 1];
    if (!l->dict || r->depth == 1) {
        close_level(r);
        return;
    }
    r->n_pairs = l->pairs;
    r->depth--;
    if (r->level[r->depth - 1].dict)
        r->key = r->pairs[--r->n_pairs].key;
}

/* A value that is whole goes to where it belongs. */
static void put_value(struct reader *r, struct snap_value v)
{
    if (r->depth == 0) {
        r->root = v;
        r->done = true;
        return;
    }
    struct level *l = &r->level[r->depth - 1];
    if (!l->dict) {
        if (l->items < 2)
            *(l->items ? &l->second : &l->first) = v;
        l->items++;
        if (v.tag >= SNAP_FRAME || v.tag == SNAP_STACK)
            snap_list_add(r->b, &l->list, &v, 1);
        return;
    }
    if (r->n_pairs - l->pairs >= PAIRS_MAX) {
        snap_drop(r->b, &v);
        return;
    }
    add_pair(r, v);
    l->items++;
}

static void read_value(struct reader *r)
{
    struct snap_value v;
    unsigned char c = peek(r);
    if (c == '{' || c == '[')
        open_level(r, c == '{');
    else if (c == '"') {
        if (read_string(r, &v))
            put_value(r, v);
    } else if (c == 0 && r->in.at == r->in.end) {
        cut(r);
    } else if (read_word(r, &v)) {
        put_value(r, v);
    }
}

static void step(struct reader *r)
{
    struct level *l = r->depth ? &r->level[r->depth - 1] : NULL;
    if (!l) {
        read_value(r);
        return;
    }
    unsigned char c = peek(r), end = l->dict ? '}' : ']';
    if (c == 0 && r->in.at == r->in.end) {
        cut(r);
        return;
    }
    if (c == end) {
        r->in.at++;
        close_level(r);
        return;
    }
    if (l->items) {
        if (c != ',') {
            fail(r, l->dict ? "expected ',' or '}'" : "expected ',' or ']'");
            return;
        }
        r->in.at++;
        c = peek(r);
    }
    if (l->dict) {
        if (c != '"') {
            if (c == 0 && r->in.at == r->in.end)
                cut(r);
            else
                fail(r, "expected a key");
            return;
        }
        if (!read_string(r, &r->key))
            return;
        if (peek(r) != ':') {
            if (r->in.at == r->in.end)
                cut(r);
            else
                fail(r, "expected ':'");
            return;
        }
        r->in.at++;
    }
    read_value(r);
}

static void trailing(struct reader *r, const struct source *s, struct diag *d)
{
    if (peek(r) != 0 || r->in.at < r->in.end)
        diag_add(d, DIAG_TRAILING_BYTES, (struct place){source_name(s), 0, 0},
                 "text behind the end of the document (at byte %" PRIu64 ") was left out",
                 raw_offset(&r->in));
    while (r->in.at = r->in.end, raw_fill(&r->in))
        ;
}

bool snapshot_json(struct source *s, struct snap_build *b, struct diag *d)
{
    struct reader *r = mem_zero(1, sizeof *r);
    raw_init(&r->in, snapshot_source_read, s);
    r->b = b;
    r->cap_pairs = 64;
    r->pairs = mem_alloc(r->cap_pairs * sizeof *r->pairs);
    r->root.tag = SNAP_OPAQUE;
    while (!r->done)
        step(r);
    uint64_t at = raw_offset(&r->in);
    struct place where = {source_name(s), 0, 0};
    while (r->why && r->depth)
        close_cut(r);
    snap_root(b, &r->root);
    bool found = snap_build_finish(b);
    if (r->why && r->cut)
        diag_add(d, DIAG_SNAPSHOT_CUT, where,
                 "the file ends at byte %" PRIu64 ", before the end of the document%s", at,
                 found ? "; what was read is used" : "");
    else if (r->why)
        diag_add(d, DIAG_BAD_SNAPSHOT, where, "%s at byte %" PRIu64 "%s", r->why, at,
                 found ? "; what was read before is used" : "");
    else
        trailing(r, s, d);
    if (!found)
        diag_add(d, DIAG_NOT_RECOGNISED, where,
                 "not a memory snapshot: a document without segments and device_traces");
    for (size_t i = 0; i < LEVELS; i++)
        snap_list_release(&r->level[i].list);
    free(r->pairs);
    buf_release(&r->text);
    stack_cache_release(&r->cache);
    raw_release(&r->in);
    free(r);
    return found;
}

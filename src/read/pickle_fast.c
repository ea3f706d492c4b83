/* Fast paths of the pickle machine: nearly all of a snapshot is lists of frames that were
 * written before, and events whose keys were. Both are read as a whole where they look as
 * the picklers write them and lie within the window; everything else goes op by op. */
#include "read/pickle_machine.h"

static uint32_t word32(const unsigned char *p)
{
    uint32_t v;
    memcpy(&v, p, 4);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap32(v);
#endif
    return v;
}

/* --- memo --------------------------------------------------------------------------- */

/* A memo entry for word where one is written at p; 0: none, and -1 when it cannot be made. */
static int put_here(struct machine *m, const unsigned char *p, uint32_t word)
{
    if (*p == 0x94) {
        if (m->n_memo < m->cap_memo) {
            m->memo[m->n_memo++] = word;
            return 1;
        }
        return memo_put(m, m->n_memo, word) ? 1 : -1;
    }
    if (*p == 'q')
        return memo_put(m, p[1], word) ? 2 : -1;
    if (*p == 'r')
        return memo_put(m, word32(p + 1), word) ? 5 : -1;
    return 0;
}

/* The memo entry that is fetched at p; its length, or 0 when none is or it is not there. */
static size_t get_here(const struct machine *m, const unsigned char *p, uint32_t *word)
{
    uint32_t i = *p == 'h' ? p[1] : word32(p + 1);
    if ((*p != 'h' && *p != 'j') || i >= m->n_memo)
        return 0;
    *word = m->memo[i];
    return *p == 'h' ? 2 : 5;
}

/* --- lists of frames ---------------------------------------------------------------- */

/* Frames at p up to 'e'; the number of bytes, or 0 when it is not as simple. */
static size_t walk(struct machine *m, const unsigned char *p, const unsigned char *end, uint32_t *stack)
{
    const unsigned char *begin = p;
    size_t n = 0;
    while (p < end && *p != 'e') {
        uint32_t word;
        size_t bytes = get_here(m, p, &word);
        if (bytes == 0 || word >> MEMO_BITS != MEMO_FRAME || n == BATCH - 1)
            return 0;
        m->scratch[n++] = word & MEMO_INDEX;
        p += bytes;
    }
    if (p >= end || n == 0)
        return 0;
    *stack = trace_stack(&m->b->file->names, m->scratch, n);
    return (size_t)(p - begin) + 1;
}

/* The list whose items begin at p. */
static size_t stack_items(struct machine *m, const unsigned char *p, const unsigned char *end,
                          uint32_t *stack)
{
    size_t n = stack_cache_find(&m->cache, p, (size_t)(end - p), stack);
    if (n)
        return n;
    n = walk(m, p, end, stack);
    if (n)
        stack_cache_learn(&m->cache, *stack, p, n);
    return n;
}

/* A list that begins behind ']' at p, with its memo entry before or after the items; its length or 0. */
static size_t read_stack(struct machine *m, const unsigned char *p, const unsigned char *end, uint32_t *stack)
{
    const unsigned char *begin = p;
    size_t memo_bytes = *p == 0x94 ? 1 : *p == 'q' ? 2 : *p == 'r' ? 5 : 0;
    const unsigned char *memo = p;
    p += memo_bytes;
    if (end - p < 8 || *p++ != '(')
        return 0;
    size_t n = stack_items(m, p, end, stack);
    if (n == 0)
        return 0;
    struct snap_value v = {.tag = SNAP_STACK, .v = *stack};
    p += n;
    if (memo_bytes && put_here(m, memo, memo_of(&v)) < 0)
        return 0;
    return (size_t)(p - begin);
}

bool fast_stack(struct machine *m)
{
    struct raw *in = m->in;
    uint32_t stack;
    if (in->end - in->at < 16)
        return false;
    size_t n = read_stack(m, in->w + in->at, in->w + in->end, &stack);
    if (n == 0)
        return false;
    in->at += n;
    m->stack[m->sp++] = (struct snap_value){.tag = SNAP_STACK, .v = stack};
    return true;
}

/* --- events ------------------------------------------------------------------------- */

/* An integer at p: its length, or 0. */
static size_t int_here(const unsigned char *p, uint64_t *v)
{
    switch (*p) {
    case 'K':
        *v = p[1];
        return 2;
    case 'M':
        *v = (uint64_t)(p[1] | p[2] << 8);
        return 3;
    case 'J':
        *v = (uint64_t)(int64_t)(int32_t)word32(p + 1);
        return 5;
    case 0x8a:
        if (p[1] == 0 || p[1] > 8)
            return 0;
        *v = p[1 + p[1]] & 0x80 ? UINT64_MAX : 0;
        for (size_t i = p[1]; i > 0; i--)
            *v = *v << 8 | p[1 + i];
        return 2 + (size_t)p[1];
    default:
        return 0;
    }
}

/* A string at p, with its memo entry: its length, or 0. */
static size_t string_here(struct machine *m, const unsigned char *p, const unsigned char *end,
                          uint32_t *string)
{
    size_t head = *p == 0x8c ? 2 : *p == 'X' ? 5 : 0, n = head == 2 ? p[1] : head ? word32(p + 1) : 0;
    if (head == 0 || n > 255 || (size_t)(end - p) < head + n + 8)
        return 0;
    struct snap_value v = snap_string(m->b, (struct str){(const char *)p + head, n});
    *string = (uint32_t)v.v;
    int memo = put_here(m, p + head + n, memo_of(&v));
    return memo < 0 ? 0 : head + n + (size_t)memo;
}

struct event_parts {
    struct trace_event e;
    uint64_t device_free;
    bool has_action, has_device_free;
};

static void set_int(struct event_parts *x, enum snap_key key, uint64_t v)
{
    struct trace_event *e = &x->e;
    if (key == KEY_ADDR) {
        e->addr = v;
        e->has_addr = true;
    } else if (key == KEY_SIZE) {
        e->size = v;
        e->has_size = true;
    } else if (key == KEY_TIME_US) {
        e->time_us = v;
        e->has_time = true;
    } else if (key == KEY_DEVICE_FREE) {
        x->device_free = v;
        x->has_device_free = true;
    }
}

/* A value that stands in the memo. False when the event is not as simple. */
static bool set_memo(struct machine *m, struct event_parts *x, enum snap_key key, uint32_t word)
{
    uint32_t kind = word >> MEMO_BITS, i = word & MEMO_INDEX;
    if (key == KEY_ACTION) {
        if (kind != MEMO_STR || i >= m->b->n_keys || !m->b->action_of[i])
            return false;
        x->e.action = snap_action(m->b, i);
        x->has_action = true;
        return x->e.action != TRACE_OTHER;
    }
    if (key == KEY_FRAMES) {
        x->e.stack = kind == MEMO_STACK ? i : 0;
        return kind == MEMO_STACK || kind == MEMO_EMPTY_LIST;
    }
    return kind != MEMO_UNSET && key != KEY_ADDR && key != KEY_SIZE;
}

/* The second number and the end of a pool_id, whose first number was just read. */
static size_t pool_rest(struct machine *m, const unsigned char *p, uint64_t first)
{
    struct snap_value v = {.tag = SNAP_PAIR, .v = first};
    uint64_t second;
    size_t n = int_here(p, &second);
    if (n == 0 || p[n] != 0x86)
        return 0;
    v.aux = (uint32_t)second;
    int memo = put_here(m, p + n + 1, memo_of(&v));
    return memo < 0 ? 0 : n + 1 + (size_t)memo;
}

/* The value at p; its length, or 0. */
static size_t event_value(struct machine *m, struct event_parts *x, enum snap_key key, const unsigned char *p,
                          const unsigned char *end)
{
    uint32_t word;
    uint64_t v;
    size_t n = int_here(p, &v);
    if (n) {
        set_int(x, key, v);
        if (key != KEY_POOL_ID)
            return n;
        size_t rest = pool_rest(m, p + n, v);
        return rest ? n + rest : 0;
    }
    if (*p == 'h' || *p == 'j') {
        n = get_here(m, p, &word);
        return n && set_memo(m, x, key, word) ? n : 0;
    }
    if (*p == ']' && key == KEY_FRAMES) {
        size_t memo_bytes = p[1] == 0x94 ? 1 : p[1] == 'q' ? 2 : p[1] == 'r' ? 5 : 0;
        if (p[1 + memo_bytes] != '(') { /* no frames */
            x->e.stack = 0;
            return put_here(m, p + 1, (uint32_t)MEMO_EMPTY_LIST << MEMO_BITS) < 0 ? 0 : 1 + memo_bytes;
        }
        n = read_stack(m, p + 1, end, &x->e.stack);
        if (n == 0)
            return 0;
        struct snap_value stack = {.tag = SNAP_STACK, .v = x->e.stack};
        int memo = end - p > (ptrdiff_t)n + 8 ? put_here(m, p + 1 + n, memo_of(&stack)) : -1;
        return memo < 0 ? 0 : 1 + n + (size_t)memo;
    }
    if (*p == 0x8c || *p == 'X')
        return key == KEY_COMPILE_CONTEXT || key == KEY_USER_METADATA || key == KEY_UNKNOWN
                   ? string_here(m, p, end, &word)
                   : 0;
    return *p == 'N' ? 1 : 0;
}

/* A dictionary that begins behind '}' at p; its length, or 0. */
static size_t read_event(struct machine *m, struct event_parts *x, const unsigned char *p,
                         const unsigned char *end)
{
    const unsigned char *begin = p;
    int memo = put_here(m, p, (uint32_t)MEMO_OPAQUE << MEMO_BITS);
    if (memo < 0)
        return 0;
    p += memo;
    if (*p++ != '(')
        return 0;
    while (end - p > RAW_PAD) {
        uint32_t word;
        size_t n;
        if (*p == 'u') {
            memo = put_here(m, p + 1, (uint32_t)MEMO_OPAQUE << MEMO_BITS);
            return memo < 0 ? 0 : (size_t)(p - begin) + 1 + (size_t)memo;
        }
        n = get_here(m, p, &word);
        if (n == 0 || word >> MEMO_BITS != MEMO_STR || (word & MEMO_INDEX) >= m->b->n_keys)
            return 0;
        p += n;
        n = event_value(m, x, (enum snap_key)m->b->key_of[word & MEMO_INDEX], p, end);
        if (n == 0)
            return 0;
        p += n;
    }
    return 0;
}

bool fast_event(struct machine *m)
{
    struct raw *in = m->in;
    size_t mark = m->n_marks ? m->marks[m->n_marks - 1] : 0;
    if (mark == 0 || in->end - in->at < 2 * RAW_PAD)
        return false;
    uint32_t below = m->stack[mark - 1].tag;
    if (below != PK_LIST && below != PK_EMPTY_LIST)
        return false;
    if (m->sp > mark + 1 && (m->stack[m->sp - 1].tag != SNAP_EVENT || !feed_list(m)))
        return false;
    if (m->stack[mark - 1].tag != PK_LIST)
        return false;
    struct snap_list *l = &open_list_at(m, mark - 1)->list;
    if (l->kind != SNAP_EVENT)
        return false;
    struct event_parts x = {.e = {.action = TRACE_OTHER}};
    size_t n_memo = m->n_memo;
    size_t n = read_event(m, &x, in->w + in->at, in->w + in->end);
    if (n == 0 || !x.has_action) {
        m->n_memo = n_memo; /* as if nothing had been read */
        return false;
    }
    if (x.e.action == TRACE_OOM && x.has_device_free) {
        x.e.addr = x.device_free;
        x.e.has_addr = true;
    }
    in->at += n;
    trace_device_add(snap_list_trace(m->b, l), &m->b->file->names, &x.e);
    return true;
}

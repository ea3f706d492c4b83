#include "read/pickle.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/utf8.h"
#include "read/pickle_machine.h"
#include <inttypes.h>
#include <stdlib.h>

/* --- ends --------------------------------------------------------------------------- */

static void stop(struct machine *m, enum pickle_end end, const char *why)
{
    if (m->why)
        return;
    m->end = end;
    m->why = why;
    m->stopped = true;
}

static void cut(struct machine *m)
{
    stop(m, PICKLE_CUT,
         arena_printf(m->arena, "the file ends at byte %" PRIu64 ", before the end of the pickle",
                      raw_offset(m->in) + (m->in->end - m->in->at)));
}

static void damaged(struct machine *m, const char *what)
{
    stop(m, PICKLE_DAMAGED, arena_printf(m->arena, "%s at byte %" PRIu64, what, m->op_at));
}

static void refuse(struct machine *m, const char *op, struct str module, struct str name)
{
    struct buf text = {0};
    buf_puts(&text, op);
    if (module.n || name.n)
        buf_putc(&text, ' ');
    utf8_put_visible(&text, (struct str){module.p, module.n < 80 ? module.n : 80});
    if (module.n && name.n)
        buf_putc(&text, '.');
    utf8_put_visible(&text, (struct str){name.p, name.n < 80 ? name.n : 80});
    stop(m, PICKLE_REFUSED, arena_printf(m->arena, "%s at byte %" PRIu64, text.p, m->op_at));
    buf_release(&text);
}

/* --- stack and memo ----------------------------------------------------------------- */

static void push(struct machine *m, struct snap_value v)
{
    if (m->sp == m->cap) {
        if (m->cap >= STACK_MAX) {
            damaged(m, "more values than any snapshot has open");
            return;
        }
        m->cap *= 2;
        m->stack = mem_grow(m->stack, m->cap, sizeof *m->stack);
    }
    m->stack[m->sp++] = v;
}

static void push_tag(struct machine *m, uint32_t tag, uint64_t v)
{
    push(m, (struct snap_value){.tag = tag, .v = v});
}

/* Bottom of what the present operation may take. */
static size_t floor_of(const struct machine *m)
{
    return m->n_marks ? (size_t)m->marks[m->n_marks - 1] + 1 : 0;
}

static bool need_values(struct machine *m, size_t n)
{
    if (m->sp - floor_of(m) >= n)
        return true;
    damaged(m, "an operation without its operands");
    return false;
}

static bool need_mark(struct machine *m)
{
    if (m->n_marks)
        return true;
    damaged(m, "an operation without its mark");
    return false;
}

static struct open_list *list_of(struct machine *m, const struct snap_value *v)
{
    return &m->lists[v->aux];
}

static struct open_dict *dict_of(struct machine *m, const struct snap_value *v)
{
    return &m->dicts[v->aux];
}

/* The empty list or dictionary at a position becomes one that is filled piece by piece. */
static bool open_it(struct machine *m, struct snap_value *v)
{
    uint64_t memo = v->v;
    if (v->tag == PK_EMPTY_LIST) {
        uint32_t i = m->free_list;
        if (!i && m->n_lists >= OPEN_MAX) {
            damaged(m, "more open lists than any snapshot has");
            return false;
        }
        if (!i) {
            if (m->n_lists == m->cap_lists) {
                m->cap_lists = m->cap_lists ? m->cap_lists * 2 : 16;
                m->lists = mem_grow(m->lists, m->cap_lists, sizeof *m->lists);
            }
            m->lists[m->n_lists++] = (struct open_list){0};
            i = (uint32_t)m->n_lists;
        } else {
            m->free_list = m->lists[i - 1].next_free;
        }
        m->lists[i - 1].memo = memo;
        m->lists[i - 1].used = true;
        *v = (struct snap_value){.tag = PK_LIST, .aux = i - 1};
        return true;
    }
    uint32_t i = m->free_dict;
    if (!i && m->n_dicts >= OPEN_MAX) {
        damaged(m, "more open dictionaries than any snapshot has");
        return false;
    }
    if (!i) {
        if (m->n_dicts == m->cap_dicts) {
            m->cap_dicts = m->cap_dicts ? m->cap_dicts * 2 : 16;
            m->dicts = mem_grow(m->dicts, m->cap_dicts, sizeof *m->dicts);
        }
        m->dicts[m->n_dicts++] = (struct open_dict){0};
        i = (uint32_t)m->n_dicts;
    } else {
        m->free_dict = m->dicts[i - 1].next_free;
    }
    m->dicts[i - 1].memo = memo;
    m->dicts[i - 1].used = true;
    *v = (struct snap_value){.tag = PK_DICT, .aux = i - 1};
    return true;
}

uint32_t memo_of(const struct snap_value *v)
{
    uint32_t kind = MEMO_OPAQUE;
    uint64_t i = v->v;
    switch (v->tag) {
    case SNAP_STR:
        kind = MEMO_STR;
        break;
    case SNAP_FRAME:
        kind = MEMO_FRAME;
        break;
    case SNAP_STACK:
        kind = MEMO_STACK;
        break;
    case SNAP_LIST_EMPTY:
    case PK_EMPTY_LIST:
        kind = MEMO_EMPTY_LIST;
        i = 0;
        break;
    case SNAP_PAIR:
        kind = MEMO_PAIR;
        i = v->v < 1 << 14 && v->aux < 1 << 14 ? v->v << 14 | v->aux : MEMO_INDEX + (uint64_t)1;
        break;
    default:
        i = 0;
        break;
    }
    return i > MEMO_INDEX ? (uint32_t)MEMO_OPAQUE << MEMO_BITS : kind << MEMO_BITS | (uint32_t)i;
}

bool memo_put(struct machine *m, uint64_t index, uint32_t word)
{
    if (index >= m->cap_memo) {
        /* an index needs an entry before it, and that a byte: anything beyond is no pickler's work */
        if (index > raw_offset(m->in)) {
            damaged(m, "a memo entry beyond any that can be filled");
            return false;
        }
        size_t cap = m->cap_memo;
        while (cap <= index)
            cap += cap / 2;
        m->memo = mem_grow(m->memo, cap, sizeof *m->memo);
        m->cap_memo = cap;
    }
    while (m->n_memo <= index)
        m->memo[m->n_memo++] = 0;
    m->memo[index] = word;
    return true;
}

/* The value on top gets a memo entry. */
static void memoize(struct machine *m, uint64_t index)
{
    if (!need_values(m, 1))
        return;
    struct snap_value *v = &m->stack[m->sp - 1];
    if (!memo_put(m, index, memo_of(v)))
        return;
    /* a second entry of one open container stays opaque */
    if ((v->tag == PK_EMPTY_LIST || v->tag == PK_EMPTY_DICT) && !v->v)
        v->v = index + 1;
    else if (v->tag == PK_LIST && !list_of(m, v)->memo)
        list_of(m, v)->memo = index + 1;
    else if (v->tag == PK_DICT && !dict_of(m, v)->memo)
        dict_of(m, v)->memo = index + 1;
}

static void fetch(struct machine *m, uint64_t index)
{
    uint32_t word = index < m->n_memo ? m->memo[index] : 0, i = word & MEMO_INDEX;
    switch (word >> MEMO_BITS) {
    case MEMO_UNSET:
        damaged(m, "a memo entry that was never filled");
        break;
    case MEMO_STR:
        push_tag(m, SNAP_STR, i);
        break;
    case MEMO_FRAME:
        push_tag(m, SNAP_FRAME, i);
        break;
    case MEMO_STACK:
        push_tag(m, SNAP_STACK, i);
        break;
    case MEMO_EMPTY_LIST:
        push_tag(m, SNAP_LIST_EMPTY, 0);
        break;
    case MEMO_PAIR:
        push(m, (struct snap_value){.tag = SNAP_PAIR, .v = i >> 14, .aux = i & 0x3fff});
        break;
    default:
        push_tag(m, SNAP_OPAQUE, 0);
        break;
    }
}

/* --- containers --------------------------------------------------------------------- */

static void settle(struct machine *m, uint64_t memo, const struct snap_value *v)
{
    if (memo)
        memo_put(m, memo - 1, memo_of(v));
}

/* A value that something takes is whole: what was open becomes what it stands for. */
static void finish(struct machine *m, struct snap_value *v)
{
    if (v->tag == PK_LIST) {
        struct open_list *l = list_of(m, v);
        uint32_t i = v->aux;
        *v = snap_list_end(m->b, &l->list);
        settle(m, l->memo, v);
        l->used = false;
        l->next_free = m->free_list;
        m->free_list = i + 1;
    } else if (v->tag == PK_DICT) {
        struct open_dict *d = dict_of(m, v);
        uint32_t i = v->aux;
        *v = snap_dict(m->b, d->pairs, d->n);
        settle(m, d->memo, v);
        d->n = 0;
        d->used = false;
        d->next_free = m->free_dict;
        m->free_dict = i + 1;
    } else if (v->tag == PK_EMPTY_LIST) {
        v->tag = SNAP_LIST_EMPTY;
    } else if (v->tag == PK_EMPTY_DICT || v->tag == PK_MARK) {
        v->tag = SNAP_OPAQUE;
    }
}

/* Takes values [from, sp) away without using them. */
static void drop(struct machine *m, size_t from)
{
    for (size_t i = m->sp; i > from; i--) {
        finish(m, &m->stack[i - 1]);
        snap_drop(m->b, &m->stack[i - 1]);
    }
    m->sp = from;
}

struct open_list *open_list_at(struct machine *m, size_t position)
{
    struct snap_value *v = &m->stack[position];
    if (v->tag == PK_EMPTY_LIST && !open_it(m, v))
        return NULL;
    return v->tag == PK_LIST ? list_of(m, v) : NULL;
}

/* Values [from, sp) go to the list at position at. */
static void append(struct machine *m, size_t at, size_t from, bool last)
{
    size_t n = m->sp - from;
    if (n == 0)
        return;
    for (size_t i = from; i < m->sp; i++)
        finish(m, &m->stack[i]);
    struct open_list *l = open_list_at(m, at);
    if (!l) {
        drop(m, from);
        return;
    }
    snap_list_add(m->b, &l->list, m->stack + from, n);
    m->sp = from;
    if (last && n < BATCH && l->list.kind == SNAP_FRAME)
        finish(m, &m->stack[at]);
}

bool feed_list(struct machine *m)
{
    size_t mark = m->marks[m->n_marks - 1];
    if (mark == 0 || (m->stack[mark - 1].tag != PK_LIST && m->stack[mark - 1].tag != PK_EMPTY_LIST))
        return false;
    append(m, mark - 1, mark + 1, false);
    return true;
}

/* Pairs [from, sp) go to the dictionary at position at. */
static void set_items(struct machine *m, size_t at, size_t from, bool last)
{
    size_t n = (m->sp - from) / 2;
    for (size_t i = from; i < m->sp; i++)
        finish(m, &m->stack[i]);
    struct snap_value *v = &m->stack[at];
    if (v->tag == PK_EMPTY_DICT && last && n > 0 && n < BATCH) {
        uint64_t memo = v->v;
        _Static_assert(sizeof(struct snap_pair) == 2 * sizeof(struct snap_value), "pairs lie side by side");
        *v = snap_dict(m->b, (const struct snap_pair *)(const void *)(m->stack + from), n);
        settle(m, memo, v);
        m->sp = from;
        return;
    }
    if (n && v->tag == PK_EMPTY_DICT && !open_it(m, v))
        return;
    if (v->tag == PK_DICT) {
        struct open_dict *d = dict_of(m, v);
        for (size_t i = 0; i < n && d->n < 2 * BATCH; i++) {
            if (d->n == d->cap) {
                d->cap = d->cap ? d->cap * 2 : 4;
                d->pairs = mem_grow(d->pairs, d->cap, sizeof *d->pairs);
            }
            d->pairs[d->n++] = (struct snap_pair){m->stack[from + 2 * i], m->stack[from + 2 * i + 1]};
        }
        m->sp = from; /* their records stay until the dictionary is whole */
        return;
    }
    drop(m, from);
}

static size_t take_mark(struct machine *m)
{
    return m->marks[--m->n_marks];
}

static void op_mark(struct machine *m)
{
    if (m->n_marks == m->cap_marks) {
        if (m->cap_marks >= MARKS_MAX) {
            damaged(m, "nesting deeper than any snapshot's");
            return;
        }
        m->cap_marks *= 2;
        m->marks = mem_grow(m->marks, m->cap_marks, sizeof *m->marks);
    }
    m->marks[m->n_marks++] = (uint32_t)m->sp;
    push_tag(m, PK_MARK, 0);
}

/* More values above a mark than any batch has: the list below takes them now (the C++ pickler
 * writes a list in one piece); anything else of that size means nothing to a snapshot. */
static void relieve(struct machine *m)
{
    size_t from = floor_of(m);
    if (m->sp - from < PILE_MAX)
        return;
    if (m->n_marks && feed_list(m))
        return;
    drop(m, from + ((m->sp - from) & 1)); /* pairs stay pairs */
}

static void op_appends(struct machine *m)
{
    if (!need_mark(m))
        return;
    size_t mark = take_mark(m);
    if (mark < floor_of(m) + 1) {
        damaged(m, "APPENDS without a list");
        return;
    }
    append(m, mark - 1, mark + 1, true);
    m->sp = mark;
}

static void op_setitems(struct machine *m)
{
    if (!need_mark(m))
        return;
    size_t mark = take_mark(m);
    if (mark < floor_of(m) + 1) {
        damaged(m, "SETITEMS without a dictionary");
        return;
    }
    set_items(m, mark - 1, mark + 1, true);
    m->sp = mark;
}

/* LIST and DICT: the mark itself becomes the container. */
static void op_from_mark(struct machine *m, bool list)
{
    if (!need_mark(m))
        return;
    size_t mark = take_mark(m);
    m->stack[mark] = (struct snap_value){.tag = list ? PK_EMPTY_LIST : PK_EMPTY_DICT};
    if (m->sp == mark + 1)
        return;
    if (list)
        append(m, mark, mark + 1, true);
    else
        set_items(m, mark, mark + 1, true);
    m->sp = mark + 1;
}

static void op_tuple(struct machine *m, size_t from, size_t to)
{
    struct snap_value v = {.tag = SNAP_OPAQUE};
    const struct snap_value *a = &m->stack[from];
    if (m->sp - from == 2 && a[0].tag == SNAP_INT && a[1].tag == SNAP_INT)
        v = (struct snap_value){.tag = SNAP_PAIR, .v = a[0].v, .aux = (uint32_t)a[1].v};
    drop(m, from);
    m->sp = to;
    push(m, v);
}

static void op_pop(struct machine *m)
{
    if (m->n_marks && m->marks[m->n_marks - 1] == m->sp - 1) {
        m->n_marks--;
        m->sp--;
    } else if (need_values(m, 1)) {
        drop(m, m->sp - 1);
    }
}

/* --- numbers and strings ------------------------------------------------------------ */

static uint64_t little(const unsigned char *p, size_t n)
{
    uint64_t v = 0;
    for (size_t i = 0; i < n; i++)
        v |= (uint64_t)p[i] << 8 * i;
    return v;
}

/* n argument bytes, used up; NULL at the end of the input. */
static const unsigned char *take(struct machine *m, size_t n)
{
    if (m->in->end - m->in->at < n && !raw_want(m->in, n)) {
        cut(m);
        return NULL;
    }
    m->in->at += n;
    return m->in->w + m->in->at - n;
}

static void skip(struct machine *m, uint64_t n)
{
    if (!raw_skip(m->in, n))
        cut(m);
}

static void op_long(struct machine *m, uint64_t n)
{
    if (n > 9) {
        skip(m, n);
        push_tag(m, SNAP_OPAQUE, 0);
        return;
    }
    const unsigned char *p = take(m, (size_t)n);
    if (!p)
        return;
    uint64_t v = little(p, n < 8 ? (size_t)n : 8);
    if (n > 0 && n < 8 && p[n - 1] & 0x80)
        v |= UINT64_MAX << 8 * n;
    push_tag(m, n == 9 && p[8] ? SNAP_OPAQUE : SNAP_INT, v);
}

static void op_float(struct machine *m)
{
    const unsigned char *p = take(m, 8);
    if (!p)
        return;
    uint64_t bits = 0;
    for (int i = 0; i < 8; i++)
        bits = bits << 8 | p[i];
    push_tag(m, SNAP_FLOAT, bits);
}

static void op_string(struct machine *m, uint64_t n)
{
    if (n > STRING_MAX) {
        skip(m, n);
        push_tag(m, SNAP_OPAQUE, 0);
        return;
    }
    const unsigned char *p = take(m, (size_t)n);
    if (p)
        push(m, snap_string(m->b, (struct str){(const char *)p, (size_t)n}));
}

static void op_bytes(struct machine *m, uint64_t n)
{
    skip(m, n);
    push_tag(m, SNAP_OPAQUE, 0);
}

/* A line of arguments (protocol 0), without its end; false when stopped. A line longer than
 * STRING_MAX gives its first bytes. */
static bool line(struct machine *m, struct str *out)
{
    struct raw *in = m->in;
    for (size_t n = 0;;) {
        const unsigned char *nl = memchr(in->w + in->at + n, '\n', in->end - in->at - n);
        if (nl) {
            *out = (struct str){(const char *)in->w + in->at, (size_t)(nl - in->w) - in->at};
            in->at = (size_t)(nl - in->w) + 1;
            if (out->n && out->p[out->n - 1] == '\r')
                out->n--;
            return true;
        }
        n = in->end - in->at;
        if (n > STRING_MAX) {
            in->at = in->end - 1; /* too long for anything that counts */
            n = 1;
        }
        if (!raw_want(in, n + 1)) {
            cut(m);
            return false;
        }
    }
}

static void push_number(struct machine *m, struct str s)
{
    double d;
    uint64_t u;
    bool minus = s.n && s.p[0] == '-';
    struct str digits = {s.p + minus, s.n - minus};
    if (num_parse_u64(digits, &u))
        push_tag(m, SNAP_INT, minus ? 0 - u : u);
    else if (num_parse(s, &d)) {
        memcpy(&u, &d, sizeof u);
        push_tag(m, SNAP_FLOAT, u);
    } else {
        damaged(m, "a number that is none");
    }
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* One escape at s.p[0] = '\\'; returns its length, 0 when it is none that counts. */
static size_t escape(struct buf *to, struct str s, bool quoted)
{
    size_t digits = s.n < 2 ? 0 : s.p[1] == 'x' ? 2 : s.p[1] == 'u' ? 4 : s.p[1] == 'U' ? 8 : 0;
    static const char FROM[] = "ntr\\'\"", TO[] = "\n\t\r\\'\"";
    const char *known = s.n > 1 && s.p[1] ? strchr(FROM, s.p[1]) : NULL;
    if (quoted && known) {
        buf_putc(to, TO[known - FROM]);
        return 2;
    }
    if (digits == 0 || s.n < 2 + digits || (digits == 2 && !quoted))
        return 0;
    uint32_t code = 0;
    for (size_t k = 0; k < digits; k++) {
        int h = hex_digit(s.p[2 + k]);
        if (h < 0)
            return 0;
        code = code << 4 | (uint32_t)h;
    }
    utf8_put(to, code < 0x110000 ? code : 0xfffd);
    return 2 + digits;
}

/* 'V' raw-unicode-escape, or what stands between quotes after 'S'. */
static void push_text(struct machine *m, struct str s, bool quoted)
{
    struct buf text = {0};
    if (quoted) {
        s = str_trim(s);
        if (s.n < 2 || (s.p[0] != '\'' && s.p[0] != '"') || s.p[s.n - 1] != s.p[0]) {
            damaged(m, "a string without quotes");
            return;
        }
        s = (struct str){s.p + 1, s.n - 2};
    }
    for (size_t i = 0; i < s.n;) {
        size_t n = s.p[i] == '\\' ? escape(&text, (struct str){s.p + i, s.n - i}, quoted) : 0;
        if (n == 0) {
            unsigned char c = (unsigned char)s.p[i];
            if (c < 0x80)
                buf_putc(&text, (char)c);
            else
                utf8_put(&text, c); /* Latin-1 */
            n = 1;
        }
        i += n;
    }
    push(m, snap_string(m->b, buf_view(&text)));
    buf_release(&text);
}

static void op_text(struct machine *m, int op)
{
    struct str s;
    if (!line(m, &s))
        return;
    if (op == 'I' && str_is(s, "00"))
        push_tag(m, SNAP_BOOL, 0);
    else if (op == 'I' && str_is(s, "01"))
        push_tag(m, SNAP_BOOL, 1);
    else if (op == 'L' && s.n && s.p[s.n - 1] == 'L')
        push_number(m, (struct str){s.p, s.n - 1});
    else if (op == 'I' || op == 'L' || op == 'F')
        push_number(m, s);
    else
        push_text(m, s, op == 'S');
}

static void op_memo_line(struct machine *m, bool put)
{
    struct str s;
    uint64_t i;
    if (!line(m, &s))
        return;
    if (!num_parse_u64(s, &i))
        damaged(m, "a memo index that is no number");
    else if (put)
        memoize(m, i);
    else
        fetch(m, i);
}

/* --- what is refused ---------------------------------------------------------------- */

static struct str string_below(struct machine *m, size_t depth)
{
    if (m->sp < depth || m->stack[m->sp - depth].tag != SNAP_STR)
        return (struct str){NULL, 0};
    return trace_string_at(&m->b->file->names, (uint32_t)m->stack[m->sp - depth].v);
}

/* GLOBAL and INST name what they import in two lines. */
static void refuse_global(struct machine *m, const char *op)
{
    struct str s;
    struct buf module = {0};
    if (line(m, &s)) {
        buf_put(&module, s.p, s.n);
        if (line(m, &s))
            refuse(m, op, buf_view(&module), s);
    }
    if (!m->why || m->end == PICKLE_CUT) {
        m->why = NULL;
        refuse(m, op, buf_view(&module), (struct str){NULL, 0});
    }
    buf_release(&module);
}

static void refuse_op(struct machine *m, int op)
{
    static const struct {
        unsigned char op;
        const char *name;
    } REFUSED[] = {
        {'R', "REDUCE"},      {'b', "BUILD"},      {'o', "OBJ"},          {0x81, "NEWOBJ"},
        {0x92, "NEWOBJ_EX"},  {0x82, "EXT1"},      {0x83, "EXT2"},        {0x84, "EXT4"},
        {'P', "PERSID"},      {'Q', "BINPERSID"},  {0x97, "NEXT_BUFFER"}, {0x98, "READONLY_BUFFER"},
        {0x96, "BYTEARRAY8"}, {0x8f, "EMPTY_SET"}, {0x90, "ADDITEMS"},    {0x91, "FROZENSET"}};
    static const struct str NOTHING = {NULL, 0};
    if (op == 'c')
        refuse_global(m, "GLOBAL");
    else if (op == 'i')
        refuse_global(m, "INST");
    else if (op == 0x93)
        refuse(m, "STACK_GLOBAL", string_below(m, 2), string_below(m, 1));
    for (size_t i = 0; i < sizeof REFUSED / sizeof *REFUSED; i++)
        if (REFUSED[i].op == op)
            refuse(m, REFUSED[i].name, NOTHING, NOTHING);
    if (!m->why)
        damaged(m, arena_printf(m->arena, "unknown opcode 0x%02x", (unsigned)op));
}

/* --- the loop ----------------------------------------------------------------------- */

static void op_args(struct machine *m, int op)
{
    static const struct {
        unsigned char op, n;
    } WIDTH[] = {{0x80, 1}, {0x95, 8}, {'q', 1},  {'r', 4},  {'h', 1},  {'j', 4}, {'K', 1},
                 {'M', 2},  {'J', 4},  {0x8a, 1}, {0x8b, 4}, {0x8c, 1}, {'X', 4}, {0x8d, 8},
                 {'U', 1},  {'T', 4},  {'C', 1},  {'B', 4},  {0x8e, 8}};
    size_t n = 0;
    for (size_t i = 0; i < sizeof WIDTH / sizeof *WIDTH && n == 0; i++)
        n = WIDTH[i].op == op ? WIDTH[i].n : 0;
    if (n == 0) {
        refuse_op(m, op);
        return;
    }
    const unsigned char *p = take(m, n);
    if (!p)
        return;
    uint64_t v = little(p, n);
    switch (op) {
    case 0x80:
        if (v > 5)
            damaged(m, arena_printf(m->arena, "pickle protocol %u (0 to 5 are known)", (unsigned)v));
        break;
    case 'q':
    case 'r':
        memoize(m, v);
        break;
    case 'h':
    case 'j':
        fetch(m, v);
        break;
    case 'K':
    case 'M':
        push_tag(m, SNAP_INT, v);
        break;
    case 'J':
        push_tag(m, SNAP_INT, (uint64_t)(int64_t)(int32_t)(uint32_t)v);
        break;
    case 0x8a:
    case 0x8b:
        op_long(m, v);
        break;
    case 0x8c:
    case 'X':
    case 0x8d:
    case 'U':
    case 'T':
        op_string(m, v);
        break;
    case 'C':
    case 'B':
    case 0x8e:
        op_bytes(m, v);
        break;
    default:
        break; /* FRAME: its length says nothing that is not seen anyway */
    }
}

static void op_container(struct machine *m, int op)
{
    switch (op) {
    case 'a':
        if (need_values(m, 2))
            append(m, m->sp - 2, m->sp - 1, false);
        break;
    case 's':
        if (need_values(m, 3))
            set_items(m, m->sp - 3, m->sp - 2, false);
        break;
    case 'l':
    case 'd':
        op_from_mark(m, op == 'l');
        break;
    case 't':
        if (need_mark(m)) {
            size_t mark = take_mark(m);
            op_tuple(m, mark + 1, mark);
        }
        break;
    case 0x85:
    case 0x86:
    case 0x87:
        if (need_values(m, (size_t)op - 0x84))
            op_tuple(m, m->sp - ((size_t)op - 0x84), m->sp - ((size_t)op - 0x84));
        break;
    default:
        break;
    }
}

static void op_rest(struct machine *m, int op)
{
    switch (op) {
    case 'a':
    case 's':
    case 'l':
    case 'd':
    case 't':
    case 0x85:
    case 0x86:
    case 0x87:
        op_container(m, op);
        break;
    case 'I':
    case 'L':
    case 'F':
    case 'S':
    case 'V':
        op_text(m, op);
        break;
    case 'p':
    case 'g':
        op_memo_line(m, op == 'p');
        break;
    case 'G':
        op_float(m);
        break;
    case '0':
        op_pop(m);
        break;
    case '1':
        if (need_mark(m)) {
            drop(m, (size_t)m->marks[m->n_marks - 1] + 1);
            m->sp = take_mark(m);
        }
        break;
    case '2':
        if (need_values(m, 1)) {
            uint32_t tag = m->stack[m->sp - 1].tag;
            push_tag(m, tag == SNAP_STR || tag == SNAP_INT ? tag : SNAP_OPAQUE, m->stack[m->sp - 1].v);
        }
        break;
    default:
        op_args(m, op);
        break;
    }
}

static void step(struct machine *m)
{
    struct raw *in = m->in;
    if (in->end - in->at < RAW_PAD && !in->eof)
        raw_fill(in);
    m->op_at = raw_offset(in);
    if (in->at == in->end) {
        cut(m);
        return;
    }
    int op = in->w[in->at++];
    m->ops++;
    switch (op) {
    case '.':
        m->end = PICKLE_WHOLE;
        m->stopped = true;
        break;
    case '(':
        op_mark(m);
        break;
    case ']':
        if (m->sp == m->cap || !fast_stack(m))
            push_tag(m, PK_EMPTY_LIST, 0);
        break;
    case '}':
        if (!fast_event(m))
            push_tag(m, PK_EMPTY_DICT, 0);
        break;
    case ')':
        push_tag(m, SNAP_OPAQUE, 0);
        break;
    case 'e':
        op_appends(m);
        break;
    case 'u':
        op_setitems(m);
        break;
    case 0x94:
        memoize(m, m->n_memo);
        break;
    case 'N':
        push_tag(m, SNAP_NONE, 0);
        break;
    case 0x88:
    case 0x89:
        push_tag(m, SNAP_BOOL, op == 0x88);
        break;
    default:
        op_rest(m, op);
        break;
    }
    relieve(m);
}

static bool is_open_dict(const struct snap_value *v)
{
    return v->tag == PK_DICT || v->tag == PK_EMPTY_DICT;
}

static bool is_open_list(const struct snap_value *v)
{
    return v->tag == PK_LIST || v->tag == PK_EMPTY_LIST;
}

/* A list of one item has no mark: what stands on an open list was to be its item. */
static void collapse(struct machine *m)
{
    while (m->sp >= floor_of(m) + 2) {
        struct snap_value *top = &m->stack[m->sp - 1];
        if (is_open_dict(top))
            drop(m, m->sp - 1);
        else if (is_open_list(top - 1))
            append(m, m->sp - 2, m->sp - 1, false);
        else
            return;
    }
}

/* The input ended early: lists and the outermost dictionary are closed as they are; any other
 * dictionary is half a thing, and left out. */
static void close_all(struct machine *m)
{
    while (m->n_marks) {
        collapse(m);
        size_t mark = take_mark(m), n = m->sp - mark - 1;
        struct snap_value *below = mark ? &m->stack[mark - 1] : NULL;
        if (below && is_open_list(below)) {
            if (n && is_open_dict(&m->stack[m->sp - 1]))
                drop(m, m->sp - 1);
            append(m, mark - 1, mark + 1, false);
            m->sp = mark;
        } else if (below && is_open_dict(below) && mark == 1) {
            if (n & 1)
                drop(m, m->sp - 1);
            set_items(m, 0, mark + 1, false);
            m->sp = mark;
        } else {
            drop(m, mark - (below && is_open_dict(below)));
        }
    }
    /* protocol 0 writes items one by one, without a mark around them */
    while (m->sp > 1) {
        struct snap_value *top = &m->stack[m->sp - 1], *below = top - 1;
        if (!is_open_dict(top) && is_open_list(below))
            append(m, m->sp - 2, m->sp - 1, false);
        else if (m->sp == 3 && is_open_dict(&m->stack[0]))
            set_items(m, 0, 1, false);
        else
            drop(m, m->sp - 1);
    }
}

static void machine_release(struct machine *m)
{
    for (size_t i = 0; i < m->n_lists; i++)
        snap_list_release(&m->lists[i].list);
    for (size_t i = 0; i < m->n_dicts; i++)
        free(m->dicts[i].pairs);
    free(m->lists);
    free(m->dicts);
    free(m->stack);
    free(m->marks);
    free(m->memo);
    stack_cache_release(&m->cache);
}

struct pickle_result pickle_read(struct raw *in, struct snap_build *b, struct arena *a)
{
    struct machine *m = mem_zero(1, sizeof *m);
    *m = (struct machine){.in = in, .b = b, .arena = a, .cap = 256, .cap_marks = 64, .cap_memo = 1024};
    m->stack = mem_alloc(m->cap * sizeof *m->stack);
    m->marks = mem_alloc(m->cap_marks * sizeof *m->marks);
    m->memo = mem_alloc(m->cap_memo * sizeof *m->memo);
    while (!m->stopped)
        step(m);
    if (m->end == PICKLE_WHOLE && (m->n_marks || m->sp != 1))
        damaged(m, "STOP before all is closed");
    if (m->end != PICKLE_REFUSED) {
        close_all(m);
        if (m->sp) {
            finish(m, &m->stack[0]);
            snap_root(b, &m->stack[0]);
        }
    }
    struct pickle_result r = {m->end, m->why, raw_offset(in), m->ops};
    machine_release(m);
    free(m);
    return r;
}

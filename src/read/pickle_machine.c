/* Stack, memo and containers of the pickle machine. */
#include "read/pickle_machine.h"
#include "base/mem.h"
#include "base/utf8.h"
#include <inttypes.h>

/* --- ends --------------------------------------------------------------------------- */

static void stop(struct machine *m, enum pickle_end end, const char *why)
{
    if (m->why)
        return;
    m->end = end;
    m->why = why;
    m->stopped = true;
}

void pk_cut(struct machine *m)
{
    stop(m, PICKLE_CUT,
         arena_printf(m->arena, "the file ends at byte %" PRIu64 ", before the end of the pickle",
                      raw_offset(m->in) + (m->in->end - m->in->at)));
}

void pk_damaged(struct machine *m, const char *what)
{
    stop(m, PICKLE_DAMAGED, arena_printf(m->arena, "%s at byte %" PRIu64, what, m->op_at));
}

void pk_refuse(struct machine *m, const char *op, struct str module, struct str name)
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

void pk_push(struct machine *m, struct snap_value v)
{
    if (m->sp == m->cap) {
        if (m->cap >= STACK_MAX) {
            pk_damaged(m, "more values than any snapshot has open");
            return;
        }
        m->cap *= 2;
        m->stack = mem_grow(m->stack, m->cap, sizeof *m->stack);
    }
    m->stack[m->sp++] = v;
}

void pk_push_tag(struct machine *m, uint32_t tag, uint64_t v)
{
    pk_push(m, (struct snap_value){.tag = tag, .v = v});
}

/* Bottom of what the present operation may take. */
size_t pk_floor_of(const struct machine *m)
{
    return m->n_marks ? (size_t)m->marks[m->n_marks - 1] + 1 : 0;
}

bool pk_need_values(struct machine *m, size_t n)
{
    if (m->sp - pk_floor_of(m) >= n)
        return true;
    pk_damaged(m, "an operation without its operands");
    return false;
}

bool pk_need_mark(struct machine *m)
{
    if (m->n_marks)
        return true;
    pk_damaged(m, "an operation without its mark");
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
            pk_damaged(m, "more open lists than any snapshot has");
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
        pk_damaged(m, "more open dictionaries than any snapshot has");
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
            pk_damaged(m, "a memo entry beyond any that can be filled");
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
void pk_memoize(struct machine *m, uint64_t index)
{
    if (!pk_need_values(m, 1))
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

void pk_fetch(struct machine *m, uint64_t index)
{
    uint32_t word = index < m->n_memo ? m->memo[index] : 0, i = word & MEMO_INDEX;
    switch (word >> MEMO_BITS) {
    case MEMO_UNSET:
        pk_damaged(m, "a memo entry that was never filled");
        break;
    case MEMO_STR:
        pk_push_tag(m, SNAP_STR, i);
        break;
    case MEMO_FRAME:
        pk_push_tag(m, SNAP_FRAME, i);
        break;
    case MEMO_STACK:
        pk_push_tag(m, SNAP_STACK, i);
        break;
    case MEMO_EMPTY_LIST:
        pk_push_tag(m, SNAP_LIST_EMPTY, 0);
        break;
    case MEMO_PAIR:
        pk_push(m, (struct snap_value){.tag = SNAP_PAIR, .v = i >> 14, .aux = i & 0x3fff});
        break;
    default:
        pk_push_tag(m, SNAP_OPAQUE, 0);
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
void pk_finish(struct machine *m, struct snap_value *v)
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
void pk_drop(struct machine *m, size_t from)
{
    for (size_t i = m->sp; i > from; i--) {
        pk_finish(m, &m->stack[i - 1]);
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
void pk_append(struct machine *m, size_t at, size_t from, bool last)
{
    size_t n = m->sp - from;
    if (n == 0)
        return;
    for (size_t i = from; i < m->sp; i++)
        pk_finish(m, &m->stack[i]);
    struct open_list *l = open_list_at(m, at);
    if (!l) {
        pk_drop(m, from);
        return;
    }
    snap_list_add(m->b, &l->list, m->stack + from, n);
    m->sp = from;
    if (last && n < BATCH && l->list.kind == SNAP_FRAME)
        pk_finish(m, &m->stack[at]);
}

bool feed_list(struct machine *m)
{
    size_t mark = m->marks[m->n_marks - 1];
    if (mark == 0 || (m->stack[mark - 1].tag != PK_LIST && m->stack[mark - 1].tag != PK_EMPTY_LIST))
        return false;
    pk_append(m, mark - 1, mark + 1, false);
    return true;
}

/* Pairs [from, sp) go to the dictionary at position at. */
void pk_set_items(struct machine *m, size_t at, size_t from, bool last)
{
    size_t n = (m->sp - from) / 2;
    for (size_t i = from; i < m->sp; i++)
        pk_finish(m, &m->stack[i]);
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
    pk_drop(m, from);
}

size_t pk_take_mark(struct machine *m)
{
    return m->marks[--m->n_marks];
}

void pk_op_mark(struct machine *m)
{
    if (m->n_marks == m->cap_marks) {
        if (m->cap_marks >= MARKS_MAX) {
            pk_damaged(m, "nesting deeper than any snapshot's");
            return;
        }
        m->cap_marks *= 2;
        m->marks = mem_grow(m->marks, m->cap_marks, sizeof *m->marks);
    }
    m->marks[m->n_marks++] = (uint32_t)m->sp;
    pk_push_tag(m, PK_MARK, 0);
}

/* More values above a mark than any batch has: the list below takes them now (the C++ pickler
 * writes a list in one piece); anything else of that size means nothing to a snapshot. */
void pk_relieve(struct machine *m)
{
    size_t from = pk_floor_of(m);
    if (m->sp - from < PILE_MAX)
        return;
    if (m->n_marks && feed_list(m))
        return;
    pk_drop(m, from + ((m->sp - from) & 1)); /* pairs stay pairs */
}

void pk_op_appends(struct machine *m)
{
    if (!pk_need_mark(m))
        return;
    size_t mark = pk_take_mark(m);
    if (mark < pk_floor_of(m) + 1) {
        pk_damaged(m, "APPENDS without a list");
        return;
    }
    pk_append(m, mark - 1, mark + 1, true);
    m->sp = mark;
}

void pk_op_setitems(struct machine *m)
{
    if (!pk_need_mark(m))
        return;
    size_t mark = pk_take_mark(m);
    if (mark < pk_floor_of(m) + 1) {
        pk_damaged(m, "SETITEMS without a dictionary");
        return;
    }
    pk_set_items(m, mark - 1, mark + 1, true);
    m->sp = mark;
}

/* LIST and DICT: the mark itself becomes the container. */
void pk_op_from_mark(struct machine *m, bool list)
{
    if (!pk_need_mark(m))
        return;
    size_t mark = pk_take_mark(m);
    m->stack[mark] = (struct snap_value){.tag = list ? PK_EMPTY_LIST : PK_EMPTY_DICT};
    if (m->sp == mark + 1)
        return;
    if (list)
        pk_append(m, mark, mark + 1, true);
    else
        pk_set_items(m, mark, mark + 1, true);
    m->sp = mark + 1;
}

void pk_op_tuple(struct machine *m, size_t from, size_t to)
{
    struct snap_value v = {.tag = SNAP_OPAQUE};
    const struct snap_value *a = &m->stack[from];
    if (m->sp - from == 2 && a[0].tag == SNAP_INT && a[1].tag == SNAP_INT)
        v = (struct snap_value){.tag = SNAP_PAIR, .v = a[0].v, .aux = (uint32_t)a[1].v};
    pk_drop(m, from);
    m->sp = to;
    pk_push(m, v);
}

void pk_op_pop(struct machine *m)
{
    if (m->n_marks && m->marks[m->n_marks - 1] == m->sp - 1) {
        m->n_marks--;
        m->sp--;
    } else if (pk_need_values(m, 1)) {
        pk_drop(m, m->sp - 1);
    }
}

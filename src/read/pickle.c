#include "read/pickle.h"
#include "base/mem.h"
#include "read/pickle_machine.h"
#include <inttypes.h>
#include <stdlib.h>

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
        pk_refuse_op(m, op);
        return;
    }
    const unsigned char *p = pk_take(m, n);
    if (!p)
        return;
    uint64_t v = pk_little(p, n);
    switch (op) {
    case 0x80:
        if (v > 5)
            pk_damaged(m, arena_printf(m->arena, "pickle protocol %u (0 to 5 are known)", (unsigned)v));
        break;
    case 'q':
    case 'r':
        pk_memoize(m, v);
        break;
    case 'h':
    case 'j':
        pk_fetch(m, v);
        break;
    case 'K':
    case 'M':
        pk_push_tag(m, SNAP_INT, v);
        break;
    case 'J':
        pk_push_tag(m, SNAP_INT, (uint64_t)(int64_t)(int32_t)(uint32_t)v);
        break;
    case 0x8a:
    case 0x8b:
        pk_op_long(m, v);
        break;
    case 0x8c:
    case 'X':
    case 0x8d:
    case 'U':
    case 'T':
        pk_op_string(m, v);
        break;
    case 'C':
    case 'B':
    case 0x8e:
        pk_op_bytes(m, v);
        break;
    default:
        break; /* FRAME: its length says nothing that is not seen anyway */
    }
}

static void op_container(struct machine *m, int op)
{
    switch (op) {
    case 'a':
        if (pk_need_values(m, 2))
            pk_append(m, m->sp - 2, m->sp - 1, false);
        break;
    case 's':
        if (pk_need_values(m, 3))
            pk_set_items(m, m->sp - 3, m->sp - 2, false);
        break;
    case 'l':
    case 'd':
        pk_op_from_mark(m, op == 'l');
        break;
    case 't':
        if (pk_need_mark(m)) {
            size_t mark = pk_take_mark(m);
            pk_op_tuple(m, mark + 1, mark);
        }
        break;
    case 0x85:
    case 0x86:
    case 0x87:
        if (pk_need_values(m, (size_t)op - 0x84))
            pk_op_tuple(m, m->sp - ((size_t)op - 0x84), m->sp - ((size_t)op - 0x84));
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
        pk_op_text(m, op);
        break;
    case 'p':
    case 'g':
        pk_op_memo_line(m, op == 'p');
        break;
    case 'G':
        pk_op_float(m);
        break;
    case '0':
        pk_op_pop(m);
        break;
    case '1':
        if (pk_need_mark(m)) {
            pk_drop(m, (size_t)m->marks[m->n_marks - 1] + 1);
            m->sp = pk_take_mark(m);
        }
        break;
    case '2':
        if (pk_need_values(m, 1)) {
            uint32_t tag = m->stack[m->sp - 1].tag;
            pk_push_tag(m, tag == SNAP_STR || tag == SNAP_INT ? tag : SNAP_OPAQUE, m->stack[m->sp - 1].v);
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
        pk_cut(m);
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
        pk_op_mark(m);
        break;
    case ']':
        if (m->sp == m->cap || !fast_stack(m))
            pk_push_tag(m, PK_EMPTY_LIST, 0);
        break;
    case '}':
        if (!fast_event(m))
            pk_push_tag(m, PK_EMPTY_DICT, 0);
        break;
    case ')':
        pk_push_tag(m, SNAP_OPAQUE, 0);
        break;
    case 'e':
        pk_op_appends(m);
        break;
    case 'u':
        pk_op_setitems(m);
        break;
    case 0x94:
        pk_memoize(m, m->n_memo);
        break;
    case 'N':
        pk_push_tag(m, SNAP_NONE, 0);
        break;
    case 0x88:
    case 0x89:
        pk_push_tag(m, SNAP_BOOL, op == 0x88);
        break;
    default:
        op_rest(m, op);
        break;
    }
    pk_relieve(m);
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
    while (m->sp >= pk_floor_of(m) + 2) {
        struct snap_value *top = &m->stack[m->sp - 1];
        if (is_open_dict(top))
            pk_drop(m, m->sp - 1);
        else if (is_open_list(top - 1))
            pk_append(m, m->sp - 2, m->sp - 1, false);
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
        size_t mark = pk_take_mark(m), n = m->sp - mark - 1;
        struct snap_value *below = mark ? &m->stack[mark - 1] : NULL;
        if (below && is_open_list(below)) {
            if (n && is_open_dict(&m->stack[m->sp - 1]))
                pk_drop(m, m->sp - 1);
            pk_append(m, mark - 1, mark + 1, false);
            m->sp = mark;
        } else if (below && is_open_dict(below) && mark == 1) {
            if (n & 1)
                pk_drop(m, m->sp - 1);
            pk_set_items(m, 0, mark + 1, false);
            m->sp = mark;
        } else {
            pk_drop(m, mark - (below && is_open_dict(below)));
        }
    }
    /* protocol 0 writes items one by one, without a mark around them */
    while (m->sp > 1) {
        struct snap_value *top = &m->stack[m->sp - 1], *below = top - 1;
        if (!is_open_dict(top) && is_open_list(below))
            pk_append(m, m->sp - 2, m->sp - 1, false);
        else if (m->sp == 3 && is_open_dict(&m->stack[0]))
            pk_set_items(m, 0, 1, false);
        else
            pk_drop(m, m->sp - 1);
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
        pk_damaged(m, "STOP before all is closed");
    if (m->end != PICKLE_REFUSED) {
        close_all(m);
        if (m->sp) {
            pk_finish(m, &m->stack[0]);
            snap_root(b, &m->stack[0]);
        }
    }
    struct pickle_result r = {m->end, m->why, raw_offset(in), m->ops};
    machine_release(m);
    free(m);
    return r;
}

/* pickle_machine: the insides of the pickle machine, for pickle*.c alone. */
#ifndef OOMREPORT_READ_PICKLE_MACHINE_H
#define OOMREPORT_READ_PICKLE_MACHINE_H

#include "read/pickle.h"
#include "read/stack_cache.h"

enum {
    PK_MARK = SNAP_READER,
    PK_EMPTY_LIST, /* v: memo index + 1, or 0 */
    PK_EMPTY_DICT, /* likewise */
    PK_LIST,       /* aux: index in lists */
    PK_DICT        /* aux: index in dicts */
};

enum memo_kind {
    MEMO_UNSET,
    MEMO_OPAQUE,
    MEMO_STR,
    MEMO_FRAME,
    MEMO_STACK,
    MEMO_EMPTY_LIST,
    MEMO_PAIR /* two numbers of 14 bits */
};
#define MEMO_BITS 28
#define MEMO_INDEX (((uint32_t)1 << MEMO_BITS) - 1)

enum {
    STACK_MAX = 1 << 20, /* values */
    MARKS_MAX = 1 << 16,
    PILE_MAX = 4096,       /* values above a mark that are kept before the list takes them */
    BATCH = 1000,          /* CPython's pickler hands over items in batches of this size */
    OPEN_MAX = 1 << 16,    /* lists and dictionaries that are filled piece by piece at a time */
    STRING_MAX = 64 * 1024 /* longer strings are skipped [B] */
};

struct open_list {
    struct snap_list list;
    uint64_t memo; /* + 1; 0: none */
    uint32_t next_free;
    bool used;
};

struct open_dict {
    struct snap_pair *pairs; /* n */
    size_t n, cap;
    uint64_t memo;
    uint32_t next_free;
    bool used;
};

struct machine {
    struct raw *in;
    struct snap_build *b;
    struct arena *arena;
    struct snap_value *stack;
    size_t sp, cap;
    uint32_t *marks; /* positions in stack */
    size_t n_marks, cap_marks;
    uint32_t *memo;
    size_t n_memo, cap_memo;
    struct open_list *lists;
    size_t n_lists, cap_lists;
    uint32_t free_list; /* + 1 */
    struct open_dict *dicts;
    size_t n_dicts, cap_dicts;
    uint32_t free_dict;
    struct stack_cache cache;
    uint32_t scratch[BATCH];
    uint64_t op_at; /* offset of the present opcode */
    uint64_t ops;
    const char *why; /* set: the machine stops */
    enum pickle_end end;
    bool stopped;
};

uint32_t memo_of(const struct snap_value *v);
bool memo_put(struct machine *m, uint64_t index, uint32_t word);
/* A list of frames whose '[' or ']' was just read, or a whole event likewise. True when it was
 * taken as a whole; false, and nothing has changed, when it has to be read op by op. */
bool fast_stack(struct machine *m);
bool fast_event(struct machine *m);
/* The list under the top mark takes what is above that mark. */
bool feed_list(struct machine *m);
struct open_list *open_list_at(struct machine *m, size_t position);

/* --- shared by the parts of the machine --------------------------------------------- */

/* The three ways to end early: the input ends, is no pickler's work, or would have to be executed. */
void pk_cut(struct machine *m);
void pk_damaged(struct machine *m, const char *what);
void pk_refuse(struct machine *m, const char *op, struct str module, struct str name);

void pk_push(struct machine *m, struct snap_value v);
void pk_push_tag(struct machine *m, uint32_t tag, uint64_t v);
/* Bottom of what the present operation may take. */
size_t pk_floor_of(const struct machine *m);
/* False, and stopped, when there are fewer values above the top mark; when there is no mark. */
bool pk_need_values(struct machine *m, size_t n);
bool pk_need_mark(struct machine *m);
size_t pk_take_mark(struct machine *m);
void pk_memoize(struct machine *m, uint64_t index);
void pk_fetch(struct machine *m, uint64_t index);
/* A value that something takes is whole: what was open becomes what it stands for. */
void pk_finish(struct machine *m, struct snap_value *v);
/* Takes values [from, sp) away without using them. */
void pk_drop(struct machine *m, size_t from);
/* Values [from, sp) go to the list, pairs [from, sp) to the dictionary, at position at; last: no more may
 * come. */
void pk_append(struct machine *m, size_t at, size_t from, bool last);
void pk_set_items(struct machine *m, size_t at, size_t from, bool last);
/* More values above a mark than any batch has are taken or dropped. */
void pk_relieve(struct machine *m);

uint64_t pk_little(const unsigned char *p, size_t n);
/* n argument bytes, used up; NULL at the end of the input. */
const unsigned char *pk_take(struct machine *m, size_t n);

/* Opcodes and families of them. */
void pk_op_mark(struct machine *m);
void pk_op_appends(struct machine *m);
void pk_op_setitems(struct machine *m);
void pk_op_from_mark(struct machine *m, bool list);
void pk_op_tuple(struct machine *m, size_t from, size_t to);
void pk_op_pop(struct machine *m);
void pk_op_long(struct machine *m, uint64_t n);
void pk_op_float(struct machine *m);
void pk_op_string(struct machine *m, uint64_t n);
void pk_op_bytes(struct machine *m, uint64_t n);
void pk_op_text(struct machine *m, int op);
void pk_op_memo_line(struct machine *m, bool put);
/* An opcode that imports, calls or refers to something outside, or none that is known. */
void pk_refuse_op(struct machine *m, int op);

#endif

/* pickle_machine: the insides of pickle.c, for its fast paths. */
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

#endif

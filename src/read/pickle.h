/* pickle: a machine for Python's pickles that executes nothing.
 *
 * Understands protocols 0 to 5 and what PyTorch's C++ pickler writes, as far as plain data
 * goes: numbers, strings, tuples, lists, dictionaries. Every opcode that imports, calls or
 * refers to something outside is refused by name and place. Dictionaries and lists go to
 * snapshot_build as soon as they are whole; of the rest the machine keeps a stack, whose depth
 * is limited, and four bytes for each memo entry. Time is linear in the input. */
#ifndef OOMREPORT_READ_PICKLE_H
#define OOMREPORT_READ_PICKLE_H

#include "base/arena.h"
#include "read/raw.h"
#include "read/snapshot_build.h"

enum pickle_end {
    PICKLE_WHOLE,   /* STOP was reached */
    PICKLE_CUT,     /* the input ended before */
    PICKLE_DAMAGED, /* something that no pickler writes */
    PICKLE_REFUSED  /* something that would have to be executed */
};

struct pickle_result {
    enum pickle_end end;
    const char *why; /* in the arena; NULL when whole */
    uint64_t at;     /* offset where it ended [B] */
    uint64_t ops;
};

/* Reads one pickle; whatever the end is, what was read up to there is in b. */
struct pickle_result pickle_read(struct raw *in, struct snap_build *b, struct arena *a);

#endif

/* trace_names: the strings, frames and stacks of a snapshot, each once.
 *
 * Numbers are given in the order of first sight, so they are the same for the same
 * input. String 0 is "", stack 0 has no frames. Stacks are held packed (a frame's
 * number takes one to five bytes). */
#ifndef OOMREPORT_MODEL_TRACE_NAMES_H
#define OOMREPORT_MODEL_TRACE_NAMES_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include <stdint.h>

enum {
    TRACE_DEPTH_MAX = 8192 /* frames of a stack that are kept, innermost first */
};

struct trace_frame {
    uint32_t name, file; /* strings */
    uint64_t line;
};

enum {
    STACK_OPTIMIZER = 1, /* inside an optimiser's step */
    STACK_ZERO_GRAD = 2,
    STACK_EVAL = 4,  /* inside an evaluation */
    STACK_PYTHON = 8 /* has a Python frame */
};

struct trace_string {
    const char *p;
    uint32_t n, hash;
};

struct trace_stack {
    uint64_t at; /* in packed */
    uint32_t bytes, n, hash;
    uint32_t flags;
};

struct trace_table {
    uint32_t *slots; /* number + 1; 0: free */
    size_t mask;     /* slots - 1 */
};

struct trace_names {
    struct arena bytes;
    char *chunk; /* where the next string goes */
    size_t chunk_left;
    struct trace_string *strings;
    size_t n_strings, cap_strings;
    struct trace_frame *frames;
    uint8_t *frame_flags;
    size_t n_frames, cap_frames;
    struct trace_stack *stacks;
    size_t n_stacks, cap_stacks;
    struct buf packed;
    struct trace_table string_table, frame_table, stack_table;
};

void trace_names_init(struct trace_names *t);
void trace_names_release(struct trace_names *t);
uint32_t trace_string(struct trace_names *t, struct str s);
uint32_t trace_frame(struct trace_names *t, uint32_t name, uint32_t file, uint64_t line);
/* frames: n, innermost first; beyond TRACE_DEPTH_MAX they are left out. */
uint32_t trace_stack(struct trace_names *t, const uint32_t *frames, size_t n);
struct str trace_string_at(const struct trace_names *t, uint32_t string);
/* Frames of a stack into out (room for TRACE_DEPTH_MAX); returns how many. */
size_t trace_stack_frames(const struct trace_names *t, uint32_t stack, uint32_t *out);
/* The same one by one: p is moved behind the next frame of a stack that trace_stack_begin gave. */
static inline const unsigned char *trace_stack_begin(const struct trace_names *t, uint32_t stack)
{
    return (const unsigned char *)t->packed.p + t->stacks[stack].at;
}
static inline uint32_t trace_stack_next(const unsigned char **p)
{
    const unsigned char *b = *p;
    uint32_t v = *b & 0x7f;
    for (unsigned shift = 7; *b++ & 0x80; shift += 7)
        v |= (uint32_t)(*b & 0x7f) << shift;
    *p = b;
    return v;
}
/* Of a Python source: "x.py", "<stdin>", "<ipython-input-3>"; not "??", "", "x.cpp", "x.so". */
bool trace_file_is_python(struct str file);

#endif

/* raw: bytes with a window on them, for binary formats. Knows nothing of what they say. */
#ifndef OOMREPORT_READ_RAW_H
#define OOMREPORT_READ_RAW_H

#include "base/str.h"
#include <stdint.h>

enum {
    RAW_PAD = 64,           /* readable bytes behind the window */
    RAW_WINDOW = 256 * 1024 /* [B] */
};

struct raw {
    size_t (*read)(void *ctx, char *p, size_t n); /* fewer than n only at the end */
    void *ctx;
    unsigned char *w; /* bytes [at, end) are there and not yet used */
    size_t at, end, cap;
    uint64_t base; /* offset of w[0] in the input */
    bool eof;
};

void raw_init(struct raw *r, size_t (*read)(void *ctx, char *p, size_t n), void *ctx);
void raw_release(struct raw *r);
/* Moves the window on so that it begins at r->at; false when nothing came. */
bool raw_fill(struct raw *r);
/* At least n bytes from r->at on are in the window; makes it larger if need be. */
bool raw_want(struct raw *r, size_t n);
/* Leaves out n bytes; false when the input ends before. */
bool raw_skip(struct raw *r, uint64_t n);
/* Offset of r->at in the input. */
static inline uint64_t raw_offset(const struct raw *r)
{
    return r->base + r->at;
}

#endif

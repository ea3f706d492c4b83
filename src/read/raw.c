#include "read/raw.h"
#include "base/mem.h"
#include <stdlib.h>

void raw_init(struct raw *r, size_t (*read)(void *ctx, char *p, size_t n), void *ctx)
{
    *r = (struct raw){.read = read, .ctx = ctx, .cap = RAW_WINDOW};
    r->w = mem_zero(r->cap + RAW_PAD, 1);
}

void raw_release(struct raw *r)
{
    free(r->w);
    r->w = NULL;
}

bool raw_fill(struct raw *r)
{
    if (r->eof)
        return false;
    size_t left = r->end - r->at;
    memmove(r->w, r->w + r->at, left);
    r->base += r->at;
    r->at = 0;
    r->end = left;
    if (left == r->cap)
        return false;
    size_t got = r->read(r->ctx, (char *)r->w + left, r->cap - left);
    if (got < r->cap - left)
        r->eof = true;
    r->end += got;
    memset(r->w + r->end, 0, RAW_PAD);
    return got > 0;
}

bool raw_want(struct raw *r, size_t n)
{
    while (r->end - r->at < n) {
        if (r->eof)
            return false;
        if (r->cap < n) {
            while (r->cap < n)
                r->cap *= 2;
            r->w = mem_grow(r->w, r->cap + RAW_PAD, 1);
        }
        raw_fill(r);
    }
    return true;
}

bool raw_skip(struct raw *r, uint64_t n)
{
    for (;;) {
        size_t left = r->end - r->at;
        if (n <= left) {
            r->at += (size_t)n;
            return true;
        }
        n -= left;
        r->at = r->end;
        if (!raw_fill(r))
            return false;
    }
}

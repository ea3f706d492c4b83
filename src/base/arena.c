#include "base/arena.h"
#include "base/mem.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    FIRST_BLOCK = 512,
    LARGEST_BLOCK = 256 * 1024,
    ALIGN = 16
};

struct arena_block {
    struct arena_block *next;
    size_t used, size; /* [B] of data */
    _Alignas(ALIGN) char data[];
};

void arena_init(struct arena *a)
{
    a->head = NULL;
}

void arena_release(struct arena *a)
{
    for (struct arena_block *b = a->head, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    a->head = NULL;
}

void *arena_alloc(struct arena *a, size_t n)
{
    size_t need = (n + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    if (need < n)
        need = n; /* mem_alloc refuses it */
    struct arena_block *b = a->head;
    if (!b || b->size - b->used < need) {
        /* Blocks double, so that a small arena stays small and a large one has few blocks. */
        size_t size = b ? b->size * 2 : FIRST_BLOCK;
        if (size > LARGEST_BLOCK)
            size = LARGEST_BLOCK;
        if (size < need)
            size = need;
        struct arena_block *fresh =
            mem_alloc(size > (size_t)-1 - sizeof *fresh ? (size_t)-1 : sizeof *fresh + size);
        *fresh = (struct arena_block){b, 0, size};
        a->head = b = fresh;
    }
    void *p = b->data + b->used;
    b->used += need;
    memset(p, 0, n);
    return p;
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
    char *p = arena_alloc(a, n + 1);
    if (n)
        memcpy(p, s, n);
    p[n] = '\0';
    return p;
}

struct str arena_str(struct arena *a, struct str s)
{
    return (struct str){arena_strndup(a, s.p, s.n), s.n};
}

const char *arena_printf(struct arena *a, const char *fmt, ...)
{
    char small[256];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(small, sizeof small, fmt, ap);
    va_end(ap);
    if (n < 0)
        return "";
    if ((size_t)n < sizeof small)
        return arena_strndup(a, small, (size_t)n);
    char *p = arena_alloc(a, (size_t)n + 1);
    va_start(ap, fmt);
    vsnprintf(p, (size_t)n + 1, fmt, ap);
    va_end(ap);
    return p;
}

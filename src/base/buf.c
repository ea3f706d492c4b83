#include "base/buf.h"
#include "base/mem.h"
#include <stdio.h>
#include <stdlib.h>

void buf_init(struct buf *b)
{
    *b = (struct buf){0};
}

void buf_release(struct buf *b)
{
    free(b->p);
    buf_init(b);
}

void buf_clear(struct buf *b)
{
    b->n = 0;
    if (b->p)
        b->p[0] = '\0';
}

char *buf_room(struct buf *b, size_t n)
{
    if (b->cap - b->n <= n) { /* one byte stays for the NUL */
        size_t cap = b->cap ? b->cap : 64;
        while (cap - b->n <= n) {
            if (cap > (size_t)-1 / 2)
                cap = (size_t)-1;
            else
                cap *= 2;
            if (cap == (size_t)-1)
                break;
        }
        b->p = mem_grow(b->p, cap, 1);
        b->cap = cap;
    }
    return b->p + b->n;
}

void buf_put(struct buf *b, const void *p, size_t n)
{
    char *to = buf_room(b, n);
    if (n)
        memcpy(to, p, n);
    b->n += n;
    b->p[b->n] = '\0';
}

void buf_puts(struct buf *b, const char *s)
{
    buf_put(b, s, strlen(s));
}

void buf_putc(struct buf *b, char c)
{
    buf_put(b, &c, 1);
}

void buf_str(struct buf *b, struct str s)
{
    buf_put(b, s.p, s.n);
}

void buf_vprintf(struct buf *b, const char *fmt, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    if (n > 0) {
        char *to = buf_room(b, (size_t)n);
        vsnprintf(to, (size_t)n + 1, fmt, again);
        b->n += (size_t)n;
    }
    va_end(again);
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    buf_vprintf(b, fmt, ap);
    va_end(ap);
}

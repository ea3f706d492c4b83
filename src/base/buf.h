/* buf: a growing run of bytes. Knows nothing of what is in it. */
#ifndef OOMREPORT_BASE_BUF_H
#define OOMREPORT_BASE_BUF_H

#include "base/str.h"
#include <stdarg.h>

struct buf {
    char *p;    /* n bytes, always followed by a NUL that is not counted; NULL while empty */
    size_t n;   /* [B] */
    size_t cap; /* [B] */
};

/* {0} is a valid empty buf too. */
void buf_init(struct buf *b);
void buf_release(struct buf *b);
void buf_clear(struct buf *b); /* keeps the memory */
/* Makes room for n more bytes and returns where they go; the caller adds what it wrote to b->n. */
char *buf_room(struct buf *b, size_t n);
void buf_put(struct buf *b, const void *p, size_t n);
void buf_puts(struct buf *b, const char *s);
void buf_putc(struct buf *b, char c);
void buf_str(struct buf *b, struct str s);
void buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buf_vprintf(struct buf *b, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
static inline struct str buf_view(const struct buf *b)
{
    return (struct str){b->p, b->n};
}

#endif

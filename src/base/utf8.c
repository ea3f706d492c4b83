#include "base/utf8.h"

size_t utf8_next(uint32_t *code, struct str s)
{
    const unsigned char *p = (const unsigned char *)s.p;
    unsigned char c = p[0];
    if (c < 0x80) {
        *code = c;
        return 1;
    }
    size_t n = c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : 2;
    if (c < 0xC2 || c > 0xF4 || s.n < n)
        return 0;
    uint32_t u = c & (0xFFu >> (n + 1));
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xC0) != 0x80)
            return 0;
        u = u << 6 | (p[i] & 0x3Fu);
    }
    if ((n == 3 && u < 0x800) || (n == 4 && u < 0x10000) || u > 0x10FFFF || (u >= 0xD800 && u < 0xE000))
        return 0;
    *code = u;
    return n;
}

bool utf8_valid(struct str s)
{
    while (s.n) {
        uint32_t code;
        size_t n = utf8_next(&code, s);
        if (!n)
            return false;
        s.p += n, s.n -= n;
    }
    return true;
}

void utf8_put(struct buf *b, uint32_t u)
{
    if (u > 0x10FFFF || (u >= 0xD800 && u < 0xE000))
        u = 0xFFFD;
    if (u < 0x80) {
        buf_putc(b, (char)u);
    } else if (u < 0x800) {
        buf_putc(b, (char)(0xC0 | u >> 6));
        buf_putc(b, (char)(0x80 | (u & 0x3F)));
    } else if (u < 0x10000) {
        buf_putc(b, (char)(0xE0 | u >> 12));
        buf_putc(b, (char)(0x80 | (u >> 6 & 0x3F)));
        buf_putc(b, (char)(0x80 | (u & 0x3F)));
    } else {
        buf_putc(b, (char)(0xF0 | u >> 18));
        buf_putc(b, (char)(0x80 | (u >> 12 & 0x3F)));
        buf_putc(b, (char)(0x80 | (u >> 6 & 0x3F)));
        buf_putc(b, (char)(0x80 | (u & 0x3F)));
    }
}

void utf8_put_visible(struct buf *b, struct str s)
{
    while (s.n) {
        uint32_t code = 0;
        size_t n = utf8_next(&code, s);
        if (!n || code < 0x20 || code == 0x7F || (code >= 0x80 && code < 0xA0)) {
            if (!n)
                n = 1;
            for (size_t i = 0; i < n; i++)
                buf_printf(b, "\\x%02X", (unsigned char)s.p[i]);
        } else {
            buf_put(b, s.p, n);
        }
        s.p += n, s.n -= n;
    }
}

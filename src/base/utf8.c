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

bool utf8_unsafe(uint32_t code)
{
    static const struct {
        uint32_t first, last;
    } range[] = {{0, 0x1F},        {0x7F, 0x9F},     {0xAD, 0xAD},      {0x61C, 0x61C},
                 {0x180E, 0x180E}, {0x200B, 0x200F}, {0x2028, 0x202E},  {0x2060, 0x206F},
                 {0xFDD0, 0xFDEF}, {0xFEFF, 0xFEFF}, {0xE0000, 0xE0FFF}};
    for (size_t i = 0; i < sizeof range / sizeof *range; i++)
        if (code >= range[i].first && code <= range[i].last)
            return true;
    return (code & 0xFFFE) == 0xFFFE;
}

void utf8_put_visible(struct buf *b, struct str s)
{
    while (s.n) {
        uint32_t code = 0;
        size_t n = utf8_next(&code, s);
        if (!n || utf8_unsafe(code)) {
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

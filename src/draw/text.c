#include "draw/text.h"
#include "base/utf8.h"
#include <stdio.h>

struct range {
    uint32_t first, last;
};

/* Characters that the painter, which sets one glyph beside the other, cannot show where they belong. */
static const struct range unset[] = {
    {0x300, 0x36F},
    {0xFE00, 0xFE0F},
    {0xFFF0, 0xFFFF},
    {0xE0000, 0x10FFFF},
};

static bool is_unsafe(uint32_t code)
{
    for (size_t i = 0; i < sizeof unset / sizeof *unset; i++)
        if (code >= unset[i].first && code <= unset[i].last)
            return true;
    return utf8_unsafe(code);
}

size_t text_visible(char *out, size_t cap, struct str in, bool (*has)(const void *font, uint32_t code),
                    const void *font)
{
    size_t n = 0;
    if (cap == 0)
        return 0;
    while (in.n > 0) {
        char piece[12];
        uint32_t code = 0;
        size_t len = utf8_next(&code, in), w = len;
        if (len == 0) {
            w = (size_t)snprintf(piece, sizeof piece, "\\x%02X", (unsigned)(unsigned char)in.p[0]);
            len = 1;
        } else if (is_unsafe(code) || !has(font, code)) {
            w = (size_t)snprintf(piece, sizeof piece, code > 0xFFFF ? "\\U%08X" : "\\u%04X", (unsigned)code);
        } else {
            memcpy(piece, in.p, len);
        }
        if (n + w >= cap)
            break;
        memcpy(out + n, piece, w);
        n += w;
        in.p += len;
        in.n -= len;
    }
    out[n] = '\0';
    return n;
}

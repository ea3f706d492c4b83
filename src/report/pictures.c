#include "report/pictures.h"

const char *picture_path(struct arena *a, const struct picture *pic, enum theme theme)
{
    return arena_printf(a, "plots/%s%s.png", pic->name, theme == THEME_DARK ? ".dark" : "");
}

struct str picture_data_url(struct arena *a, const struct buf *png)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    static const char head[] = "data:image/png;base64,";
    const unsigned char *p = (const unsigned char *)png->p;
    size_t n = sizeof head - 1, left = png->n;
    char *out = arena_alloc(a, n + (png->n + 2) / 3 * 4 + 1);

    memcpy(out, head, n);
    for (; left > 0; p += 3) {
        unsigned v = (unsigned)p[0] << 16 | (left > 1 ? (unsigned)p[1] << 8 : 0) | (left > 2 ? p[2] : 0u);

        out[n++] = digits[v >> 18];
        out[n++] = digits[v >> 12 & 63];
        out[n++] = left > 1 ? digits[v >> 6 & 63] : '=';
        out[n++] = left > 2 ? digits[v & 63] : '=';
        left -= left > 3 ? 3 : left;
    }
    return (struct str){out, n};
}

bool pictures_too_large(const struct gallery *g)
{
    size_t n = 0;

    for (size_t i = 0; g && i < g->n; i++)
        for (int t = 0; t < THEME_COUNT; t++)
            n += g->items[i].png[t].n;
    return n / 3 * 4 > SINGLE_FILE_MAX - (200 << 10);
}

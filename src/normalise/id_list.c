#include "normalise/id_list.h"
#include "base/utf8.h"
#if defined(__SSE2__) && !defined(OOMREPORT_SCALAR)
#include <emmintrin.h>
#endif

static void put_id(struct buf *b, struct str id)
{
    while (id.n) {
        size_t n = 0;
        while (n < id.n && id.p[n] != ';' && id.p[n] != '\\')
            n++;
        buf_put(b, id.p, n);
        if (n < id.n) {
            buf_putc(b, '\\');
            buf_putc(b, id.p[n++]);
        }
        id = (struct str){id.p + n, id.n - n};
    }
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 32);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool hex4(struct str s, size_t at, unsigned *code)
{
    *code = 0;
    for (size_t i = at; i < at + 4; i++) {
        int digit = i < s.n ? hex_digit(s.p[i]) : -1;
        if (digit < 0)
            return false;
        *code = *code << 4 | (unsigned)digit;
    }
    return true;
}

/* Offset behind the escape whose backslash stands at i. */
static size_t put_escape(struct buf *b, struct str s, size_t i)
{
    static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
    char c = i + 1 < s.n ? s.p[i + 1] : '\\';
    unsigned code, low;
    if (c == 'u' && hex4(s, i + 2, &code)) {
        i += 6;
        if (code >= 0xD800 && code < 0xDC00 && i + 1 < s.n && s.p[i] == '\\' && s.p[i + 1] == 'u' &&
            hex4(s, i + 2, &low) && low >= 0xDC00 && low < 0xE000) {
            code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
            i += 6;
        }
        if (code == ';' || code == '\\')
            buf_putc(b, '\\');
        utf8_put(b, code);
        return i;
    }
    const char *plain = c ? strchr(from, c) : NULL;
    if (plain)
        c = to[plain - from];
    put_id(b, (struct str){&c, 1});
    return i + 2;
}

/* A JSON list of texts and numbers (nested lists are flattened) in its CSV form. */
static void put_any_ids(struct buf *b, struct str list)
{
    bool any = false;
    buf_clear(b);
    for (size_t i = 0; i < list.n;) {
        char c = list.p[i];
        if (c == '[' || c == ']' || c == ',' || c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '{' ||
            c == '}' || c == ':') {
            i++;
            continue;
        }
        if (any)
            buf_putc(b, ';');
        any = true;
        if (c == '"') {
            for (i++; i < list.n && list.p[i] != '"';) {
                if (list.p[i] == '\\') {
                    i = put_escape(b, list, i);
                } else {
                    size_t from = i;
                    while (i < list.n && list.p[i] != '"' && list.p[i] != '\\')
                        i++;
                    put_id(b, (struct str){list.p + from, i - from});
                }
            }
            i++;
        } else {
            size_t from = i;
            while (i < list.n && !strchr("[],{}: \t\n\r\"", list.p[i]))
                i++;
            if (i == from)
                i++;
            put_id(b, (struct str){list.p + from, i - from});
        }
    }
}

/* Copies bytes up to one that is a quote, a backslash or ';'; returns where it is, or end or a place behind
 * it when there is none before. There must be room for 16 more bytes at *to, and 16 readable ones at end. */
static inline const char *copy_plain(char **to, const char *p, const char *end)
{
#if defined(__SSE2__) && !defined(OOMREPORT_SCALAR)
    const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\'), semicolon = _mm_set1_epi8(';');
    while (p < end) {
        __m128i b = _mm_loadu_si128((const __m128i *)(const void *)p);
        __m128i hit = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(b, quote), _mm_cmpeq_epi8(b, backslash)),
                                   _mm_cmpeq_epi8(b, semicolon));
        unsigned mask = (unsigned)_mm_movemask_epi8(hit) | 0x10000u, n = (unsigned)__builtin_ctz(mask);
        _mm_storeu_si128((__m128i *)(void *)*to, b);
        *to += n;
        p += n;
        if (n < 16)
            break;
    }
#else
    for (; p < end && *p != '"' && *p != '\\' && *p != ';'; p++)
        *(*to)++ = *p;
#endif
    return p;
}

bool id_list_plain(struct buf *b, struct str list)
{
    if (list.n < 3 || list.p[0] != '[' || list.p[list.n - 1] != ']')
        return false;
    char *to = buf_room(b, list.n + 32);
    const char *p = list.p + 1, *end = list.p + list.n - 1;
    for (;;) {
        if (*p == '"') {
            p = copy_plain(&to, p + 1, end);
            if (p >= end || *p++ != '"')
                return false;
        } else {
            const char *from = p;
            for (; p < end && *p >= '0' && *p <= '9'; p++)
                *to++ = *p;
            if (p == from)
                return false;
        }
        if (p == end)
            break;
        if (*p++ != ',')
            return false;
        p += *p == ' ';
        *to++ = ';';
    }
    b->n = (size_t)(to - b->p);
    b->p[b->n] = '\0';
    return true;
}

void id_list_put(struct buf *b, struct str list)
{
    b->n = 0;
    if (!id_list_plain(b, list))
        put_any_ids(b, list);
}

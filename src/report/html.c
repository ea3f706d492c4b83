#include "report/html.h"
#include "base/utf8.h"
#include "report/escape.h"

static const char *entity(uint32_t cp)
{
    switch (cp) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

void html_escape(struct buf *b, struct str s)
{
    size_t from = 0;

    for (size_t i = 0; i < s.n;) {
        uint32_t cp = 0;
        size_t n = utf8_next(&cp, (struct str){s.p + i, s.n - i});
        const char *as = n ? entity(cp) : NULL;

        if (n && !as && (cp == '\n' || cp == '\t' || !utf8_unsafe(cp))) {
            i += n;
            continue;
        }
        buf_put(b, s.p + from, i - from);
        if (as) {
            buf_puts(b, as);
        } else if (n <= 1) {
            buf_printf(b, "\\x%02x", (unsigned)(unsigned char)s.p[i]);
            n = 1;
        } else {
            buf_printf(b, "\\u{%x}", (unsigned)cp);
        }
        i += n;
        from = i;
    }
    buf_put(b, s.p + from, s.n - from);
}

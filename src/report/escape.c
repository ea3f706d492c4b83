#include "report/escape.h"
#include "base/utf8.h"

/* The character at s.p[i]; 0 when the bytes there are not UTF-8. */
static size_t at(struct str s, size_t i, uint32_t *cp)
{
    return utf8_next(cp, (struct str){s.p + i, s.n - i});
}

void escape_json(struct buf *b, struct str s)
{
    buf_putc(b, '"');
    for (size_t i = 0; i < s.n;) {
        uint32_t cp = 0;
        size_t n = at(s, i, &cp);

        if (n == 0) {
            buf_puts(b, "\xEF\xBF\xBD");
            n = 1;
        } else if (cp == '"' || cp == '\\') {
            buf_putc(b, '\\');
            buf_putc(b, (char)cp);
        } else if (cp == '\n') {
            buf_puts(b, "\\n");
        } else if (cp == '\t') {
            buf_puts(b, "\\t");
        } else if (cp == '<') {
            buf_puts(b, "\\u003c"); /* so that the text may stand inside an HTML page */
        } else if (cp < 0x10000 && utf8_unsafe(cp)) {
            buf_printf(b, "\\u%04x", (unsigned)cp);
        } else {
            buf_put(b, s.p + i, n);
        }
        i += n;
    }
    buf_putc(b, '"');
}

/* Shows what must not pass as it is; true when it did. */
static bool show_unsafe(struct buf *b, const char *backslash, struct str s, size_t i, size_t *n, uint32_t *cp)
{
    *n = at(s, i, cp);
    if (*n == 0) {
        buf_printf(b, "%sx%02x", backslash, (unsigned)(unsigned char)s.p[i]);
        *n = 1;
        return true;
    }
    if (*cp == '\n' || *cp == '\t') {
        buf_putc(b, ' ');
        return true;
    }
    if (*cp < 0x80 && utf8_unsafe(*cp)) {
        buf_printf(b, "%sx%02x", backslash, (unsigned)*cp);
        return true;
    }
    if (utf8_unsafe(*cp)) {
        buf_printf(b, "%su{%x}", backslash, (unsigned)*cp);
        return true;
    }
    return false;
}

void escape_markdown(struct buf *b, struct str s)
{
    for (size_t i = 0; i < s.n;) {
        uint32_t cp = 0;
        size_t n;

        if (!show_unsafe(b, "\\\\", s, i, &n, &cp)) {
            if (cp == '<')
                buf_puts(b, "&lt;");
            else if (cp == '>')
                buf_puts(b, "&gt;");
            else if (cp == '&')
                buf_puts(b, "&amp;");
            else if (cp == '@' ||
                     cp == '#') /* a zero-width space keeps a mention or issue link from forming */
                buf_printf(b, "%s%c\xE2\x80\x8B", cp == '#' ? "\\" : "", (char)cp);
            else if (cp == ':' && i + 2 < s.n && s.p[i + 1] == '/' && s.p[i + 2] == '/')
                buf_puts(b, ":\xE2\x80\x8B");
            else if (cp < 0x80 && strchr("\\`*_[]|~$!", (int)cp))
                buf_printf(b, "\\%c", (char)cp);
            else
                buf_put(b, s.p + i, n);
        }
        i += n;
    }
}

void escape_markdown_code(struct buf *b, struct str s)
{
    if (s.n == 0)
        return;
    buf_putc(b, '`');
    for (size_t i = 0; i < s.n;) {
        uint32_t cp = 0;
        size_t n;

        if (!show_unsafe(b, "\\", s, i, &n, &cp)) {
            if (cp == '`')
                buf_putc(b, '\'');
            else if (cp == '|') /* GitHub splits table cells before it looks for code */
                buf_puts(b, "\xC2\xA6");
            else
                buf_put(b, s.p + i, n);
        }
        i += n;
    }
    buf_putc(b, '`');
}

void escape_xml(struct buf *b, struct str s)
{
    for (size_t i = 0; i < s.n;) {
        uint32_t cp = 0;
        size_t n;

        if (!show_unsafe(b, "\\", s, i, &n, &cp)) {
            if (cp == '<')
                buf_puts(b, "&lt;");
            else if (cp == '>') /* also of a "]]>" */
                buf_puts(b, "&gt;");
            else if (cp == '&')
                buf_puts(b, "&amp;");
            else if (cp == '"')
                buf_puts(b, "&quot;");
            else
                buf_put(b, s.p + i, n);
        }
        i += n;
    }
}

static const char *ascii_for(uint32_t cp)
{
    switch (cp) {
    case 0xA0:
        return " ";
    case 0xB7:
        return "-";
    case 0xB1:
        return "+/-";
    case 0xD7:
        return "x";
    case 0x2013:
    case 0x2014:
    case 0x2212:
        return "-";
    case 0x2018:
    case 0x2019:
        return "'";
    case 0x201C:
    case 0x201D:
        return "\"";
    case 0x2026:
        return "...";
    case 0x2264:
        return "<=";
    case 0x2265:
        return ">=";
    default:
        return NULL;
    }
}

void escape_ascii(struct buf *b, struct str s)
{
    for (size_t i = 0; i < s.n;) {
        uint32_t cp = 0;
        size_t n;

        if (!show_unsafe(b, "\\", s, i, &n, &cp)) {
            if (cp < 0x80) {
                buf_putc(b, (char)cp);
            } else if (ascii_for(cp)) {
                buf_puts(b, ascii_for(cp));
            } else {
                for (size_t k = 0; k < n; k++)
                    buf_printf(b, "\\x%02x", (unsigned)(unsigned char)s.p[i + k]);
            }
        }
        i += n;
    }
}

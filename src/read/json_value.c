#include "read/json_value.h"
#include "base/utf8.h"

void json_text_init(struct json_text *t, struct str text)
{
    *t = (struct json_text){.end = text.p + text.n, .line = text.p, .line_end = text.p + text.n};
}

const char *json_fail(struct json_text *t, const char *at, const char *what)
{
    t->at = at;
    t->what = what;
    t->cut = at >= t->end;
    if (t->cut)
        t->what = "the text ends within a value";
    return NULL;
}

const char *json_space(const struct json_text *t, const char *p)
{
    return json_blanks(t, p);
}

enum cell_kind json_kind(char c)
{
    switch (c) {
    case '"':
        return CELL_STRING;
    case '{':
        return CELL_OBJECT;
    case '[':
        return CELL_LIST;
    case 't':
        return CELL_TRUE;
    case 'f':
        return CELL_FALSE;
    case '-':
    case 'N':
    case 'I':
        return CELL_NUMBER;
    default:
        return c >= '0' && c <= '9' ? CELL_NUMBER : CELL_NULL;
    }
}

/* --- strings ------------------------------------------------------------------------ */

static int hex4(const char *p)
{
    int v = 0;
    for (int i = 0; i < 4; i++) {
        char c = p[i];
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0)
            return -1 - i;
        v = v << 4 | digit;
    }
    return v;
}

/* p is behind "\u". Behind the escape (and its second half), or NULL. */
static const char *skip_unicode(struct json_text *t, const char *p)
{
    int c = hex4(p), low = -1;
    if (c < 0)
        return json_fail(t, p + (-1 - c), "expected four hexadecimal digits after \\u");
    if (c >= 0xd800 && c < 0xdc00 && p[4] == '\\' && p[5] == 'u')
        low = hex4(p + 6);
    if (low >= 0xdc00 && low < 0xe000)
        return p + 10;
    if (c >= 0xd800 && c < 0xe000 && !t->bad_text)
        t->bad_text = p - 2;
    return p + 4;
}

static const char *skip_escape(struct json_text *t, const char *p)
{
    switch (p[1]) {
    case '"':
    case '\\':
    case '/':
    case 'b':
    case 'f':
    case 'n':
    case 'r':
    case 't':
        return p + 2;
    case 'u':
        return skip_unicode(t, p + 2);
    default:
        return json_fail(t, p + 1, "unknown escape after a backslash");
    }
}

const char *json_skip_string(struct json_text *t, const char *p, bool *escaped)
{
    *escaped = false;
    p++;
    for (;;) {
        p = json_special(p);
        if (*p == '"' && p < t->end)
            return p + 1;
        if (p >= t->end)
            return json_fail(t, p, "");
        if (*p == '\\') {
            *escaped = true;
            p = skip_escape(t, p);
            if (!p)
                return NULL;
        } else if ((unsigned char)*p < 0x20) {
            return json_fail(t, p, "control character within a string");
        } else {
            uint32_t code;
            size_t n = utf8_next(&code, (struct str){p, (size_t)(t->end - p)});
            if (n == 0 && !t->bad_text)
                t->bad_text = p;
            p += n ? n : 1;
        }
    }
}

static size_t put_code(char *to, uint32_t c)
{
    if (c >= 0xd800 && c < 0xe000)
        c = 0xfffd;
    char *start = to;
    if (c < 0x80) {
        *to++ = (char)c;
        return 1;
    }
    int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const unsigned char LEAD[] = {0, 0xc0, 0xe0, 0xf0};
    *to++ = (char)(LEAD[more] | c >> (6 * more));
    while (more-- > 0)
        *to++ = (char)(0x80 | (c >> (6 * more) & 0x3f));
    return (size_t)(to - start);
}

size_t json_unescape(char *to, const char *raw, size_t n)
{
    static const char FROM[] = "\"\\/bfnrt", TO[] = "\"\\/\b\f\n\r\t";
    char *start = to;
    const char *end = raw + n;
    while (raw < end) {
        if (*raw != '\\') {
            *to++ = *raw++;
            continue;
        }
        const char *simple = raw[1] == 'u' ? NULL : strchr(FROM, raw[1]);
        if (simple) {
            *to++ = TO[simple - FROM];
            raw += 2;
            continue;
        }
        uint32_t c = (uint32_t)hex4(raw + 2);
        raw += 6;
        if (c >= 0xd800 && c < 0xdc00 && end - raw >= 6 && raw[0] == '\\' && raw[1] == 'u') {
            uint32_t low = (uint32_t)hex4(raw + 2);
            if (low >= 0xdc00 && low < 0xe000) {
                c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
                raw += 6;
            }
        }
        to += put_code(to, c);
    }
    return (size_t)(to - start);
}

/* --- words ---------------------------------------------------------------------------- */

const char *json_word(struct json_text *t, const char *p, const char *word)
{
    for (; *word; word++, p++)
        if (*p != *word)
            return json_fail(t, p, "expected a value: a number, a string, true, false, null, [ or {");
    return p;
}

/* --- whole values ------------------------------------------------------------------------ */

/* p is where a key must be; behind its colon and blanks. */
static const char *skip_key(struct json_text *t, const char *p)
{
    bool escaped;
    if (*p != '"')
        return json_fail(t, p, "expected a key in double quotes");
    p = json_skip_string(t, p, &escaped);
    if (!p)
        return NULL;
    p = json_blanks(t, p);
    if (*p != ':')
        return json_fail(t, p, "expected ':' after the key");
    return json_blanks(t, p + 1);
}

const char *json_skip_below(struct json_text *t, const char *p, unsigned depth)
{
    if (*p == '[' && depth < JSON_DEPTH_MAX) {
        const char *end = json_plain_list(t, p + 1);
        if (end)
            return end;
    }
    unsigned char is_list[JSON_DEPTH_MAX / 8 + 1] = {0}; /* one bit for each level */
    unsigned level = depth;
    bool escaped;
    for (;;) {
        if (*p == '{' || *p == '[') {
            bool list = *p == '[';
            if (level == JSON_DEPTH_MAX)
                return json_fail(t, p, "nested too deeply");
            level++;
            is_list[level / 8] =
                (unsigned char)((is_list[level / 8] & ~(1u << level % 8)) | (unsigned)list << level % 8);
            p = json_blanks(t, p + 1);
            if (*p == (list ? ']' : '}')) {
                p++;
                level--;
            } else {
                if (!list && !(p = skip_key(t, p)))
                    return NULL;
                continue;
            }
        } else if (!(p = json_scalar(t, p, &escaped))) {
            return NULL;
        }
        /* behind a value: the lists and objects that end here, then a comma */
        while (level > depth) {
            bool list = is_list[level / 8] >> level % 8 & 1;
            p = json_blanks(t, p);
            if (*p == ',') {
                p = json_blanks(t, p + 1);
                if (!list && !(p = skip_key(t, p)))
                    return NULL;
                break;
            }
            if (*p != (list ? ']' : '}'))
                return json_fail(t, p, list ? "expected ',' or ']'" : "expected ',' or '}'");
            p++;
            level--;
        }
        if (level == depth)
            return p;
    }
}

const char *json_skip(struct json_text *t, const char *p)
{
    return json_skip_below(t, p, 0);
}

#include "normalise/glob.h"

#define UNIT_TOKEN "{unit}"

static bool is_separator(char c)
{
    return c == '_' || c == '-' || c == '.' || c == ' ' || c == '/' || c == ':';
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

/* One pattern against one name; on failure the last "*" takes one byte more. */
static bool match(struct str pattern, struct str name, bool loose, struct glob_match *out)
{
    size_t p = 0, n = 0, star = (size_t)-1, star_n = 0;
    for (;;) {
        if (p < pattern.n && pattern.p[p] == '*') {
            star = p++;
            star_n = n;
            continue;
        }
        if (p == pattern.n && n == name.n)
            return true;
        if (p < pattern.n && pattern.p[p] == '#') {
            uint64_t index = 0;
            size_t from = n;
            while (n < name.n && ascii_digit(name.p[n]) && n - from < 9)
                index = index * 10 + (uint64_t)(name.p[n++] - '0');
            if (n > from) {
                out->has_index = true;
                out->index = index;
                p++;
                continue;
            }
        } else if (loose && p < pattern.n && pattern.p[p] == '_') {
            while (n < name.n && is_separator(name.p[n]))
                n++;
            p++;
            continue;
        } else if (p < pattern.n && n < name.n &&
                   (pattern.p[p] == name.p[n] || (loose && lower(pattern.p[p]) == lower(name.p[n])))) {
            p++;
            n++;
            continue;
        }
        if (star == (size_t)-1 || star_n >= name.n)
            return false;
        p = star + 1;
        n = ++star_n;
    }
}

bool glob_match(struct str pattern, struct str name, bool loose, struct glob_match *out)
{
    *out = (struct glob_match){0};
    struct str token = STR_LIT(UNIT_TOKEN);
    if (pattern.n < token.n || !str_eq((struct str){pattern.p + pattern.n - token.n, token.n}, token))
        return match(pattern, name, loose, out);
    pattern.n -= token.n;
    size_t stem;
    struct unit unit;
    if (unit_of_name(&unit, name, &stem) && match(pattern, (struct str){name.p, stem}, loose, out)) {
        out->has_unit = true;
        out->unit = unit;
    } else if (!match(pattern, name, loose, out)) {
        return false;
    }
    out->wants_unit = true;
    return true;
}

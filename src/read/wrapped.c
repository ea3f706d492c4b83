#include "read/wrapped.h"
#include "base/num.h"

enum {
    GAP_MAX = 1024,  /* [B] padding between two characters of a message */
    PREFIX_MAX = 60, /* [B] "[rank0]:" that a launcher put before a wrapped line */
    NUMBER_MAX = 32  /* characters of a number */
};

/* Length of the invisible or ornamental bytes at i that are no white space: a
 * colour sequence, a box character (U+2500-259F, U+2771), '|'. */
size_t wrapped_ornament(const char *p, size_t n, size_t i)
{
    const unsigned char *u = (const unsigned char *)p;
    if (u[i] == '|')
        return 1;
    if (i + 2 < n && u[i] == 0xE2) {
        if ((u[i + 1] == 0x94 || u[i + 1] == 0x95 || u[i + 1] == 0x96) && u[i + 2] >= 0x80)
            return 3;
        if (u[i + 1] == 0x9D && u[i + 2] == 0xB1)
            return 3;
    }
    if (u[i] == 0x1B && i + 1 < n && u[i + 1] == '[') {
        for (size_t k = i + 2; k < n && k < i + 16; k++)
            if (u[k] >= 0x40 && u[k] <= 0x7E)
                return k + 1 - i;
    }
    return 0;
}

/* What a launcher puts before every line: "[rank3]:", "(Worker pid=77)". 0 if there is none at i. */
static size_t line_prefix(const char *p, size_t n, size_t i)
{
    if (i >= n || (p[i] != '[' && p[i] != '('))
        return 0;
    char close = p[i] == '[' ? ']' : ')';
    size_t end = n - i < PREFIX_MAX ? n : i + PREFIX_MAX;
    for (size_t k = i + 1; k < end && p[k] != '\n'; k++) {
        if (p[k] != close)
            continue;
        if (close == ']')
            return k + 1 < n && p[k + 1] == ':' ? k + 2 - i : 0;
        return str_find((struct str){p + i, k - i}, STR_LIT("pid=")) != (size_t)-1 ? k + 1 - i : 0;
    }
    return 0;
}

/* Moves over blanks, ornaments and at most one line end: a blank line ends a message. */
void wrapped_skip(struct wrapped *c)
{
    size_t limit = c->n - c->i < GAP_MAX ? c->n : c->i + GAP_MAX;
    bool wrapped = false;
    while (c->i < limit) {
        char ch = c->p[c->i];
        size_t step = 1;
        bool line_end = ch == '\n';
        if (ch == '\\' && c->i + 1 < c->n && (c->p[c->i + 1] == 'n' || c->p[c->i + 1] == 't')) {
            line_end = c->p[c->i + 1] == 'n'; /* an escaped message */
            step = 2;
        } else if (ch != ' ' && ch != '\t' && ch != '\r' && ch != '\n') {
            step = wrapped_ornament(c->p, c->n, c->i);
            if (step == 0 && wrapped)
                step = line_prefix(c->p, c->n, c->i);
            if (step == 0)
                return;
        }
        if (line_end && wrapped)
            return;
        wrapped = wrapped || line_end;
        c->i += step;
    }
}

/* Compares with a literal that has no blanks; moves behind it only on success. */
bool wrapped_match(struct wrapped *c, const char *lit)
{
    size_t start = c->i;
    for (const char *l = lit; *l; l++) {
        if (c->i >= c->n || c->p[c->i] != *l)
            wrapped_skip(c);
        if (c->i >= c->n || c->p[c->i] != *l) {
            c->i = start;
            return false;
        }
        c->i++;
    }
    return true;
}

/* A decimal number, wrapped or not. */
bool wrapped_number(struct wrapped *c, double *out)
{
    char text[NUMBER_MAX];
    size_t n = 0, start = c->i, last = c->i;
    while (n < sizeof text) {
        wrapped_skip(c);
        if (c->i >= c->n || !(ascii_digit(c->p[c->i]) || (c->p[c->i] == '.' && n)))
            break;
        text[n++] = c->p[c->i++];
        last = c->i;
    }
    if (n == 0 || !num_parse((struct str){text, n}, out)) {
        c->i = start;
        return false;
    }
    c->i = last;
    return true;
}

/* Compares backwards from `from`; the offset where the literal begins, or (size_t)-1. */
size_t wrapped_match_back(struct str t, size_t from, const char *lit)
{
    size_t i = from;
    for (size_t l = strlen(lit); l > 0; l--) {
        size_t gap = 0;
        while (i > 0 && gap < GAP_MAX && (t.p[i - 1] == ' ' || t.p[i - 1] == '\n' || t.p[i - 1] == '\r')) {
            i--;
            gap++;
        }
        if (i == 0 || t.p[i - 1] != lit[l - 1])
            return (size_t)-1;
        i--;
    }
    return i;
}

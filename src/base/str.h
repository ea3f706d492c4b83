/* str: a borrowed run of bytes with its length.
 *
 * A str owns nothing and need not end in NUL; it points into an input buffer,
 * an arena or a literal, which must outlive it. Knows nothing of GPUs. */
#ifndef OOMREPORT_BASE_STR_H
#define OOMREPORT_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct str {
    const char *p; /* n bytes, not terminated; NULL only when n is 0 */
    size_t n;
};

#define STR_LIT(s) ((struct str){(s), sizeof(s) - 1})

static inline struct str str_of(const char *s)
{
    return (struct str){s, s ? strlen(s) : 0};
}

static inline bool str_eq(struct str a, struct str b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

static inline bool str_is(struct str a, const char *s)
{
    return str_eq(a, str_of(s));
}

static inline bool str_starts(struct str a, struct str prefix)
{
    return a.n >= prefix.n && (prefix.n == 0 || memcmp(a.p, prefix.p, prefix.n) == 0);
}

static inline bool str_ends(struct str a, const char *tail)
{
    size_t n = strlen(tail);
    return a.n >= n && (n == 0 || memcmp(a.p + a.n - n, tail, n) == 0);
}

/* Letters and digits of ASCII alone, whatever the sign of char. */
static inline bool ascii_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool ascii_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Byte order, as memcmp; a prefix sorts before the longer string. */
int str_cmp(struct str a, struct str b);
/* ASCII case is ignored, other bytes must be equal. */
bool str_eq_nocase(struct str a, struct str b);
/* Without ASCII white space at both ends. */
struct str str_trim(struct str a);
/* Offset of the first occurrence of needle, or (size_t)-1. */
size_t str_find(struct str hay, struct str needle);
static inline bool str_has(struct str hay, const char *needle)
{
    return str_find(hay, str_of(needle)) != (size_t)-1;
}
/* Natural order: runs of digits compare as numbers ("rank2" before "rank10"). */
int str_cmp_natural(struct str a, struct str b);

#endif

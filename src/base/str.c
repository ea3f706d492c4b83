#include "base/str.h"

static unsigned char lower(unsigned char c)
{
    return c >= 'A' && c <= 'Z' ? (unsigned char)(c + 32) : c;
}

int str_cmp(struct str a, struct str b)
{
    size_t n = a.n < b.n ? a.n : b.n;
    int c = n ? memcmp(a.p, b.p, n) : 0;
    if (c)
        return c;
    return a.n < b.n ? -1 : a.n > b.n;
}

bool str_eq_nocase(struct str a, struct str b)
{
    if (a.n != b.n)
        return false;
    for (size_t i = 0; i < a.n; i++)
        if (lower((unsigned char)a.p[i]) != lower((unsigned char)b.p[i]))
            return false;
    return true;
}

struct str str_trim(struct str a)
{
    while (a.n && strchr(" \t\r\n\v\f", a.p[0]) && a.p[0])
        a.p++, a.n--;
    while (a.n && strchr(" \t\r\n\v\f", a.p[a.n - 1]) && a.p[a.n - 1])
        a.n--;
    return a;
}

size_t str_find(struct str hay, struct str needle)
{
    if (needle.n == 0)
        return 0;
    const char *p = hay.p;
    size_t left = hay.n;
    while (left >= needle.n) {
        const char *hit = memchr(p, needle.p[0], left - needle.n + 1);
        if (!hit)
            break;
        if (memcmp(hit, needle.p, needle.n) == 0)
            return (size_t)(hit - hay.p);
        left -= (size_t)(hit + 1 - p);
        p = hit + 1;
    }
    return (size_t)-1;
}

/* Length of the run of digits at the front, and the offset of its first digit that is not 0. */
static size_t digit_run(struct str s, size_t *zeros)
{
    size_t n = 0;
    while (n < s.n && ascii_digit(s.p[n]))
        n++;
    size_t z = 0;
    while (z + 1 < n && s.p[z] == '0')
        z++;
    *zeros = z;
    return n;
}

int str_cmp_natural(struct str a, struct str b)
{
    struct str whole_a = a, whole_b = b;
    while (a.n && b.n) {
        if (ascii_digit(a.p[0]) && ascii_digit(b.p[0])) {
            size_t za, zb, na = digit_run(a, &za), nb = digit_run(b, &zb);
            if (na - za != nb - zb)
                return na - za < nb - zb ? -1 : 1;
            int c = memcmp(a.p + za, b.p + zb, na - za);
            if (c)
                return c;
            a = (struct str){a.p + na, a.n - na};
            b = (struct str){b.p + nb, b.n - nb};
        } else {
            unsigned char ca = (unsigned char)a.p[0], cb = (unsigned char)b.p[0];
            if (ca != cb)
                return ca < cb ? -1 : 1;
            a.p++, a.n--;
            b.p++, b.n--;
        }
    }
    if (a.n != b.n)
        return a.n < b.n ? -1 : 1;
    return str_cmp(whole_a, whole_b); /* "01" and "1": a total order all the same */
}

/* num_scan: digits eight at a time, for the scanners; inline, because it is their hot path.
 *
 * Works on 64-bit words (SWAR), so it is the same on every machine. Reads at most 8 bytes
 * beyond the first byte that is no digit: the caller's buffer has a pad. */
#ifndef OOMREPORT_BASE_NUM_SCAN_H
#define OOMREPORT_BASE_NUM_SCAN_H

#include <stdbool.h>
#include <stdint.h>

enum {
    NUM_PLAIN_DIGITS = 18 /* any so many digits fit 64 bits */
};

/* A number without sign and exponent: whole * 10^-decimals. */
struct num_plain {
    uint64_t whole;
    unsigned decimals;
};

static inline uint64_t num_load8(const char *s)
{
    const unsigned char *p = (const unsigned char *)s; /* one move, where bytes are little-endian */
    return (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24 |
           (uint64_t)p[4] << 32 | (uint64_t)p[5] << 40 | (uint64_t)p[6] << 48 | (uint64_t)p[7] << 56;
}

/* How many of the first eight bytes are digits before one that is none; *digits has their values. */
static inline unsigned num_digits8(const char *p, uint64_t *digits)
{
    uint64_t x = num_load8(p) ^ 0x3030303030303030u;
    /* a byte above 9 gets its top bit; a carry from it reaches later bytes only */
    uint64_t other = ((x + 0x7676767676767676u) | x) & 0x8080808080808080u;
    *digits = x;
    return other ? (unsigned)__builtin_ctzll(other) / 8 : 8;
}

/* The value of the first n digits, 1 to 8. */
static inline uint64_t num_value8(uint64_t digits, unsigned n)
{
    uint64_t x = digits << (64 - 8 * n); /* leading zeros */
    x = (x * 10 + (x >> 8)) & 0x00ff00ff00ff00ffu;
    x = (x * 100 + (x >> 16)) & 0x0000ffff0000ffffu;
    return (x * 10000 + (x >> 32)) & 0xffffffffu;
}

/* Behind the digits at p, which are appended to *v; *n counts them (the value is right up to
 * NUM_PLAIN_DIGITS of them). */
static inline const char *num_run(const char *p, uint64_t *v, unsigned *n)
{
    static const uint64_t POW10[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
    for (;;) {
        uint64_t digits;
        unsigned k = num_digits8(p, &digits);
        if (k == 0)
            return p;
        *v = *v * POW10[k] + num_value8(digits, k);
        *n += k;
        p += k;
        if (k < 8 || *n > 64)
            return p;
    }
}

/* Reads digits[.digits] at p. Behind it, or NULL when it is not as simple as that (leading zero,
 * exponent, no digit next to the point, too many digits). */
static inline const char *num_scan_plain(const char *p, struct num_plain *out)
{
    unsigned n = 0;
    const char *start = p;
    *out = (struct num_plain){0, 0};
    p = num_run(p, &out->whole, &n);
    if (n == 0 || (*start == '0' && n > 1))
        return 0;
    unsigned before = n;
    if (*p == '.') {
        p = num_run(p + 1, &out->whole, &n);
        if (n == before)
            return 0;
    }
    out->decimals = n - before;
    return n <= NUM_PLAIN_DIGITS && (*p | 32) != 'e' ? p : 0;
}

/* Behind the digits at p. */
static inline const char *num_skip_digits(const char *p)
{
    uint64_t digits;
    unsigned n;
    while ((n = num_digits8(p, &digits)) == 8)
        p += 8;
    return p + n;
}

#endif

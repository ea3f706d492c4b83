#include "base/num.h"
#include "base/mem.h"
#include "base/num_nearest.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

const double num_pow10[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                            1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

enum {
    MANTISSA_DIGITS = 19
};

struct decimal {
    uint64_t mantissa; /* the first MANTISSA_DIGITS significant digits */
    int64_t exponent;  /* of ten */
    bool negative;
    bool exact; /* no significant digit was left out of the mantissa */
};

/* The grammar of num_parse, without NaN and Infinity. */
static bool scan_decimal(struct decimal *d, struct str s)
{
    const char *p = s.p, *end = s.p + s.n;
    *d = (struct decimal){.exact = true};
    if (p < end && (*p == '-' || *p == '+'))
        d->negative = *p++ == '-';
    int64_t digits = 0, kept = 0, scale = 0;
    bool point = false;
    for (; p < end && (ascii_digit(*p) || (*p == '.' && !point)); p++) {
        if (*p == '.') {
            point = true;
            continue;
        }
        digits++;
        if (kept < MANTISSA_DIGITS) {
            d->mantissa = d->mantissa * 10 + (uint64_t)(*p - '0');
            kept += d->mantissa != 0;
            scale -= point;
        } else {
            d->exact &= *p == '0';
            scale += !point;
        }
    }
    if (!digits)
        return false;
    int64_t exponent = 0;
    if (p < end && (*p == 'e' || *p == 'E')) {
        p++;
        bool minus = false;
        if (p < end && (*p == '-' || *p == '+'))
            minus = *p++ == '-';
        if (p == end || !ascii_digit(*p))
            return false;
        for (; p < end && ascii_digit(*p); p++)
            if (exponent < 1000000)
                exponent = exponent * 10 + (*p - '0');
        if (minus)
            exponent = -exponent;
    }
    d->exponent = exponent + scale;
    return p == end;
}

static bool parse_named(struct str s, double *out)
{
    bool negative = false;
    if (s.n && (s.p[0] == '-' || s.p[0] == '+')) {
        negative = s.p[0] == '-';
        s.p++, s.n--;
    }
    if (str_eq_nocase(s, STR_LIT("nan"))) {
        *out = NAN;
        return true;
    }
    if (str_eq_nocase(s, STR_LIT("inf")) || str_eq_nocase(s, STR_LIT("infinity"))) {
        *out = negative ? -INFINITY : INFINITY;
        return true;
    }
    return false;
}

bool num_parse(struct str s, double *out)
{
    struct decimal d;
    if (!scan_decimal(&d, s))
        return s.n && s.n <= 9 && parse_named(s, out);
    if (d.exact && d.mantissa < (uint64_t)1 << 53 && d.exponent >= -NUM_POW10_MAX &&
        d.exponent <= NUM_POW10_MAX) {
        double v = (double)d.mantissa;
        v = d.exponent < 0 ? v / num_pow10[-d.exponent] : v * num_pow10[d.exponent];
        *out = d.negative ? -v : v;
        return true;
    }
    /* Digits were left out of the mantissa: the number lies between it and the next one. */
    double next;
    if (d.mantissa && num_nearest(out, d.mantissa, d.exponent) &&
        (d.exact || (num_nearest(&next, d.mantissa + 1, d.exponent) && next == *out))) {
        *out = d.negative ? -*out : *out;
        return true;
    }
    /* The text was checked above, so strtod sees digits only; the program never
     * calls setlocale(), so its point is '.'. */
    char small[64];
    char *copy = s.n < sizeof small ? small : mem_alloc(s.n + 1);
    memcpy(copy, s.p, s.n);
    copy[s.n] = '\0';
    *out = strtod(copy, NULL);
    if (copy != small)
        free(copy);
    return true;
}

/* Digits only: the usual case, and the one where all 64 bits count. */
static bool parse_digits(struct str s, uint64_t *out)
{
    uint64_t v = 0;
    for (size_t i = 0; i < s.n; i++) {
        unsigned c = (unsigned)(s.p[i] - '0');
        if (c > 9 || v > (UINT64_MAX - c) / 10)
            return false;
        v = v * 10 + c;
    }
    *out = v;
    return s.n > 0;
}

bool num_parse_u64(struct str s, uint64_t *out)
{
    if (parse_digits(s, out))
        return true;
    struct decimal d;
    if (!scan_decimal(&d, s) || !d.exact || (d.negative && d.mantissa))
        return false;
    uint64_t m = d.mantissa;
    for (; d.exponent < 0 && m; d.exponent++) {
        if (m % 10)
            return false;
        m /= 10;
    }
    for (; d.exponent > 0 && m; d.exponent--) {
        if (m > UINT64_MAX / 10)
            return false;
        m *= 10;
    }
    *out = m;
    return true;
}

void num_put(struct buf *b, double v)
{
    if (isnan(v)) {
        buf_puts(b, "NaN");
        return;
    }
    if (isinf(v)) {
        buf_puts(b, v < 0 ? "-Infinity" : "Infinity");
        return;
    }
    if (v == floor(v) && fabs(v) < 1e15) {
        buf_printf(b, "%.0f", v == 0 ? 0.0 : v);
        return;
    }
    char text[40];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, v);
        if (strtod(text, NULL) == v)
            break;
    }
    buf_puts(b, text);
}

void num_put_u64(struct buf *b, uint64_t v)
{
    buf_printf(b, "%" PRIu64, v);
}

void num_put_fixed(struct buf *b, double v, int decimals)
{
    if (!isfinite(v)) {
        num_put(b, v);
        return;
    }
    size_t at = b->n;
    buf_printf(b, "%.*f", decimals < 0 ? 0 : decimals > 9 ? 9 : decimals, v);
    /* "-0.0" says nothing that "0.0" does not. */
    if (b->p[at] == '-' && strspn(b->p + at, "-0.") == b->n - at) {
        memmove(b->p + at, b->p + at + 1, b->n - at);
        b->n--;
    }
}

enum byte_unit num_byte_unit(double largest)
{
    largest = fabs(largest);
    for (int u = UNIT_GIB; u > UNIT_B; u--)
        if (largest >= num_byte_unit_size((enum byte_unit)u))
            return (enum byte_unit)u;
    return UNIT_B;
}

const char *num_byte_unit_name(enum byte_unit u)
{
    static const char *const NAMES[] = {"B", "KiB", "MiB", "GiB"};
    return NAMES[u];
}

double num_byte_unit_size(enum byte_unit u)
{
    return (double)((uint64_t)1 << (10 * (int)u));
}

void num_put_bytes_in(struct buf *b, double bytes, enum byte_unit u)
{
    if (!isfinite(bytes)) {
        buf_puts(b, "unknown");
        return;
    }
    double v = bytes / num_byte_unit_size(u), size = fabs(v);
    int decimals = u == UNIT_B ? 0 : size >= 999.95 ? 0 : size >= 9.995 ? 1 : 2;
    if (u != UNIT_B && size > 0 && size < 0.0095)
        decimals = size < 0.00095 ? 4 : 3;
    num_put_fixed(b, v, decimals);
}

void num_put_bytes(struct buf *b, double bytes)
{
    enum byte_unit u = num_byte_unit(bytes);
    num_put_bytes_in(b, bytes, u);
    if (isfinite(bytes))
        buf_printf(b, " %s", num_byte_unit_name(u));
}

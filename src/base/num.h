/* num: numbers to text and back, as in the C locale: nothing in the program calls setlocale(). */
#ifndef OOMREPORT_BASE_NUM_H
#define OOMREPORT_BASE_NUM_H

#include "base/buf.h"
#include "base/str.h"
#include <math.h>
#include <stdint.h>

/* Powers of ten that a double holds exactly: with a whole number below 2^53 one
 * multiplication or division is then correctly rounded (Clinger, "How to read
 * floating point numbers accurately", 1990, the fast case). */
enum {
    NUM_POW10_MAX = 22
};
extern const double num_pow10[NUM_POW10_MAX + 1];

/* Equal, or both unknown (NaN). */
static inline bool num_same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* Parses all of s as a decimal number: [+-]digits[.digits][e[+-]digits], or
 * NaN / Infinity / inf in any case with an optional sign. True only if all of
 * s is a number. The value is the double nearest to the text (as strtod). */
bool num_parse(struct str s, double *out);
/* Parses all of s as an unsigned integer below 2^64; also "12.0" and "1e3"
 * when the value is a whole number. False on sign, fraction or overflow. */
bool num_parse_u64(struct str s, uint64_t *out);
/* The shortest text that reads back as the same double: "0.1", "1e+30", "5".
 * NaN and infinities are written as "NaN", "Infinity", "-Infinity". */
void num_put(struct buf *b, double v);
void num_put_u64(struct buf *b, uint64_t v);
/* v with the given number of decimals (0..9), '.' as the point. */
void num_put_fixed(struct buf *b, double v, int decimals);

/* Sizes as people read them. unit is chosen by num_byte_unit() so that one
 * table or axis has one unit: GiB if largest >= 1 GiB, else MiB, else KiB, else B. */
enum byte_unit {
    UNIT_B,
    UNIT_KIB,
    UNIT_MIB,
    UNIT_GIB
};
enum byte_unit num_byte_unit(double largest_bytes /* [B] */);
const char *num_byte_unit_name(enum byte_unit u);
double num_byte_unit_size(enum byte_unit u); /* [B] */
/* bytes [B] in unit u with 3-4 significant digits, without the unit's name. */
void num_put_bytes_in(struct buf *b, double bytes, enum byte_unit u);
/* bytes [B] in its own best unit with its name: "139.8 GiB", "3.1 MiB", "512 B". NAN gives "unknown". */
void num_put_bytes(struct buf *b, double bytes);

#endif

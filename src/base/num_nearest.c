#include "base/num_nearest.h"
#include "base/num_powers.h"
#include <string.h>

enum {
    MANTISSA_BITS = 52,
    EXPONENT_BIAS = 1023,
    SPARE_BITS = 64 - MANTISSA_BITS -
                 3 /* below the mantissa, the rounding bit and one more for a product below 2^127 */
};

struct product {
    uint64_t high, low;
};

static struct product multiply(uint64_t a, uint64_t b)
{
#ifdef __SIZEOF_INT128__
    unsigned __int128 p = (unsigned __int128)a * b;
    return (struct product){(uint64_t)(p >> 64), (uint64_t)p};
#else
    uint64_t a0 = a & 0xffffffffu, a1 = a >> 32, b0 = b & 0xffffffffu, b1 = b >> 32;
    uint64_t low = a0 * b0, mid = a1 * b0 + (low >> 32), mid2 = a0 * b1 + (mid & 0xffffffffu);
    return (struct product){a1 * b1 + (mid >> 32) + (mid2 >> 32), mid2 << 32 | (low & 0xffffffffu)};
#endif
}

bool num_nearest(double *out, uint64_t mantissa, int64_t exponent)
{
    if (exponent < POWER_FIRST || exponent > POWER_LAST)
        return false;
    const uint64_t *power = POWERS[exponent - POWER_FIRST];
    int zeros = __builtin_clzll(mantissa);
    mantissa <<= zeros;
    struct product p = multiply(mantissa, power[0]);
    uint64_t spare = ((uint64_t)1 << SPARE_BITS) - 1;
    if ((p.high & spare) == spare) { /* the power's lower half may carry into the bits that count */
        struct product more = multiply(mantissa, power[1]);
        p.low += more.high;
        p.high += p.low < more.high;
        if (p.low == UINT64_MAX &&
            !(exponent >= -27 && exponent <= 55)) /* what the power lacks may carry too */
            return false;
    }
    int top = (int)(p.high >> 63), shift = top + SPARE_BITS;
    uint64_t m = p.high >> shift;
    /* floor(exponent * log2(10)) by a multiplication that is exact in the range of the table; the shift is
     * of a number that is not negative */
    int64_t e = ((217706 * ((int64_t)exponent + 65536)) >> 16) - 217706 + 63 + top - zeros + EXPONENT_BIAS;
    /* The middle between two doubles goes to the even one. Only small powers divide a mantissa of 64 bits. */
    if (p.low <= 1 && exponent >= -4 && exponent <= 23 && (m & 3) == 1 && m << shift == p.high)
        m &= ~(uint64_t)1;
    m += m & 1;
    m >>= 1;
    if (m >> (MANTISSA_BITS + 1)) {
        m >>= 1;
        e++;
    }
    uint64_t bits = (m & (((uint64_t)1 << MANTISSA_BITS) - 1)) | (uint64_t)e << MANTISSA_BITS;
    memcpy(out, &bits, sizeof bits);
    return true;
}

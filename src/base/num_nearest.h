/* num_nearest: the double nearest to a decimal number, without strtod.
 *
 * The method of Eisel and Lemire (D. Lemire, "Number parsing at a gigabyte per second", 2021): the
 * mantissa times the first 128 bits of a power of five gives the result, unless it lies too near to the
 * middle between two doubles. Knows no locale. */
#ifndef OOMREPORT_BASE_NUM_NEAREST_H
#define OOMREPORT_BASE_NUM_NEAREST_H

#include <stdbool.h>
#include <stdint.h>

/* mantissa * 10^exponent, mantissa > 0. False when this method cannot tell: an exponent beyond +-64, or
 * a number too near to the middle between two doubles. */
bool num_nearest(double *out, uint64_t mantissa, int64_t exponent);

#endif

#!/usr/bin/env python3
"""num_powers.py >num_powers.h: the first 128 bits of 10^q / 2^q for num_nearest."""

FIRST, LAST = -64, 64


def power(q):
    """5^q with its highest bit at bit 127: cut off for q >= 0, rounded up for q < 0."""
    five = 5 ** abs(q)
    if q >= 0:
        bits = five.bit_length()
        return five << 128 - bits if bits <= 128 else five >> bits - 128
    shift = five.bit_length() + 127  # 2^shift / 5^-q lies in [2^127, 2^128)
    return (1 << shift) // five + 1


def main():
    print("/* Written by num_powers.py: change that instead. */")
    print("#include <stdint.h>\n")
    print("enum {\n    POWER_FIRST = %d,\n    POWER_LAST = %d\n};" % (FIRST, LAST))
    print("static const uint64_t POWERS[][2] = {")
    for q in range(FIRST, LAST + 1):
        p = power(q)
        assert p >> 127 == 1
        print("    {0x%016x, 0x%016x}, /* %d */" % (p >> 64, p & (1 << 64) - 1, q))
    print("};")


main()

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/num.h"
#include "base/num_scan.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static double parsed(const char *text)
{
    double v = -12345;
    assert_true(num_parse(str_of(text), &v));
    return v;
}

static void numbers_in_every_usual_form_parse_as_strtod_does(void **state)
{
    (void)state;
    static const char *const TEXTS[] = {"0",
                                        "-0",
                                        "7",
                                        "+7",
                                        "1.5",
                                        "1.",
                                        ".5",
                                        "1e3",
                                        "1E+3",
                                        "3e-05",
                                        "7.1068",
                                        "1700000000.123",
                                        "1e22",
                                        "1e23",
                                        "1e-22",
                                        "123456789012345678901234567890",
                                        "9007199254740993",
                                        "0.1",
                                        "4.9e-324",
                                        "1e-400",
                                        "1e400",
                                        "0.30000001192092896",
                                        "2.2250738585072011e-308",
                                        "000123.4500",
                                        "1.7976931348623157e308",
                                        "8.41e21",
                                        "0.000000000000000000000000000001"};
    for (size_t i = 0; i < sizeof TEXTS / sizeof *TEXTS; i++) {
        double want = strtod(TEXTS[i], NULL), got = parsed(TEXTS[i]);
        if (memcmp(&want, &got, sizeof want) != 0)
            fail_msg("%s: got %.17g, strtod gives %.17g", TEXTS[i], got, want);
    }
}

static uint64_t scramble(uint64_t *x)
{
    *x ^= *x << 13, *x ^= *x >> 7, *x ^= *x << 17;
    return *x * 0x2545f4914f6cdd1du;
}

/* A number in one of the forms that logs hold, or that are hard to read. */
static void random_number(char *text, size_t size, uint64_t *x)
{
    uint64_t r = scramble(x), form = scramble(x) % 10;
    double v;
    float f;
    uint32_t half = (uint32_t)r;
    memcpy(&v, &r, sizeof v);
    memcpy(&f, &half, sizeof f);
    v = isfinite(v) ? v : 1.5;
    f = isfinite(f) ? f : 1.5f;
    size_t n = 0;
    switch (form) {
    case 0: /* any double, as Python writes it */
        snprintf(text, size, "%.17g", v);
        break;
    case 1: /* any float, widened */
        snprintf(text, size, "%.17g", (double)f);
        break;
    case 2: /* a loss, a rate */
        snprintf(text, size, "%.16g", (double)(r >> 11) * 0x1p-53 * pow(10, (double)(r % 12) - 8));
        break;
    case 3: /* a time, a share */
        snprintf(text, size, "%.*f", (int)(r % 7), (double)(int64_t)(r >> 20) / 1000.0);
        break;
    case 4: /* a count, a size */
        snprintf(text, size, "%llu", (unsigned long long)(r >> (r % 64)));
        break;
    case 5: /* in the middle between two doubles, or one beside it */
        snprintf(text, size, "%llu",
                 (unsigned long long)((((r >> 11) | (uint64_t)1 << 52) << 1 | 1) << r % 10) +
                     scramble(x) % 3 - 1);
        break;
    case 6: /* the same, divided by a small power of ten or two */
        snprintf(text, size, "%.*e", 15 + (int)(r % 6), ldexp((double)((r >> 11) | 1), -(int)(r % 90)));
        break;
    case 7: /* few digits, any exponent */
        snprintf(text, size, "%u%s%d", (unsigned)(r % 100000), r & 1 << 20 ? "e" : "E+", (int)(r >> 40) % 40);
        break;
    default: /* many digits, with a point and an exponent anywhere */
        if (r & 1)
            text[n++] = r & 2 ? '-' : '+';
        for (uint64_t k = 1 + scramble(x) % 30, point = scramble(x) % 32; k-- > 0;) {
            if (k == point)
                text[n++] = '.';
            text[n++] = (char)('0' + scramble(x) % 10);
        }
        snprintf(text + n, size - n, "e%d", (int)(scramble(x) % (r & 4 ? 120 : 700)) - (r & 4 ? 60 : 350));
        if (form == 9)
            text[n] = '\0';
    }
}

/* OOMREPORT_NUMBERS=10000000 tries so many. */
static void random_numbers_parse_as_strtod_does(void **state)
{
    (void)state;
    const char *count = getenv("OOMREPORT_NUMBERS");
    uint64_t x = 88172645463325252u, left = count ? strtoull(count, NULL, 10) : 200000, plain = 0;
    while (left-- > 0) {
        char text[96];
        random_number(text, sizeof text, &x);
        double want = strtod(text, NULL), got = parsed(text);
        if (memcmp(&want, &got, sizeof want) != 0)
            fail_msg("%s: got %.17g, strtod gives %.17g", text, got, want);
        struct num_plain p;
        char padded[96 + 32] = {0};
        memcpy(padded, text, strlen(text));
        const char *end = num_scan_plain(padded, &p);
        if (end && *end == '\0' && p.whole < (uint64_t)1 << 53) {
            got = (double)p.whole / pow(10, p.decimals);
            if (memcmp(&want, &got, sizeof want) != 0)
                fail_msg("%s: scanned as %.17g, strtod gives %.17g", text, got, want);
            plain++;
        }
    }
    assert_true(plain > 0);
}

static void what_is_no_number_is_refused(void **state)
{
    (void)state;
    static const char *const TEXTS[] = {"",      "-",   ".",    "e5",       "1e",    "1e+",
                                        "1x",    "x1",  " 1",   "1 ",       "1,5",   "0x10",
                                        "1.2.3", "--1", "nano", "infinite", "1e5.0", "1_0"};
    for (size_t i = 0; i < sizeof TEXTS / sizeof *TEXTS; i++) {
        double v;
        if (num_parse(str_of(TEXTS[i]), &v))
            fail_msg("\"%s\" was taken as %g", TEXTS[i], v);
    }
}

static void words_for_no_number_and_infinity_parse(void **state)
{
    (void)state;
    assert_true(isnan(parsed("NaN")));
    assert_true(isnan(parsed("nan")));
    assert_true(isinf(parsed("Infinity")) && parsed("Infinity") > 0);
    assert_true(isinf(parsed("-inf")) && parsed("-inf") < 0);
}

static void unsigned_integers_keep_all_64_bits(void **state)
{
    (void)state;
    uint64_t v = 0;
    assert_true(num_parse_u64(STR_LIT("18446744073709551615"), &v));
    assert_true(v == UINT64_MAX);
    assert_true(num_parse_u64(STR_LIT("9007199254740993"), &v));
    assert_true(v == 9007199254740993u);
    assert_true(num_parse_u64(STR_LIT("12.0"), &v) && v == 12);
    assert_true(num_parse_u64(STR_LIT("1.5e3"), &v) && v == 1500);
    assert_true(num_parse_u64(STR_LIT("-0"), &v) && v == 0);
    assert_false(num_parse_u64(STR_LIT("18446744073709551616"), &v));
    assert_false(num_parse_u64(STR_LIT("1e30"), &v));
    assert_false(num_parse_u64(STR_LIT("-1"), &v));
    assert_false(num_parse_u64(STR_LIT("1.5"), &v));
    assert_false(num_parse_u64(STR_LIT("nan"), &v));
    assert_false(num_parse_u64(STR_LIT(""), &v));
}

static void numbers_are_written_short_and_read_back(void **state)
{
    (void)state;
    static const struct {
        double v;
        const char *text;
    } CASES[] = {{0.1, "0.1"},
                 {5, "5"},
                 {-3, "-3"},
                 {1e30, "1e+30"},
                 {0, "0"},
                 {-0.0, "0"},
                 {2.5, "2.5"},
                 {1.0 / 3, "0.3333333333333333"},
                 {84932978278.0, "84932978278"}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct buf b = {0};
        num_put(&b, CASES[i].v);
        assert_string_equal(b.p, CASES[i].text);
        assert_true(parsed(b.p) == CASES[i].v);
        buf_release(&b);
    }
}

static void sizes_have_three_or_four_digits_and_binary_units(void **state)
{
    (void)state;
    static const struct {
        double bytes;
        const char *text;
    } CASES[] = {{512, "512 B"},
                 {1024, "1.00 KiB"},
                 {3.1 * 1048576, "3.10 MiB"},
                 {150105489408.0, "139.8 GiB"},
                 {1073741823.0, "1024 MiB"},
                 {0, "0 B"},
                 {-2.5 * 1048576, "-2.50 MiB"},
                 {NAN, "unknown"}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct buf b = {0};
        num_put_bytes(&b, CASES[i].bytes);
        assert_string_equal(b.p, CASES[i].text);
        buf_release(&b);
    }
}

static void minus_zero_is_written_as_zero(void **state)
{
    (void)state;
    struct buf b = {0};
    num_put_fixed(&b, -0.004, 2);
    assert_string_equal(b.p, "0.00");
    buf_release(&b);
}

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* digits[.digits] of any length up to 12 + 10, behind which other text stands. */
static size_t random_decimal(char *text, size_t size, uint64_t *seed)
{
    size_t n = 0, whole = 1 + next_random(seed) % 12, decimals = next_random(seed) % 11;
    text[n++] = (char)('1' + next_random(seed) % 9);
    while (n < whole)
        text[n++] = (char)('0' + next_random(seed) % 10);
    if (decimals)
        text[n++] = '.';
    for (size_t i = 0; i < decimals; i++)
        text[n++] = (char)('0' + next_random(seed) % 10);
    memset(text + n, 0, size - n);
    text[n] = ",}] \n\0x/:\xff"[next_random(seed) % 10];
    return n;
}

static void plain_decimals_scan_as_strtod_reads_them(void **state)
{
    (void)state;
    uint64_t seed = 4;
    unsigned scanned = 0;
    for (int i = 0; i < 200000; i++) {
        char text[64];
        struct num_plain number;
        size_t n = random_decimal(text, sizeof text, &seed);
        const char *end = num_scan_plain(text, &number);
        if (!end)
            continue; /* more digits than are plain */
        scanned++;
        assert_ptr_equal(end, text + n);
        text[n] = '\0';
        if (number.whole < (uint64_t)1 << 53)
            assert_true((double)number.whole / pow(10, number.decimals) == strtod(text, NULL));
    }
    assert_in_range(scanned, 100000, 200000);
}

static void numbers_that_are_not_plain_are_declined(void **state)
{
    (void)state;
    static const char *const TEXTS[] = {
        "-1", "01", "1.", ".5", "1e3", "1.5E3", "x", "", "1234567890123456789"};
    for (size_t i = 0; i < sizeof TEXTS / sizeof *TEXTS; i++) {
        char text[64] = {0};
        struct num_plain number;
        memcpy(text, TEXTS[i], strlen(TEXTS[i]));
        assert_null(num_scan_plain(text, &number));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_in_every_usual_form_parse_as_strtod_does),
        cmocka_unit_test(random_numbers_parse_as_strtod_does),
        cmocka_unit_test(what_is_no_number_is_refused),
        cmocka_unit_test(words_for_no_number_and_infinity_parse),
        cmocka_unit_test(unsigned_integers_keep_all_64_bits),
        cmocka_unit_test(numbers_are_written_short_and_read_back),
        cmocka_unit_test(sizes_have_three_or_four_digits_and_binary_units),
        cmocka_unit_test(plain_decimals_scan_as_strtod_reads_them),
        cmocka_unit_test(numbers_that_are_not_plain_are_declined),
        cmocka_unit_test(minus_zero_is_written_as_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

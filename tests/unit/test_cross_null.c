#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyse/cross_null.h"
#include <math.h>

static void assert_near(double got, double want)
{
    if (!(fabs(got - want) <= 1e-9 * fmax(1, fabs(want))))
        fail_msg("%.12g, expected %.12g", got, want);
}

/* The probability by going through all outcomes. */
static double counted_range(int k, int n, int w)
{
    long hits = 0, all = 1;
    for (int i = 0; i < k; i++)
        all *= n;
    for (long x = 0; x < all; x++) {
        long rest = x;
        int low = n, high = -1;
        for (int i = 0; i < k; i++, rest /= n) {
            int v = (int)(rest % n);
            low = v < low ? v : low;
            high = v > high ? v : high;
        }
        hits += high - low <= w;
    }
    return (double)hits / (double)all;
}

static void range_agrees_with_counting_all_outcomes(void **state)
{
    (void)state;
    for (int k = 2; k <= 4; k++)
        for (int n = 2; n <= 9; n++)
            for (int w = 0; w < n; w++)
                assert_near(null_range(k, n, w), counted_range(k, n, w));
}

static void binomial_tail_agrees_with_a_table(void **state)
{
    (void)state;
    assert_near(null_at_least(2, 3, 0.5), 0.5);
    assert_near(null_at_least(8, 10, 0.3), 0.0015903864); /* R: pbinom(7, 10, 0.3, lower.tail = FALSE) */
    assert_near(null_at_least(0, 3, 0.1), 1);
    assert_near(null_at_least(4, 3, 0.1), 0);
    assert_near(null_at_least(1, 3, 1), 1);
}

static void sharing_one_sample_of_many_is_unlikely(void **state)
{
    (void)state;
    assert_near(null_shared(3, 3, 10000, 8), 10000 * pow(8.0 / 10000, 3));
    assert_near(null_shared(2, 2, 200, 32), 1);
    assert_near(null_shared(2, 2, 10, 10), 1);
}

/* Share of all pairs of batches of b samples out of n that have s samples or more in common. */
static double counted_shared(int n, int b, int s)
{
    long hits = 0, all = 0;
    for (unsigned x = 0; x < 1u << n; x++)
        for (unsigned y = 0; y < 1u << n; y++)
            if (__builtin_popcount(x) == b && __builtin_popcount(y) == b) {
                all++;
                hits += __builtin_popcount(x & y) >= s;
            }
    return (double)hits / (double)all;
}

static void sharing_several_samples_is_bounded_by_counting_all_pairs(void **state)
{
    (void)state;
    for (int n = 2; n <= 8; n++)
        for (int b = 1; b < n; b++)
            for (int s = 1; s <= b; s++)
                assert_true(null_shared_set(s, 2, 2, n, b) >= counted_shared(n, b, s) - 1e-12);
}

static void sharing_several_samples_is_less_likely_than_sharing_one(void **state)
{
    (void)state;
    assert_near(null_shared_set(1, 2, 2, 1000, 8), 0.064);
    assert_near(null_shared_set(2, 2, 2, 1000, 8), 499500 * pow(0.008, 4));
    assert_true(null_shared_set(8, 2, 2, 720, 8) < 1e-9);
    /* one sample in all three would be better still, and counts */
    assert_near(null_shared_set(1, 2, 3, 1000, 8),
                1000 * (3 * pow(0.008, 2) * 0.992 + pow(0.008, 3)) + 1000 * pow(0.008, 3));
    assert_near(null_shared_set(2, 2, 2, 8, 8), 1);
    assert_near(null_choices(2, 4), 6);
}

static void the_same_batch_twice_has_the_odds_of_one_batch(void **state)
{
    (void)state;
    assert_near(null_same(2, 2, 500), 1.0 / 500);
    assert_near(null_same(2, 3, 500), 3.0 / 500);
    assert_near(null_same(3, 3, 1), 1);
}

static void large_shapes_multiply(void **state)
{
    (void)state;
    assert_near(null_large(3, 0.01), 1e-6);
    assert_near(null_large(2, 1.5), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(range_agrees_with_counting_all_outcomes),
        cmocka_unit_test(binomial_tail_agrees_with_a_table),
        cmocka_unit_test(sharing_one_sample_of_many_is_unlikely),
        cmocka_unit_test(sharing_several_samples_is_bounded_by_counting_all_pairs),
        cmocka_unit_test(sharing_several_samples_is_less_likely_than_sharing_one),
        cmocka_unit_test(the_same_batch_twice_has_the_odds_of_one_batch),
        cmocka_unit_test(large_shapes_multiply),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

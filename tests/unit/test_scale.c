/* Scales and ticks. */
#include "draw/scale.h"
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void ends_of_the_scale_are_the_ends_of_the_area(void **state)
{
    (void)state;
    struct scale s = {100, 300, 348, 78};
    assert_float_equal(scale_px(&s, 100), 348, 1e-9);
    assert_float_equal(scale_px(&s, 300), 78, 1e-9);
    assert_float_equal(scale_px(&s, 150), 280.5, 1e-9);
}

static void clamped_values_stay_inside_and_nan_stays_nan(void **state)
{
    (void)state;
    struct scale s = {0, 10, 0, 100};
    assert_float_equal(scale_px_clamped(&s, 1e300), 100, 1e-9);
    assert_float_equal(scale_px_clamped(&s, -INFINITY), 0, 1e-9);
    assert_true(isnan(scale_px_clamped(&s, NAN)));
}

static void ticks_of_a_zero_based_axis_are_four_to_seven(void **state)
{
    (void)state;
    for (double hi = 1e-6; hi < 1e15; hi *= 1.0173) {
        double top = hi;
        struct ticks t = ticks_round_up(0, &top, false);
        assert_in_range(t.n, TICKS_MIN, TICKS_MAX);
        assert_true(top >= hi && top <= hi * 1.5);
        assert_true(tick_at(&t, t.n - 1) <= top * (1 + 1e-9));
        double mantissa = t.step / pow(10, floor(log10(t.step) + 1e-9));
        assert_true(fabs(mantissa - 1) < 1e-6 || fabs(mantissa - 2) < 1e-6 || fabs(mantissa - 5) < 1e-6);
    }
}

static void ticks_of_an_axis_that_starts_anywhere_are_three_to_eight(void **state)
{
    (void)state;
    for (int i = 0; i < 5000; i++) {
        double lo = (i * 7919) % 10007, hi = lo + 4 + (i * 104729) % 3001;
        struct ticks t = ticks_choose(lo, hi, true);
        assert_in_range(t.n, TICKS_MIN - 1, TICKS_MAX + 1);
        assert_true(tick_at(&t, 0) >= lo - 1e-6 && tick_at(&t, t.n - 1) <= hi + 1e-6);
        assert_true(t.step >= 1 && t.decimals == 0);
    }
}

static void decimals_are_what_the_step_needs(void **state)
{
    (void)state;
    double hi = 1.2;
    struct ticks t = ticks_round_up(0, &hi, false);
    assert_float_equal(t.step, 0.2, 1e-12);
    assert_int_equal(t.decimals, 1);
    assert_true(tick_at(&t, 3) == 3 * 0.2);
    assert_true(tick_at(&t, 0) == 0 && !signbit(tick_at(&t, 0)));
}

static void steps_near_the_limit_of_doubles_still_have_ticks(void **state)
{
    (void)state;
    struct ticks t = ticks_choose(9007199254740000.0, 9007199254740992.0, true);
    assert_in_range(t.n, 0, TICKS_MAX + 1);
    t = ticks_choose(1e15, 1e15 + 10, true);
    assert_in_range(t.n, 0, TICKS_MAX + 1);
    double hi = 1e300;
    t = ticks_round_up(0, &hi, false);
    assert_in_range(t.n, TICKS_MIN, TICKS_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_of_the_scale_are_the_ends_of_the_area),
        cmocka_unit_test(clamped_values_stay_inside_and_nan_stays_nan),
        cmocka_unit_test(ticks_of_a_zero_based_axis_are_four_to_seven),
        cmocka_unit_test(ticks_of_an_axis_that_starts_anywhere_are_three_to_eight),
        cmocka_unit_test(decimals_are_what_the_step_needs),
        cmocka_unit_test(steps_near_the_limit_of_doubles_still_have_ticks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

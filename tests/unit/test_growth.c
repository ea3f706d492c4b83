#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyse/growth.h"

#include "analyse_run.h"

enum {
    MOST = 2000
};

/* Judges n values of level(i), in MiB, with 1 MiB of noise and 64 MiB the least that counts. */
static struct growth judge(double (*level)(size_t i), size_t n)
{
    static double x[MOST], y[MOST];
    struct growth g;
    for (size_t i = 0; i < n; i++) {
        x[i] = (double)i;
        y[i] = (level(i) + wobble(i)) * MIB;
    }
    growth_test(&g, x, y, NULL, n, 64 * MIB);
    return g;
}

static double line(size_t i)
{
    return 2 * (double)i;
}

static void a_line_climbs_from_the_start(void **state)
{
    (void)state;
    struct growth g = judge(line, 300);
    assert_int_equal(g.shape, GROWTH_LINE);
    assert_true(g.low <= 2 * MIB && 2 * MIB <= g.high && g.onset < 10);
}

static double late(size_t i)
{
    return i < 200 ? 0 : 2 * (double)(i - 200);
}

static void a_late_line_begins_where_it_begins(void **state)
{
    (void)state;
    struct growth g = judge(late, 400);
    assert_int_equal(g.shape, GROWTH_LINE);
    assert_true(fabs(g.onset - 200) < 12);
}

/* What batches of different size add up to: sums of 0 .. 4 MiB. */
static double walk(size_t i)
{
    double sum = 0;
    for (size_t k = 0; k < i; k++)
        sum += 2 + 2 * wobble(k / 40 + 7); /* 40 alike in a row, so that it bends */
    return sum;
}

static void what_adds_up_unevenly_is_one_climb(void **state)
{
    (void)state;
    struct growth g = judge(walk, 400);
    assert_true(growth_climbs(&g));
    assert_true(g.rise > 0.7 * walk(400) * MIB);
}

static double even_stairs(size_t i)
{
    return (double)(i / 100) * 100;
}

static double thinning_stairs(size_t i)
{
    return 100 * ((double)(i > 60) + (double)(i > 120) + (double)(i > 240) + (double)(i > 600));
}

static void stairs_that_thin_out_are_a_cache_that_fills(void **state)
{
    (void)state;
    struct growth even = judge(even_stairs, 700), thin = judge(thinning_stairs, 1300);
    assert_int_equal(even.shape, GROWTH_STAIRS);
    assert_false(growth_climbs(&thin));
}

/* Odd collections that give back half of what came since the last. */
static double half_back(size_t i)
{
    static const size_t at[] = {40, 75, 130, 160, 215, 260};
    double back = 0, before = 0;
    for (size_t k = 0; k < 6 && i >= at[k]; k++) {
        back += 0.5 * ((double)at[k] - before);
        before = (double)at[k];
    }
    return 2 * ((double)i - back);
}

static void falls_that_give_back_half_leave_a_climb(void **state)
{
    (void)state;
    struct growth g = judge(half_back, 300);
    assert_true(growth_climbs(&g));
}

static double all_back(size_t i)
{
    return (double)(i % 75) * 4;
}

static void falls_that_give_back_all_do_not(void **state)
{
    (void)state;
    struct growth g = judge(all_back, 700);
    assert_int_equal(g.shape, GROWTH_TEETH);
    assert_int_equal(g.teeth, 10);
}

static double flat(size_t i)
{
    (void)i;
    return 100;
}

static void thin_data_and_flat_data_are_no_climb(void **state)
{
    (void)state;
    struct growth few = judge(line, 7), none = judge(flat, 300);
    assert_int_equal(few.shape, GROWTH_UNTESTED);
    assert_int_equal(none.shape, GROWTH_FLAT);
    assert_true(none.least_slope > 0 && none.least_slope < MIB);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_climbs_from_the_start),
        cmocka_unit_test(a_late_line_begins_where_it_begins),
        cmocka_unit_test(what_adds_up_unevenly_is_one_climb),
        cmocka_unit_test(stairs_that_thin_out_are_a_cache_that_fills),
        cmocka_unit_test(falls_that_give_back_half_leave_a_climb),
        cmocka_unit_test(falls_that_give_back_all_do_not),
        cmocka_unit_test(thin_data_and_flat_data_are_no_climb),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* A giant request as a product, or nothing said. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyse/request_factors.h"

#include <math.h>
#include <string.h>

static void logits_and_stored_scores_are_recognised(void **state)
{
    struct arena a = {0};
    (void)state;
    /* 8 * 4096 * 32000 * 4 */
    assert_non_null(strstr(request_factors(&a, 4194304000.0, 8, 4096), "8 x 4096 x 32000 x 4 bytes"));
    /* 2 * 40 * 8192^2 * 2 = 10 GiB, which 20 heads of 4 bytes take too */
    assert_non_null(strstr(request_factors(&a, 10 * 0x1p30, 2, 8192), "heads (40 of 2 bytes or 20 of 4)"));
    assert_non_null(
        strstr(request_factors(&a, 2.0 * 25 * 8192 * 8192 * 2, 2, 8192), "2 x 25 x 8192 x 8192 x 2 bytes"));
    arena_release(&a);
}

static void what_matches_nothing_or_two_things_is_not_guessed(void **state)
{
    struct arena a = {0};
    (void)state;
    assert_null(request_factors(&a, 4194304000.0 * 1.01, 8, 4096));
    assert_null(request_factors(&a, 4194304000.0, 8, 4000));
    /* 3.91 GiB is good to 1 in 800 only */
    assert_null(request_factors(&a, round(3.91 * 0x1p30), 8, 4096));
    arena_release(&a);
}

static void thin_data_says_nothing(void **state)
{
    struct arena a = {0};
    (void)state;
    assert_null(request_factors(&a, NAN, 8, 4096));
    assert_null(request_factors(&a, 4194304000.0, NAN, 4096));
    assert_null(request_factors(&a, 1 << 20, 1, 16));
    arena_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logits_and_stored_scores_are_recognised),
        cmocka_unit_test(what_matches_nothing_or_two_things_is_not_guessed),
        cmocka_unit_test(thin_data_says_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

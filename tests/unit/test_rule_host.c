#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyse_run.h"

/* n steps of a flat device, with rss(i) resident on a host of 64 GiB; killed at the end or not. */
static struct series *host_run(size_t n, double (*rss)(size_t i), bool killed)
{
    struct series *s = run_new(24 * GIB);
    struct record r;
    record_set_u(&s->meta, F_HOST_CAPACITY, (uint64_t)(64 * GIB));
    for (size_t i = 0; i < n; i++) {
        record_clear(&r);
        record_set_u(&r, F_STEP, i);
        record_set_u(&r, F_ALLOCATED, (uint64_t)(4 * GIB + MIB * wobble(i)));
        record_set_u(&r, F_HOST_RSS, (uint64_t)(rss(i) + 50 * MIB * wobble(i + 9)));
        series_append(s, &r);
    }
    record_clear(&r);
    record_set_u(&r, F_STEP, n);
    if (killed)
        record_set_u(&r, F_SIGNAL, 9);
    series_event(s, killed ? EVENT_KILL : EVENT_END, &r, NULL, 0);
    return s;
}

static double grows(size_t i)
{
    return 8 * GIB + (double)i * 100 * MIB;
}

static double fills_caches(size_t i)
{
    return 20 * GIB + 10 * GIB * (1 - exp(-(double)i / 30));
}

static void a_host_that_grows_is_a_leak_killed_or_not(void **state)
{
    (void)state;
    for (int killed = 0; killed < 2; killed++) {
        struct series *s = host_run(400, grows, killed);
        struct analysis a;
        const struct run_report *r = run_judge(&a, s);
        assert_int_equal(r->verdict.cause, CAUSE_LEAK);
        assert_int_equal(r->verdict.subtype, SUB_HOST);
        assert_int_equal(r->verdict.status, killed ? STATUS_FAILED : STATUS_AT_RISK);
        assert_non_null(strstr(r->verdict.summary, "100.0 MiB a step"));
        run_done(&a, s);
    }
}

static void caches_that_fill_are_not(void **state)
{
    (void)state;
    struct series *s = host_run(400, fills_caches, false);
    struct analysis a;
    const struct run_report *r = run_judge(&a, s);
    assert_int_equal(r->verdict.cause, CAUSE_NONE);
    assert_int_equal(find_test(r, Q_GROWS, "host_rise")->says, SAYS_AGAINST);
    run_done(&a, s);
}

static void a_few_rows_tell_nothing_of_the_host(void **state)
{
    (void)state;
    struct series *s = host_run(6, grows, true);
    struct analysis a;
    const struct run_report *r = run_judge(&a, s);
    assert_int_not_equal(r->verdict.cause, CAUSE_LEAK);
    assert_int_equal(find_test(r, Q_GROWS, "host_rise")->says, SAYS_NOTHING);
    run_done(&a, s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_host_that_grows_is_a_leak_killed_or_not),
        cmocka_unit_test(caches_that_fill_are_not),
        cmocka_unit_test(a_few_rows_tell_nothing_of_the_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

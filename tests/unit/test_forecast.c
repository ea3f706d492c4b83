#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyse_run.h"

/* A floor that climbs from 4 GiB on a device of 24 GiB with 0.5 GiB outside, and batches on top of it. The
 * allocator caches 0.4 GiB beyond the peak, and gives it back before it fails. */
struct climb {
    double slope;
    size_t rows;
    double batch, spread; /* bytes that a step adds: batch + spread * wobble */
    bool allocated, peak, reserved, used;
};

static double need_at(const struct climb *k, size_t i)
{
    return 4 * GIB + k->slope * (double)i + k->batch + k->spread * wobble(i);
}

/* First step at which it does not fit: a hundredth of the device is of no use. */
static double fails_at(const struct climb *k)
{
    size_t i = 0;
    while (need_at(k, i) <= 24 * GIB - 0.5 * GIB - 0.24 * GIB)
        i++;
    return (double)i;
}

static struct series *climbing(const struct climb *k)
{
    struct series *s = run_new(24 * GIB);
    double held = 0;
    for (size_t i = 0; i < k->rows; i++) {
        held = fmax(held, ceil(need_at(k, i) / (20 * MIB)) * 20 * MIB + 0.4 * GIB);
        run_step(s, (struct step){.step = (double)i,
                                  .allocated =
                                      k->allocated ? 4 * GIB + k->slope * (double)i + MIB * wobble(2 * i) : 0,
                                  .peak = k->peak ? need_at(k, i) : 0,
                                  .reserved = k->reserved ? held : 0,
                                  .used = k->used ? held + 0.5 * GIB : 0});
    }
    return s;
}

static void expect_covers(struct climb k)
{
    struct series *s = climbing(&k);
    struct analysis a;
    const struct leak_figures *l = &run_judge(&a, s)->leak;
    double at = fails_at(&k);
    if (!(l->forecast_low <= at && at <= l->forecast_high))
        fail_msg("fails at %.0f, forecast %.0f to %.0f", at, l->forecast_low, l->forecast_high);
    assert_true(fabs(l->oom_step_forecast / at - 1) < 0.1);
    assert_true(l->forecast_high - l->forecast_low < 0.4 * at);
    run_done(&a, s);
}

static void each_column_has_a_ceiling_of_its_own(void **state)
{
    (void)state;
    struct climb k = {.slope = 20 * MIB, .rows = 500, .batch = 3 * GIB, .spread = 0.02 * GIB};
    for (int i = 0; i < 5; i++) {
        k.allocated = i == 0 || i == 4;
        k.peak = i == 0 || i == 1 || i == 4;
        k.reserved = i == 2 || i == 4;
        k.used = i == 3 || i == 4;
        expect_covers(k);
    }
}

static void large_batches_bring_the_failure_forward(void **state)
{
    (void)state;
    struct climb k = {
        .slope = 12 * MIB, .rows = 600, .batch = 6 * GIB, .spread = 4 * GIB, .allocated = true, .peak = true};
    expect_covers(k);
    /* the mean batch would fit for 4 GiB longer */
    struct series *s = climbing(&k);
    struct analysis a;
    double mean = (24 - 0.5 - 0.24 - 10) * GIB / (12 * MIB);
    assert_true(run_judge(&a, s)->leak.oom_step_forecast < mean - 200);
    run_done(&a, s);
}

static void a_back_test_covers_the_step_and_narrows(void **state)
{
    (void)state;
    struct climb k = {
        .slope = 20 * MIB, .batch = 3 * GIB, .spread = 0.5 * GIB, .allocated = true, .peak = true};
    double at = fails_at(&k);
    k.rows = (size_t)at;
    struct series *s = climbing(&k);
    struct analysis a;
    run_oom(s, (struct oom){.step = at});
    const struct leak_figures *l = &run_judge(&a, s)->leak;
    assert_int_equal(l->n_backtest, 3);
    for (size_t i = 0; i < 3; i++)
        assert_true(l->backtest[i].low <= at && at <= l->backtest[i].high);
    assert_true(l->backtest[2].high - l->backtest[2].low <= l->backtest[0].high - l->backtest[0].low);
    run_done(&a, s);
}

/* Batches of one outlier in a hundred make an early failure likely; the log shows that there was none. */
static void no_forecast_lies_before_the_last_row(void **state)
{
    (void)state;
    struct climb k = {.slope = 20 * MIB, .rows = 760, .batch = 3 * GIB, .allocated = true, .peak = true};
    k.spread = 2 * GIB;
    struct series *s = climbing(&k);
    struct analysis a;
    run_oom(s, (struct oom){.step = 760});
    const struct leak_figures *l = &run_judge(&a, s)->leak;
    assert_true(l->forecast_low >= 759);
    assert_true(l->oom_step_forecast >= l->forecast_low && l->forecast_high >= l->oom_step_forecast);
    for (size_t i = 0; i < l->n_backtest; i++)
        assert_true(!(l->backtest[i].low < floor(l->backtest[i].at_share * 700)));
    run_done(&a, s);
}

static void a_log_by_the_clock_is_told_the_time_left(void **state)
{
    (void)state;
    struct series *s = run_new(24 * GIB);
    struct analysis a;
    for (size_t i = 0; i < 300; i++) { /* one row in 10 s, 1 MiB/s: 18 to 24 GiB takes about 100 minutes */
        struct record r;
        record_clear(&r);
        record_set_d(&r, F_TIME, 10 * (double)i);
        record_set_u(&r, F_DEVICE_USED, (uint64_t)(15 * GIB + 10 * (double)i * MIB));
        series_append(s, &r);
    }
    const struct run_report *r = run_judge(&a, s);
    assert_int_equal(r->verdict.cause, CAUSE_LEAK);
    assert_true(isnan(r->leak.oom_step_forecast));
    assert_non_null(strstr(r->verdict.summary, "minutes after the last row ("));
    assert_non_null(strstr(r->verdict.summary, "10"));
    run_done(&a, s);
}

/* What the failing request says must not tell the forecast where the failure was. */
static void the_failure_does_not_leak_into_the_forecast(void **state)
{
    (void)state;
    struct climb k = {.slope = 20 * MIB,
                      .rows = 700,
                      .batch = 3 * GIB,
                      .spread = 0.5 * GIB,
                      .allocated = true,
                      .peak = true};
    struct leak_figures got[2];
    for (int i = 0; i < 2; i++) {
        struct series *s = climbing(&k);
        struct analysis a;
        run_oom(s, (struct oom){.step = 700,
                                .requested = i ? 9 * GIB : 20 * MIB,
                                .free = i ? GIB : MIB,
                                .total = 24 * GIB,
                                .allocated = i ? 18 * GIB : 17 * GIB,
                                .reserved = i ? 18.5 * GIB : 23 * GIB});
        got[i] = run_judge(&a, s)->leak;
        run_done(&a, s);
    }
    assert_true(got[0].oom_step_forecast == got[1].oom_step_forecast);
    for (size_t i = 0; i < 3; i++)
        assert_true(got[0].backtest[i].low == got[1].backtest[i].low &&
                    got[0].backtest[i].high == got[1].backtest[i].high);
}

static void a_flat_floor_and_thin_data_have_no_forecast(void **state)
{
    (void)state;
    struct climb flat = {.rows = 300, .batch = 3 * GIB, .allocated = true, .peak = true};
    struct climb thin = {.slope = 20 * MIB, .rows = 6, .batch = 3 * GIB, .allocated = true, .peak = true};
    struct climb alone = {.slope = 20 * MIB, .rows = 300, .batch = 3 * GIB, .allocated = true};
    struct climb *each[] = {&flat, &thin, &alone};
    for (size_t i = 0; i < 3; i++) {
        struct series *s = climbing(each[i]);
        struct analysis a;
        const struct leak_figures *l = &run_judge(&a, s)->leak;
        assert_false(l->oom_step_forecast > 0);
        assert_false(l->forecast_high > 0);
        run_done(&a, s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_column_has_a_ceiling_of_its_own),
        cmocka_unit_test(large_batches_bring_the_failure_forward),
        cmocka_unit_test(a_back_test_covers_the_step_and_narrows),
        cmocka_unit_test(no_forecast_lies_before_the_last_row),
        cmocka_unit_test(a_log_by_the_clock_is_told_the_time_left),
        cmocka_unit_test(the_failure_does_not_leak_into_the_forecast),
        cmocka_unit_test(a_flat_floor_and_thin_data_have_no_forecast),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyse_run.h"

struct floor {
    double base, slope, noise;
    size_t n;
    double (*shape)(size_t i); /* further bytes, or NULL */
};

static struct series *floor_run(struct floor f)
{
    struct series *s = run_new(24 * GIB);
    for (size_t i = 0; i < f.n; i++) {
        double floor = f.base + f.slope * (double)i + f.noise * wobble(i) + (f.shape ? f.shape(i) : 0);
        run_step(s, (struct step){.step = (double)i,
                                  .allocated = floor,
                                  .peak = floor + 2 * GIB,
                                  .reserved = floor + 3 * GIB,
                                  .batch = 8,
                                  .len = 512});
    }
    return s;
}

static void expect(struct floor f, enum cause cause, enum subtype sub)
{
    struct series *s = floor_run(f);
    struct analysis a;
    run_end(s);
    const struct run_report *r = run_judge(&a, s);
    if (r->verdict.cause != cause)
        fail_msg("cause is %s: %s", cause_name(r->verdict.cause), r->verdict.summary);
    assert_int_equal(r->verdict.subtype, sub);
    assert_int_equal(r->triage[Q_GROWS].answer, cause == CAUSE_LEAK ? ANSWER_YES : ANSWER_NO);
    run_done(&a, s);
}

static void a_straight_climb_is_a_leak_by_step(void **state)
{
    (void)state;
    expect((struct floor){.base = 4 * GIB, .slope = 3 * MIB, .noise = MIB, .n = 300}, CAUSE_LEAK, SUB_STEP);
}

static void the_slope_lies_in_its_interval(void **state)
{
    (void)state;
    struct series *s =
        floor_run((struct floor){.base = 4 * GIB, .slope = 3 * MIB, .noise = 8 * MIB, .n = 400});
    struct analysis a;
    const struct leak_figures *l = &run_judge(&a, s)->leak;
    assert_true(fabs(l->slope_bytes_per_step / (3 * MIB) - 1) < 0.02);
    assert_true(l->slope_low <= 3 * MIB && 3 * MIB <= l->slope_high);
    /* 22 GiB less what is outside and a step's 2 GiB, from 4 GiB, at 3 MiB a step */
    assert_true(l->oom_step_forecast > 5500 && l->oom_step_forecast < 6300);
    assert_true(l->forecast_low <= l->oom_step_forecast && l->oom_step_forecast <= l->forecast_high);
    run_done(&a, s);
}

static void a_flat_floor_is_none_and_says_what_it_could_see(void **state)
{
    (void)state;
    struct series *s = floor_run((struct floor){.base = 4 * GIB, .noise = 10 * MIB, .n = 300});
    struct analysis a;
    const struct run_report *r = run_judge(&a, s);
    assert_int_equal(r->verdict.cause, CAUSE_NONE);
    assert_true(r->leak.minimum_detectable_bytes_per_step > 0);
    assert_non_null(strstr(r->verdict.summary, "no leak larger than"));
    run_done(&a, s);
}

static double warm_up(size_t i)
{
    return (i < 30 ? (double)i / 30 : 1) * 2 * GIB;
}

static double cache(size_t i)
{
    return 2 * GIB * (1 - exp(-(double)i / 60));
}

static double one_shift(size_t i)
{
    return i < 170 ? 0 : GIB;
}

static double tooth(size_t i)
{
    return (double)(i % 60) * 10 * MIB;
}

static double rising_tooth(size_t i)
{
    return (double)(i % 60) * 10 * MIB + (double)(i / 60) * 300 * MIB;
}

static void what_ends_or_falls_back_is_no_leak(void **state)
{
    (void)state;
    expect((struct floor){.base = 4 * GIB, .noise = MIB, .n = 400, .shape = warm_up}, CAUSE_NONE, SUB_NONE);
    expect((struct floor){.base = 4 * GIB, .noise = MIB, .n = 400, .shape = cache}, CAUSE_NONE, SUB_NONE);
    expect((struct floor){.base = 4 * GIB, .noise = MIB, .n = 400, .shape = one_shift}, CAUSE_NONE, SUB_NONE);
    expect((struct floor){.base = 4 * GIB, .noise = MIB, .n = 400, .shape = tooth}, CAUSE_NONE, SUB_NONE);
}

static void a_saw_tooth_whose_low_points_rise_is_a_leak(void **state)
{
    (void)state;
    expect((struct floor){.base = 4 * GIB, .noise = MIB, .n = 400, .shape = rising_tooth}, CAUSE_LEAK,
           SUB_STEP);
}

static double every_25(size_t i)
{
    return (double)(i / 25) * 80 * MIB;
}

static double uneven_teeth(size_t i)
{
    return (double)(i % 60) * (10 + 2 * (double)(i / 60 % 3)) * MIB + (double)(i / 60) * 300 * MIB;
}

static void the_slope_of_a_saw_tooth_lies_in_its_interval(void **state)
{
    (void)state;
    struct series *s =
        floor_run((struct floor){.base = 4 * GIB, .noise = MIB, .n = 400, .shape = uneven_teeth});
    struct analysis a;
    const struct leak_figures *l = &run_judge(&a, s)->leak;
    assert_true(l->slope_low <= l->slope_bytes_per_step && l->slope_bytes_per_step <= l->slope_high);
    run_done(&a, s);
}

static void while_memory_grows_no_batch_is_called_safe(void **state)
{
    (void)state;
    struct series *s = run_new(24 * GIB);
    struct analysis a;
    for (size_t i = 0; i < 300; i++) {
        double len = 500 + floor(150 * wobble(i)), floor = 4 * GIB + (double)i * 40 * MIB;
        run_step(s, (struct step){.step = (double)i,
                                  .allocated = floor,
                                  .peak = floor + len * 8 * MIB,
                                  .batch = 8,
                                  .len = len});
    }
    const struct run_report *r = run_judge(&a, s);
    assert_int_equal(r->verdict.cause, CAUSE_LEAK);
    assert_true(r->peak.has_law);
    assert_true(isnan(r->peak.safe_tokens) && isnan(r->peak.safe_max_len));
    assert_true(isnan(r->peak.p_oom_next_epoch));
    run_done(&a, s);
}

static void a_rise_every_25_steps_is_periodic(void **state)
{
    (void)state;
    expect((struct floor){.base = 4 * GIB, .noise = MIB / 2, .n = 500, .shape = every_25}, CAUSE_LEAK,
           SUB_PERIODIC);
}

static void a_rise_across_evaluations_is_carried_by_them(void **state)
{
    (void)state;
    struct series *s = run_new(24 * GIB);
    struct analysis a;
    double floor = 4 * GIB;
    for (size_t i = 0; i < 400; i++) {
        if (i % 50 == 49) {
            for (size_t k = 0; k < 5; k++)
                run_step(s, (struct step){.step = (double)i,
                                          .allocated = floor,
                                          .peak = floor + GIB,
                                          .batch = 8,
                                          .len = 512,
                                          .phase = "eval"});
            floor += 200 * MIB;
        }
        run_step(s, (struct step){.step = (double)i,
                                  .allocated = floor + MIB * wobble(i),
                                  .peak = floor + 2 * GIB,
                                  .batch = 8,
                                  .len = 512,
                                  .phase = "train"});
    }
    const struct run_report *r = run_judge(&a, s);
    assert_int_equal(r->verdict.cause, CAUSE_LEAK);
    assert_int_equal(r->verdict.subtype, SUB_EVAL);
    run_done(&a, s);
}

static void growth_that_the_lengths_explain_is_no_leak(void **state)
{
    (void)state;
    struct series *s = run_new(24 * GIB);
    struct analysis a;
    for (size_t i = 0; i < 300; i++) { /* only peaks, and a curriculum that has variation within its stages */
        double len = 200 + 100 * (double)(i / 60) + floor(40 * wobble(i));
        run_step(s,
                 (struct step){.step = (double)i, .peak = 4 * GIB + len * 20 * MIB, .batch = 8, .len = len});
    }
    const struct run_report *r = run_judge(&a, s);
    assert_int_equal(r->triage[Q_GROWS].answer, ANSWER_NO);
    run_done(&a, s);
}

static void a_leak_shows_in_peaks_alone(void **state)
{
    (void)state;
    struct series *s = run_new(24 * GIB);
    struct analysis a;
    for (size_t i = 0; i < 300; i++) { /* batch noise of 3 GiB over a climb of 0.6 GiB */
        double len = 500 + floor(150 * wobble(i));
        run_step(s, (struct step){.step = (double)i,
                                  .peak = 4 * GIB + len * 10 * MIB + (double)i * 2 * MIB,
                                  .batch = 8,
                                  .len = len});
    }
    const struct run_report *r = run_judge(&a, s);
    assert_int_equal(r->verdict.cause, CAUSE_LEAK);
    assert_true(fabs(r->leak.slope_bytes_per_step / (2 * MIB) - 1) < 0.05);
    run_done(&a, s);
}

static void records_of_a_counter_never_reset_are_no_leak(void **state)
{
    (void)state;
    struct series *s = run_new(24 * GIB);
    struct analysis a;
    double high = 0;
    for (size_t i = 0; i < 2000; i++) {
        high = fmax(high, 8 * GIB + 4 * GIB * wobble(i));
        run_step(s, (struct step){.step = (double)i, .peak = high});
    }
    const struct run_report *r = run_judge(&a, s);
    assert_int_equal(r->triage[Q_GROWS].answer, ANSWER_NO);
    assert_non_null(find_test(r, Q_GROWS, "records"));
    run_done(&a, s);
}

static void reserved_that_creeps_over_a_flat_floor_is_no_leak(void **state)
{
    (void)state;
    struct series *s = run_new(24 * GIB);
    struct analysis a;
    for (size_t i = 0; i < 300; i++)
        run_step(s, (struct step){.step = (double)i,
                                  .allocated = 4 * GIB + MIB * wobble(i),
                                  .peak = 8 * GIB,
                                  .reserved = 9 * GIB + (double)i * 10 * MIB,
                                  .batch = 8,
                                  .len = 512});
    assert_int_equal(run_judge(&a, s)->verdict.cause, CAUSE_NONE);
    run_done(&a, s);
}

static void seven_rows_are_too_few_to_test(void **state)
{
    (void)state;
    struct series *s = floor_run((struct floor){.base = 4 * GIB, .slope = 100 * MIB, .n = 7});
    struct analysis a;
    const struct run_report *r = run_judge(&a, s);
    assert_int_equal(r->triage[Q_GROWS].answer, ANSWER_NOT_TESTABLE);
    assert_int_not_equal(r->verdict.cause, CAUSE_LEAK);
    run_done(&a, s);
}

static void a_killed_process_that_grew_is_a_host_leak(void **state)
{
    (void)state;
    struct series *s = run_new(24 * GIB);
    struct analysis a;
    record_set_u(&s->meta, F_HOST_CAPACITY, (uint64_t)(64 * GIB));
    for (size_t i = 0; i < 200; i++) {
        struct record r;
        record_clear(&r);
        record_set_u(&r, F_STEP, i);
        record_set_u(&r, F_ALLOCATED, (uint64_t)(4 * GIB));
        record_set_u(&r, F_HOST_RSS, (uint64_t)(8 * GIB + (double)i * 280 * MIB));
        series_append(s, &r);
    }
    struct record kill;
    record_clear(&kill);
    record_set_u(&kill, F_SIGNAL, 9);
    record_set_u(&kill, F_STEP, 200);
    series_event(s, EVENT_KILL, &kill, NULL, 0);
    const struct run_report *r = run_judge(&a, s);
    assert_int_equal(r->verdict.cause, CAUSE_LEAK);
    assert_int_equal(r->verdict.subtype, SUB_HOST);
    assert_int_equal(r->verdict.status, STATUS_FAILED);
    run_done(&a, s);
}

static void a_leak_that_meets_the_ceiling_says_what_the_step_would_have_needed(void **state)
{
    (void)state;
    struct series *s = floor_run((struct floor){.base = 4 * GIB, .slope = 40 * MIB, .noise = MIB, .n = 430});
    struct analysis a;
    run_oom(s, (struct oom){.step = 430,
                            .requested = 512 * MIB,
                            .free = 100 * MIB,
                            .total = 24 * GIB,
                            .allocated = 22.9 * GIB,
                            .reserved = 23.1 * GIB,
                            .phase = "train"});
    const struct run_report *r = run_judge(&a, s);
    assert_int_equal(r->verdict.cause, CAUSE_LEAK);
    assert_int_equal(r->verdict.certainty, CERTAINTY_LIKELY);
    assert_non_null(r->verdict.counterfactual);
    assert_non_null(strstr(r->verdict.counterfactual, "of 24.0 GiB"));
    assert_true(r->leak.n_backtest == 3);
    run_done(&a, s);
}

/* Only what the device holds is logged; batches of random length move it by `swing`, and it climbs. */
static struct series *used_run(double climb, double swing, enum field field, bool high_water)
{
    struct series *s = run_new(80 * GIB);
    double high = 0;
    for (size_t i = 0; i < 300; i++) {
        double len = 640 + 128 * floor(3 * wobble(i));
        double v = 20 * GIB + len * swing + climb * (double)i;
        high = fmax(high, v);
        v = high_water ? high : v;
        run_step(s, (struct step){.step = (double)i,
                                  .reserved = field == F_RESERVED ? v : 0,
                                  .used = field == F_DEVICE_USED ? v : 0,
                                  .batch = 8,
                                  .len = len});
    }
    return s;
}

static void expect_used(double climb, double swing, enum field field, bool high_water, bool leaks)
{
    struct series *s = used_run(climb, swing, field, high_water);
    struct analysis a;
    run_end(s);
    const struct run_report *r = run_judge(&a, s);
    if (r->verdict.cause != (leaks ? CAUSE_LEAK : CAUSE_NONE))
        fail_msg("%s: %s", cause_name(r->verdict.cause), r->verdict.summary);
    assert_true(leaks || !find_test(r, Q_GROWS, "rise") || find_test(r, Q_GROWS, "rise")->says != SAYS_FOR);
    assert_true(!leaks || !find_test(r, Q_GROWS, "records"));
    run_done(&a, s);
}

static void a_column_that_falls_from_step_to_step_is_no_high_water_mark(void **state)
{
    (void)state;
    expect_used(100 * MIB, 10 * MIB, F_DEVICE_USED, false, true);
    expect_used(100 * MIB, 10 * MIB, F_RESERVED, false, true);
    expect_used(30 * MIB, 10 * MIB, F_DEVICE_USED, false, true);
    expect_used(0, 10 * MIB, F_DEVICE_USED, false, false);
}

static void a_high_water_mark_that_rises_at_nearly_every_step_is_a_leak(void **state)
{
    (void)state;
    expect_used(100 * MIB, MIB / 64, F_RESERVED, true, true);
    expect_used(100 * MIB, MIB / 64, F_DEVICE_USED, true, true);
    expect_used(0, 10 * MIB, F_RESERVED, true, false);
}

static void a_leak_in_the_devices_use_that_ends_in_a_failure_is_a_leak(void **state)
{
    (void)state;
    struct series *s = used_run(150 * MIB, 10 * MIB, F_DEVICE_USED, false);
    struct analysis a;
    run_oom(s, (struct oom){.step = 300, .requested = 2 * GIB, .free = GIB / 2, .total = 80 * GIB});
    const struct run_report *r = run_judge(&a, s);
    if (r->verdict.cause != CAUSE_LEAK)
        fail_msg("%s: %s", cause_name(r->verdict.cause), r->verdict.summary);
    run_done(&a, s);
}

/* A rise that is not taken for growth is not shown as growth. */
static void a_rise_that_is_no_growth_gets_no_slope(void **state)
{
    (void)state;
    struct series *s = run_new(24 * GIB);
    struct analysis a;
    double high = 0;
    for (size_t i = 0; i < 400; i++) {
        high = fmax(high, 8 * GIB + 4 * GIB * pow(fabs(wobble(i)), 4) + (double)(i / 150) * GIB);
        run_step(s, (struct step){.step = (double)i, .peak = high});
    }
    const struct run_report *r = run_judge(&a, s);
    if (r->triage[Q_GROWS].answer == ANSWER_NO)
        for (size_t i = 0; i < r->triage[Q_GROWS].n_tests; i++)
            assert_int_not_equal(r->triage[Q_GROWS].tests[i].says, SAYS_FOR);
    run_done(&a, s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_straight_climb_is_a_leak_by_step),
        cmocka_unit_test(the_slope_lies_in_its_interval),
        cmocka_unit_test(a_flat_floor_is_none_and_says_what_it_could_see),
        cmocka_unit_test(what_ends_or_falls_back_is_no_leak),
        cmocka_unit_test(a_saw_tooth_whose_low_points_rise_is_a_leak),
        cmocka_unit_test(the_slope_of_a_saw_tooth_lies_in_its_interval),
        cmocka_unit_test(while_memory_grows_no_batch_is_called_safe),
        cmocka_unit_test(a_rise_every_25_steps_is_periodic),
        cmocka_unit_test(a_rise_across_evaluations_is_carried_by_them),
        cmocka_unit_test(growth_that_the_lengths_explain_is_no_leak),
        cmocka_unit_test(a_leak_shows_in_peaks_alone),
        cmocka_unit_test(records_of_a_counter_never_reset_are_no_leak),
        cmocka_unit_test(reserved_that_creeps_over_a_flat_floor_is_no_leak),
        cmocka_unit_test(seven_rows_are_too_few_to_test),
        cmocka_unit_test(a_killed_process_that_grew_is_a_host_leak),
        cmocka_unit_test(a_column_that_falls_from_step_to_step_is_no_high_water_mark),
        cmocka_unit_test(a_high_water_mark_that_rises_at_nearly_every_step_is_a_leak),
        cmocka_unit_test(a_leak_in_the_devices_use_that_ends_in_a_failure_is_a_leak),
        cmocka_unit_test(a_rise_that_is_no_growth_gets_no_slope),
        cmocka_unit_test(a_leak_that_meets_the_ceiling_says_what_the_step_would_have_needed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

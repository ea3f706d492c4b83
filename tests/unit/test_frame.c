#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyse/frame.h"
#include "analyse/frame_rows.h"
#include "analyse_run.h"

static void a_counter_that_never_falls_was_never_reset(void **state)
{
    (void)state;
    struct series *s = run_new(24 * GIB);
    struct frame f;
    for (size_t i = 0; i < 60; i++)
        run_step(s, (struct step){
                        .step = (double)i, .peak = (8 + (double)(i / 20)) * GIB, .batch = 8, .len = 512});
    series_seal(s);
    frame_init(&f, s, NAN);
    assert_int_equal(f.reset, PEAK_RESET_NEVER);
    assert_false(f.reset_declared);
    frame_release(&f);
    series_free(s);
}

static void sorted_lengths_only_look_like_it(void **state)
{
    (void)state;
    struct series *s = run_new(24 * GIB);
    struct frame f;
    for (size_t i = 0; i < 60; i++)
        run_step(s, (struct step){.step = (double)i,
                                  .peak = 8 * GIB + (double)i * 50 * MIB,
                                  .batch = 8,
                                  .len = 100 + (double)i});
    series_seal(s);
    frame_init(&f, s, NAN);
    assert_int_not_equal(f.reset, PEAK_RESET_NEVER);
    frame_release(&f);
    series_free(s);
}

static void the_error_messages_total_outranks_the_header(void **state)
{
    (void)state;
    struct series *s = run_new(24 * GIB);
    struct frame f;
    run_step(s, (struct step){.step = 0, .allocated = GIB});
    run_oom(s, (struct oom){.step = 1,
                            .requested = GIB,
                            .free = GIB,
                            .total = 23.6 * GIB,
                            .allocated = 20 * GIB,
                            .reserved = 22 * GIB});
    series_seal(s);
    frame_init(&f, s, NAN);
    assert_true(fabs(f.capacity / (23.6 * GIB) - 1) < 1e-9);
    assert_true(fabs(f.at.outside / (0.6 * GIB) - 1) < 1e-6);
    assert_true(fabs(f.at.gap / (2 * GIB) - 1) < 1e-6);
    assert_true(fabs(f.at.need / (21 * GIB) - 1) < 1e-6);
    assert_true(f.at.missing == 0);
    assert_true(fabs(f.room / (23 * GIB) - 1) < 1e-6);
    frame_release(&f);
    frame_init(&f, s, 40 * GIB); /* and --capacity is for logs that do not say it */
    assert_true(fabs(f.capacity / (23.6 * GIB) - 1) < 1e-9);
    frame_release(&f);
    series_free(s);
}

static void the_given_capacity_serves_where_the_log_has_none(void **state)
{
    (void)state;
    struct series *s = run_new(0);
    struct frame f;
    run_step(s, (struct step){.step = 0, .allocated = GIB});
    series_seal(s);
    frame_init(&f, s, 40 * GIB);
    assert_true(f.capacity == 40 * GIB);
    frame_release(&f);
    series_free(s);
}

static void a_last_row_without_memory_is_the_failing_batch(void **state)
{
    (void)state;
    struct series *s = run_new(24 * GIB);
    struct frame f;
    for (size_t i = 0; i < 20; i++)
        run_step(s, (struct step){.step = (double)i, .peak = GIB, .batch = 4, .len = 100});
    run_step(s, (struct step){.step = 20, .batch = 4, .len = 900});
    struct record r;
    record_clear(&r);
    record_set_u(&r, F_REQUESTED, 1 << 30);
    series_event(s, EVENT_OOM, &r, NULL, 0);
    series_seal(s);
    frame_init(&f, s, NAN);
    assert_true(f.fail_step == 20);
    assert_true(frame_fail_shape(&f, F_MAX_LEN) == 900);
    frame_release(&f);
    series_free(s);
}

static void a_last_row_with_memory_is_not_the_failing_batch(void **state)
{
    (void)state;
    struct series *s = run_new(24 * GIB);
    struct frame f;
    for (size_t i = 0; i < 20; i++)
        run_step(s, (struct step){.step = (double)i, .peak = GIB, .batch = 4, .len = 100 + (double)i});
    struct record r;
    record_clear(&r);
    series_event(s, EVENT_OOM, &r, NULL, 0);
    series_seal(s);
    frame_init(&f, s, NAN);
    assert_true(isnan(f.fail_step));
    assert_true(isnan(frame_fail_shape(&f, F_MAX_LEN)));
    frame_release(&f);
    series_free(s);
}

static void an_oom_that_rows_follow_was_survived(void **state)
{
    (void)state;
    struct series *s = run_new(24 * GIB);
    struct frame f;
    for (size_t i = 0; i < 10; i++)
        run_step(s, (struct step){.step = (double)i, .allocated = GIB});
    run_oom(s, (struct oom){.step = 10});
    for (size_t i = 11; i < 20; i++)
        run_step(s, (struct step){.step = (double)i, .allocated = GIB});
    run_oom(s, (struct oom){.step = 25});
    series_seal(s);
    frame_init(&f, s, NAN);
    assert_int_equal(f.survived, 1);
    assert_int_equal(f.outcome, OUTCOME_OOM);
    assert_true(f.fail_step == 25);
    assert_true(f.blind == 6);
    frame_release(&f);
    series_free(s);
}

static void steps_stay_ascending_across_a_restart(void **state)
{
    (void)state;
    struct series *s = run_new(24 * GIB);
    struct frame f;
    for (size_t i = 0; i < 50; i++)
        run_step(s, (struct step){.step = (double)i, .allocated = GIB});
    series_restart(s);
    for (size_t i = 40; i < 90; i++)
        run_step(s, (struct step){.step = (double)i, .allocated = GIB});
    series_seal(s);
    frame_init(&f, s, NAN);
    for (size_t i = 1; i < f.train.n; i++)
        assert_true(f.train.x[i] > f.train.x[i - 1]);
    assert_int_equal(f.train.restart[50], 1);
    assert_true(frame_step(&f, f.train.x[99]) == 89);
    assert_int_equal(f.rows_since_start, 50);
    frame_release(&f);
    series_free(s);
}

static void without_steps_time_is_the_axis(void **state)
{
    (void)state;
    struct series *s = run_new(24 * GIB);
    struct frame f;
    for (size_t i = 0; i < 20; i++) {
        struct record r;
        record_clear(&r);
        record_set_d(&r, F_TIME, 5.0 * (double)i);
        record_set_u(&r, F_DEVICE_USED, (uint64_t)(GIB + (double)i));
        series_append(s, &r);
    }
    series_seal(s);
    frame_init(&f, s, NAN);
    assert_int_equal(f.axis, AXIS_TIME);
    assert_true(f.train.x[19] == 95);
    assert_true(isnan(frame_step(&f, 95)));
    assert_int_equal(f.floor_field, F_DEVICE_USED);
    frame_release(&f);
    series_free(s);
}

static void phases_are_known_by_their_usual_words(void **state)
{
    (void)state;
    assert_int_equal(frame_phase_of(STR_LIT("Validation")), FAIL_EVAL);
    assert_int_equal(frame_phase_of(STR_LIT("checkpoint")), FAIL_SAVE);
    assert_int_equal(frame_phase_of(STR_LIT("backward")), FAIL_TRAIN);
    assert_int_equal(frame_phase_of((struct str){NULL, 0}), FAIL_PHASE_UNKNOWN);
    assert_int_equal(frame_phase_of(STR_LIT("sampling")), FAIL_OTHER);
}

static void a_very_long_series_keeps_its_extremes_and_neighbours(void **state)
{
    (void)state;
    struct series *s = run_new(24 * GIB);
    struct frame f;
    for (size_t i = 0; i < 400000; i++)
        run_step(s,
                 (struct step){.step = (double)i, .allocated = GIB, .peak = i == 123456 ? 9 * GIB : 2 * GIB});
    series_seal(s);
    frame_init(&f, s, NAN);
    assert_true(f.train.n < 2 * FRAME_ROWS);
    assert_int_equal(f.train_rows, 400000);
    assert_true(f.peak_max == 9 * GIB);
    assert_true(f.stride == 1);
    assert_true(f.train.x[0] == 0 && f.train.x[f.train.n - 1] == 399999);
    frame_release(&f);
    series_free(s);
}

static void an_empty_series_does_no_harm(void **state)
{
    (void)state;
    struct series *s = run_new(0);
    struct analysis a;
    const struct run_report *r = run_judge(&a, s);
    assert_int_equal(r->verdict.cause, CAUSE_UNKNOWN);
    assert_int_equal(r->verdict.status, STATUS_UNKNOWN);
    assert_non_null(r->verdict.summary);
    assert_non_null(r->verdict.fix);
    run_done(&a, s);
}

static void runs_that_agree_raise_the_confidence(void **state)
{
    (void)state;
    struct series *items[3];
    for (size_t k = 0; k < 3; k++) {
        items[k] = run_new(24 * GIB);
        char name[2] = {(char)('a' + k), 0};
        record_set_s(&items[k]->meta, F_RUN, arena_str(&items[k]->arena, str_of(name)));
        for (size_t i = 0; i < 60 + 90 * k; i++)
            run_step(items[k], (struct step){.step = (double)i,
                                             .allocated = 5 * GIB,
                                             .peak = 12 * GIB + 3 * GIB * wobble(i + 1000 * k),
                                             .batch = 4,
                                             .len = 512});
        run_oom(items[k], (struct oom){.step = 60 + 90 * (double)k,
                                       .requested = GIB,
                                       .free = 100 * MIB,
                                       .total = 24 * GIB,
                                       .allocated = 22.6 * GIB,
                                       .reserved = 23 * GIB,
                                       .batch = 4,
                                       .len = 512});
        series_seal(items[k]);
    }
    struct series_set one = {.items = items, .n = 1}, all = {.items = items, .n = 3};
    struct analyse_settings settings = {.capacity_bytes = NAN};
    struct analysis a, b;
    analyse(&a, &one, &settings);
    analyse(&b, &all, &settings);
    assert_int_equal(a.verdict.cause, b.verdict.cause);
    if (!(b.verdict.confidence > a.verdict.confidence))
        fail_msg("%g is not above %g", b.verdict.confidence, a.verdict.confidence);
    assert_true(a.verdict.certainty != CERTAINTY_CONFIRMED);
    assert_int_equal(b.lead, 0);
    analysis_release(&a);
    analysis_release(&b);
    for (size_t k = 0; k < 3; k++)
        series_free(items[k]);
}

/* The same log under two names is one witness. */
static void copies_of_a_log_count_once(void **state)
{
    (void)state;
    struct series *items[3];
    for (size_t k = 0; k < 3; k++) {
        items[k] = run_new(24 * GIB);
        items[k]->source = k == 0 ? "a.jsonl" : k == 1 ? "b.jsonl" : "c.jsonl";
        for (size_t i = 0; i < 100; i++)
            run_step(items[k], (struct step){.step = (double)i,
                                             .allocated = 4 * GIB + (double)i * 100 * MIB,
                                             .peak = 6 * GIB + (double)i * 100 * MIB + (k == 2 && i == 50),
                                             .batch = 4,
                                             .len = 512});
        series_seal(items[k]);
    }
    struct series_set set = {.items = items, .n = 3};
    struct analyse_settings settings = {.capacity_bytes = NAN};
    struct analysis a;
    analyse(&a, &set, &settings);
    assert_int_equal(a.n_runs, 2);
    assert_ptr_equal(a.runs[1].series, items[2]);
    bool said = false;
    for (size_t i = 0; i < a.n_quality; i++)
        said = said || (strcmp(a.quality[i].code, "copy") == 0 && strstr(a.quality[i].text, "b.jsonl"));
    assert_true(said);
    analysis_release(&a);
    for (size_t k = 0; k < 3; k++)
        series_free(items[k]);
}

/* Two seeds of a text log that nothing but the failure was read of: the same words at another place. */
static void equal_failures_at_other_lines_are_two_witnesses(void **state)
{
    (void)state;
    struct series *items[3];
    for (size_t k = 0; k < 3; k++) {
        items[k] = run_new(24 * GIB);
        items[k]->source = k == 0 ? "a.log" : k == 1 ? "b.log" : "copy of a.log";
        run_oom(items[k], (struct oom){.step = NAN, .requested = GIB, .total = 24 * GIB});
        items[k]->events[0].rec.at.line = k == 1 ? 209 : 169;
        series_seal(items[k]);
    }
    struct series_set set = {.items = items, .n = 3};
    struct analyse_settings settings = {.capacity_bytes = NAN};
    struct analysis a;
    analyse(&a, &set, &settings);
    assert_int_equal(a.n_runs, 2);
    assert_ptr_equal(a.runs[1].series, items[1]);
    analysis_release(&a);
    for (size_t k = 0; k < 3; k++)
        series_free(items[k]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_counter_that_never_falls_was_never_reset),
        cmocka_unit_test(sorted_lengths_only_look_like_it),
        cmocka_unit_test(the_error_messages_total_outranks_the_header),
        cmocka_unit_test(the_given_capacity_serves_where_the_log_has_none),
        cmocka_unit_test(a_last_row_without_memory_is_the_failing_batch),
        cmocka_unit_test(a_last_row_with_memory_is_not_the_failing_batch),
        cmocka_unit_test(an_oom_that_rows_follow_was_survived),
        cmocka_unit_test(steps_stay_ascending_across_a_restart),
        cmocka_unit_test(without_steps_time_is_the_axis),
        cmocka_unit_test(phases_are_known_by_their_usual_words),
        cmocka_unit_test(a_very_long_series_keeps_its_extremes_and_neighbours),
        cmocka_unit_test(an_empty_series_does_no_harm),
        cmocka_unit_test(copies_of_a_log_count_once),
        cmocka_unit_test(equal_failures_at_other_lines_are_two_witnesses),
        cmocka_unit_test(runs_that_agree_raise_the_confidence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyse_run.h"

static struct series *steady(size_t n, double peak, double reserved)
{
    struct series *s = run_new(24 * GIB);
    for (size_t i = 0; i < n; i++)
        run_step(s, (struct step){.step = (double)i,
                                  .allocated = 4 * GIB + MIB * wobble(i),
                                  .peak = peak * (1 + 0.01 * wobble(i + 5)),
                                  .reserved = reserved,
                                  .batch = 8,
                                  .len = 512});
    return s;
}

static const struct run_report *dies(struct analysis *a, struct series *s, struct oom o)
{
    o.total = o.total > 0 ? o.total : 24 * GIB;
    run_oom(s, o);
    return run_judge(a, s);
}

static void expect(const struct run_report *r, enum subtype sub)
{
    if (r->verdict.cause != CAUSE_CAPACITY)
        fail_msg("cause is %s: %s", cause_name(r->verdict.cause), r->verdict.summary);
    assert_int_equal(r->verdict.subtype, sub);
    assert_int_equal(r->verdict.status, STATUS_FAILED);
}

static void a_first_step_that_does_not_fit_is_sizing(void **state)
{
    (void)state;
    struct series *s = run_new(24 * GIB);
    struct analysis a;
    expect(
        dies(
            &a, s,
            (struct oom){
                .step = 0, .requested = 2 * GIB, .free = GIB, .allocated = 22 * GIB, .reserved = 22.5 * GIB}),
        SUB_SIZING);
    run_done(&a, s);
}

/* Steps may have run that nobody read: text of a form that no format knows. */
static void a_message_alone_does_not_say_that_no_step_fitted(void **state)
{
    (void)state;
    struct series *s = run_new(24 * GIB);
    struct analysis a;
    const struct run_report *r = dies(
        &a, s,
        (struct oom){
            .step = NAN, .requested = 2 * GIB, .free = GIB, .allocated = 22 * GIB, .reserved = 22.5 * GIB});
    expect(r, SUB_SIZING);
    assert_null(strstr(r->verdict.summary, "had fitted"));
    assert_non_null(strstr(r->verdict.summary, "no step was read"));
    assert_true(r->verdict.n_advice > 0);
    for (size_t i = 0; i < r->verdict.n_advice; i++)
        assert_null(strstr(r->verdict.advice[i].text, "ever fitted"));
    run_done(&a, s);
}

static void a_capacity_that_steps_exceeded_is_not_used(void **state)
{
    (void)state;
    static const double below[] = {1, 7 * GIB, 8.9 * GIB};
    for (size_t k = 0; k < 3; k++) {
        struct series *s = steady(50, 9 * GIB, 9.5 * GIB);
        struct analysis a;
        record_set_u(&s->meta, F_CAPACITY, (uint64_t)below[k]);
        run_oom(s, (struct oom){.step = 50, .requested = GIB});
        const struct run_report *r = run_judge(&a, s);
        assert_true(r->verdict.cause != CAUSE_CAPACITY);
        assert_null(strstr(r->verdict.summary, "1 B"));
        bool said = false;
        for (size_t i = 0; i < a.n_quality; i++)
            said = said || strstr(a.quality[i].text, "that capacity was not used");
        assert_true(said);
        run_done(&a, s);
    }
}

static void a_message_alone_is_no_more_than_possible(void **state)
{
    (void)state;
    struct series *s = run_new(0);
    struct analysis a;
    struct record r;
    record_clear(&r);
    record_set_u(&r, F_TOTAL, (uint64_t)(24 * GIB));
    record_set_u(&r, F_FREE, (uint64_t)(0.2 * GIB));
    record_set_u(&r, F_REQUESTED, (uint64_t)GIB);
    record_set_u(&r, F_ALLOCATED, (uint64_t)(22.5 * GIB));
    record_set_u(&r, F_RESERVED, (uint64_t)(23 * GIB));
    series_event(s, EVENT_OOM, &r, NULL, 0);
    const struct run_report *o = run_judge(&a, s);
    assert_true(o->verdict.confidence < 0.75);
    assert_non_null(o->verdict.next_run);
    run_done(&a, s);
}

static void memory_of_other_processes_is_named(void **state)
{
    (void)state;
    struct series *s = steady(50, 9 * GIB, 9.5 * GIB);
    struct analysis a;
    const struct run_report *r = dies(&a, s,
                                      (struct oom){.step = 50,
                                                   .requested = 512 * MIB,
                                                   .free = 100 * MIB,
                                                   .allocated = 9 * GIB,
                                                   .reserved = 9.5 * GIB,
                                                   .batch = 8,
                                                   .len = 512});
    expect(r, SUB_EXTERNAL);
    assert_true(r->capacity.other_process_bytes > 12 * GIB);
    run_done(&a, s);
}

static void a_clean_process_is_not_external(void **state)
{
    (void)state;
    struct series *s = steady(50, 21.5 * GIB, 22 * GIB);
    struct analysis a;
    const struct run_report *r = dies(&a, s,
                                      (struct oom){.step = 50,
                                                   .requested = GIB,
                                                   .free = 300 * MIB,
                                                   .allocated = 22 * GIB,
                                                   .reserved = 22.6 * GIB,
                                                   .batch = 8,
                                                   .len = 512});
    expect(r, SUB_TYPICAL);
    assert_int_equal(find_test(r, Q_CAPACITY, "outside")->says, SAYS_AGAINST);
    run_done(&a, s);
}

static void reserved_far_above_allocated_is_fragmentation(void **state)
{
    (void)state;
    struct series *s = run_new(24 * GIB);
    struct analysis a;
    for (size_t i = 0; i < 200; i++)
        run_step(s, (struct step){.step = (double)i,
                                  .allocated = 4 * GIB,
                                  .peak = 13 * GIB + 100 * MIB * wobble(i),
                                  .reserved = 14 * GIB + (double)i * 44 * MIB,
                                  .batch = 8,
                                  .len = 512});
    const struct run_report *r = dies(&a, s,
                                      (struct oom){.step = 200,
                                                   .requested = 3 * GIB,
                                                   .free = 200 * MIB,
                                                   .allocated = 10 * GIB,
                                                   .reserved = 23 * GIB,
                                                   .batch = 8,
                                                   .len = 512});
    expect(r, SUB_FRAGMENTATION);
    assert_true(r->capacity.reserved_minus_allocated_bytes > 12 * GIB);
    run_done(&a, s);
}

static void the_gap_in_the_middle_of_a_step_is_not(void **state)
{
    (void)state;
    struct series *s = steady(200, 13 * GIB, 13.1 * GIB); /* reserved was never above the peaks */
    struct analysis a;
    const struct run_report *r = dies(&a, s,
                                      (struct oom){.step = 200,
                                                   .requested = 4 * GIB,
                                                   .free = 200 * MIB,
                                                   .allocated = 18 * GIB,
                                                   .reserved = 22.9 * GIB,
                                                   .batch = 8,
                                                   .len = 512});
    assert_int_equal(find_test(r, Q_CAPACITY, "held_before")->says, SAYS_AGAINST);
    assert_false(r->verdict.cause == CAUSE_CAPACITY && r->verdict.subtype == SUB_FRAGMENTATION &&
                 r->verdict.confidence >= 0.75);
    run_done(&a, s);
}

static void failures_in_other_phases_are_called_by_them(void **state)
{
    (void)state;
    static const struct {
        const char *phase;
        enum subtype sub;
    } cases[] = {
        {"save", SUB_SAVE}, {"checkpoint", SUB_SAVE}, {"load", SUB_RESUME}, {"optimizer", SUB_OPTIMIZER}};
    for (size_t i = 0; i < 4; i++) {
        struct series *s = steady(5, 15 * GIB, 15.5 * GIB);
        struct analysis a;
        expect(dies(&a, s,
                    (struct oom){.step = 5,
                                 .requested = 2 * GIB,
                                 .free = 200 * MIB,
                                 .allocated = 22 * GIB,
                                 .reserved = 22.9 * GIB,
                                 .phase = cases[i].phase}),
               cases[i].sub);
        run_done(&a, s);
    }
}

static void a_resumed_run_that_dies_at_once_is_resume(void **state)
{
    (void)state;
    struct series *s = run_new(24 * GIB);
    struct analysis a;
    record_set_u(&s->meta, F_RESUMED_FROM, 5000);
    expect(dies(&a, s,
                (struct oom){.step = 5000,
                             .requested = 20 * MIB,
                             .free = 5 * MIB,
                             .allocated = 22.8 * GIB,
                             .reserved = 23 * GIB,
                             .phase = "train"}),
           SUB_RESUME);
    run_done(&a, s);
}

static void the_first_update_is_the_optimiser(void **state)
{
    (void)state;
    struct series *s = steady(3, 9 * GIB, 9.2 * GIB);
    struct analysis a;
    record_set_u(&s->meta, F_GRAD_ACCUM, 4);
    expect(dies(&a, s,
                (struct oom){.step = 3,
                             .requested = 6 * GIB,
                             .free = 200 * MIB,
                             .allocated = 20 * GIB,
                             .reserved = 22.9 * GIB,
                             .batch = 8,
                             .len = 512}),
           SUB_OPTIMIZER);
    run_done(&a, s);
}

static void figures_above_the_card_are_not_calculated_with(void **state)
{
    (void)state;
    struct series *s = steady(50, 9 * GIB, 9.5 * GIB);
    struct analysis a;
    const struct run_report *r = dies(&a, s,
                                      (struct oom){.step = 50,
                                                   .requested = GIB,
                                                   .free = 100 * MIB,
                                                   .allocated = 30 * GIB,
                                                   .reserved = 31 * GIB,
                                                   .batch = 8,
                                                   .len = 512});
    assert_true(isnan(r->capacity.non_torch_bytes));
    assert_null(find_test(r, Q_OUTLIER_BATCH, "need_against_largest_peak"));
    bool said = false;
    for (size_t i = 0; i < a.n_quality; i++)
        said = said || strcmp(a.quality[i].code, "impossible-value") == 0;
    assert_true(said);
    run_done(&a, s);
}

static void steady_peaks_at_the_ceiling_are_a_risk(void **state)
{
    (void)state;
    struct series *s = steady(200, 23 * GIB, 23.2 * GIB);
    struct analysis a;
    run_end(s);
    const struct run_report *r = run_judge(&a, s);
    assert_int_equal(r->verdict.cause, CAUSE_CAPACITY);
    assert_int_equal(r->verdict.status, STATUS_AT_RISK);
    run_done(&a, s);
}

static void what_is_only_cached_at_the_ceiling_is_not(void **state)
{
    (void)state;
    struct series *s = run_new(24 * GIB);
    struct analysis a;
    for (size_t i = 0; i < 200; i++)
        run_step(s, (struct step){.step = (double)i, .allocated = 4 * GIB, .reserved = 23.2 * GIB});
    run_end(s);
    assert_int_equal(run_judge(&a, s)->verdict.cause, CAUSE_NONE);
    run_done(&a, s);
}

static void two_rows_that_climb_are_left_open(void **state)
{
    (void)state;
    struct series *s = run_new(24 * GIB);
    struct analysis a;
    for (size_t i = 0; i < 2; i++)
        run_step(s, (struct step){.step = (double)i,
                                  .allocated = (4 + 4 * (double)i) * GIB,
                                  .peak = (12 + 4 * (double)i) * GIB});
    const struct run_report *r = dies(
        &a, s,
        (struct oom){
            .step = 2, .requested = GIB, .free = 0.3 * GIB, .allocated = 22.4 * GIB, .reserved = 23 * GIB});
    assert_int_equal(r->verdict.cause, CAUSE_UNKNOWN);
    assert_int_equal(r->verdict.certainty, CERTAINTY_CANNOT_TELL);
    assert_true(r->verdict.confidence < 0.4);
    run_done(&a, s);
}

static void the_optimisers_state_is_said_not_to_be_the_cause(void **state)
{
    (void)state;
    struct series *s = run_new(24 * GIB);
    struct analysis a;
    for (size_t i = 0; i < 100; i++)
        run_step(s, (struct step){.step = (double)i,
                                  .allocated = (i < 1 ? 3 : 7) * GIB + MIB * wobble(i),
                                  .peak = 11 * GIB,
                                  .batch = 8,
                                  .len = 512});
    run_end(s);
    const struct run_report *r = run_judge(&a, s);
    assert_int_equal(r->verdict.cause, CAUSE_NONE);
    assert_int_equal(find_test(r, Q_CAPACITY, "optimiser_state")->says, SAYS_AGAINST);
    run_done(&a, s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_first_step_that_does_not_fit_is_sizing),
        cmocka_unit_test(a_message_alone_does_not_say_that_no_step_fitted),
        cmocka_unit_test(a_capacity_that_steps_exceeded_is_not_used),
        cmocka_unit_test(a_message_alone_is_no_more_than_possible),
        cmocka_unit_test(memory_of_other_processes_is_named),
        cmocka_unit_test(a_clean_process_is_not_external),
        cmocka_unit_test(reserved_far_above_allocated_is_fragmentation),
        cmocka_unit_test(the_gap_in_the_middle_of_a_step_is_not),
        cmocka_unit_test(failures_in_other_phases_are_called_by_them),
        cmocka_unit_test(a_resumed_run_that_dies_at_once_is_resume),
        cmocka_unit_test(the_first_update_is_the_optimiser),
        cmocka_unit_test(figures_above_the_card_are_not_calculated_with),
        cmocka_unit_test(steady_peaks_at_the_ceiling_are_a_risk),
        cmocka_unit_test(what_is_only_cached_at_the_ceiling_is_not),
        cmocka_unit_test(two_rows_that_climb_are_left_open),
        cmocka_unit_test(the_optimisers_state_is_said_not_to_be_the_cause),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

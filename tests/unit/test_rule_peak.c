#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyse_run.h"

/* Peaks follow 5 GiB + 8 x len x 2 MiB. */
static double need(double len)
{
    return 5 * GIB + 8 * len * 2 * MIB;
}

static struct series *lengths(size_t n, double capacity)
{
    struct series *s = run_new(capacity);
    for (size_t i = 0; i < n; i++) {
        double len = 300 + floor(200 * wobble(i));
        run_step(s, (struct step){.step = (double)i,
                                  .allocated = 5 * GIB + MIB * wobble(i + 7),
                                  .peak = need(len),
                                  .batch = 8,
                                  .len = len});
    }
    return s;
}

static void a_batch_longer_than_all_before_is_the_cause(void **state)
{
    (void)state;
    struct series *s = lengths(200, 24 * GIB);
    struct analysis a;
    run_oom(s, (struct oom){.step = 200,
                            .requested = GIB,
                            .free = 200 * MIB,
                            .total = 24 * GIB,
                            .allocated = 22.6 * GIB,
                            .reserved = 23 * GIB,
                            .batch = 8,
                            .len = 1300,
                            .phase = "train"});
    const struct run_report *r = run_judge(&a, s);
    assert_int_equal(r->verdict.cause, CAUSE_PEAK);
    assert_int_equal(r->verdict.subtype, SUB_LENGTH);
    assert_true(r->peak.failing_batch_percentile >= 99);
    assert_true(fabs(r->peak.failing_predicted_bytes / need(1300) - 1) < 0.02);
    /* the longest sample that fits beside the margin, from the law itself */
    double room = 24 * GIB - (24 * GIB - 0.2 * GIB - 23 * GIB), margin = r->peak.safe_margin * room;
    double longest = (room - margin - 5 * GIB) / (8 * 2 * MIB);
    assert_true(fabs(r->peak.safe_max_len / longest - 1) < 0.03);
    run_done(&a, s);
}

static void an_ordinary_batch_is_not(void **state)
{
    (void)state;
    struct series *s = lengths(200, 24 * GIB);
    struct analysis a;
    run_oom(s, (struct oom){.step = 200,
                            .requested = 20 * MIB,
                            .free = 10 * MIB,
                            .total = 24 * GIB,
                            .allocated = 9 * GIB,
                            .reserved = 9.2 * GIB,
                            .batch = 8,
                            .len = 300,
                            .phase = "train"});
    const struct run_report *r = run_judge(&a, s);
    assert_int_equal(r->verdict.cause, CAUSE_CAPACITY);
    assert_int_equal(r->verdict.subtype, SUB_EXTERNAL);
    assert_int_equal(r->triage[Q_OUTLIER_BATCH].answer, ANSWER_NO);
    run_done(&a, s);
}

static void large_in_size_times_length_though_in_neither_alone(void **state)
{
    (void)state;
    struct series *s = run_new(24 * GIB);
    struct analysis a;
    for (size_t i = 0; i < 300; i++) { /* long samples come in small batches, short ones in large */
        double len = 300 + floor(250 * wobble(i)), batch = floor(6000 / len);
        run_step(s, (struct step){.step = (double)i,
                                  .allocated = 5 * GIB,
                                  .peak = 5 * GIB + batch * len * MIB,
                                  .batch = batch,
                                  .len = len});
    }
    run_oom(s, (struct oom){.step = 300,
                            .requested = GIB,
                            .free = 100 * MIB,
                            .total = 24 * GIB,
                            .allocated = 22.8 * GIB,
                            .reserved = 23 * GIB,
                            .batch = 50,
                            .len = 400,
                            .phase = "train"});
    const struct run_report *r = run_judge(&a, s);
    assert_int_equal(r->verdict.cause, CAUSE_PEAK);
    assert_int_equal(r->verdict.subtype, SUB_TOKENS);
    run_done(&a, s);
}

static void a_size_that_is_not_logged_is_said(void **state)
{
    (void)state;
    struct series *s = run_new(24 * GIB);
    struct analysis a;
    for (size_t i = 0; i < 200; i++)
        run_step(s, (struct step){.step = (double)i,
                                  .allocated = 5 * GIB,
                                  .peak = 9 * GIB + GIB * wobble(i),
                                  .batch = 1,
                                  .len = 800});
    run_oom(s, (struct oom){.step = 200,
                            .requested = GIB,
                            .free = 100 * MIB,
                            .total = 24 * GIB,
                            .allocated = 22.8 * GIB,
                            .reserved = 23 * GIB,
                            .batch = 1,
                            .len = 800,
                            .phase = "train"});
    const struct run_report *r = run_judge(&a, s);
    assert_int_equal(r->verdict.cause, CAUSE_PEAK);
    assert_int_equal(r->verdict.subtype, SUB_UNEXPLAINED);
    assert_non_null(strstr(r->verdict.fix, "size that varies"));
    run_done(&a, s);
}

static void a_green_run_that_has_not_met_its_longest_sample_is_at_risk(void **state)
{
    (void)state;
    struct series *s = lengths(300, 24 * GIB);
    struct analysis a;
    record_set_u(&s->meta, F_CORPUS_MAX_LEN, 1400);
    run_end(s);
    const struct run_report *r = run_judge(&a, s);
    assert_int_equal(r->verdict.cause, CAUSE_PEAK);
    assert_int_equal(r->verdict.status, STATUS_AT_RISK);
    assert_true(fabs(r->peak.corpus_max_predicted_bytes / need(1400) - 1) < 0.03);
    assert_true(r->peak.p_oom_next_epoch > 0.9);
    run_done(&a, s);
}

static void a_green_run_whose_longest_sample_fits_is_ok(void **state)
{
    (void)state;
    struct series *s = lengths(300, 24 * GIB);
    struct analysis a;
    record_set_u(&s->meta, F_CORPUS_MAX_LEN, 600);
    run_end(s);
    const struct run_report *r = run_judge(&a, s);
    assert_int_equal(r->verdict.cause, CAUSE_NONE);
    assert_int_equal(r->verdict.status, STATUS_OK);
    run_done(&a, s);
}

static void shapes_that_grow_by_design_are_a_schedule(void **state)
{
    (void)state;
    struct series *s = run_new(24 * GIB);
    struct analysis a;
    for (size_t i = 0; i < 300; i++) {
        double len = 200 * (1 + (double)(i / 60));
        run_step(s, (struct step){
                        .step = (double)i, .allocated = 5 * GIB, .peak = need(len), .batch = 8, .len = len});
    }
    run_oom(s, (struct oom){.step = 300,
                            .requested = GIB,
                            .free = 100 * MIB,
                            .total = 24 * GIB,
                            .allocated = 22.8 * GIB,
                            .reserved = 23 * GIB,
                            .batch = 8,
                            .len = 1200,
                            .phase = "train"});
    const struct run_report *r = run_judge(&a, s);
    assert_int_equal(r->verdict.cause, CAUSE_PEAK);
    assert_int_equal(r->verdict.subtype, SUB_SCHEDULE);
    run_done(&a, s);
}

static void ooms_that_were_survived_are_evidence(void **state)
{
    (void)state;
    struct series *s = lengths(150, 24 * GIB);
    struct analysis a;
    struct record r;
    record_clear(&r);
    record_set_u(&r, F_RECOVERED, 1);
    record_set_u(&r, F_STEP, 150);
    series_event(s, EVENT_OOM, &r, NULL, 0);
    for (size_t i = 151; i < 200; i++)
        run_step(s, (struct step){
                        .step = (double)i, .allocated = 5 * GIB, .peak = need(300), .batch = 8, .len = 300});
    run_end(s);
    const struct run_report *o = run_judge(&a, s);
    assert_int_equal(o->verdict.cause, CAUSE_PEAK);
    assert_true(o->survived_ooms == 1);
    assert_int_equal(o->outcome, OUTCOME_COMPLETED);
    assert_non_null(find_test(o, Q_OUTLIER_BATCH, "survived"));
    run_done(&a, s);
}

static void a_little_more_than_ever_before_is_a_peak_where_nothing_lay_in_pieces(void **state)
{
    (void)state;
    for (int pieces = 0; pieces < 2; pieces++) {
        struct series *s = run_new(24 * GIB);
        struct analysis a;
        double high = 0;
        record_set_s(&s->meta, F_PEAK_RESET, STR_LIT("never"));
        for (size_t i = 0; i < 300; i++) {
            high = fmax(high, (12 + 8 * pow(fabs(wobble(i)), 12)) * GIB);
            run_step(s, (struct step){.step = (double)i, .peak = high});
        }
        run_oom(s, (struct oom){.step = 300,
                                .requested = GIB,
                                .free = 0.4 * GIB,
                                .total = 22.4 * GIB,
                                .allocated = 20.4 * GIB,
                                .reserved = (pieces ? 21.5 : 20.9) * GIB});
        const struct run_report *r = run_judge(&a, s);
        assert_int_equal(r->verdict.cause == CAUSE_PEAK && r->verdict.certainty == CERTAINTY_LIKELY, !pieces);
        run_done(&a, s);
    }
}

static void three_rows_give_no_law(void **state)
{
    (void)state;
    struct series *s = lengths(3, 24 * GIB);
    struct analysis a;
    const struct run_report *r = run_judge(&a, s);
    assert_false(r->peak.has_law);
    assert_true(isnan(r->peak.safe_max_len));
    run_done(&a, s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_batch_longer_than_all_before_is_the_cause),
        cmocka_unit_test(an_ordinary_batch_is_not),
        cmocka_unit_test(large_in_size_times_length_though_in_neither_alone),
        cmocka_unit_test(a_size_that_is_not_logged_is_said),
        cmocka_unit_test(a_green_run_that_has_not_met_its_longest_sample_is_at_risk),
        cmocka_unit_test(a_green_run_whose_longest_sample_fits_is_ok),
        cmocka_unit_test(shapes_that_grow_by_design_are_a_schedule),
        cmocka_unit_test(ooms_that_were_survived_are_evidence),
        cmocka_unit_test(a_little_more_than_ever_before_is_a_peak_where_nothing_lay_in_pieces),
        cmocka_unit_test(three_rows_give_no_law),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

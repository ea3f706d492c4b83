#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyse_run.h"

/* Training: 4 GiB floor, 6 GiB a step at batch 8. */
static struct series *trained(size_t n)
{
    struct series *s = run_new(24 * GIB);
    for (size_t i = 0; i < n; i++)
        run_step(s, (struct step){.step = (double)i,
                                  .allocated = 4 * GIB + MIB * wobble(i),
                                  .peak = 10 * GIB + 10 * MIB * wobble(i + 3),
                                  .batch = 8,
                                  .len = 512,
                                  .phase = "train"});
    return s;
}

static void eval_rows(struct series *s, double step, size_t n, double batch, double each, double kept)
{
    for (size_t i = 0; i < n; i++)
        run_step(s, (struct step){.step = step + (double)i,
                                  .allocated = 4 * GIB + kept * (double)i,
                                  .peak = 4 * GIB + kept * (double)i + each,
                                  .batch = batch,
                                  .len = 512,
                                  .phase = "eval"});
}

static const struct run_report *dies_in_eval(struct analysis *a, struct series *s, double batch)
{
    run_oom(s, (struct oom){.step = 230,
                            .requested = GIB,
                            .free = 100 * MIB,
                            .total = 24 * GIB,
                            .allocated = 22.7 * GIB,
                            .reserved = 23 * GIB,
                            .batch = batch,
                            .len = 512,
                            .phase = "eval"});
    return run_judge(a, s);
}

static void evaluation_that_costs_more_per_sample_tracks_gradients(void **state)
{
    (void)state;
    struct series *s = trained(200);
    struct analysis a;
    eval_rows(s, 200, 30, 8, 12 * GIB, 0);
    const struct run_report *r = dies_in_eval(&a, s, 8);
    assert_int_equal(r->verdict.cause, CAUSE_EVAL);
    assert_int_equal(r->verdict.subtype, SUB_EVAL_GRAD);
    assert_true(fabs(r->eval.per_sample_ratio - 2) < 0.05);
    assert_non_null(strstr(r->verdict.fix, "inference_mode"));
    run_done(&a, s);
}

static void a_larger_batch_without_gradients_is_a_batch(void **state)
{
    (void)state;
    struct series *s = trained(200);
    struct analysis a;
    eval_rows(s, 200, 30, 64, 16 * GIB, 0);
    const struct run_report *r = dies_in_eval(&a, s, 64);
    assert_int_equal(r->verdict.cause, CAUSE_EVAL);
    assert_int_equal(r->verdict.subtype, SUB_EVAL_BATCH);
    assert_true(fabs(r->eval.batch_ratio - 8) < 1e-9);
    run_done(&a, s);
}

static void predictions_that_pile_up_within_a_pass_are_kept(void **state)
{
    (void)state;
    struct series *s = trained(200);
    struct analysis a;
    eval_rows(s, 200, 30, 8, 2 * GIB, 500 * MIB);
    const struct run_report *r = dies_in_eval(&a, s, 8);
    assert_int_equal(r->verdict.cause, CAUSE_EVAL);
    assert_int_equal(r->verdict.subtype, SUB_EVAL_KEPT);
    assert_true(r->eval.kept_bytes > 10 * GIB);
    run_done(&a, s);
}

static void a_leak_that_tips_over_in_evaluation_stays_a_leak(void **state)
{
    (void)state;
    struct series *s = run_new(24 * GIB);
    struct analysis a;
    for (size_t i = 0; i < 230; i++)
        run_step(s, (struct step){.step = (double)i,
                                  .allocated = 4 * GIB + (double)i * 50 * MIB,
                                  .peak = 10 * GIB + (double)i * 50 * MIB,
                                  .batch = 8,
                                  .len = 512,
                                  .phase = "train"});
    const struct run_report *r = dies_in_eval(&a, s, 8);
    assert_int_equal(r->verdict.cause, CAUSE_LEAK);
    run_done(&a, s);
}

static const struct run_report *dies_unlogged(struct analysis *a, struct series *s, double step,
                                              const char *phase)
{
    record_set_u(&s->meta, F_EVAL_EVERY, 200);
    run_oom(s, (struct oom){.step = step,
                            .requested = 2 * GIB,
                            .free = 100 * MIB,
                            .total = 24 * GIB,
                            .allocated = 22 * GIB,
                            .reserved = 23 * GIB,
                            .phase = phase});
    return run_judge(a, s);
}

static void a_failure_on_the_cadence_suspects_evaluation(void **state)
{
    (void)state;
    struct series *s = trained(400);
    struct analysis a;
    const struct run_report *r = dies_unlogged(&a, s, 400, NULL);
    assert_int_equal(r->verdict.cause, CAUSE_EVAL);
    assert_int_equal(r->verdict.subtype, SUB_EVAL_BOUNDARY);
    assert_int_equal(find_test(r, Q_EVAL_BOUNDARY, "boundary")->says, SAYS_FOR);
    run_done(&a, s);
}

static void a_failure_off_the_cadence_does_not(void **state)
{
    (void)state;
    struct series *s = trained(437);
    struct analysis a;
    const struct run_report *r = dies_unlogged(&a, s, 437, NULL);
    assert_int_not_equal(r->verdict.cause, CAUSE_EVAL);
    assert_int_equal(find_test(r, Q_EVAL_BOUNDARY, "boundary")->says, SAYS_AGAINST);
    run_done(&a, s);
}

static void evaluation_or_checkpoint_at_one_step_is_left_open(void **state)
{
    (void)state;
    struct series *s = trained(400);
    struct analysis a;
    record_set_u(&s->meta, F_SAVE_EVERY, 200);
    const struct run_report *r = dies_unlogged(&a, s, 400, NULL);
    assert_true(r->verdict.confidence < 0.75);
    run_done(&a, s);
}

static void cadence_is_found_from_the_rows(void **state)
{
    (void)state;
    struct series *s = run_new(24 * GIB);
    struct analysis a;
    for (size_t i = 0; i < 500; i++) {
        if (i > 0 && i % 120 == 0)
            eval_rows(s, (double)i, 1, 8, 3 * GIB, 0);
        run_step(s, (struct step){
                        .step = (double)i, .allocated = 4 * GIB, .peak = 10 * GIB, .batch = 8, .len = 512});
    }
    run_end(s);
    const struct run_report *r = run_judge(&a, s);
    assert_true(r->eval.cadence_steps == 120);
    assert_true(r->eval.passes == 4);
    assert_int_equal(r->n_eval_spans, 4);
    assert_int_equal(r->verdict.cause, CAUSE_NONE);
    run_done(&a, s);
}

static void no_evaluation_row_cannot_be_judged(void **state)
{
    (void)state;
    struct series *s = trained(100);
    struct analysis a;
    run_end(s);
    const struct run_report *r = run_judge(&a, s);
    assert_int_equal(r->triage[Q_EVAL_BOUNDARY].answer, ANSWER_NOT_TESTABLE);
    assert_true(isnan(r->eval.per_sample_ratio));
    run_done(&a, s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(evaluation_that_costs_more_per_sample_tracks_gradients),
        cmocka_unit_test(a_larger_batch_without_gradients_is_a_batch),
        cmocka_unit_test(predictions_that_pile_up_within_a_pass_are_kept),
        cmocka_unit_test(a_leak_that_tips_over_in_evaluation_stays_a_leak),
        cmocka_unit_test(a_failure_on_the_cadence_suspects_evaluation),
        cmocka_unit_test(a_failure_off_the_cadence_does_not),
        cmocka_unit_test(evaluation_or_checkpoint_at_one_step_is_left_open),
        cmocka_unit_test(cadence_is_found_from_the_rows),
        cmocka_unit_test(no_evaluation_row_cannot_be_judged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

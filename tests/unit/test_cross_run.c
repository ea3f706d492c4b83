#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyse/cross_run.h"
#include "analyse/traits.h"
#include "base/buf.h"
#include <math.h>
#include <stdio.h>

/* Runs built by hand: batches of four samples out of 4000, lengths that differ, one OOM at the end. */
enum {
    BATCH = 4,
    SAMPLES = 4000
};

struct bench {
    struct analysis a;
    struct series *series[8];
};

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static const char *random_ids(uint64_t *state, char *text, size_t cap)
{
    int n = 0;
    for (int k = 0; k < BATCH; k++)
        n += snprintf(text + n, cap - (size_t)n, "%s%d", k ? ";" : "", (int)(next_random(state) % SAMPLES));
    return text;
}

/* A run of `steps` steps whose batches come from `order`. */
static struct run_report *add_run(struct bench *b, double seed, uint64_t order, size_t steps, bool ids)
{
    static const char *const NAME[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    uint64_t state = order * 0x9E3779B97F4A7C15u + 1;
    struct series *s = b->series[b->a.n_runs] = series_new();
    char text[64];
    for (size_t i = 0; i < steps; i++) {
        struct record r;
        record_clear(&r);
        record_set_u(&r, F_STEP, i);
        record_set_u(&r, F_TOKENS, 100 + next_random(&state) % 900);
        record_set_u(&r, F_PEAK, 1u << 30);
        if (ids)
            record_set_s(&r, F_BATCH_IDS, str_of(random_ids(&state, text, sizeof text)));
        series_append(s, &r);
    }
    if (!b->a.runs)
        b->a.runs = arena_alloc(&b->a.arena, 8 * sizeof *b->a.runs);
    struct run_report *out = &b->a.runs[b->a.n_runs];
    *out = (struct run_report){.series = s,
                               .run = NAME[b->a.n_runs++],
                               .seed = seed,
                               .rank = NAN,
                               .capacity_bytes = NAN,
                               .first_step = 0,
                               .last_step = (double)steps - 1,
                               .outcome = OUTCOME_COMPLETED};
    out->failure = (struct failure){
        .step = NAN, .batch_size = NAN, .max_len = NAN, .tokens = NAN, .height = NAN, .width = NAN};
    return out;
}

static void fails(struct run_report *r, const char *ids, double tokens)
{
    r->outcome = OUTCOME_OOM;
    r->has_failure = true;
    r->failure.step = r->last_step + 1;
    r->failure.batch_ids = ids;
    r->failure.tokens = tokens;
}

static void seal(struct bench *b)
{
    for (size_t i = 0; i < b->a.n_runs; i++) {
        series_seal(b->series[i]);
        traits_fill(&b->a.runs[i], &b->a.arena);
    }
    cross_run(&b->a);
}

static void release(struct bench *b)
{
    for (size_t i = 0; i < b->a.n_runs; i++)
        series_free(b->series[i]);
    arena_release(&b->a.arena);
}

static void one_run_gives_no_comparison(void **state)
{
    (void)state;
    struct bench b = {0};
    fails(add_run(&b, 1, 1, 100, true), "1;2", NAN);
    seal(&b);
    assert_false(b.a.has_cross);
    release(&b);
}

static void one_giant_sample_in_otherwise_different_batches_is_data(void **state)
{
    (void)state;
    struct bench b = {0};
    fails(add_run(&b, 1, 1, 120, true), "48113;7;8;9", NAN);
    fails(add_run(&b, 2, 2, 2210, true), "11;48113;12;13", NAN);
    fails(add_run(&b, 3, 3, 640, true), "21;22;23;48113", NAN);
    seal(&b);
    const struct cross_run *x = &b.a.cross;
    assert_int_equal(x->says, CROSS_DATA);
    assert_true(x->batch_reproducible);
    assert_false(x->step_reproducible);
    assert_int_equal(x->by, BY_BATCH_IDS);
    assert_int_equal(x->n_shared_ids, 1);
    assert_string_equal(x->shared_ids[0], "48113");
    assert_true(x->spread_steps == 2090);
    assert_int_equal(x->n_steps, 3);
    /* 2211 steps of 4 samples: n q^3 with q = 4 / 8844 */
    assert_true(fabs(x->p_chance / (8844 * pow(4.0 / 8844, 3)) - 1) < 0.01);
    assert_string_equal(
        x->text, "the same sample 48113 was in the failing batch of 3 of 3 seeds, at steps 120 to 2210 "
                 "(by chance: 8.2e-07)");
    release(&b);
}

static void the_same_step_with_other_samples_is_schedule(void **state)
{
    (void)state;
    struct bench b = {0};
    fails(add_run(&b, 1, 1, 500, true), "1;2;3;4", NAN);
    fails(add_run(&b, 2, 2, 502, true), "5;6;7;8", NAN);
    fails(add_run(&b, 3, 3, 501, true), "9;10;11;12", NAN);
    seal(&b);
    assert_int_equal(b.a.cross.says, CROSS_SCHEDULE);
    assert_true(b.a.cross.step_reproducible);
    assert_false(b.a.cross.batch_reproducible);
    assert_int_equal(b.a.cross.n_shared_ids, 0);
    assert_true(b.a.cross.p_chance == 1);
    release(&b);
}

static void two_leaks_that_end_close_together_are_schedule(void **state)
{
    (void)state;
    for (int leak = 0; leak < 2; leak++) {
        struct bench b = {0};
        fails(add_run(&b, 1, 1, 960, true), "1;2;3;4", NAN);
        fails(add_run(&b, 2, 2, 1000, true), "5;6;7;8", NAN);
        b.a.runs[0].verdict.cause = b.a.runs[1].verdict.cause = leak ? CAUSE_LEAK : CAUSE_CAPACITY;
        seal(&b);
        assert_int_equal(b.a.cross.says, leak ? CROSS_SCHEDULE : CROSS_NEITHER);
        release(&b);
    }
}

static void the_same_batch_at_the_same_step_is_deterministic(void **state)
{
    (void)state;
    struct bench b = {0};
    fails(add_run(&b, 1, 9, 400, true), "1;2;3;4", NAN);
    fails(add_run(&b, 2, 9, 400, true), "1;2;3;4", NAN);
    seal(&b);
    assert_int_equal(b.a.cross.says, CROSS_DETERMINISTIC);
    assert_int_equal(b.a.cross.n_shared_ids, 4);
    assert_string_equal(b.a.cross.text,
                        "the same samples 1, 2, 3 and 1 more were in the failing batch of 2 of 2 seeds, "
                        "each time at step 400 (by chance: less than 1e-09)");
    release(&b);
}

static void other_steps_and_other_samples_are_neither(void **state)
{
    (void)state;
    struct bench b = {0};
    fails(add_run(&b, 1, 1, 100, true), "1;2;3;4", NAN);
    fails(add_run(&b, 2, 2, 900, true), "5;6;7;8", NAN);
    seal(&b);
    assert_int_equal(b.a.cross.says, CROSS_NEITHER);
    release(&b);
}

static void the_same_seed_twice_is_no_evidence_for_content(void **state)
{
    (void)state;
    struct bench b = {0};
    fails(add_run(&b, 7, 7, 300, true), "48113;2;3;4", NAN);
    fails(add_run(&b, 7, 7, 300, true), "48113;2;3;4", NAN);
    seal(&b);
    assert_int_equal(b.a.cross.says, CROSS_NOT_TESTABLE);
    assert_true(b.a.cross.runs_failed == 2);
    assert_false(b.a.cross.batch_reproducible);
    assert_true(isnan(b.a.cross.p_chance));
    release(&b);
}

static void a_repeated_seed_counts_once_among_others(void **state)
{
    (void)state;
    struct bench b = {0};
    fails(add_run(&b, 7, 7, 300, true), "48113;2;3;4", NAN);
    fails(add_run(&b, 7, 7, 300, true), "48113;2;3;4", NAN);
    fails(add_run(&b, 8, 8, 800, true), "48113;5;6;9", NAN);
    seal(&b);
    assert_int_equal(b.a.cross.says, CROSS_DATA);
    assert_int_equal(b.a.cross.n_steps, 2);
    assert_true(b.a.cross.runs_failed == 3);
    release(&b);
}

static void unknown_seeds_with_the_same_order_are_the_same_run(void **state)
{
    (void)state;
    struct bench b = {0};
    fails(add_run(&b, NAN, 5, 300, true), "48113;2;3;4", NAN);
    fails(add_run(&b, NAN, 5, 300, true), "48113;2;3;4", NAN);
    seal(&b);
    assert_int_equal(b.a.cross.says, CROSS_NOT_TESTABLE);
    release(&b);

    struct bench c = {0};
    fails(add_run(&c, NAN, 5, 300, true), "48113;2;3;4", NAN);
    fails(add_run(&c, NAN, 6, 900, true), "48113;5;6;7", NAN);
    seal(&c);
    assert_int_equal(c.a.cross.says, CROSS_DATA);
    release(&c);
}

static void sharing_samples_of_a_small_corpus_proves_nothing(void **state)
{
    (void)state;
    struct bench b = {0};
    /* 8 steps an epoch, 4 samples a batch: 32 samples in all */
    struct run_report *r = add_run(&b, 1, 1, 100, true);
    struct span epochs[] = {{0, 0}, {8, 1}, {16, 2}};
    r->epochs_at = epochs;
    r->n_epochs_at = 3;
    fails(r, "1;2;3;4", NAN);
    fails(add_run(&b, 2, 2, 900, true), "4;5;6;7", NAN);
    seal(&b);
    assert_int_equal(b.a.cross.says, CROSS_NEITHER);
    assert_true(b.a.cross.p_chance > 0.4);
    release(&b);
}

/* Two failures on 48113 in batches of 4 out of `per_epoch` batches; tokens of the failing batches. */
static void fail_twice_on_a_giant(struct bench *b, struct span *epochs, double per_epoch, double tokens)
{
    for (int i = 0; i < 2; i++) {
        struct run_report *r = add_run(b, i, (uint64_t)i + 1, (size_t)(30 + 15 * i), true);
        epochs[2 * i] = (struct span){0, 0};
        epochs[2 * i + 1] = (struct span){per_epoch, 1};
        r->epochs_at = epochs + 2 * i;
        r->n_epochs_at = 2;
        fails(r, i ? "48113;2;3;4" : "5;6;7;48113", tokens);
    }
}

static void a_shared_sample_in_the_largest_batch_of_short_runs_is_data(void **state)
{
    (void)state;
    struct span epochs[4];
    /* 60 batches of 4: two of them share a sample by chance in 1 case of 15 */
    for (int giant = 0; giant < 2; giant++) {
        struct bench b = {0};
        fail_twice_on_a_giant(&b, epochs, 60, giant ? 5000 : 500);
        seal(&b);
        assert_int_equal(b.a.cross.says, giant ? CROSS_DATA : CROSS_NEITHER);
        double p = giant ? 1.0 / 31 / 46 : 1.0 / 15;
        assert_true(fabs(b.a.cross.p_chance / p - 1) < 1e-9);
        assert_string_equal(b.a.cross.shared_ids[0], "48113");
        release(&b);
    }
}

/* Adds a row whose batch is `ids` to a run built by add_run. */
static void passes(struct bench *b, size_t run, const char *ids)
{
    struct record r;
    record_clear(&r);
    record_set_u(&r, F_STEP, (uint64_t)b->a.runs[run].last_step + 1);
    record_set_u(&r, F_TOKENS, 500);
    record_set_u(&r, F_PEAK, 1u << 30);
    record_set_s(&r, F_BATCH_IDS, str_of(ids));
    series_append(b->series[run], &r);
    b->a.runs[run].last_step += 1;
}

static void a_sample_that_had_passed_in_the_same_run_is_not_to_blame(void **state)
{
    (void)state;
    struct bench b = {0};
    add_run(&b, 1, 1, 120, true);
    passes(&b, 0, "48113;1;2;3");
    fails(&b.a.runs[0], "48113;7;8;9", NAN);
    fails(add_run(&b, 2, 2, 2210, true), "11;48113;12;13", NAN);
    seal(&b);
    assert_int_equal(b.a.cross.says, CROSS_NEITHER);
    assert_int_equal(b.a.cross.n_shared_ids, 0);
    assert_string_equal(b.a.cross.text,
                        "2 failing seeds died at steps 121 to 2210; what their batches share had passed "
                        "earlier in the same run: neither the step nor the batch repeats");
    release(&b);
}

static void the_failing_step_logged_before_it_died_is_no_pass(void **state)
{
    (void)state;
    struct bench b = {0};
    add_run(&b, 1, 1, 120, true);
    passes(&b, 0, "48113;1;2;3");
    fails(&b.a.runs[0], "48113;1;2;3", NAN);
    b.a.runs[0].failure.step = b.a.runs[0].last_step;
    fails(add_run(&b, 2, 2, 2210, true), "11;48113;12;13", NAN);
    seal(&b);
    assert_int_equal(b.a.cross.says, CROSS_DATA);
    release(&b);
}

static void hashes_stand_in_for_ids(void **state)
{
    (void)state;
    struct bench b = {0};
    for (int i = 0; i < 3; i++) {
        struct run_report *r = add_run(&b, i, (uint64_t)i + 1, (size_t)(200 + 300 * i), true);
        fails(r, NULL, NAN);
        r->failure.batch_hash = i == 1 ? "other" : "f00d";
    }
    seal(&b);
    assert_int_equal(b.a.cross.by, BY_BATCH_HASH);
    assert_int_equal(b.a.cross.says, CROSS_DATA);
    assert_int_equal(b.a.cross.n_shared_ids, 0);
    assert_non_null(strstr(b.a.cross.text, "f00d failed in 2 of 3 seeds"));
    release(&b);
}

static void without_content_the_largest_shapes_are_data(void **state)
{
    (void)state;
    struct bench b = {0};
    fails(add_run(&b, 1, 1, 300, false), NULL, 4000);
    fails(add_run(&b, 2, 2, 900, false), NULL, 3900);
    seal(&b);
    assert_int_equal(b.a.cross.by, BY_SHAPE);
    assert_int_equal(b.a.cross.says, CROSS_DATA);
    assert_true(fabs(b.a.cross.p_chance - pow(1.0 / 301, 2)) < 1e-9);
    release(&b);
}

static void batches_in_order_of_size_have_no_rank(void **state)
{
    (void)state;
    struct bench b = {0};
    for (size_t i = 0; i < 2; i++) {
        struct run_report *r = add_run(&b, (double)i, i + 1, 0, false);
        for (size_t k = 0; k < 300 + 600 * i; k++) {
            struct record row;
            record_clear(&row);
            record_set_u(&row, F_STEP, k);
            record_set_u(&row, F_TOKENS, 100 + k);
            series_append(b.series[i], &row);
            r->last_step = (double)k;
        }
        fails(r, NULL, 4000);
    }
    seal(&b);
    assert_int_equal(b.a.cross.says, CROSS_NOT_TESTABLE);
    release(&b);
}

static void without_content_ordinary_shapes_at_other_steps_are_neither(void **state)
{
    (void)state;
    struct bench b = {0};
    fails(add_run(&b, 1, 1, 300, false), NULL, 500);
    fails(add_run(&b, 2, 2, 900, false), NULL, 450);
    seal(&b);
    assert_int_equal(b.a.cross.says, CROSS_NEITHER);
    release(&b);
}

static void without_content_and_shape_other_steps_cannot_be_judged(void **state)
{
    (void)state;
    struct bench b = {0};
    fails(add_run(&b, 1, 1, 300, false), NULL, NAN);
    fails(add_run(&b, 2, 2, 900, false), NULL, NAN);
    seal(&b);
    assert_int_equal(b.a.cross.says, CROSS_NOT_TESTABLE);
    assert_non_null(strstr(b.a.cross.text, "log batch_ids"));
    release(&b);
}

static void ids_with_escaped_separators_stay_whole(void **state)
{
    (void)state;
    struct bench b = {0};
    fails(add_run(&b, 1, 1, 300, true), "a\\;b;x\\\\", NAN);
    fails(add_run(&b, 2, 2, 900, true), "a;b;a\\;b", NAN);
    seal(&b);
    assert_int_equal(b.a.cross.n_shared_ids, 1);
    assert_string_equal(b.a.cross.shared_ids[0], "a;b");
    release(&b);
}

static void one_failure_of_several_runs_cannot_be_compared(void **state)
{
    (void)state;
    struct bench b = {0};
    fails(add_run(&b, 1, 1, 300, true), "1;2", NAN);
    add_run(&b, 2, 2, 900, true);
    seal(&b);
    assert_true(b.a.has_cross);
    assert_int_equal(b.a.cross.says, CROSS_NOT_TESTABLE);
    assert_true(b.a.cross.runs_failed == 1 && b.a.cross.runs_total == 2);
    release(&b);
}

static void of_the_ranks_of_a_job_the_one_that_failed_first_counts(void **state)
{
    (void)state;
    struct bench b = {0};
    struct run_report *late = add_run(&b, 1, 1, 310, true), *early = add_run(&b, 1, 2, 300, true);
    late->run = early->run = "job1";
    late->rank = 0;
    early->rank = 1;
    fails(late, "1;2;3;4", NAN);
    fails(early, "48113;5;6;7", NAN);
    struct run_report *other = add_run(&b, 2, 3, 900, true);
    other->run = "job2";
    other->rank = 0;
    fails(other, "8;48113;9;10", NAN);
    seal(&b);
    assert_true(b.a.cross.runs_total == 2);
    assert_int_equal(b.a.cross.says, CROSS_DATA);
    assert_true(b.a.cross.steps[0] == 300 && b.a.cross.steps[1] == 900);
    release(&b);
}

static void agreement_of_data_confirms_a_peak_and_weakens_a_leak(void **state)
{
    (void)state;
    for (int leak = 0; leak < 2; leak++) {
        struct bench b = {0};
        for (int i = 0; i < 3; i++) {
            struct run_report *r = add_run(&b, i, (uint64_t)i + 1, (size_t)(200 + 300 * i), true);
            fails(r, i == 0 ? "48113;1;2;3" : i == 1 ? "48113;4;5;6" : "7;8;9;48113", NAN);
            r->verdict.cause = leak ? CAUSE_LEAK : CAUSE_PEAK;
        }
        b.a.verdict.cause = leak ? CAUSE_LEAK : CAUSE_PEAK;
        b.a.verdict.confidence = 0.85;
        b.a.verdict.certainty = CERTAINTY_LIKELY;
        seal(&b);
        if (leak) {
            assert_true(b.a.verdict.confidence < 0.75);
            assert_int_equal(b.a.verdict.certainty, CERTAINTY_POSSIBLE);
        } else {
            assert_true(b.a.verdict.confidence > 0.95);
            assert_int_equal(b.a.verdict.certainty, CERTAINTY_CONFIRMED);
        }
        release(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_run_gives_no_comparison),
        cmocka_unit_test(one_giant_sample_in_otherwise_different_batches_is_data),
        cmocka_unit_test(the_same_step_with_other_samples_is_schedule),
        cmocka_unit_test(two_leaks_that_end_close_together_are_schedule),
        cmocka_unit_test(the_same_batch_at_the_same_step_is_deterministic),
        cmocka_unit_test(other_steps_and_other_samples_are_neither),
        cmocka_unit_test(the_same_seed_twice_is_no_evidence_for_content),
        cmocka_unit_test(a_repeated_seed_counts_once_among_others),
        cmocka_unit_test(unknown_seeds_with_the_same_order_are_the_same_run),
        cmocka_unit_test(sharing_samples_of_a_small_corpus_proves_nothing),
        cmocka_unit_test(a_shared_sample_in_the_largest_batch_of_short_runs_is_data),
        cmocka_unit_test(a_sample_that_had_passed_in_the_same_run_is_not_to_blame),
        cmocka_unit_test(the_failing_step_logged_before_it_died_is_no_pass),
        cmocka_unit_test(batches_in_order_of_size_have_no_rank),
        cmocka_unit_test(hashes_stand_in_for_ids),
        cmocka_unit_test(without_content_the_largest_shapes_are_data),
        cmocka_unit_test(without_content_ordinary_shapes_at_other_steps_are_neither),
        cmocka_unit_test(without_content_and_shape_other_steps_cannot_be_judged),
        cmocka_unit_test(ids_with_escaped_separators_stay_whole),
        cmocka_unit_test(one_failure_of_several_runs_cannot_be_compared),
        cmocka_unit_test(of_the_ranks_of_a_job_the_one_that_failed_first_counts),
        cmocka_unit_test(agreement_of_data_confirms_a_peak_and_weakens_a_leak),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

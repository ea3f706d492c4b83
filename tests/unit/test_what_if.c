/* --what-if: answers from the law, and what cannot be answered. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyse_run.h"
#include "cli/options.h"

static void expect_text(const char *text, const char *words)
{
    if (!text || !strstr(text, words))
        fail_msg("\"%s\" lacks \"%s\"", text ? text : "(none)", words);
}

/* 4 GiB and 1 MiB a token, batches of 8; step 200 comes with `len` tokens a sample and fails. */
static struct series *lengths(double len)
{
    struct series *s = run_new(16 * GIB);
    for (size_t i = 0; i < 200; i++) {
        double l = 500 + floor(200 * wobble(i));
        run_step(s, (struct step){.step = (double)i,
                                  .allocated = 4 * GIB,
                                  .peak = 4 * GIB + 8 * l * MIB,
                                  .batch = 8,
                                  .len = l});
    }
    if (len > 0)
        run_oom(s, (struct oom){.step = 200, .requested = GIB, .batch = 8, .len = len});
    return s;
}

static struct what_if_change nothing(void)
{
    return (struct what_if_change){"x", NAN, NAN, NAN, NAN};
}

static void ask(struct analysis *a, struct series *s, const struct what_if_change *k)
{
    struct series_set set = {.items = &s, .n = 1};
    struct analyse_settings settings = {.capacity_bytes = NAN, .what_if = k, .n_what_if = 1};
    series_seal(s);
    analyse(a, &set, &settings);
    assert_int_equal(a->n_what_if, 1);
}

static void expect_need(double need, const struct what_if_change *k, int fits)
{
    struct series *s = lengths(2000);
    struct analysis a;
    ask(&a, s, k);
    if (fabs(a.what_if[0].predicted_bytes - need) > 0.1 * GIB || a.what_if[0].fits != fits)
        fail_msg("%s: needs %.2f GiB, fits %d: %s", k->given, a.what_if[0].predicted_bytes / GIB,
                 a.what_if[0].fits, a.what_if[0].text);
    run_done(&a, s);
}

static void the_law_answers_for_batch_length_and_device(void **state)
{
    (void)state;
    struct what_if_change k = nothing();
    k.capacity_bytes = 40 * GIB;
    expect_need(4 * GIB + 16000 * MIB, &k, 1);
    k.capacity_bytes = 12 * GIB;
    expect_need(4 * GIB + 16000 * MIB, &k, 0);
    k = nothing();
    k.batch_size = 4;
    expect_need(4 * GIB + 8000 * MIB, &k, 1);
    k.max_len = 1000;
    expect_need(4 * GIB + 4000 * MIB, &k, 1);
    k = nothing();
    k.batch_size = 16;
    expect_need(4 * GIB + 32000 * MIB, &k, 0);
}

static void a_shape_that_is_not_logged_gives_no_answer(void **state)
{
    (void)state;
    struct series *s = run_new(16 * GIB);
    struct analysis a;
    struct what_if_change k = nothing();
    k.batch_size = 4;
    for (size_t i = 0; i < 100; i++)
        run_step(s,
                 (struct step){.step = (double)i, .allocated = 4 * GIB, .peak = 8 * GIB + GIB * wobble(i)});
    run_oom(s, (struct oom){.step = 100, .requested = 9 * GIB, .allocated = 8 * GIB});
    ask(&a, s, &k);
    assert_int_equal(a.what_if[0].fits, -1);
    assert_true(isnan(a.what_if[0].predicted_bytes));
    expect_text(a.what_if[0].text, "no law: the batch's size is not logged");
    run_done(&a, s);
}

static void a_leak_moves_by_the_room_over_its_slope(void **state)
{
    (void)state;
    struct series *s = run_new(16 * GIB);
    struct analysis a;
    struct what_if_change k = nothing();
    k.capacity_bytes = 26 * GIB; /* 10 GiB more are 1024 steps of 10 MiB */
    for (size_t i = 0; i < 1000; i++)
        run_step(s, (struct step){.step = (double)i,
                                  .allocated = 4 * GIB + 10 * MIB * (double)i,
                                  .peak = 5.5 * GIB + 10 * MIB * (double)i});
    run_oom(s, (struct oom){.step = 1000,
                            .requested = GIB,
                            .free = 100 * MIB,
                            .total = 16 * GIB,
                            .allocated = 14.5 * GIB,
                            .reserved = 15.4 * GIB});
    ask(&a, s, &k);
    assert_int_equal(a.verdict.cause, CAUSE_LEAK);
    expect_text(a.what_if[0].text, "near step 2024");
    expect_text(a.what_if[0].text, "instead of 1000");
    run_done(&a, s);
}

static void half_an_evaluation_batch_takes_half_of_what_evaluation_adds(void **state)
{
    (void)state;
    struct series *s = run_new(16 * GIB);
    struct analysis a;
    struct what_if_change k = nothing();
    k.eval_batch = 0.5;
    for (size_t i = 0; i < 200; i++) {
        run_step(s, (struct step){.step = (double)i, .allocated = 4 * GIB, .peak = 8 * GIB, .batch = 8});
        if (i % 50 == 49)
            run_step(
                s,
                (struct step){
                    .step = (double)i, .allocated = 4 * GIB, .peak = 14 * GIB, .batch = 32, .phase = "eval"});
    }
    run_oom(s, (struct oom){
                   .step = 200, .requested = 2 * GIB, .allocated = 14 * GIB, .batch = 32, .phase = "eval"});
    ask(&a, s, &k);
    assert_true(fabs(a.what_if[0].predicted_bytes - 10 * GIB) < 0.1 * GIB);
    run_done(&a, s);
    s = lengths(0);
    ask(&a, s, &k);
    expect_text(a.what_if[0].text, "no evaluation is logged");
    run_done(&a, s);
}

static void nonsense_is_refused_with_what_would_be_right(void **state)
{
    static const char *const bad[][2] = {
        {"batch_size=0", "no whole number from 1 on"},
        {"batch_size=2.5", "no whole number"},
        {"max_len=long", "no whole number"},
        {"capacity=40", "such as 40GiB"},
        {"eval_batch=-1", "no factor"},
        {"eval_batch=nan", "no factor"},
        {"batchsize=4", "did you mean batch_size?"},
        {"batch_size", "no change"},
        {"batch_size=4,", "no change"},
        {"batch_size=4,batch_size=8", "given twice"},
        {"", "no change"},
    };
    struct arena a = {0};
    struct what_if_change k;
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        expect_text(options_what_if(&k, bad[i][0], &a), bad[i][1]);
    assert_null(options_what_if(&k, "capacity=40GiB,batch_size=4,max_len=2048,eval_batch=0.5", &a));
    assert_true(k.capacity_bytes == 40 * GIB && k.batch_size == 4 && k.max_len == 2048 &&
                k.eval_batch == 0.5);
    arena_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_law_answers_for_batch_length_and_device),
        cmocka_unit_test(a_shape_that_is_not_logged_gives_no_answer),
        cmocka_unit_test(a_leak_moves_by_the_room_over_its_slope),
        cmocka_unit_test(half_an_evaluation_batch_takes_half_of_what_evaluation_adds),
        cmocka_unit_test(nonsense_is_refused_with_what_would_be_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

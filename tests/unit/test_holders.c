#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyse/blame.h"
#include "analyse/holders.h"
#include "snapshot_loop.h"

enum kept {
    KEEP_NOTHING,
    KEEP_EACH,    /* one tensor of each step */
    KEEP_LAST_3,  /* a bounded list */
    KEEP_PERIODIC /* one every fourth step */
};

/* 20 steps with optimiser frames; what main.py:9 makes in a step is kept or not. */
static void run(struct loop *l, enum kept kept, int steps)
{
    *l = (struct loop){.t = trace_file_new()};
    uint32_t lib = frame(l, "/x/site-packages/torch/nn/functional.py", 5, "linear");
    uint32_t user = frame(l, "/home/u/main.py", 9, "loss"), main = frame(l, "/home/u/main.py", 1, "<module>");
    uint32_t adam = frame(l, "/x/site-packages/torch/optim/adam.py", 7, "step");
    uint32_t of_loss = stack(l, (uint32_t[]){lib, user, main}, 3),
             of_adam = stack(l, (uint32_t[]){adam, main}, 2);
    uint32_t of_act = stack(l, (uint32_t[]){lib, main}, 2);
    uint64_t last[3] = {0};
    take(l, 1 << 20, of_act); /* the model */
    for (int i = 0; i < steps; i++) {
        uint64_t act = take(l, 5000, of_act), loss = take(l, 4096, of_loss);
        give(l, act);
        give(l, take(l, 999, of_adam));
        if (kept == KEEP_LAST_3) {
            if (last[i % 3])
                give(l, last[i % 3]);
            last[i % 3] = loss;
        } else if (kept == KEEP_NOTHING || (kept == KEEP_PERIODIC && i % 4)) {
            give(l, loss);
        }
    }
    finish(l);
    find_steps_of(l->t);
}

static void steps_are_told_by_the_optimiser(void **state)
{
    (void)state;
    struct loop l;
    run(&l, KEEP_NOTHING, 20);
    assert_int_equal(l.t->devices[0]->n_steps, 20);
    assert_int_equal(l.t->devices[0]->steps_by, STEPS_BY_OPTIMIZER);
    assert_int_equal(l.t->devices[0]->steps[7].peak, (1 << 20) + 5000 + 4096);
    assert_int_equal(l.t->devices[0]->steps[7].floor, 1 << 20);
    trace_file_free(l.t);
}

static void assert_growth(enum kept kept, bool any)
{
    struct loop l;
    struct study s;
    struct growing g;
    struct arena a = {0};
    run(&l, kept, 20);
    study_init(&s, l.t, l.t->devices[0]);
    blame_growth(&g, &s);
    assert_int_equal(g.any, any);
    if (any) {
        struct blame b;
        assert_true(blame_leak(&b, &s, &g, &a));
        assert_string_equal(b.site, "/home/u/main.py:9 loss");
        assert_true(b.share > 0.99);
    }
    study_release(&s);
    arena_release(&a);
    trace_file_free(l.t);
}

static void a_line_that_keeps_a_tensor_each_step_is_blamed(void **state)
{
    (void)state;
    assert_growth(KEEP_EACH, true);
}

static void a_line_that_keeps_a_tensor_every_fourth_step_is_blamed(void **state)
{
    (void)state;
    assert_growth(KEEP_PERIODIC, true);
}

static void a_bounded_list_is_no_leak(void **state)
{
    (void)state;
    assert_growth(KEEP_LAST_3, false);
}

static void nothing_kept_is_no_leak(void **state)
{
    (void)state;
    assert_growth(KEEP_NOTHING, false);
}

static void holders_are_largest_first_and_add_up(void **state)
{
    (void)state;
    struct loop l;
    struct study s;
    struct arena a = {0};
    struct run_report out = {0};
    run(&l, KEEP_EACH, 20);
    study_init(&s, l.t, l.t->devices[0]);
    holders_fill(&out, &s, &a);
    double sum = 0, share = 0, before = 1e300;
    for (size_t i = 0; i < out.n_holders; i++) {
        if (out.holders[i].at != HOLDER_AT_END)
            continue;
        assert_true(out.holders[i].bytes <= before);
        before = out.holders[i].bytes;
        sum += out.holders[i].bytes;
        share += out.holders[i].share;
    }
    assert_int_equal(sum, (1 << 20) + 20 * 4096);
    assert_true(share > 0.999 && share < 1.001);
    study_release(&s);
    arena_release(&a);
    trace_file_free(l.t);
}

static void user_code_is_outside_framework_packages_and_library(void **state)
{
    (void)state;
    static const char *const PACKAGE[] = {"/opt/x/lib/python3.11/site-packages/torch/nn/modules/linear.py",
                                          "/usr/lib/python3/dist-packages/numpy/core.py",
                                          "/usr/lib/python3.11/threading.py",
                                          "C:\\Python311\\Lib\\threading.py",
                                          "/home/u/pytorch/torch/nn/functional.py",
                                          "/tmp/torchinductor_u/ab/cab.py",
                                          "<frozen importlib._bootstrap>",
                                          "<eval_with_key>.3"};
    static const char *const USER[] = {"/home/u/train.py",     "train.py",
                                       "C:\\Users\\u\\net.py", "<stdin>",
                                       "<ipython-input-3-ab>", "/tmp/ipykernel_7/12.py",
                                       "/srv/lib/data.py"};
    static const char *const FOREIGN[] = {"??", "", "/pytorch/aten/src/ATen/native/Linear.cpp", "libc.so.6",
                                          "/build/ceval.c"};
    for (size_t i = 0; i < sizeof PACKAGE / sizeof *PACKAGE; i++)
        assert_int_equal(site_frame_kind(str_of(PACKAGE[i])), FRAME_PACKAGE);
    for (size_t i = 0; i < sizeof USER / sizeof *USER; i++)
        assert_int_equal(site_frame_kind(str_of(USER[i])), FRAME_USER);
    for (size_t i = 0; i < sizeof FOREIGN / sizeof *FOREIGN; i++)
        assert_int_equal(site_frame_kind(str_of(FOREIGN[i])), FRAME_FOREIGN);
}

static void the_site_is_the_innermost_user_frame_else_python_else_any(void **state)
{
    (void)state;
    struct loop l = {.t = trace_file_new()};
    uint32_t cpp = frame(&l, "??", 0, "at::empty"),
             lib = frame(&l, "/x/site-packages/torch/nn/f.py", 5, "linear");
    uint32_t user = frame(&l, "a.py", 1, "f"), outer = frame(&l, "b.py", 2, "g");
    uint32_t of[] = {stack(&l, (uint32_t[]){cpp, lib, user, outer}, 4), stack(&l, (uint32_t[]){cpp, lib}, 2),
                     stack(&l, (uint32_t[]){cpp}, 1)};
    const struct trace_names *n = &l.t->names;
    uint8_t *kinds = site_frame_kinds(n);
    assert_int_equal(site_of_stack(n, kinds, of[0]), user);
    assert_int_equal(site_of_stack(n, kinds, of[1]), lib);
    assert_int_equal(site_of_stack(n, kinds, of[2]), cpp);
    assert_int_equal(site_of_stack(n, kinds, 0), TRACE_NONE);
    free(kinds);
    trace_file_free(l.t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_are_told_by_the_optimiser),
        cmocka_unit_test(a_line_that_keeps_a_tensor_each_step_is_blamed),
        cmocka_unit_test(a_line_that_keeps_a_tensor_every_fourth_step_is_blamed),
        cmocka_unit_test(a_bounded_list_is_no_leak),
        cmocka_unit_test(nothing_kept_is_no_leak),
        cmocka_unit_test(holders_are_largest_first_and_add_up),
        cmocka_unit_test(user_code_is_outside_framework_packages_and_library),
        cmocka_unit_test(the_site_is_the_innermost_user_frame_else_python_else_any),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

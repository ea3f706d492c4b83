#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyse/ranks.h"
#include "analyse/traits.h"
#include <math.h>

struct bench {
    struct analysis a;
    struct series *series[16];
};

static const double MiB = 0x1p20;

/* A rank of run `name` that logged `steps` steps with this peak. */
static struct run_report *add_rank(struct bench *b, const char *name, double rank, size_t steps, double peak)
{
    struct series *s = b->series[b->a.n_runs] = series_new();
    for (size_t i = 0; i < steps; i++) {
        struct record r;
        record_clear(&r);
        record_set_u(&r, F_STEP, i);
        record_set_u(&r, F_PEAK, (uint64_t)(i == steps / 2 ? peak : peak / 2));
        series_append(s, &r);
    }
    if (!b->a.runs)
        b->a.runs = arena_alloc(&b->a.arena, 16 * sizeof *b->a.runs);
    struct run_report *r = &b->a.runs[b->a.n_runs++];
    *r = (struct run_report){.series = s,
                             .run = name,
                             .rank = rank,
                             .seed = NAN,
                             .capacity_bytes = 4096 * MiB,
                             .last_step = (double)steps - 1,
                             .outcome = OUTCOME_UNKNOWN};
    r->failure.step = NAN;
    return r;
}

static void fails(struct run_report *r, struct series *s, double step, double time)
{
    struct record rec;
    record_clear(&rec);
    if (!isnan(time))
        record_set_d(&rec, F_TIME, time);
    series_event(s, EVENT_OOM, &rec, NULL, 0);
    r->outcome = OUTCOME_OOM;
    r->has_failure = true;
    r->failure.step = step;
}

static void release(struct bench *b)
{
    for (size_t i = 0; i < b->a.n_runs; i++)
        series_free(b->series[i]);
    arena_release(&b->a.arena);
}

static void seal(struct bench *b)
{
    for (size_t i = 0; i < b->a.n_runs; i++) {
        series_seal(b->series[i]);
        traits_fill(&b->a.runs[i], &b->a.arena);
    }
}

static void runs_without_ranks_have_no_table(void **state)
{
    (void)state;
    struct bench b = {0};
    add_rank(&b, "a", NAN, 10, 100 * MiB);
    add_rank(&b, "b", 0, 10, 100 * MiB);
    seal(&b);
    ranks_fill(&b.a);
    assert_null(b.a.ranks);
    assert_int_equal(b.a.n_ranks, 0);
    release(&b);
}

static void each_rank_has_a_line_with_its_peak_and_headroom(void **state)
{
    (void)state;
    struct bench b = {0};
    add_rank(&b, "a", 0, 10, 100 * MiB);
    add_rank(&b, "a", 1, 12, 300 * MiB);
    seal(&b);
    ranks_fill(&b.a);
    assert_int_equal(b.a.n_ranks, 2);
    assert_true(b.a.ranks[1].peak_bytes == 300 * MiB);
    assert_true(b.a.ranks[1].headroom_bytes == 3796 * MiB);
    assert_true(b.a.ranks[1].last_step == 11);
    assert_true(isnan(b.a.ranks[0].slope_bytes_per_step));
    release(&b);
}

static void the_earlier_time_counts_before_the_earlier_step(void **state)
{
    (void)state;
    struct bench b = {0};
    add_rank(&b, "a", 0, 10, MiB);
    fails(&b.a.runs[0], b.series[0], 10, 200.0);
    add_rank(&b, "a", 1, 12, MiB);
    fails(&b.a.runs[1], b.series[1], 12, 150.0);
    seal(&b);
    struct job *jobs;
    assert_int_equal(jobs_find(&jobs, &b.a.arena, &b.a), 1);
    assert_int_equal(jobs[0].n, 2);
    assert_int_equal(jobs[0].failed, 1);
    release(&b);
}

static void without_times_of_all_the_earlier_step_counts(void **state)
{
    (void)state;
    struct bench b = {0};
    add_rank(&b, "a", 0, 12, MiB);
    fails(&b.a.runs[0], b.series[0], 12, 100.0);
    add_rank(&b, "a", 1, 10, MiB);
    fails(&b.a.runs[1], b.series[1], 10, NAN);
    add_rank(&b, "b", 0, 10, MiB);
    seal(&b);
    struct job *jobs;
    assert_int_equal(jobs_find(&jobs, &b.a.arena, &b.a), 2);
    assert_int_equal(jobs[0].failed, 1);
    assert_int_equal(jobs[1].failed, JOB_NONE);
    release(&b);
}

static void a_device_oom_counts_before_a_rank_that_was_killed(void **state)
{
    (void)state;
    struct bench b = {0};
    add_rank(&b, "a", 0, 10, MiB);
    fails(&b.a.runs[0], b.series[0], 9, NAN);
    b.a.runs[0].outcome = OUTCOME_KILLED;
    add_rank(&b, "a", 1, 10, MiB);
    fails(&b.a.runs[1], b.series[1], 10, NAN);
    seal(&b);
    struct job *jobs;
    jobs_find(&jobs, &b.a.arena, &b.a);
    assert_int_equal(jobs[0].failed, 1);
    release(&b);
}

static void the_rank_out_of_line_is_named_with_those_that_stopped(void **state)
{
    (void)state;
    struct bench b = {0};
    for (int i = 0; i < 8; i++)
        add_rank(&b, "a", i, 100, (1000 + i % 3) * MiB + (i == 5 ? 512 * MiB : 0));
    fails(&b.a.runs[5], b.series[5], 100, NAN);
    b.a.runs[7].outcome = OUTCOME_COMPLETED;
    seal(&b);
    ranks_fill(&b.a);
    struct job *jobs;
    jobs_find(&jobs, &b.a.arena, &b.a);
    double by;
    assert_int_equal(rank_out_of_line(&by, &b.a, &jobs[0]), 5);
    assert_true(fabs(by - 513 * MiB) < 1);
    const char *text = ranks_text(&b.a, &jobs[0]);
    assert_string_equal(
        text, "rank 5 failed first, at step 100; 6 other ranks stopped with it; rank 5 peaks 513.0 MiB above "
              "the median of 8 ranks");
    release(&b);
}

static void equal_ranks_have_none_out_of_line(void **state)
{
    (void)state;
    struct bench b = {0};
    for (int i = 0; i < 8; i++)
        add_rank(&b, "a", i, 10, (1000 + 5 * i) * MiB);
    seal(&b);
    struct job *jobs;
    jobs_find(&jobs, &b.a.arena, &b.a);
    double by;
    assert_int_equal(rank_out_of_line(&by, &b.a, &jobs[0]), JOB_NONE);
    assert_null(ranks_text(&b.a, &jobs[0]));
    release(&b);
}

static void of_two_ranks_the_one_a_tenth_above_is_out_of_line(void **state)
{
    (void)state;
    struct bench b = {0};
    add_rank(&b, "a", 0, 10, 1200 * MiB);
    add_rank(&b, "a", 1, 10, 1000 * MiB);
    seal(&b);
    struct job *jobs;
    jobs_find(&jobs, &b.a.arena, &b.a);
    double by;
    assert_int_equal(rank_out_of_line(&by, &b.a, &jobs[0]), 0);
    assert_true(fabs(by - 200 * MiB) < 1);
    release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_without_ranks_have_no_table),
        cmocka_unit_test(each_rank_has_a_line_with_its_peak_and_headroom),
        cmocka_unit_test(the_earlier_time_counts_before_the_earlier_step),
        cmocka_unit_test(without_times_of_all_the_earlier_step_counts),
        cmocka_unit_test(a_device_oom_counts_before_a_rank_that_was_killed),
        cmocka_unit_test(the_rank_out_of_line_is_named_with_those_that_stopped),
        cmocka_unit_test(equal_ranks_have_none_out_of_line),
        cmocka_unit_test(of_two_ranks_the_one_a_tenth_above_is_out_of_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

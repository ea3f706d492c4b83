#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "model/trace.h"
#include "normalise/names.h"
#include "normalise_run.h"

struct built {
    struct run run;
    struct builder *b;
    struct series_set set;
};

static int setup(void **state)
{
    static struct built t;
    run_init(&t.run);
    t.b = builder_new(NULL);
    t.set = (struct series_set){0};
    *state = &t;
    return 0;
}

static int teardown(void **state)
{
    struct built *t = *state;
    series_set_release(&t->set);
    builder_free(t->b);
    run_release(&t->run);
    return 0;
}

static void add(struct built *t, const char *name, const char *text)
{
    struct record_sink sink = builder_sink(t->b, name, name, &t->run.d);
    run_sink(&t->run, name, str_of(text), &sink);
    builder_input_end(t->b, &t->run.info);
}

static struct series *only(struct built *t)
{
    builder_finish(&t->set, t->b);
    assert_int_equal(t->set.n, 1);
    return t->set.items[0];
}

static double at(const struct series *s, enum field f, size_t row)
{
    double v;
    series_read(s, f, row, 1, &v);
    return v;
}

static void assert_run(const struct series *s, const char *run)
{
    struct str name = record_text(&s->meta, F_RUN);
    assert_int_equal(name.n, strlen(run));
    assert_memory_equal(name.p, run, name.n);
}

static void sparse_rows_of_a_step_are_one_row(void **state)
{
    struct built *t = *state;
    add(t, "a.jsonl",
        "{\"step\":1,\"peak_bytes\":10}\n{\"step\":1,\"max_len\":5}\n{\"step\":2,\"peak_bytes\":11}\n"
        "{\"step\":2,\"phase\":\"eval\",\"peak_bytes\":12}\n{\"step\":2,\"max_len\":6}\n");
    struct series *s = only(t);
    assert_int_equal(s->rows, 3);
    assert_true(at(s, F_MAX_LEN, 0) == 5 && at(s, F_MAX_LEN, 1) == 6);
    assert_true(isnan(at(s, F_MAX_LEN, 2)));
    assert_true(at(s, F_PHASE, 2) == PHASE_EVAL);
}

static void rows_of_a_step_with_the_same_figures_stay_rows(void **state)
{
    struct built *t = *state;
    add(t, "a.jsonl",
        "{\"step\":1,\"peak_bytes\":10}\n{\"step\":1,\"peak_bytes\":900}\n{\"step\":2,\"peak_bytes\":11}\n");
    assert_int_equal(only(t)->rows, 3);
}

/* `n` steps from `from`, each written `copies` times. */
static const char *steps(struct built *t, const char *before, int from, int n, int copies)
{
    const char *out = before;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < copies; k++)
            out = arena_printf(&t->run.a, "%s{\"step\":%d,\"peak_bytes\":%d}\n", out, from + i,
                               1000000 + 10 * i + k);
    return out;
}

static void a_step_that_goes_back_is_a_restart(void **state)
{
    struct built *t = *state;
    add(t, "a.jsonl", steps(t, steps(t, "", 0, 60, 1), 40, 60, 1));
    struct series *s = only(t);
    assert_int_equal(s->rows, 120);
    assert_true(column_at(s->segment, 59) == 0 && column_at(s->segment, 60) == 1 &&
                column_at(s->segment, 119) == 1);
    assert_int_equal(run_seen(&t->run, DIAG_RESTART), 1);
    assert_int_equal(run_seen(&t->run, DIAG_DOUBLE_WRITER), 0);
}

static void a_header_that_comes_again_is_a_restart(void **state)
{
    struct built *t = *state;
    const char *text = steps(t, "{\"oomlog\":1,\"run\":\"r\"}\n", 0, 5, 1);
    add(t, "a.jsonl", steps(t, arena_printf(&t->run.a, "%s{\"oomlog\":1,\"run\":\"r\"}\n", text), 5, 5, 1));
    struct series *s = only(t);
    assert_int_equal(s->rows, 10);
    assert_true(column_at(s->segment, 4) == 0 && column_at(s->segment, 5) == 1);
}

static void double_writers_count_once(void **state)
{
    struct built *t = *state;
    add(t, "a.jsonl", steps(t, "", 0, 50, 2));
    struct series *s = only(t);
    assert_int_equal(s->rows, 50);
    assert_true(column_at(s->segment, 49) == 0);
    assert_int_equal(run_seen(&t->run, DIAG_DOUBLE_WRITER), 1);
    assert_int_equal(run_seen(&t->run, DIAG_RESTART), 0);
}

static void a_second_writer_that_lags_behind_is_no_restart(void **state)
{
    struct built *t = *state;
    const char *text = "";
    for (int i = 0; i < 60; i++)
        text = arena_printf(&t->run.a,
                            "%s{\"step\":%d,\"peak_bytes\":1000}\n{\"step\":%d,\"peak_bytes\":1001}\n", text,
                            i + 3, i);
    add(t, "a.jsonl", text);
    struct series *s = only(t);
    assert_true(column_at(s->segment, s->rows - 1) == 0);
    assert_int_equal(run_seen(&t->run, DIAG_DOUBLE_WRITER), 1);
    for (size_t i = 1; i < s->rows; i++)
        assert_true(at(s, F_STEP, i) > at(s, F_STEP, i - 1));
}

static void micro_batches_that_differ_are_no_second_writer(void **state)
{
    struct built *t = *state;
    const char *text = "";
    for (int i = 0; i < 40; i++)
        text = arena_printf(&t->run.a,
                            "%s{\"step\":%d,\"peak_bytes\":1000}\n{\"step\":%d,\"peak_bytes\":5000}\n", text,
                            i, i);
    add(t, "a.jsonl", text);
    assert_int_equal(only(t)->rows, 80);
    assert_int_equal(run_seen(&t->run, DIAG_DOUBLE_WRITER), 0);
}

static void ranks_of_one_file_are_series(void **state)
{
    struct built *t = *state;
    add(t, "a.jsonl",
        "{\"rank\":0,\"step\":1,\"peak_bytes\":10}\n{\"rank\":10,\"step\":1,\"peak_bytes\":11}\n"
        "{\"rank\":2,\"step\":1,\"peak_bytes\":12}\n{\"rank\":0,\"step\":2,\"peak_bytes\":13}\n");
    builder_finish(&t->set, t->b);
    assert_int_equal(t->set.n, 3);
    assert_int_equal(t->set.items[0]->rows, 2);
    assert_true(series_meta(t->set.items[1], F_RANK) == 2 && series_meta(t->set.items[2], F_RANK) == 10);
    for (size_t i = 0; i < 3; i++)
        assert_run(t->set.items[i], "a");
}

static void hosts_become_part_of_the_run(void **state)
{
    struct built *t = *state;
    add(t, "job.csv", "hostname, index, memory.used [MiB]\nn1, 0, 10 MiB\nn2, 0, 20 MiB\nn1, 0, 11 MiB\n");
    builder_finish(&t->set, t->b);
    assert_int_equal(t->set.n, 2);
    assert_run(t->set.items[0], "job@n1");
    assert_run(t->set.items[1], "job@n2");
    assert_int_equal(t->set.items[0]->rows, 2);
}

static void shapes_from_another_file_are_joined_by_step(void **state)
{
    struct built *t = *state;
    add(t, "exp/shapes.csv", "step,max_len,batch_ids\n1,10,a\n2,20,b\n3,30,c\n");
    add(t, "exp/metrics.jsonl", "{\"step\":2,\"peak_bytes\":7}\n{\"step\":3,\"peak_bytes\":8}\n");
    struct series *s = only(t);
    assert_int_equal(s->rows, 2);
    assert_true(at(s, F_MAX_LEN, 0) == 20 && at(s, F_MAX_LEN, 1) == 30);
    assert_true(s->has_ids);
    assert_run(s, "exp");
}

static void the_device_log_is_joined_by_time_across_zones(void **state)
{
    struct built *t = *state;
    add(t, "exp/metrics.jsonl",
        "{\"step\":1,\"time\":1767461814,\"peak_bytes\":7}\n{\"step\":2,\"time\":1767461815,\"peak_bytes\":8}"
        "\n");
    add(t, "exp/gpu.csv",
        "timestamp, memory.used [MiB]\n2026/01/03 15:36:53.000, 1 MiB\n"
        "2026/01/03 15:36:54.000, 2 MiB\n2026/01/03 15:36:55.000, 3 MiB\n");
    struct series *s = only(t);
    assert_int_equal(s->rows, 2);
    assert_true(at(s, F_DEVICE_USED, 0) == 2 * 1048576 && at(s, F_DEVICE_USED, 1) == 3 * 1048576);
    assert_non_null(strstr(s->source, "clock moved by -2.00 h"));
}

static void a_row_without_a_step_does_not_end_the_joining(void **state)
{
    struct built *t = *state;
    add(t, "exp/shapes.csv", "step,max_len\n1,10\n,15\n2,20\n3,30\n");
    add(t, "exp/metrics.jsonl", "{\"step\":1,\"peak_bytes\":6}\n{\"step\":3,\"peak_bytes\":8}\n");
    struct series *s = only(t);
    assert_true(at(s, F_MAX_LEN, 0) == 10 && at(s, F_MAX_LEN, 1) == 30);
}

static void a_row_without_a_time_does_not_end_the_joining(void **state)
{
    struct built *t = *state;
    add(t, "exp/metrics.jsonl",
        "{\"step\":1,\"time\":1767454613,\"peak_bytes\":7}\n{\"step\":2,\"time\":1767454615,\"peak_bytes\":8}"
        "\n");
    add(t, "exp/gpu.csv",
        "timestamp, memory.used [MiB]\n2026/01/03 15:36:53.000, 1 MiB\n"
        "yesterday, 2 MiB\n2026/01/03 15:36:55.000, 3 MiB\n");
    struct series *s = only(t);
    assert_true(at(s, F_DEVICE_USED, 0) == 1 * 1048576 && at(s, F_DEVICE_USED, 1) == 3 * 1048576);
}

static void a_snapshot_without_steps_beside_a_log_is_kept(void **state)
{
    struct built *t = *state;
    struct record oom = {0};
    record_set_s(&oom, F_DEVICE, STR_LIT("cuda:0"));
    record_set_s(&oom, F_EVENT, STR_LIT("oom"));
    add(t, "run7.jsonl", "{\"step\":1,\"peak_bytes\":10}\n{\"event\":\"oom\",\"step\":2}\n");
    struct record_sink sink = builder_sink(t->b, "run7.json", "run7.json", &t->run.d);
    sink.record(sink.ctx, &oom, NULL, 0);
    struct input_info info = {.format = "torch-snapshot", .trace = trace_file_new()};
    trace_file_device(info.trace, 0);
    builder_input_end(t->b, &info);
    trace_file_free(info.trace);
    assert_non_null(only(t)->trace);
}

static void the_error_text_beside_a_log_belongs_to_its_run(void **state)
{
    struct built *t = *state;
    add(t, "run7.jsonl", "{\"step\":1,\"peak_bytes\":10}\n{\"event\":\"oom\",\"step\":2}\n");
    add(t, "run7.err",
        "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 8.00 GiB total capacity; "
        "6.00 GiB already allocated; 1.00 GiB free; 7.00 GiB reserved in total by PyTorch)\n");
    struct series *s = only(t);
    assert_int_equal(s->rows, 1);
    assert_int_equal(s->n_events, 1);
    assert_true(record_number(&s->events[0].rec, F_STEP) == 2);
    assert_true(record_number(&s->events[0].rec, F_REQUESTED) == 2147483648.0);
}

static void a_resumed_run_in_two_files_is_one_series(void **state)
{
    struct built *t = *state;
    add(t, "x/1.jsonl",
        "{\"oomlog\":1,\"run\":\"r\"}\n{\"step\":1,\"peak_bytes\":10}\n{\"step\":2,\"peak_bytes\":10}\n");
    add(t, "x/2.jsonl", "{\"oomlog\":1,\"run\":\"r\",\"resumed_from\":2}\n{\"step\":3,\"peak_bytes\":10}\n");
    struct series *s = only(t);
    assert_int_equal(s->rows, 3);
    assert_true(column_at(s->segment, 2) == 1);
    assert_string_equal(s->source, "x/1.jsonl, x/2.jsonl");
}

static void runs_of_one_name_are_told_apart(void **state)
{
    struct built *t = *state;
    add(t, "p/1.jsonl", "{\"oomlog\":1,\"run\":\"r\",\"seed\":1}\n{\"step\":1,\"peak_bytes\":10}\n");
    add(t, "p/2.jsonl", "{\"oomlog\":1,\"run\":\"r\",\"seed\":2}\n{\"step\":1,\"peak_bytes\":10}\n");
    builder_finish(&t->set, t->b);
    assert_int_equal(t->set.n, 2);
    assert_run(t->set.items[0], "r seed 1");
    assert_run(t->set.items[1], "r seed 2");
}

static void runs_of_one_name_and_seed_are_told_apart_by_their_files(void **state)
{
    struct built *t = *state;
    static const char *const seeds[] = {"1", "2", "1"};
    for (int i = 0; i < 3; i++)
        add(t, arena_printf(&t->run.a, "p/%d.jsonl", i),
            arena_printf(&t->run.a,
                         "{\"oomlog\":1,\"run\":\"r\",\"seed\":%s}\n{\"step\":1,\"peak_bytes\":1}\n",
                         seeds[i]));
    builder_finish(&t->set, t->b);
    assert_int_equal(t->set.n, 3);
    assert_run(t->set.items[0], "r seed 1 (p/0.jsonl)");
    assert_run(t->set.items[1], "r seed 1 (p/2.jsonl)");
    assert_run(t->set.items[2], "r seed 2");
}

static void an_evaluation_without_figures_is_an_event(void **state)
{
    struct built *t = *state;
    add(t, "a.jsonl",
        "{\"step\":1,\"peak_bytes\":10}\n{\"step\":1,\"phase\":\"eval\",\"epoch\":1}\n{\"step\":2,\"peak_"
        "bytes\":10}\n");
    struct series *s = only(t);
    assert_int_equal(s->rows, 2);
    assert_int_equal(s->n_events, 1);
    assert_int_equal(s->events[0].kind, EVENT_EVAL_END);
    assert_int_equal(s->events[0].row, 1);
}

static void checkpoints_are_no_rows(void **state)
{
    struct built *t = *state;
    add(t, "a.jsonl",
        "{\"step\":1,\"label\":\"after forward\",\"allocated_bytes\":10}\n{\"step\":1,\"peak_bytes\":12}\n");
    struct series *s = only(t);
    assert_int_equal(s->rows, 1);
    assert_int_equal(s->n_checkpoints, 1);
    assert_true(s->checkpoints[0].allocated_bytes == 10);
}

static void assert_name(const char *path, const char *pattern, const char *run, double seed, double rank)
{
    struct arena a = {0};
    struct run_name n;
    run_name_find(&n, path, pattern, &a);
    assert_int_equal(n.run.n, strlen(run));
    assert_memory_equal(n.run.p, run, n.run.n);
    assert_true(n.seed == seed || (isnan(n.seed) && isnan(seed)));
    assert_true(n.rank == rank || (isnan(n.rank) && isnan(rank)));
    arena_release(&a);
}

static void names_tell_run_seed_and_rank(void **state)
{
    (void)state;
    assert_name("run1_seed3_rank12.jsonl", NULL, "run1_seed3", 3, 12);
    assert_name("logs/seed2/rank3.csv", NULL, "seed2", 2, 3);
    assert_name("/data/expA/metrics.csv", NULL, "expA", NAN, NAN);
    assert_name("expA/rank_7/metrics.csv.gz", NULL, "expA", NAN, 7);
    assert_name("fold3.log.json", NULL, "fold3", NAN, NAN);
    assert_name("crank3.csv", NULL, "crank3", NAN, NAN);
    assert_name("-", NULL, "stdin", NAN, NAN);
    assert_name("metrics.csv", NULL, "metrics", NAN, NAN);
}

static void a_name_pattern_wins(void **state)
{
    (void)state;
    assert_name("x/a-7-12.csv", "{run}-{seed}-{rank}.csv", "a", 7, 12);
    assert_name("x/s5/w3.csv", "s{seed}/w{rank}", "s5", 5, 3);
    assert_name("x/other_seed4.csv", "{run}-{seed}-{rank}.csv", "other_seed4", 4, NAN);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(sparse_rows_of_a_step_are_one_row),
        TEST(rows_of_a_step_with_the_same_figures_stay_rows),
        TEST(a_step_that_goes_back_is_a_restart),
        TEST(a_header_that_comes_again_is_a_restart),
        TEST(double_writers_count_once),
        TEST(a_second_writer_that_lags_behind_is_no_restart),
        TEST(micro_batches_that_differ_are_no_second_writer),
        TEST(ranks_of_one_file_are_series),
        TEST(hosts_become_part_of_the_run),
        TEST(shapes_from_another_file_are_joined_by_step),
        TEST(the_device_log_is_joined_by_time_across_zones),
        TEST(a_row_without_a_step_does_not_end_the_joining),
        TEST(a_row_without_a_time_does_not_end_the_joining),
        TEST(a_snapshot_without_steps_beside_a_log_is_kept),
        TEST(the_error_text_beside_a_log_belongs_to_its_run),
        TEST(a_resumed_run_in_two_files_is_one_series),
        TEST(runs_of_one_name_are_told_apart),
        TEST(runs_of_one_name_and_seed_are_told_apart_by_their_files),
        TEST(an_evaluation_without_figures_is_an_event),
        TEST(checkpoints_are_no_rows),
        cmocka_unit_test(names_tell_run_seed_and_rank),
        cmocka_unit_test(a_name_pattern_wins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

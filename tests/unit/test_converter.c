#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "normalise_run.h"
#include <errno.h>

static int setup(void **state)
{
    static struct run r;
    run_init(&r);
    *state = &r;
    return 0;
}

static int teardown(void **state)
{
    run_release(*state);
    return 0;
}

/* Both forms, from each other and from themselves, say the same. */
static void assert_round_trip(struct run *r, const char *text)
{
    const char *j = run_convert(r, str_of(text), CONVERT_JSONL);
    const char *c = run_convert(r, str_of(text), CONVERT_CSV);
    assert_true(strlen(j) > 0);
    assert_string_equal(run_convert(r, str_of(j), CONVERT_JSONL), j);
    assert_string_equal(run_convert(r, str_of(c), CONVERT_CSV), c);
    assert_string_equal(run_convert(r, str_of(c), CONVERT_JSONL), j);
    assert_string_equal(run_convert(r, str_of(j), CONVERT_CSV), c);
}

static void own_logs_survive_both_forms(void **state)
{
    assert_round_trip(
        *state, "{\"oomlog\":1,\"run\":\"a, \\\"b\\\"\",\"seed\":3,\"capacity_bytes\":80000000000}\n"
                "{\"step\":0,\"epoch\":0.1,\"allocated_bytes\":100,\"batch_ids\":[\"x;1\",\"y\\\\z\"]}\n"
                "{\"step\":1,\"phase\":\"eval\",\"peak_bytes\":200,\"label\":\"after backward\"}\n"
                "{\"event\":\"oom\",\"step\":2,\"message\":\"line one\\nline two\",\"recovered\":true}\n");
}

static void sizes_that_come_later_bring_a_new_header_line(void **state)
{
    struct run *r = *state;
    const char *text = "";
    for (int i = 0; i < 100; i++)
        text = arena_printf(&r->a, "%s{\"step\":%d,\"peak_bytes\":1,\"size_b\":1}\n", text, i);
    text = arena_printf(&r->a,
                        "%s{\"step\":100,\"peak_bytes\":2,\"size_c\":3,\"size_a\":2.5}\n"
                        "{\"step\":101,\"peak_bytes\":3,\"size_b\":4}\n",
                        text);
    const char *c = run_convert(r, str_of(text), CONVERT_CSV);
    const char *second = strstr(c, "\noomlog,");
    assert_non_null(second);
    assert_non_null(strstr(second, ",size_b,size_a,size_c\n"));
    assert_round_trip(r, text);
}

static void sizes_that_come_early_stand_in_the_first_header_line(void **state)
{
    struct run *r = *state;
    const char *text = "{\"step\":0,\"peak_bytes\":1,\"size_b\":1}\n{\"step\":1,\"peak_bytes\":2,\"size_c\":"
                       "3,\"size_a\":2.5}\n"
                       "{\"step\":2,\"peak_bytes\":3,\"size_b\":4}\n";
    assert_null(strstr(run_convert(r, str_of(text), CONVERT_CSV), "\noomlog,"));
    assert_round_trip(r, text);
}

static void text_of_any_kind_comes_back_from_csv(void **state)
{
    static const char *const texts[] = {
        "two\\nlines", "\\n",
        "a\\r\\nb",    "\\u001b[31m",
        "<b>=1</b>",   "=1+1",
        " x ",         "\\\"\\\"\\n\\\"",
        "{\\n{}\\n{}", "CUDA out of memory. Tried to allocate 2.00 GiB\\nby nobody"};
    struct run *r = *state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *t = texts[i];
        assert_round_trip(
            r, arena_printf(&r->a,
                            "{\"oomlog\":1,\"run\":\"%s\",\"device\":\"%s\"}\n"
                            "{\"step\":0,\"phase\":\"%s\",\"peak_bytes\":1,\"batch_ids\":[\"%s\",\"z\"]}\n"
                            "{\"step\":1,\"peak_bytes\":2,\"batch_hash\":\"%s\",\"label\":\"%s\"}\n"
                            "{\"event\":\"oom\",\"message\":\"%s\"}\n",
                            t, t, t, t, t, t, t));
    }
}

static void an_error_message_in_a_csv_row_leaves_the_steps_alone(void **state)
{
    struct run *r = *state;
    const char *text =
        "{\"oomlog\":1,\"run\":\"a\"}\n"
        "{\"step\":0,\"peak_bytes\":1,\"label\":\"CUDA out of memory. Tried to allocate 1.00 GiB\"}\n"
        "{\"step\":1,\"peak_bytes\":2}\n"
        "{\"event\":\"oom\",\"message\":\"CUDA out of memory. Tried to allocate 2.00 GiB\"}\n";
    const char *csv = run_convert(r, str_of(text), CONVERT_CSV);
    const char *back = run_convert(r, str_of(csv), CONVERT_JSONL);
    assert_non_null(strstr(back, "\"step\":0,"));
    assert_non_null(strstr(back, "\"step\":1,"));
    assert_string_equal(back, run_convert(r, str_of(text), CONVERT_JSONL));
}

static void a_long_message_comes_back_from_csv(void **state)
{
    struct run *r = *state;
    const char *lines = "";
    for (int i = 0; i < 300; i++)
        lines = arena_printf(&r->a, "%s\\n  File %d", lines, i);
    assert_round_trip(
        r, arena_printf(&r->a,
                        "{\"step\":0,\"peak_bytes\":1}\n{\"event\":\"oom\",\"step\":1,\"message\":\"m%s\"}\n",
                        lines));
}

static void a_header_that_comes_again_is_kept(void **state)
{
    struct run *r = *state;
    const char *text =
        "{\"oomlog\":1,\"run\":\"a\"}\n{\"step\":0,\"peak_bytes\":1}\n{\"step\":1,\"peak_bytes\":1}\n"
        "{\"oomlog\":1,\"run\":\"a\"}\n{\"step\":0,\"peak_bytes\":1}\n{\"oomlog\":1,\"run\":\"a\"}\n"
        "{\"step\":0,\"peak_bytes\":1}\n{\"oomlog\":1,\"run\":\"b\",\"rank\":1}\n";
    assert_string_equal(run_convert(r, str_of(text), CONVERT_JSONL), text);
    assert_round_trip(r, text);
}

static void a_rank_in_each_row_stays_in_the_row(void **state)
{
    struct run *r = *state;
    const char *text =
        "{\"oomlog\":1,\"rank\":0}\n{\"step\":0,\"peak_bytes\":1}\n{\"rank\":1,\"step\":0,\"peak_bytes\":2}\n"
        "{\"step\":1,\"peak_bytes\":3}\n";
    assert_string_equal(run_convert(r, str_of(text), CONVERT_JSONL), text);
    assert_round_trip(r, text);
}

static void a_constant_oomlog_column_is_one_header(void **state)
{
    struct run *r = *state;
    assert_string_equal(
        run_convert(r, STR_LIT("oomlog,run,step,peak_bytes\n1,a,0,10\n1,a,1,20\n"), CONVERT_JSONL),
        "{\"oomlog\":1,\"run\":\"a\"}\n{\"step\":0,\"peak_bytes\":10}\n{\"step\":1,\"peak_bytes\":20}\n");
}

static void csv_has_every_column_of_the_schema_in_order(void **state)
{
    struct run *r = *state;
    const char *c = run_convert(r, STR_LIT("{\"step\":0,\"peak_bytes\":1}\n"), CONVERT_CSV);
    const char *at = c;
    for (int f = 0; f < F_COUNT; f++) {
        size_t n = strlen(field_name((enum field)f));
        assert_memory_equal(at, field_name((enum field)f), n);
        at += n + 1;
    }
    assert_int_equal(at[-1], '\n');
}

static void other_formats_convert_once_and_for_all(void **state)
{
    struct run *r = *state;
    assert_round_trip(r, "timestamp, index, name, memory.total [MiB], memory.used [MiB]\n"
                         "2026/01/03 15:36:53.500, 0, NVIDIA A100, 40960 MiB, 1129 MiB\n"
                         "2026/01/03 15:36:53.501, 1, NVIDIA A100, 40960 MiB, 1130 MiB\n");
    assert_round_trip(r, "iteration,bs,time,error\n1,8,0.5,\n2,8,0.5,OOM\n");
    assert_round_trip(r, "seq_len,a_ms,b_ms\n128,1,2\n256,2,OOM\n");
}

static void bytes_that_are_no_utf8_become_one_character(void **state)
{
    struct run *r = *state;
    assert_round_trip(r, "{\"oomlog\":1,\"run\":\"a\xFF\"}\n{\"step\":0,\"peak_bytes\":1}\n");
}

static void a_full_disk_is_told(void **state)
{
    FILE *full = fopen("/dev/full", "w");
    (void)state;
    if (!full)
        skip();
    struct converter *c = converter_new(full, CONVERT_JSONL, false);
    struct record_sink sink = converter_sink(c);
    struct record rec;
    record_clear(&rec);
    record_set_u(&rec, F_STEP, 1);
    sink.record(sink.ctx, &rec, NULL, 0);
    assert_int_equal(converter_close(c), -1);
    assert_int_equal(errno, ENOSPC);
    fclose(full);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(own_logs_survive_both_forms),
        TEST(sizes_that_come_later_bring_a_new_header_line),
        TEST(sizes_that_come_early_stand_in_the_first_header_line),
        TEST(text_of_any_kind_comes_back_from_csv),
        TEST(an_error_message_in_a_csv_row_leaves_the_steps_alone),
        TEST(a_long_message_comes_back_from_csv),
        TEST(a_header_that_comes_again_is_kept),
        TEST(a_rank_in_each_row_stays_in_the_row),
        TEST(a_constant_oomlog_column_is_one_header),
        TEST(csv_has_every_column_of_the_schema_in_order),
        TEST(other_formats_convert_once_and_for_all),
        TEST(bytes_that_are_no_utf8_become_one_character),
        TEST(a_full_disk_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "normalise_run.h"
#include "base/buf.h"

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

static void add_map(struct run *r, const char *text)
{
    static struct field_map maps[4];
    assert_null(normalise_map(&maps[r->settings.n_maps++], text, &r->a));
    r->settings.maps = maps;
}

static void add_set(struct run *r, const char *text)
{
    static struct field_set sets[4];
    assert_null(normalise_set(&sets[r->settings.n_sets++], text, &r->a));
    r->settings.sets = sets;
}

static void impossible_values_are_said_and_left_out(void **state)
{
    struct run *r = *state;
    assert_string_equal(run_jsonl(r, "{\"step\": 1, \"allocated_bytes\": -5}\n"
                                     "{\"step\": 2.5, \"peak_bytes\": 1e300}\n"
                                     "{\"step\": 3, \"peak_bytes\": 10.5, \"batch_size\": 4}\n"),
                        "{\"step\":1}\n{\"step\":3,\"batch_size\":4}\n");
    assert_int_equal(run_seen(r, DIAG_OUT_OF_RANGE), 4);
}

static void an_ambiguous_unit_is_said_once_a_column(void **state)
{
    struct run *r = *state;
    const char *out = run_jsonl(r, "iteration,gpu_mem_mb\n1,100\n2,200\n3,300\n");
    assert_non_null(strstr(out, "{\"step\":1,\"device_used_bytes\":104857600}"));
    assert_int_equal(run_seen(r, DIAG_AMBIGUOUS_UNIT), 1);
}

static void the_decimal_reading_is_taken_when_only_that_fits_the_card(void **state)
{
    struct run *r = *state;
    add_set(r, "capacity_bytes=24000000000");
    const char *out = run_jsonl(r, "iteration,peak_mem_gb\n1,23.5\n2,23.6\n");
    assert_non_null(strstr(out, "\"peak_bytes\":23500000000"));
    assert_non_null(strstr(out, "\"peak_bytes\":23600000000"));
}

static void maps_name_columns_that_nothing_knows(void **state)
{
    struct run *r = *state;
    add_map(r, "peak_bytes=zork:MiB");
    add_map(r, "max_len=blip");
    const char *out = run_jsonl(r, "iteration,zork,blip\n1,2,3\n2,3,4\n");
    assert_string_equal(out, "{\"step\":1,\"peak_bytes\":2097152,\"max_len\":3}\n"
                             "{\"step\":2,\"peak_bytes\":3145728,\"max_len\":4}\n");
    assert_true(r->info.has_memory);
}

static void maps_are_checked(void **state)
{
    struct run *r = *state;
    struct field_map m;
    assert_non_null(normalise_map(&m, "peak_bytes", &r->a));
    assert_non_null(normalise_map(&m, "peek=a", &r->a));
    assert_non_null(normalise_map(&m, "peak_bytes=a:MiBB", &r->a));
    assert_non_null(normalise_map(&m, "peak_bytes=a:s", &r->a));
    assert_null(normalise_map(&m, "peak_bytes=gpu_id: 0/memory.used (MB)", &r->a));
    assert_true(isnan(m.scale));
    assert_true(str_is(m.column, "gpu_id: 0/memory.used (MB)"));
}

static void sets_are_checked_and_take_units(void **state)
{
    struct run *r = *state;
    struct field_set s;
    assert_null(normalise_set(&s, "capacity_bytes=24GiB", &r->a));
    assert_true(str_is(s.text, "25769803776"));
    assert_non_null(normalise_set(&s, "capacity_bytes=24furlongs", &r->a));
    assert_non_null(normalise_set(&s, "rank=-1", &r->a));
    assert_non_null(normalise_set(&s, "peak_reset=daily", &r->a));
    assert_null(normalise_set(&s, "run=my run", &r->a));
}

static void set_wins_over_the_header_and_fills_steps(void **state)
{
    struct run *r = *state;
    add_set(r, "run=b");
    add_set(r, "batch_size=8");
    assert_string_equal(run_jsonl(r, "{\"oomlog\":1,\"run\":\"a\"}\n{\"step\":1,\"peak_bytes\":5}\n"
                                     "{\"step\":2,\"peak_bytes\":6,\"batch_size\":2}\n"),
                        "{\"oomlog\":1,\"run\":\"b\"}\n{\"step\":1,\"peak_bytes\":5,\"batch_size\":8}\n"
                        "{\"step\":2,\"peak_bytes\":6,\"batch_size\":2}\n");
}

static void a_size_of_a_phase_stands_for_that_of_the_row(void **state)
{
    struct run *r = *state;
    assert_string_equal(
        run_jsonl(r, "iteration,peak_mem_gib,num_boxes,val_peak_mem_gib,val_num_boxes\n1,2,3,4,5\n"),
        "{\"step\":1,\"phase\":\"eval\",\"peak_bytes\":4294967296,\"size_boxes\":5}\n");
}

static void a_device_log_without_names_may_begin_with_a_gap(void **state)
{
    struct run *r = *state;
    const char *out = run_jsonl(r, "2026/01/03 15:36:53.000, 0, [N/A], 81920\n"
                                   "2026/01/03 15:36:54.000, 0, 40960, 81920\n"
                                   "2026/01/03 15:36:55.000, 0, 40961, 81920\n");
    assert_non_null(strstr(out, "\"device_used_bytes\":42949672960"));
    assert_null(strstr(out, "\"device_used_bytes\":85899345920"));
}

static void only_the_wanted_steps_are_used(void **state)
{
    struct run *r = *state;
    r->settings.step_from = 2;
    r->settings.step_to = 3;
    assert_string_equal(run_jsonl(r, "{\"step\":1,\"peak_bytes\":5}\n{\"step\":2,\"peak_bytes\":6}\n"
                                     "{\"step\":3,\"peak_bytes\":7}\n{\"step\":4,\"peak_bytes\":8}\n"),
                        "{\"step\":2,\"peak_bytes\":6}\n{\"step\":3,\"peak_bytes\":7}\n");
}

#define OOM_TEXT                                                                                             \
    "CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 8.00 GiB total capacity; 6.00 GiB already "      \
    "allocated; 1.00 GiB free; 7.00 GiB reserved in total by PyTorch)"

static void figures_of_a_message_are_parsed(void **state)
{
    struct run *r = *state;
    const char *out = run_jsonl(
        r, "{\"step\":1,\"peak_bytes\":5}\n{\"event\":\"oom\",\"step\":2,\"message\":\"" OOM_TEXT "\"}\n");
    assert_non_null(
        strstr(out, "\"requested_bytes\":2147483648,\"free_bytes\":1073741824,\"total_bytes\":8589934592"));
}

static void a_bare_message_between_records_is_an_event_once(void **state)
{
    struct run *r = *state;
    const char *out = run_jsonl(r, "{\"step\":1,\"peak_bytes\":5}\nTraceback (most recent call last):\n"
                                   "torch.cuda.OutOfMemoryError: " OOM_TEXT "\n" OOM_TEXT "\n");
    const char *first = strstr(out, "\"event\":\"oom\"");
    assert_non_null(first);
    assert_null(strstr(first + 1, "\"event\":\"oom\""));
}

static void a_plain_text_with_a_message_has_memory_figures(void **state)
{
    struct run *r = *state;
    const char *out = run_jsonl(r, "starting\nloading data now\nRuntimeError: " OOM_TEXT "\n");
    assert_non_null(strstr(out, "\"total_bytes\":8589934592"));
    assert_true(r->info.has_memory);
    assert_string_equal(r->info.format, "text");
}

static void an_unknown_event_is_said(void **state)
{
    struct run *r = *state;
    assert_string_equal(run_jsonl(r, "{\"step\":1,\"peak_bytes\":5}\n{\"event\":\"lunch\",\"step\":2}\n"),
                        "{\"step\":1,\"peak_bytes\":5}\n");
    assert_int_equal(run_seen(r, DIAG_UNKNOWN_EVENT), 1);
}

static void a_file_without_memory_figures_says_so_by_name(void **state)
{
    struct run *r = *state;
    run_jsonl(r, "{\"iteration\": 1, \"loss\": 2}\n{\"iteration\": 2, \"loss\": 1}\n");
    assert_false(r->info.has_memory);
    assert_int_equal(r->info.records, 2);
    assert_int_equal(run_seen(r, DIAG_NO_MEMORY_FIGURES), 1);
    const struct diag_item *item = &r->d.items[r->d.n - 1];
    assert_string_equal(item->at.file, "in");
    assert_non_null(strstr(item->text, "\"loss\""));
}

static void unknown_keys_are_counted_in_a_note(void **state)
{
    struct run *r = *state;
    run_jsonl(
        r, "{\"step\":1,\"peak_bytes\":5,\"x\":1,\"y\":2}\n{\"step\":2,\"peak_bytes\":5,\"x\":1,\"z\":2}\n");
    assert_int_equal(r->info.n_notes, 1);
    assert_string_equal(r->info.notes[0].code, "unknown-keys");
    assert_memory_equal(r->info.notes[0].text, "3 keys", 6);
}

static void ids_of_any_kind_take_the_csv_form(void **state)
{
    struct run *r = *state;
    assert_string_equal(run_jsonl(r, "{\"step\":1,\"batch_ids\":[\"a;b\",7,\"c\\\\d\",\"\\u00e9\"]}\n"),
                        "{\"step\":1,\"batch_ids\":[\"a;b\",\"7\",\"c\\\\d\",\"\xC3\xA9\"]}\n");
}

static void what_is_no_log_is_named(void **state)
{
    struct run *r = *state;
    run_jsonl(r, "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n");
    assert_int_equal(run_seen(r, DIAG_NOT_RECOGNISED), 1);
    assert_null(r->info.format);
}

static void sizes_have_plain_names_or_are_left_out(void **state)
{
    static const char *const odd[] = {"size_a\\nb", "size_\\u001b[1m", "size_<b>", "size_a=b",
                                      "size_",      "size_a b",        "size_a,b"};
    struct run *r = *state;
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        uint64_t before = run_seen(r, DIAG_OUT_OF_RANGE);
        const char *out =
            run_jsonl(r, arena_printf(&r->a,
                                      "{\"step\":0,\"peak_bytes\":1,\"%s\":3,\"size_ok.1-B\":2}\n"
                                      "{\"step\":1,\"peak_bytes\":1,\"%s\":3}\n",
                                      odd[i], odd[i]));
        assert_string_equal(
            out, "{\"step\":0,\"peak_bytes\":1,\"size_ok.1-B\":2}\n{\"step\":1,\"peak_bytes\":1}\n");
        assert_true(run_seen(r, DIAG_OUT_OF_RANGE) == before + 1);
    }
    assert_string_equal(
        run_jsonl(r, arena_printf(&r->a, "{\"step\":0,\"peak_bytes\":1,\"size_%065d\":3}\n", 7)),
        "{\"step\":0,\"peak_bytes\":1}\n");
}

static void a_table_wider_than_what_is_looked_at_is_a_table(void **state)
{
    struct run *r = *state;
    struct buf b = {0};
    buf_puts(&b, "step,peak_bytes");
    for (int i = 0; i < 100000; i++)
        buf_printf(&b, ",column%d", i);
    buf_puts(&b, "\n0,100");
    for (int i = 0; i < 100000; i++)
        buf_puts(&b, ",1");
    buf_putc(&b, '\n');
    assert_string_equal(run_convert(r, buf_view(&b), CONVERT_JSONL), "{\"step\":0,\"peak_bytes\":100}\n");
    assert_int_equal(run_seen(r, DIAG_TOO_MANY_FIELDS), 1);
    buf_release(&b);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(sizes_have_plain_names_or_are_left_out),
        TEST(a_table_wider_than_what_is_looked_at_is_a_table),
        TEST(impossible_values_are_said_and_left_out),
        TEST(an_ambiguous_unit_is_said_once_a_column),
        TEST(the_decimal_reading_is_taken_when_only_that_fits_the_card),
        TEST(maps_name_columns_that_nothing_knows),
        TEST(maps_are_checked),
        TEST(sets_are_checked_and_take_units),
        TEST(set_wins_over_the_header_and_fills_steps),
        TEST(a_size_of_a_phase_stands_for_that_of_the_row),
        TEST(a_device_log_without_names_may_begin_with_a_gap),
        TEST(only_the_wanted_steps_are_used),
        TEST(figures_of_a_message_are_parsed),
        TEST(a_bare_message_between_records_is_an_event_once),
        TEST(a_plain_text_with_a_message_has_memory_figures),
        TEST(an_unknown_event_is_said),
        TEST(a_file_without_memory_figures_says_so_by_name),
        TEST(unknown_keys_are_counted_in_a_note),
        TEST(ids_of_any_kind_take_the_csv_form),
        TEST(what_is_no_log_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/buf.h"
#include "normalise_run.h"
#include "read/profiler.h"

#define HEAD "{\"schemaVersion\": 1, \"traceEvents\": [\n"
#define MEM(ts, type, id, alloc, res)                                                                        \
    "{\"ph\": \"i\", \"name\": \"[memory]\", \"ts\": " ts ", \"args\": {\"Device Type\": " type              \
    ", \"Device Id\": " id ", \"Bytes\": 1, \"Total Allocated\": " alloc ", \"Total Reserved\": " res "}}"
#define GPU(ts, alloc) MEM(ts, "1", "0", alloc, "9000")
#define STEP(n, ts, dur)                                                                                     \
    "{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"ProfilerStep#" n "\", \"ts\": " ts            \
    ", \"dur\": " dur "}"

static void expect(const char *text, const char *jsonl)
{
    struct run r;
    run_init(&r);
    assert_string_equal(run_jsonl(&r, text), jsonl);
    assert_string_equal(r.info.format, "torch-profiler");
    run_release(&r);
}

static void a_step_has_its_last_total_and_its_highest_whatever_the_order_in_the_file(void **state)
{
    (void)state;
    expect(HEAD STEP("8", "3000000", "1000000") ",\n" GPU("3500000", "300") "," GPU("2500000", "120") "," GPU(
               "1100000", "500") "," GPU("2100000", "700") "," STEP("7", "2000000", "900000") "]}",
           "{\"device\":\"cuda:0\",\"peak_reset\":\"step\",\"step\":7,\"phase\":\"train\",\"time\":2.5,"
           "\"allocated_bytes\":120,\"peak_bytes\":700,\"reserved_bytes\":9000}\n"
           "{\"device\":\"cuda:0\",\"peak_reset\":\"step\",\"step\":8,\"phase\":\"train\",\"time\":3.5,"
           "\"allocated_bytes\":300,\"peak_bytes\":300,\"reserved_bytes\":9000}\n");
}

static void of_events_of_one_time_the_later_in_the_file_counts(void **state)
{
    (void)state;
    expect(HEAD GPU("5", "100") "," GPU("5", "900") "," GPU("5", "200") "," STEP("1", "0", "10") "]}",
           "{\"device\":\"cuda:0\",\"peak_reset\":\"step\",\"step\":1,\"phase\":\"train\",\"time\":5e-06,"
           "\"allocated_bytes\":200,\"peak_bytes\":900,\"reserved_bytes\":9000}\n");
}

static void where_two_steps_touch_the_moment_is_the_later_ones(void **state)
{
    (void)state;
    struct run r;
    run_init(&r);
    const char *out = run_jsonl(&r, HEAD STEP("1", "0", "10") "," STEP("2", "10", "10") "," GPU(
                                        "9", "100") "," GPU("10", "200") "," GPU("20", "300") "]}");
    assert_non_null(strstr(out, "\"step\":1,\"phase\":\"train\",\"time\":9e-06,\"allocated_bytes\":100,"
                                "\"peak_bytes\":100,"));
    assert_non_null(strstr(out, "\"step\":2,\"phase\":\"train\",\"time\":2e-05,\"allocated_bytes\":300,"
                                "\"peak_bytes\":300,"));
    run_release(&r);
}

static void when_a_gpu_ran_a_step_is_no_step(void **state)
{
    (void)state;
    struct run r;
    run_init(&r);
    const char *out =
        run_jsonl(&r, HEAD STEP("1", "0", "10") ",{\"ph\": \"X\", \"cat\": \"gpu_user_annotation\", "
                                                "\"name\": \"ProfilerStep#1\", \"ts\": 50, \"dur\": 10}," GPU(
                                                    "5", "100") "," GPU("55", "800") "]}");
    assert_non_null(strstr(out, "\"allocated_bytes\":100,\"peak_bytes\":100,"));
    assert_null(strstr(out, "800"));
    run_release(&r);
}

static void memory_of_the_cpu_is_no_device_memory(void **state)
{
    (void)state;
    struct run r;
    run_init(&r);
    assert_string_equal(run_jsonl(&r, HEAD MEM("5", "0", "-1", "100", "0") "]}"), "");
    assert_int_equal(run_seen(&r, DIAG_NO_MEMORY_FIGURES), 1);
    assert_non_null(strstr(r.d.items[0].text, "only of others"));
    assert_int_equal(r.info.skipped, 0);
    run_release(&r);
}

static void each_device_is_a_rank_when_there_are_several(void **state)
{
    (void)state;
    expect("{\"distributedInfo\": {\"rank\": 5, \"world_size\": 8}, \"deviceProperties\": "
           "[{\"id\": 3, \"totalGlobalMem\": 64000}], \"traceEvents\": [" MEM(
               "5", "1", "3", "100", "200") "," MEM("4", "1", "1", "300", "400") "]}",
           "{\"rank\":1,\"world_size\":8,\"device\":\"cuda:1\",\"time\":4e-06,\"allocated_bytes\":300,"
           "\"peak_bytes\":300,\"reserved_bytes\":400}\n"
           "{\"rank\":3,\"world_size\":8,\"device\":\"cuda:3\",\"capacity_bytes\":64000,\"time\":5e-06,"
           "\"allocated_bytes\":100,\"peak_bytes\":100,\"reserved_bytes\":200}\n");
}

static void the_rank_of_the_process_counts_when_it_has_one_device(void **state)
{
    (void)state;
    expect("{\"traceEvents\": [" MEM("5", "1", "3", "100", "200") "], \"distributedInfo\": {\"rank\": 11}}",
           "{\"rank\":11,\"device\":\"cuda:3\",\"time\":5e-06,\"allocated_bytes\":100,\"peak_bytes\":100,"
           "\"reserved_bytes\":200}\n");
}

static void times_count_from_the_base_that_the_file_gives(void **state)
{
    (void)state;
    struct run r;
    run_init(&r);
    const char *out =
        run_jsonl(&r, HEAD GPU("500000.25", "100") "], \"baseTimeNanoseconds\": 1700000000000000000}");
    assert_non_null(strstr(out, "\"time\":1700000000.5000"));
    run_release(&r);
}

static void a_failed_request_is_an_event_of_its_step(void **state)
{
    (void)state;
    struct run r;
    run_init(&r);
    const char *out = run_jsonl(
        &r, HEAD GPU("5", "100") "," STEP("4", "0", "10") ",{\"name\": \"[OutOfMemory]\", \"ts\": 7, "
                                                          "\"args\": {\"Device Type\": 1, \"Device Id\": 0, "
                                                          "\"Bytes\": 7777, \"Total Allocated\": 100, "
                                                          "\"Total Reserved\": 9000}}]}");
    assert_non_null(strstr(out, "{\"event\":\"oom\","));
    assert_non_null(strstr(out, "\"step\":4,\"time\":7e-06,"));
    assert_non_null(strstr(out, "\"requested_bytes\":7777"));
    run_release(&r);
}

static void steps_outside_the_range_are_left_out(void **state)
{
    (void)state;
    struct run r;
    run_init(&r);
    r.settings.step_from = 2;
    const char *out = run_jsonl(&r, HEAD STEP("1", "0", "10") "," STEP("2", "20", "10") "," GPU(
                                        "5", "100") "," GPU("25", "200") "]}");
    assert_null(strstr(out, "\"step\":1,"));
    assert_non_null(strstr(out, "\"step\":2,"));
    run_release(&r);
}

static void figures_that_cannot_be_are_counted_and_left_out(void **state)
{
    (void)state;
    struct run r;
    run_init(&r);
    static const char *const STRANGE[] = {
        GPU("6", "-1"),    GPU("NaN", "1"),      GPU("1e300", "1"),    MEM("5", "1", "99999999", "1", "1"),
        GPU("5", "1e300"), STEP("-3", "0", "9"), STEP("3", "0", "-9"), "{\"name\": \"[memory]\"}",
    };
    struct buf text = {0};
    buf_puts(&text, HEAD GPU("5", "100"));
    for (size_t i = 0; i < sizeof STRANGE / sizeof *STRANGE; i++)
        buf_printf(&text, ",%s", STRANGE[i]);
    buf_puts(&text, "]}");
    const char *out = run_convert(&r, buf_view(&text), CONVERT_JSONL);
    buf_release(&text);
    assert_non_null(strstr(out, "\"allocated_bytes\":100,\"peak_bytes\":100,"));
    assert_int_equal(r.info.skipped, 8);
    run_release(&r);
}

static void what_stands_before_a_cut_is_used(void **state)
{
    (void)state;
    static const char whole[] = HEAD STEP("1", "0", "10") "," GPU("5", "100") "," GPU("6", "200") "]}";
    for (size_t n = sizeof HEAD; n < sizeof whole - 1; n++) {
        struct run r;
        run_init(&r);
        const char *out = run_convert(&r, (struct str){whole, n}, CONVERT_JSONL);
        if (n == sizeof whole - 3)
            assert_non_null(strstr(out, "\"allocated_bytes\":200,"));
        assert_int_equal(run_seen(&r, DIAG_TRUNCATED) + run_seen(&r, DIAG_NOT_RECOGNISED), 1);
        run_release(&r);
    }
}

static void what_stands_before_damage_is_used(void **state)
{
    (void)state;
    struct run r;
    run_init(&r);
    const char *out = run_jsonl(&r, HEAD GPU("5", "100") ",{]," GPU("6", "200") "]}");
    assert_non_null(strstr(out, "\"allocated_bytes\":100,"));
    assert_int_equal(run_seen(&r, DIAG_BAD_JSON), 1);
    run_release(&r);
}

static void events_longer_than_the_window_are_read(void **state)
{
    (void)state;
    struct run r;
    struct buf text = {0};
    run_init(&r);
    buf_puts(&text, HEAD);
    for (size_t i = 0; i < 40000; i++) /* several windows of short ones: each boundary falls somewhere else */
        buf_printf(&text, MEM("%zu", "1", "0", "%zu", "9000") ",", i, i);
    buf_puts(&text, "{\"ph\": \"X\", \"name\": \"");
    for (size_t i = 0; i < 900000; i++)
        buf_putc(&text, 'x');
    buf_puts(&text, "\"}," GPU("90000", "77") "]}");
    const char *out = run_convert(&r, buf_view(&text), CONVERT_JSONL);
    assert_non_null(strstr(out, "\"allocated_bytes\":77,\"peak_bytes\":39999,"));
    assert_int_equal(r.info.skipped, 0);
    assert_int_equal(r.d.seen[DIAG_BAD_JSON] + r.d.seen[DIAG_TRUNCATED], 0);
    buf_release(&text);
    run_release(&r);
}

static void merging_neighbours_loses_no_peak(void **state)
{
    (void)state;
    struct profiler_trace t = {.limit = 8};
    for (uint64_t i = 0; i < 1000; i++) {
        uint64_t level = i == 617 ? 5000 : i;
        profiler_add(&t, &(struct profiler_sample){.time_us = (double)i,
                                                   .order = i,
                                                   .allocated = level,
                                                   .peak = level,
                                                   .reserved = i == 618 ? 6000 : 100,
                                                   .device = i % 3 == 0});
    }
    profiler_finish(&t);
    assert_in_range(t.n_samples, 2, 8);
    uint64_t peak = 0, reserved = 0;
    for (size_t i = 0; i < t.n_samples; i++) {
        peak = t.samples[i].peak > peak ? t.samples[i].peak : peak;
        reserved = t.samples[i].reserved > reserved ? t.samples[i].reserved : reserved;
        if (i)
            assert_true(t.samples[i].device >= t.samples[i - 1].device);
    }
    assert_int_equal(peak, 5000);
    assert_int_equal(reserved, 6000);
    assert_int_equal(t.samples[t.n_samples - 1].allocated, 999);
    profiler_release(&t);
}

static void other_documents_are_no_profiler_traces(void **state)
{
    (void)state;
    assert_true(profiler_detect(STR_LIT(HEAD STEP("1", "0", "10"))));
    assert_true(profiler_detect(STR_LIT("{\"displayTimeUnit\": \"ms\", \"traceEvents\": [")));
    assert_false(profiler_detect(STR_LIT("[{\"traceEvents\": 1, \"ph\": 2}]")));
    assert_false(profiler_detect(STR_LIT("{\"step\": 1, \"note\": \"traceEvents\"}")));
    assert_false(profiler_detect(STR_LIT("")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_has_its_last_total_and_its_highest_whatever_the_order_in_the_file),
        cmocka_unit_test(of_events_of_one_time_the_later_in_the_file_counts),
        cmocka_unit_test(where_two_steps_touch_the_moment_is_the_later_ones),
        cmocka_unit_test(when_a_gpu_ran_a_step_is_no_step),
        cmocka_unit_test(memory_of_the_cpu_is_no_device_memory),
        cmocka_unit_test(each_device_is_a_rank_when_there_are_several),
        cmocka_unit_test(the_rank_of_the_process_counts_when_it_has_one_device),
        cmocka_unit_test(times_count_from_the_base_that_the_file_gives),
        cmocka_unit_test(a_failed_request_is_an_event_of_its_step),
        cmocka_unit_test(steps_outside_the_range_are_left_out),
        cmocka_unit_test(figures_that_cannot_be_are_counted_and_left_out),
        cmocka_unit_test(what_stands_before_a_cut_is_used),
        cmocka_unit_test(what_stands_before_damage_is_used),
        cmocka_unit_test(events_longer_than_the_window_are_read),
        cmocka_unit_test(merging_neighbours_loses_no_peak),
        cmocka_unit_test(other_documents_are_no_profiler_traces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "normalise_run.h"
#include "base/buf.h"
#include "read/literals.h"
#include "read/text_match.h"

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

static void every_text_sample_is_read_by_its_own_format_among_all(void **state)
{
    struct run *r = *state;
    size_t n = 0;
    for (size_t i = 0; i < mapping_set_count(r->set); i++) {
        const struct mapping *m = mapping_set_at(r->set, i);
        for (size_t k = 0; k < m->n_samples && m->n_patterns; k++, n++) {
            run_convert(r, m->samples[k].input, CONVERT_JSONL);
            if (strcmp(r->info.format, m->name))
                fail_msg("sample %zu of %s is read as %s", k + 1, m->name, r->info.format);
        }
    }
    assert_true(n > 30);
}

static void two_formats_in_one_log_both_give_records(void **state)
{
    struct run *r = *state;
    const char *out = run_jsonl(r, "[x] [INFO] [utils.py:800:see_memory_usage] After init\n"
                                   "[x] [INFO] [utils.py:801:see_memory_usage] MA 1.0 GB         Max_MA 2.0 "
                                   "GB         CA 2.5 GB         Max_CA 2 GB \n"
                                   "[Rank 3] (after 20 iterations) memory (MB) | allocated: 1.0 | max "
                                   "allocated: 2.0 | reserved: 3.0 | max reserved: 4.0\n");
    assert_string_equal(r->info.format, "deepspeed, megatron");
    assert_non_null(strstr(out, "\"peak_reserved_bytes\":2147483648,\"label\":\"After init\"}"));
    assert_non_null(
        strstr(out, "{\"rank\":3,\"step\":20,\"allocated_bytes\":1048576,\"peak_bytes\":2097152,"));
}

static void records_glued_on_one_line_are_all_found(void **state)
{
    struct run *r = *state;
    char text[8192] = "";
    for (int i = 0; i < 40; i++)
        sprintf(text + strlen(text),
                "[Rank %d] (after 5 iterations) memory (MB) | allocated: %d.0 | max allocated: 9.0 | "
                "reserved: 9.0 | max reserved: 9.0",
                i, i + 1);
    const char *out = run_jsonl(r, text);
    assert_int_equal(r->info.records, 40);
    assert_non_null(strstr(out, "{\"rank\":39,\"step\":5,\"allocated_bytes\":41943040,"));
}

static void a_record_within_megabytes_of_one_line_is_found(void **state)
{
    struct run *r = *state;
    static const char record[] = "(after 5 iterations) memory (MB) | allocated: 1.0 | max allocated: 9.0 | "
                                 "reserved: 9.0 | max reserved: 9.0";
    size_t n = 3 * 1024 * 1024;
    char *text = malloc(n);
    memset(text, 'x', n);
    for (size_t at = 16 * 1024 - 50; at + sizeof record < n;
         at += 300001) /* the first across the end of a piece */
        memcpy(text + at, record, sizeof record - 1);
    run_convert(r, (struct str){text, n}, CONVERT_JSONL);
    free(text);
    assert_int_equal(r->info.records, 11);
}

static void source_code_that_holds_the_pattern_is_no_record(void **state)
{
    struct run *r = *state;
    const char *out = run_jsonl(
        r,
        "    print(f\"peak memory consumption: {torch.cuda.max_memory_allocated() // 1024 // 1024} MiB\")\n"
        "print0(f\"peak memory allocated: {torch.cuda.max_memory_allocated()} MiB \"\n"
        "    string += ' | allocated: {}'.format(torch.cuda.memory_allocated())\n"
        "max_mem: {:.0f}M\n");
    assert_string_equal(out, "");
    assert_int_equal(run_seen(r, DIAG_NO_MEMORY_FIGURES), 1);
}

static void a_value_of_an_earlier_line_stays_with_its_rank(void **state)
{
    struct run *r = *state;
    const char *out =
        run_jsonl(r, "[rank0]: [INFO]: iteration: 5 / 100 | consumed\n"
                     "[rank1]: [INFO]: iteration: 6 / 100 | consumed\n"
                     "[rank0]: Memory usage: 1.00MiB. Peak allocated 2.00MiB. Peak reserved: 3.00MiB\n"
                     "[rank1]: Memory usage: 1.00MiB. Peak allocated 4.00MiB. Peak reserved: 5.00MiB\n");
    assert_non_null(strstr(out, "{\"rank\":0,\"step\":5,\"allocated_bytes\":1048576,\"peak_bytes\":2097152"));
    assert_non_null(strstr(out, "{\"rank\":1,\"step\":6,\"allocated_bytes\":1048576,\"peak_bytes\":4194304"));
}

static void every_one_of_many_ranks_keeps_its_values(void **state)
{
    struct run *r = *state;
    struct buf b = {0};
    for (int rank = 0; rank < 200; rank++)
        buf_printf(&b, "[rank%d]: [INFO]: iteration: %d / 900 | consumed\n", rank, 500 + rank);
    for (int rank = 0; rank < 200; rank++)
        buf_printf(&b, "[rank%d]: Memory usage: 1.00MiB. Peak allocated 2.00MiB. Peak reserved: 3.00MiB\n",
                   rank);
    const char *out = run_convert(r, buf_view(&b), CONVERT_JSONL);
    assert_non_null(strstr(out, "{\"rank\":63,\"step\":563,"));
    assert_non_null(strstr(out, "{\"rank\":199,\"step\":699,"));
    buf_release(&b);
}

static void progress_bars_that_are_drawn_again_give_one_record_a_step(void **state)
{
    struct run *r = *state;
    run_jsonl(r, "     Epoch   gpu_mem       box       obj       cls     total    labels  img_size\n"
                 "\r     0/9     9.92G   0.079    0.02         0    0.10       161       640:   0%|          "
                 "| 0/38 [00:09<?, ?it/s]"
                 "\r     0/9     9.92G   0.079    0.02         0    0.10       161       640:   3%|          "
                 "| 1/38 [00:09<?, ?it/s]"
                 "\r     0/9     9.95G   0.079    0.02         0    0.10       161       640:   3%|          "
                 "| 1/38 [00:09<?, ?it/s]"
                 "\r     0/9     9.95G   0.079    0.02         0    0.10       161       640:   5%|          "
                 "| 2/38 [00:09<?, ?it/s]\n");
    assert_int_equal(r->info.records, 3);
}

static const char OOM[] = "CUDA out of memory. Tried to allocate 1.00 GiB (GPU 0; 8.00 GiB total capacity; "
                          "5.00 GiB already allocated; 1.50 MiB free; 6.00 GiB reserved in total by PyTorch)";

static unsigned count(const char *text, const char *what)
{
    unsigned n = 0;
    for (const char *p = strstr(text, what); p; p = strstr(p + 1, what))
        n++;
    return n;
}

/* Two prints of one error with `lines` ordinary lines between them. */
static unsigned events_with_lines_between(struct run *r, unsigned lines)
{
    struct buf b = {0};
    buf_printf(&b, "RuntimeError: %s\n", OOM);
    for (unsigned i = 0; i < lines; i++)
        buf_printf(&b, "loading shard %u\n", i);
    buf_printf(&b,
               "Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\nRuntimeError: %s\n",
               OOM);
    const char *out = run_jsonl(r, b.p);
    unsigned n = count(out, "\"event\":\"oom\"");
    buf_release(&b);
    return n;
}

static void an_error_printed_again_is_one_event_and_that_of_the_next_run_another(void **state)
{
    struct run *r = *state;
    assert_int_equal(events_with_lines_between(r, 0), 1);
    assert_int_equal(events_with_lines_between(r, 3), 1);
    assert_int_equal(events_with_lines_between(r, 60), 2);
}

static void a_survived_error_is_told_as_such(void **state)
{
    struct run *r = *state;
    struct buf b = {0};
    buf_printf(&b,
               "WARNING: ran out of memory with exception: %s\n|  table  |\nWARNING: attempting to recover "
               "from OOM in forward/backward pass\n",
               OOM);
    const char *out = run_jsonl(r, b.p);
    buf_release(&b);
    assert_int_equal(count(out, "\"event\""), 1);
    assert_non_null(strstr(out, "\"recovered\":true"));
    out = run_jsonl(r, "CUDA out of memory with batch=16. Reducing to batch=8 and retrying (1/3).\n");
    assert_int_equal(count(out, "\"event\":\"oom\""), 1);
    assert_non_null(strstr(out, "\"recovered\":true"));
}

static void kills_by_the_host_are_no_errors_of_the_device(void **state)
{
    struct run *r = *state;
    static const char *const killed[] = {
        "Killed\n",
        "/bin/sh: line 1:  4242 Killed                  python train.py\n",
        "srun: error: node-1: task 3: Exited with exit code 137\n",
        "  exitcode  : -9 (pid: 4242)\n",
        "[2024-05-01 10:00:00,000] [ERROR] exits with return code = -9\n",
        "RuntimeError: DataLoader worker (pid 4242) is killed by signal: Killed. \n"};
    static const char *const fine[] = {"Killed by user request at 10:00\n",
                                       "Killing subprocess 137\n",
                                       "# exit code 137 means that memory ran out\n",
                                       "exit code 0\n",
                                       "if exitcode == 137: retry()\n",
                                       "signal 99\n"};
    for (size_t i = 0; i < sizeof killed / sizeof *killed; i++) {
        const char *out = run_jsonl(r, killed[i]);
        if (!strstr(out, "{\"event\":\"kill\",\"signal\":9"))
            fail_msg("%s gives %s", killed[i], out);
    }
    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++)
        assert_string_equal(run_jsonl(r, fine[i]), "");
}

static void errors_of_other_libraries_give_their_figures(void **state)
{
    struct run *r = *state;
    static const struct {
        const char *text, *has;
    } cases[] = {
        {"jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate "
         "1073741824 bytes.\n",
         "\"requested_bytes\":1073741824"},
        {"RESOURCE_EXHAUSTED: Failed to allocate request for 32.00MiB (33554432B) on device ordinal 0\n",
         "\"requested_bytes\":33554432"},
        {"ResourceExhaustedError: OOM when allocating tensor with shape[64,2016,9,9] and type float on "
         "/job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc\n",
         "\"requested_bytes\":41803776"},
        {"2023 E cuda_driver.cc:924] failed to allocate 1.97G (2120187392 bytes) from device: "
         "CUDA_ERROR_OUT_OF_MEMORY: out of memory\n",
         "\"event\":\"oom\""},
        {"node:12:34 [0] include/alloc.h:178 NCCL WARN Cuda failure 'out of memory'\n", "\"event\":\"oom\""},
        {"RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`\n",
         "\"event\":\"oom\""},
        {"RuntimeError: cuDNN error: CUDNN_STATUS_ALLOC_FAILED\n", "\"event\":\"oom\""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *out = run_jsonl(r, cases[i].text);
        if (!strstr(out, cases[i].has))
            fail_msg("%s gives %s", cases[i].text, out);
    }
    assert_string_equal(
        run_jsonl(r, "W bfc_allocator.cc:272] Allocator (GPU_0_bfc) ran out of memory trying to allocate "
                     "2.18GiB with freed_by_count=0. The caller indicates that this is not a failure, but "
                     "may mean that there could be performance gains if more memory were available.\n"),
        "");
}

static void nested_repetition_is_given_up_and_told(void **state)
{
    struct run *r = *state;
    static const char text[] =
        "{\"name\":\"slow\",\"title\":\"t\",\"reader\":\"text\",\"patterns\":[{\"has\":\"aaa\",\"re\":\"(?<m>"
        "(a+)+)+$\"}],"
        "\"fields\":{\"m\":\"peak_bytes B\"},\"samples\":[{\"input\":\"aaa\",\"records\":[]}]}";
    struct mapping *m = mapping_parse("slow.json", str_of(text), &r->a, &r->d);
    assert_non_null(m);
    size_t n = 200 * 1000;
    char *log = malloc(n);
    memset(log, 'a', n);
    for (size_t i = 1999; i < n; i += 2000)
        memcpy(log + i - 1, "b\n", 2);
    struct source *s = source_of_memory("a.log", (struct str){log, n});
    struct record_sink sink = converter_sink(converter_new(NULL, CONVERT_JSONL, false));
    r->info = (struct input_info){.name = "a.log"};
    normalise_source(&r->info, &sink, s, &r->settings, m, &r->a, &r->d);
    converter_close(sink.ctx);
    source_close(s);
    free(log);
    assert_int_equal(run_seen(r, DIAG_BAD_MAPPING), 1);
    assert_int_equal(r->info.records, 0);
}

static void a_bad_pattern_is_an_error_at_its_place(void **state)
{
    struct run *r = *state;
    static const char text[] =
        "{\"name\":\"x\",\"title\":\"t\",\"reader\":\"text\",\n\"patterns\":[{\"has\":\"mem\",\n\"re\":\"mem "
        "(?<m>\\\\d+\"}],"
        "\"fields\":{\"m\":\"peak_bytes B\"},\"samples\":[{\"input\":\"mem 5\",\"records\":[]}]}";
    assert_null(mapping_parse("x.json", str_of(text), &r->a, &r->d));
    assert_int_equal(r->d.items[r->d.n - 1].at.line, 3);
    assert_non_null(strstr(r->d.items[r->d.n - 1].text, "no pattern"));
}

static void literals_finds_each_text_wherever_it_stands(void **state)
{
    (void)state;
    static const struct str texts[] = {
        {"max_mem: ", 9}, {"GiB(", 4}, {"memory (MB) | allocated:", 24}, {"mem: ", 5}};
    struct literals *l = literals_new(texts, 4);
    for (size_t at = 0; at < 40; at++)
        for (size_t i = 0; i < 4; i++) {
            char line[80];
            uint64_t found = 0;
            memset(line, 'm', sizeof line);
            memcpy(line + at, texts[i].p, texts[i].n);
            assert_true(literals_find(l, (struct str){line, at + texts[i].n}, &found));
            assert_int_equal(found, i == 0 ? 1 | 8 : (uint64_t)1 << i);
            found = 0;
            assert_false(literals_find(l, (struct str){line, at + texts[i].n - 1}, &found));
        }
    literals_free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
        T(every_text_sample_is_read_by_its_own_format_among_all),
        T(two_formats_in_one_log_both_give_records),
        T(records_glued_on_one_line_are_all_found),
        T(a_record_within_megabytes_of_one_line_is_found),
        T(source_code_that_holds_the_pattern_is_no_record),
        T(a_value_of_an_earlier_line_stays_with_its_rank),
        T(every_one_of_many_ranks_keeps_its_values),
        T(progress_bars_that_are_drawn_again_give_one_record_a_step),
        T(an_error_printed_again_is_one_event_and_that_of_the_next_run_another),
        T(a_survived_error_is_told_as_such),
        T(kills_by_the_host_are_no_errors_of_the_device),
        T(errors_of_other_libraries_give_their_figures),
        T(nested_repetition_is_given_up_and_told),
        T(a_bad_pattern_is_an_error_at_its_place),
        T(literals_finds_each_text_wherever_it_stands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

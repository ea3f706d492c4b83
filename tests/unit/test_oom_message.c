#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/buf.h"
#include "read/oom_message.h"
#include <math.h>
#include <stdio.h>
#include <time.h>

static const double GiB = 0x1p30, MiB = 0x1p20, KiB = 0x1p10;

static struct oom_message found(const char *text)
{
    struct oom_message m;
    if (!oom_message_find(&m, str_of(text), 0))
        fail_msg("no message found in: %s", text);
    return m;
}

static void assert_no_message(const char *text)
{
    struct oom_message m;
    if (oom_message_find(&m, str_of(text), 0))
        fail_msg("took this for an error: %s", text);
}

static void assert_bytes(double got, double want)
{
    if (!(fabs(got - want) <= 0.5))
        fail_msg("%.1f bytes, expected %.1f", got, want);
}

static void assert_text(struct str got, const char *want)
{
    if (!str_is(got, want))
        fail_msg("text is \"%.*s\", expected \"%s\"", (int)got.n, got.p, want);
}

static void c1_cached_is_what_is_not_allocated(void **state)
{
    (void)state;
    struct oom_message m =
        found("RuntimeError: CUDA out of memory. Tried to allocate 18.00 MiB (GPU 3; 10.50 GiB total "
              "capacity; 9.25 GiB already allocated; 7.12 MiB free; 512.00 KiB cached)");
    assert_bytes(m.device, 3);
    assert_bytes(m.requested, 18 * MiB);
    assert_bytes(m.total, 10.5 * GiB);
    assert_bytes(m.allocated, 9.25 * GiB);
    assert_bytes(m.free, 7.12 * MiB);
    assert_bytes(m.unallocated, 512 * KiB);
    assert_bytes(m.reserved, 9.25 * GiB + 512 * KiB);
    assert_true(isnan(m.this_process));
}

static void c1_with_inactive_behind_cached_is_read(void **state)
{
    (void)state;
    struct oom_message m =
        found("CUDA out of memory. Tried to allocate 2.00 MiB (GPU 0; 7.00 GiB total capacity; 6.00 "
              "GiB already allocated; 3.00 MiB free; 1.00 GiB cached; 0 bytes inactive)\nnext");
    assert_bytes(m.reserved, 7 * GiB);
    assert_text((struct str){m.text.p + m.text.n - 9, 9}, "inactive)");
}

static void c2_reserved_is_taken_as_printed_and_the_hint_is_left_out(void **state)
{
    (void)state;
    const char *text = "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB (GPU 0; "
                       "15.75 GiB total capacity; "
                       "12.25 GiB already allocated; 900.50 MiB free; 13.50 GiB reserved in total by "
                       "PyTorch) If reserved memory is >> "
                       "allocated memory try setting max_split_size_mb to avoid fragmentation.  See "
                       "documentation for Memory Management "
                       "and PYTORCH_CUDA_ALLOC_CONF\nTraceback";
    struct oom_message m = found(text);
    assert_bytes(m.reserved, 13.5 * GiB);
    assert_bytes(m.free, 900.5 * MiB);
    assert_true(isnan(m.unallocated));
    assert_true(isnan(m.allowed));
    assert_false(m.advises_expandable);
    assert_int_equal(text[m.end], '\n');
    assert_int_equal(m.text.p[m.text.n - 1], ')');
    assert_int_equal(m.text.p[0], 'C');
}

static void c2_with_a_memory_fraction_gives_what_is_allowed(void **state)
{
    (void)state;
    struct oom_message m =
        found("CUDA out of memory. Tried to allocate 2.00 GiB (GPU 1; 8.00 GiB total capacity; 3.00 "
              "GiB already allocated; 4.50 GiB free; 4.00 GiB allowed; 3.25 GiB reserved in total by "
              "PyTorch)");
    assert_bytes(m.allowed, 4 * GiB);
    assert_bytes(m.reserved, 3.25 * GiB);
}

static void c3_with_the_typo_names_every_process(void **state)
{
    (void)state;
    struct oom_message m = found("torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 64.00 "
                                 "MiB. GPU 2 has a total capacty of 31.50 "
                                 "GiB of which 50.25 MiB is free. Process 4711 has 20.00 GiB memory in use. "
                                 "Including non-PyTorch memory, this "
                                 "process has 10.50 GiB memory in use. Process 12 has 1.00 GiB memory in "
                                 "use. Of the allocated memory 9.00 GiB is "
                                 "allocated by PyTorch, and 512.00 MiB is reserved by PyTorch but "
                                 "unallocated. If reserved but unallocated memory "
                                 "is large try setting max_split_size_mb to avoid fragmentation.  See "
                                 "documentation for Memory Management and "
                                 "PYTORCH_CUDA_ALLOC_CONF");
    assert_bytes(m.device, 2);
    assert_bytes(m.total, 31.5 * GiB);
    assert_bytes(m.free, 50.25 * MiB);
    assert_bytes(m.this_process, 10.5 * GiB);
    assert_int_equal(m.n_process, 2);
    assert_int_equal(m.process[0].pid, 4711);
    assert_bytes(m.process[0].bytes, 20 * GiB);
    assert_int_equal(m.process[1].pid, 12);
    assert_bytes(m.allocated, 9 * GiB);
    assert_bytes(m.unallocated, 512 * MiB);
    assert_bytes(m.reserved, 9.5 * GiB);
    assert_false(m.advises_expandable);
}

static const char C4[] = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.25 GiB. GPU 0 has "
                         "a total capacity of 79.25 GiB of "
                         "which 1.50 GiB is free. Including non-PyTorch memory, this process has 77.75 GiB "
                         "memory in use. Of the allocated "
                         "memory 74.00 GiB is allocated by PyTorch, and 2.50 GiB is reserved by PyTorch but "
                         "unallocated. If reserved but "
                         "unallocated memory is large try setting "
                         "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  "
                         "See documentation for Memory Management  "
                         "(https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)";

static void c4_says_that_expandable_segments_are_off(void **state)
{
    (void)state;
    struct oom_message m = found(C4);
    assert_bytes(m.requested, 2.25 * GiB);
    assert_bytes(m.reserved, 76.5 * GiB);
    assert_true(m.advises_expandable);
    assert_int_equal(m.end, sizeof C4 - 1);
    assert_int_equal(m.n_process, 0);
}

static void c5_private_pools_belong_to_reserved(void **state)
{
    (void)state;
    struct oom_message m = found("HIP out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity "
                                 "of 64.00 GiB of which 8.00 MiB is free. "
                                 "Of the allocated memory 60.00 GiB is allocated by PyTorch, with 1.50 GiB "
                                 "allocated in private pools (e.g., HIP "
                                 "Graphs), and 256.00 MiB is reserved by PyTorch but unallocated.");
    assert_bytes(m.private_pools, 1.5 * GiB);
    assert_bytes(m.reserved, 61.75 * GiB);
}

static void c6_the_newer_name_of_the_setting_is_understood(void **state)
{
    (void)state;
    struct oom_message m = found("CUDA out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total capacity "
                                 "of 4.00 GiB of which 0 bytes is free. "
                                 "2.00 GiB allowed; Of the allocated memory 1.00 GiB is allocated by "
                                 "PyTorch, and 0 bytes is reserved by PyTorch but "
                                 "unallocated. If reserved but unallocated memory is large try setting "
                                 "PYTORCH_ALLOC_CONF=expandable_segments:True to avoid fragmentation.");
    assert_true(m.advises_expandable);
    assert_bytes(m.allowed, 2 * GiB);
    assert_bytes(m.free, 0);
    assert_bytes(m.reserved, 1 * GiB);
}

static void c7_a_garbage_request_is_unknown(void **state)
{
    (void)state;
    struct oom_message m = found("RuntimeError: CUDA out of memory. Tried to allocate more than 1EB memory.");
    assert_true(isnan(m.requested));
    assert_text(m.text, "CUDA out of memory. Tried to allocate more than 1EB memory.");
}

static void ct_a_text_cut_behind_gpu_still_gives_the_request(void **state)
{
    (void)state;
    struct oom_message m =
        found("CUDA out of memory. Tried to allocate 96.00 MiB. GPU \n2024-01-02 12:00:00 next line");
    assert_bytes(m.requested, 96 * MiB);
    assert_true(isnan(m.device));
    assert_true(isnan(m.total));

    static const char nul[] =
        "CUDA out of memory. Tried to allocate 3.00 GiB. GPU \0 has a total capacity of 9.00 GiB.";
    assert_true(oom_message_find(&m, (struct str){nul, sizeof nul - 1}, 0));
    assert_bytes(m.requested, 3 * GiB);
    assert_bytes(m.total, 9 * GiB);
    assert_true(isnan(m.device));
}

static void an_xpu_speaks_like_a_gpu(void **state)
{
    (void)state;
    struct oom_message m = found("torch.OutOfMemoryError: XPU out of memory. Tried to allocate 3.00 GiB. GPU "
                                 "1 has a total capacity of 15.00 GiB. Of "
                                 "the allocated memory 12.00 GiB is allocated by PyTorch, and 1.00 GiB is "
                                 "reserved by PyTorch but unallocated. Please "
                                 "use `empty_cache` to release all unoccupied cached memory.");
    assert_bytes(m.device, 1);
    assert_bytes(m.total, 15 * GiB);
    assert_true(isnan(m.free));
    assert_bytes(m.reserved, 13 * GiB);
}

static void an_npu_prints_one_figure_more(void **state)
{
    (void)state;
    struct oom_message m = found("RuntimeError: NPU out of memory. Tried to allocate 100.00 MiB (NPU 5; "
                                 "60.00 GiB total capacity; 50.00 GiB already "
                                 "allocated; 50.00 GiB current active; 20.00 MiB free; 55.00 GiB reserved in "
                                 "total by PyTorch)If reserved memory is "
                                 ">> allocated memory try setting max_split_size_mb to avoid fragmentation.");
    assert_bytes(m.device, 5);
    assert_bytes(m.allocated, 50 * GiB);
    assert_bytes(m.free, 20 * MiB);
    assert_bytes(m.reserved, 55 * GiB);
}

static void metal_means_gib_when_it_says_gb(void **state)
{
    (void)state;
    struct oom_message m = found("RuntimeError: MPS backend out of memory (MPS allocated: 17.00 GB, other "
                                 "allocations: 512.00 MB, max allowed: 18.00 "
                                 "GB). Tried to allocate 1.50 GB on private pool. Use "
                                 "PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 to disable upper limit "
                                 "for memory allocations (may cause system failure).");
    assert_bytes(m.allocated, 17 * GiB);
    assert_bytes(m.this_process, 17.5 * GiB);
    assert_bytes(m.allowed, 18 * GiB);
    assert_bytes(m.requested, 1.5 * GiB);
}

static void the_block_of_the_asynchronous_allocator_is_read(void **state)
{
    (void)state;
    struct oom_message m =
        found("torch.OutOfMemoryError: Allocation on device 1 would exceed allowed memory. (out of memory)\n"
              "Currently allocated     : 5.00 GiB\n"
              "Requested               : 1.00 GiB\n"
              "Device limit            : 8.00 GiB\n"
              "Free (according to CUDA): 10.50 MiB\n"
              "PyTorch limit (set by user-supplied memory fraction)\n"
              "                        : 17179869184.00 GiB\n"
              "next line");
    assert_bytes(m.device, 1);
    assert_bytes(m.allocated, 5 * GiB);
    assert_bytes(m.requested, 1 * GiB);
    assert_bytes(m.total, 8 * GiB);
    assert_bytes(m.free, 10.5 * MiB);
    assert_true(isnan(m.allowed)); /* 2^64 bytes: no limit */
    found("torch.OutOfMemoryError: Allocation on device \n");
    assert_no_message("Allocation on device memory went well");
}

static void errors_without_figures_are_errors(void **state)
{
    (void)state;
    static const char *const text[] = {
        "RuntimeError: cuda runtime error (2) : out of memory at /build/THCStorage.cu:58",
        "RuntimeError: CUDA error: out of memory",
        "torch.AcceleratorError: CUDA error: out of memory\nCUDA kernel errors might be reported later",
        "RuntimeError: CUDA out of memory.",
        "failed: RuntimeError('CUDA error: out of memory')",
    };
    for (size_t k = 0; k < sizeof text / sizeof text[0]; k++)
        assert_true(isnan(found(text[k]).requested));
}

static void a_message_broken_in_the_middle_of_words_is_read(void **state)
{
    (void)state;
    /* every width of terminal gives the same figures as the whole text */
    struct oom_message whole = found(C4);
    for (size_t width = 7; width < 200; width++) {
        struct buf b = {0};
        for (size_t i = 0; i + 1 < sizeof C4; i += width) {
            buf_put(&b, C4 + i, sizeof C4 - 1 - i < width ? sizeof C4 - 1 - i : width);
            buf_puts(&b, width % 2 ? "\n" : "\r\n");
        }
        struct oom_message m = found(b.p);
        assert_bytes(m.requested, whole.requested);
        assert_bytes(m.total, whole.total);
        assert_bytes(m.free, whole.free);
        assert_bytes(m.this_process, whole.this_process);
        assert_bytes(m.reserved, whole.reserved);
        assert_true(m.advises_expandable);
        buf_release(&b);
    }
}

static void a_message_in_a_box_is_read(void **state)
{
    (void)state;
    struct oom_message m = found("[rank1]: \xE2\x94\x82 OutOfMemoryError: CUDA out of memory. Tried to "
                                 "allocate 1.25 GiB.     \xE2\x94\x82\n"
                                 "[rank1]: \xE2\x94\x82 GPU 0 has a total capacity of 10.00 GiB of which "
                                 "1.00 GiB is free.    \xE2\x94\x82\n"
                                 "[rank1]: \xE2\x9D\xB1 \x1b[31mOf the allocated memory 8.00 GiB is "
                                 "allocated by\x1b[0m          \xE2\x94\x82\n"
                                 "[rank1]: \xE2\x94\x82 PyTorch, and 100.00 MiB is reserved by PyTorch but "
                                 "unallocated.       \xE2\x94\x82\n"
                                 "[rank1]: \xE2\x95\xB0\xE2\x94\x80\xE2\x94\x80\n");
    assert_bytes(m.requested, 1.25 * GiB);
    assert_bytes(m.total, 10 * GiB);
    assert_bytes(m.free, 1 * GiB);
    assert_bytes(m.allocated, 8 * GiB);
    assert_bytes(m.unallocated, 100 * MiB);
}

static void an_escaped_message_is_read(void **state)
{
    (void)state;
    struct oom_message m =
        found("{\"error\": \"CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 4.00 GiB "
              "total\\ncapacity; 1.00 GiB "
              "already allocated; 0 bytes free; 1.50 GiB reserved in total by PyTorch) If reserved memory is "
              "\\u003e\\u003e allocated memory try setting max_split_size_mb to avoid fragmentation.\"}");
    assert_bytes(m.total, 4 * GiB);
    assert_bytes(m.reserved, 1.5 * GiB);
}

static void a_blank_line_ends_a_message(void **state)
{
    (void)state;
    struct oom_message m =
        found("CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 4.00 GiB total capacity; 1.00 GiB "
              "alr\n\neady allocated; 3.00 GiB free)");
    assert_bytes(m.total, 4 * GiB);
    assert_true(isnan(m.free));
}

static void quotations_advice_and_warnings_are_no_errors(void **state)
{
    (void)state;
    static const char *const text[] = {
        "If you run out of memory, lower the batch size.",
        "If you see CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 4.00 GiB total capacity), use a "
        "smaller batch",
        "        raise RuntimeError(\"CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 4.00 GiB total "
        "capacity)\")",
        "    if \"CUDA error: out of memory\" in str(e):",
        "    if \"out of memory\" in str(e) or \"CUDA out of memory\" in str(e):",
        "msg = 'CUDA out of memory. Tried to allocate 2.00 GiB'",
        "# CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 4.00 GiB total capacity)",
        "\xE2\x94\x82   212 raise RuntimeError(\"CUDA out of memory. Tried to allocate 2.00 GiB\")",
        "except torch.cuda.OutOfMemoryError:",
        "f\"CUDA out of memory. Tried to allocate {format_size(n)}\"",
        "W bfc_allocator.cc:272] Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.18GiB with "
        "freed_by_count=0. "
        "The caller indicates that this is not a failure",
        "Got 'out of memory' error while trying to initialize CUDA",
        "Out of memory: Killed process 4242 (python)",
        "out of memory",
        "",
    };
    for (size_t k = 0; k < sizeof text / sizeof text[0]; k++)
        assert_no_message(text[k]);
}

static void the_search_goes_on_behind_the_first_message(void **state)
{
    (void)state;
    struct buf b = {0};
    buf_printf(&b, "%s\n%s\n", C4, "RuntimeError: CUDA out of memory. Tried to allocate 7.00 MiB.");
    struct oom_message m;
    assert_true(oom_message_find(&m, buf_view(&b), 0));
    assert_true(oom_message_find(&m, buf_view(&b), m.end));
    assert_bytes(m.requested, 7 * MiB);
    assert_false(oom_message_find(&m, buf_view(&b), m.end));
    buf_release(&b);
}

/* Seconds of processor time that all messages of one line take. */
static double seconds_for(size_t messages)
{
    struct buf b = {0};
    for (size_t i = 0; i < messages; i++)
        buf_puts(&b, "CUDA out of memory. Tried to allocate 1.00 GiB ");
    struct oom_message m;
    size_t found = 0;
    clock_t start = clock();
    for (size_t from = 0; from < b.n && oom_message_find(&m, buf_view(&b), from); from = m.end)
        found++;
    clock_t end = clock();
    assert_int_equal(found, messages);
    buf_release(&b);
    return (double)(end - start) / CLOCKS_PER_SEC;
}

static void many_messages_in_one_line_take_linear_time(void **state)
{
    (void)state;
    double few = fmax(seconds_for(500), 0.001), many = seconds_for(8000);
    if (many > 80 * few)
        fail_msg("sixteen times the text took %.0f times as long", many / few);
}

static void the_first_of_two_kinds_of_message_comes_first(void **state)
{
    (void)state;
    struct oom_message m =
        found("CUDNN_STATUS_ALLOC_FAILED\nCUDA out of memory. Tried to allocate 7.00 MiB.");
    assert_text(m.text, "CUDNN_STATUS_ALLOC_FAILED");
    m = found("CUDA out of memory. Tried to allocate 7.00 MiB.\nCUDNN_STATUS_ALLOC_FAILED");
    assert_bytes(m.requested, 7 * MiB);
}

static void more_processes_than_fit_are_dropped(void **state)
{
    (void)state;
    struct buf b = {0};
    buf_puts(&b, "CUDA out of memory. Tried to allocate 2.00 MiB. GPU 0 has a total capacity of 9.00 GiB of "
                 "which 1.00 MiB is "
                 "free. ");
    for (int i = 0; i < OOM_PROCESS_MAX + 8; i++)
        buf_printf(&b, "Process %d has 100.00 MiB memory in use. ", 100 + i);
    struct oom_message m = found(b.p);
    assert_int_equal(m.n_process, OOM_PROCESS_MAX);
    assert_int_equal(m.process[OOM_PROCESS_MAX - 1].pid, 100 + OOM_PROCESS_MAX - 1);
    buf_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(c1_cached_is_what_is_not_allocated),
        cmocka_unit_test(c1_with_inactive_behind_cached_is_read),
        cmocka_unit_test(c2_reserved_is_taken_as_printed_and_the_hint_is_left_out),
        cmocka_unit_test(c2_with_a_memory_fraction_gives_what_is_allowed),
        cmocka_unit_test(c3_with_the_typo_names_every_process),
        cmocka_unit_test(c4_says_that_expandable_segments_are_off),
        cmocka_unit_test(c5_private_pools_belong_to_reserved),
        cmocka_unit_test(c6_the_newer_name_of_the_setting_is_understood),
        cmocka_unit_test(c7_a_garbage_request_is_unknown),
        cmocka_unit_test(ct_a_text_cut_behind_gpu_still_gives_the_request),
        cmocka_unit_test(an_xpu_speaks_like_a_gpu),
        cmocka_unit_test(an_npu_prints_one_figure_more),
        cmocka_unit_test(metal_means_gib_when_it_says_gb),
        cmocka_unit_test(the_block_of_the_asynchronous_allocator_is_read),
        cmocka_unit_test(errors_without_figures_are_errors),
        cmocka_unit_test(a_message_broken_in_the_middle_of_words_is_read),
        cmocka_unit_test(a_message_in_a_box_is_read),
        cmocka_unit_test(an_escaped_message_is_read),
        cmocka_unit_test(a_blank_line_ends_a_message),
        cmocka_unit_test(quotations_advice_and_warnings_are_no_errors),
        cmocka_unit_test(the_search_goes_on_behind_the_first_message),
        cmocka_unit_test(many_messages_in_one_line_take_linear_time),
        cmocka_unit_test(the_first_of_two_kinds_of_message_comes_first),
        cmocka_unit_test(more_processes_than_fit_are_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

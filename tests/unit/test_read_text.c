#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/buf.h"
#include "read/oom_message.h"
#include "read/read.h"
#include <stdio.h>

static bool collect(void *ctx, uint64_t line, struct str text)
{
    buf_printf(ctx, "%d:%.*s\n", (int)line, (int)text.n, text.p);
    return false;
}

static int no_key(void *ctx, struct str name)
{
    (void)ctx;
    (void)name;
    return KEY_UNWANTED;
}

static int no_row(void *ctx, const struct row *row)
{
    (void)ctx;
    (void)row;
    fail_msg("a text log has no rows");
    return 0;
}

/* What the reader hands out of a log, one "line:text" each. */
static void assert_read(struct str log, const char *want)
{
    struct buf got = {0};
    struct diag d;
    diag_init(&d);
    struct source *s = source_of_memory("x.log", log);
    struct row_handler h = {.ctx = &got, .key = no_key, .row = no_row, .text = collect};
    uint64_t skipped = 0;
    assert_int_equal(read_rows(s, SYNTAX_TEXT, NULL, &h, &skipped, &d), 0);
    source_close(s);
    assert_int_equal(skipped, 0);
    assert_int_equal(diag_errors(&d), 0);
    buf_puts(&got, "");
    assert_string_equal(got.p ? got.p : "", want);
    diag_release(&d);
    buf_release(&got);
}

static void lines_are_numbered_and_empty_ones_left_out(void **state)
{
    (void)state;
    assert_read(STR_LIT("one\n\nthree\r\nfour"), "1:one\n3:three\n4:four\n");
}

static void carriage_returns_break_lines_of_progress_bars(void **state)
{
    (void)state;
    assert_read(STR_LIT("\r 10%\r 20%\r 30%\nnext\n"), "1: 10%\n1: 20%\n1: 30%\n2:next\n");
}

static void colours_are_taken_out(void **state)
{
    (void)state;
    assert_read(STR_LIT("\x1b[32m[12/24 14:32:58]\x1b[0m: \x1b]0;title\aiter 3\n\x1b"),
                "1:[12/24 14:32:58]: iter 3\n");
}

static const char MESSAGE[] = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.25 GiB. GPU 0 "
                              "has a total capacity of 79.25 GiB of "
                              "which 1.50 GiB is free. Process 815 has 3.00 GiB memory in use. Including "
                              "non-PyTorch memory, this process has 74.75 "
                              "GiB memory in use. Of the allocated memory 71.00 GiB is allocated by PyTorch, "
                              "and 2.50 GiB is reserved by PyTorch but "
                              "unallocated.";

static void a_message_on_one_line_is_handed_out_as_it_is(void **state)
{
    (void)state;
    struct buf log = {0}, want = {0};
    buf_printf(&log, "before\n%s\nafter 1\nafter 2\n", MESSAGE);
    buf_printf(&want, "1:before\n2:%s\n3:after 1\n4:after 2\n", MESSAGE);
    assert_read(buf_view(&log), want.p);
    buf_release(&log);
    buf_release(&want);
}

static void a_message_cut_at_any_terminal_width_comes_back_whole(void **state)
{
    (void)state;
    for (size_t width = 45; width < 160; width++) {
        struct buf log = {0}, want = {0};
        buf_puts(&log, "before\n");
        size_t lines = 0;
        for (size_t i = 0; i + 1 < sizeof MESSAGE; i += width, lines++) {
            size_t n = sizeof MESSAGE - 1 - i < width ? sizeof MESSAGE - 1 - i : width;
            buf_put(&log, MESSAGE + i, n);
            buf_putc(&log, '\n');
        }
        buf_puts(&log, "after\n");
        buf_printf(&want, "1:before\n2:%s\n%d:after\n", MESSAGE, (int)lines + 2);
        assert_read(buf_view(&log), want.p);
        buf_release(&log);
        buf_release(&want);
    }
}

static void a_boxed_message_comes_back_as_one_sentence(void **state)
{
    (void)state;
    assert_read(
        STR_LIT("\xE2\x94\x82 OutOfMemoryError: CUDA out of memory. Tried to   \xE2\x94\x82\n"
                "\xE2\x94\x82 allocate 1.25 GiB. GPU 0 has a total capacity of \xE2\x94\x82\n"
                "\xE2\x94\x82 10.00 GiB of which 1.00 GiB is free.             \xE2\x94\x82\n"
                "\xE2\x95\xB0\xE2\x94\x80\xE2\x94\x80\n"
                "next\n"),
        "1:\xE2\x94\x82 OutOfMemoryError: CUDA out of memory. Tried to allocate 1.25 GiB. GPU 0 has a total "
        "capacity of 10.00 GiB of which 1.00 GiB is free.\n"
        "4:\xE2\x95\xB0\xE2\x94\x80\xE2\x94\x80\n5:next\n");
}

static void a_message_cut_within_its_first_words_is_joined(void **state)
{
    (void)state;
    assert_read(STR_LIT("RuntimeError: CUDA out o\nf memory. Tried to allocate 2.00 MiB.\nnext\n"),
                "1:RuntimeError: CUDA out of memory. Tried to allocate 2.00 MiB.\n3:next\n");
}

static void words_that_are_no_message_join_nothing(void **state)
{
    (void)state;
    assert_read(STR_LIT("if 'CUDA out of memory' in str(e):\n    torch.cuda.empty_cache()\n"),
                "1:if 'CUDA out of memory' in str(e):\n2:    torch.cuda.empty_cache()\n");
}

static void a_message_after_a_progress_bar_is_found(void **state)
{
    (void)state;
    assert_read(
        STR_LIT(" 10%\r 20%\rRuntimeError: CUDA out of memory. Tried to allocate 2.0\n0 MiB (GPU 1; 4.00 GiB "
                "total capacity)\nnext\n"),
        "1: 10%\n1: 20%\n1:RuntimeError: CUDA out of memory. Tried to allocate 2.00 MiB (GPU 1; 4.00 GiB "
        "total "
        "capacity)\n3:next\n");
}

static void two_messages_in_a_row_stay_two(void **state)
{
    (void)state;
    assert_read(
        STR_LIT(
            "CUDA out of memory. Tried to allocate 2.00 MiB (GPU 1; 4.00 GiB total\n capacity)\nCUDA out of "
            "memory. Tried to allocate 3.00 MiB (GPU 1; 4.00\n GiB total capacity)\n"),
        "1:CUDA out of memory. Tried to allocate 2.00 MiB (GPU 1; 4.00 GiB total capacity)\n"
        "3:CUDA out of memory. Tried to allocate 3.00 MiB (GPU 1; 4.00 GiB total capacity)\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_numbered_and_empty_ones_left_out),
        cmocka_unit_test(carriage_returns_break_lines_of_progress_bars),
        cmocka_unit_test(colours_are_taken_out),
        cmocka_unit_test(a_message_on_one_line_is_handed_out_as_it_is),
        cmocka_unit_test(a_message_cut_at_any_terminal_width_comes_back_whole),
        cmocka_unit_test(a_boxed_message_comes_back_as_one_sentence),
        cmocka_unit_test(a_message_cut_within_its_first_words_is_joined),
        cmocka_unit_test(words_that_are_no_message_join_nothing),
        cmocka_unit_test(a_message_after_a_progress_bar_is_found),
        cmocka_unit_test(two_messages_in_a_row_stay_two),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

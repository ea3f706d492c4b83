#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "row_log.h"
#include <stdlib.h>

static void a_line_is_a_row_of_its_wanted_cells(void **state)
{
    (void)state;
    struct row_log log = {.columns = true};
    assert_reads(log, SYNTAX_CSV, NULL, "step,!no,mem [MiB],loss\n0,7,100 MiB,1.5\n1,7,,1.4\n",
                 "2 step=0@1 mem [MiB]=100 MiB@5 loss=1.5@13\n3 step=1@1 loss=1.4@6\n", "");
}

static void blanks_around_cells_and_crlf_are_no_part_of_them(void **state)
{
    (void)state;
    struct row_log log = {0};
    assert_reads(log, SYNTAX_CSV, NULL,
                 "time, mem [MiB] ,x\r\n 2026/01/01 10:00:00 , 5 MiB ,1\r\n\r\n  \r\n1, 6 MiB,2",
                 "2 time=2026/01/01 10:00:00 mem [MiB]=5 MiB x=1\n5 time=1 mem [MiB]=6 MiB x=2\n", "");
}

static void semicolons_and_tabs_separate_too(void **state)
{
    (void)state;
    struct row_log log = {0};
    assert_reads(log, SYNTAX_CSV, NULL, "a;b\n1,5;2\n3;4\n", "2 a=1,5 b=2\n3 a=3 b=4\n", "");
    assert_reads(log, SYNTAX_CSV, NULL, "a\tb\tc\n1\t\t2\n\t4\t\n", "2 a=1 c=2\n3 b=4\n", "");
    assert_reads(log, SYNTAX_CSV, NULL, "epoch  mem   loss\n 1   2  3\n4 5 6\n",
                 "2 epoch=1 mem=2 loss=3\n3 epoch=4 mem=5 loss=6\n", "");
}

static void a_banner_before_the_header_is_text_and_no_error(void **state)
{
    (void)state;
    struct row_log log = {.note_text = true};
    assert_reads(log, SYNTAX_CSV, NULL, "+---+\n| GPU |\n\nindex, mem [MiB]\n0, 5 MiB\n1, 6 MiB\n",
                 "1 ~+---+\n2 ~| GPU |\n5 index=0 mem [MiB]=5 MiB\n6 index=1 mem [MiB]=6 MiB\n", "");
}

static void a_header_that_comes_again_is_taken_as_one(void **state)
{
    (void)state;
    struct row_log log = {0};
    assert_reads(log, SYNTAX_CSV, NULL, "step,mem\n0,1\n1,2\nstep,mem\n0,3\nstep,loss,mem\n0,9,4\n",
                 "2 step=0 mem=1\n3 step=1 mem=2\n5 step=0 mem=3\n7 step=0 loss=9 mem=4\n", "");
    assert_int_equal(log.n_names, 0);
}

static void a_row_of_words_is_no_header(void **state)
{
    (void)state;
    struct row_log log = {0};
    assert_reads(log, SYNTAX_CSV, NULL, "model,mem,state\nbert,1,ok\nbert,OOM,failed\nllama,N/A,failed\n",
                 "2 model=bert mem=1 state=ok\n3 model=bert mem=OOM state=failed\n"
                 "4 model=llama mem=N/A state=failed\n",
                 "");
}

static void short_rows_lack_their_last_cells_and_long_ones_are_cut(void **state)
{
    (void)state;
    struct row_log log = {0};
    assert_reads(log, SYNTAX_CSV, NULL, "a,b,c\n1,2,3\n4,5\n6,7,8,\n9,10,11,12\n13,14,15\n",
                 "2 a=1 b=2 c=3\n3 a=4 b=5\n4 a=6 b=7 c=8\n5 a=9 b=10 c=11\n6 a=13 b=14 c=15\n",
                 "ragged-row:3:0 ragged-row:5:0");
    assert_reads(log, SYNTAX_CSV, NULL, "a,b,c\n1,2,3\n4\n5,6,7\n", "2 a=1 b=2 c=3\n4 a=5 b=6 c=7\n",
                 "ragged-row:3:0");
    /* with the writer's trailing commas */
    assert_reads(log, SYNTAX_CSV, NULL, "a,b,\n1,2,\n3,4,\n", "2 a=1 b=2\n3 a=3 b=4\n", "");
}

static void a_last_row_that_breaks_off_is_left_out(void **state)
{
    (void)state;
    struct row_log log = {0};
    assert_reads(log, SYNTAX_CSV, NULL, "a,b,c\n1,2,3\n4,5", "2 a=1 b=2 c=3\n", "truncated:3:0");
    assert_reads(log, SYNTAX_CSV, NULL, "a,b,c\n1,2,3\n4,5,6", "2 a=1 b=2 c=3\n3 a=4 b=5 c=6\n", "");
    assert_reads(log, SYNTAX_CSV, NULL, "a,b,c\n1,2,3\n4,\"5", "2 a=1 b=2 c=3\n", "truncated:3:0");
}

static void quoted_cells_keep_separators_quotes_and_line_ends(void **state)
{
    (void)state;
    struct row_log log = {0};
    assert_reads(log, SYNTAX_CSV, NULL,
                 "step,note,mem\n1,\"a, b\",5\n2,\"say \"\"hi\"\"\",6\n3,\"two\nlines\",7\n4, \"x\" ,8\n",
                 "2 step=1 note=a, b mem=5\n3 step=2 note=say \"hi\" mem=6\n4 step=3 note=two\nlines mem=7\n"
                 "6 step=4 note=x mem=8\n",
                 "");
    assert_reads(log, SYNTAX_CSV, NULL, "\"Step\",\"mem\"\n\"0\",\"0.75\"\n\"1\",\"\"\n",
                 "2 Step=0 mem=0.75\n3 Step=1\n", "");
}

static void a_stray_quote_does_not_swallow_what_follows(void **state)
{
    (void)state;
    struct row_log log = {0};
    assert_reads(log, SYNTAX_CSV, NULL, "a,b\n1,2\n5\" disk,3\n4,5\n6\" disk,3\n7,\"8\n9,10\n",
                 "2 a=1 b=2\n4 a=4 b=5\n7 a=9 b=10\n", "bad-quote:3:2 bad-quote:5:2 bad-quote:6:3");
    struct buf b = {0};
    buf_puts(&b, "a,b\n1,\"open\n");
    for (int i = 0; i < 200; i++)
        buf_printf(&b, "%d,7\n", i);
    assert_int_equal(row_log_read(&log, SYNTAX_CSV, NULL, buf_view(&b)), 0);
    assert_int_equal(log.rows, 200);
    assert_int_equal(log.diag.seen[DIAG_BAD_QUOTE], 1);
    row_log_release(&log);
    buf_release(&b);
}

static void a_traceback_between_the_rows_is_text(void **state)
{
    (void)state;
    struct row_log log = {.note_text = true, .take_text = true};
    assert_reads(log, SYNTAX_CSV, NULL,
                 "a,b,c\n1,2,3\n4,5,6\nTraceback (most recent call last):\n  File \"x.py\", line 3, in f\n"
                 "torch.OutOfMemoryError: CUDA out of memory. Tried\n7,8,9\n",
                 "2 a=1 b=2 c=3\n3 a=4 b=5 c=6\n4 ~Traceback (most recent call last):\n"
                 "5 ~  File \"x.py\", line 3, in f\n6 ~torch.OutOfMemoryError: CUDA out of memory. Tried\n"
                 "7 a=7 b=8 c=9\n",
                 "");
}

static void text_that_nobody_takes_is_one_note(void **state)
{
    (void)state;
    struct row_log log = {0};
    assert_reads(log, SYNTAX_CSV, NULL,
                 "a,b,c\n1,2,3\n4,5,6\nTraceback (most recent call last):\n  File \"x.py\", line 3, in f\n"
                 "    loss.backward()\n    ^^^^^^^^\nRuntimeError: no luck, sorry\n7,8,9\n",
                 "2 a=1 b=2 c=3\n3 a=4 b=5 c=6\n9 a=7 b=8 c=9\n", "text-between:4:0");
    assert_reads(log, SYNTAX_CSV, NULL, "a,b,c\n1,2,3\n4,5,6\ntrain,\"5,6\n7,8,9\n",
                 "2 a=1 b=2 c=3\n3 a=4 b=5 c=6\n5 a=7 b=8 c=9\n", "bad-quote:4:7");
}

static void columns_without_names_are_given_or_numbered(void **state)
{
    (void)state;
    static const char *const NAMES[] = {"time", "!index", "mem"};
    struct read_layout layout = {.columns = NAMES, .n_columns = 3};
    struct row_log log = {0};
    assert_reads(log, SYNTAX_CSV, &layout, "10:00:00, 0, 5 MiB\n10:00:01, 0, 6 MiB\n",
                 "1 time=10:00:00 mem=5 MiB\n2 time=10:00:01 mem=6 MiB\n", "");
    assert_reads(log, SYNTAX_CSV, NULL, "1,2,3\n4,5,6\n", "1 1=1 2=2 3=3\n2 1=4 2=5 3=6\n", "");
}

static void two_columns_of_one_name_are_warned_of(void **state)
{
    (void)state;
    struct row_log log = {0};
    assert_reads(log, SYNTAX_CSV, NULL, "a,b,a\n1,2,3\n4,5,6\n", "2 a=1 b=2 a=3\n3 a=4 b=5 a=6\n",
                 "duplicate-key:1:0");
}

static void a_very_wide_table_keeps_its_first_columns(void **state)
{
    (void)state;
    struct buf b = {0};
    for (int row = 0; row < 3; row++) {
        for (int i = 0; i < 70000; i++)
            buf_printf(&b, row ? "%s%d" : "%s!c%d", i ? "," : "", i);
        buf_putc(&b, '\n');
    }
    struct row_log log = {0};
    assert_int_equal(row_log_read(&log, SYNTAX_CSV, NULL, buf_view(&b)), 0);
    assert_int_equal(log.rows, 2);
    assert_int_equal(log.diag.seen[DIAG_TOO_MANY_FIELDS], 1);
    row_log_release(&log);
    buf_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_is_a_row_of_its_wanted_cells),
        cmocka_unit_test(blanks_around_cells_and_crlf_are_no_part_of_them),
        cmocka_unit_test(semicolons_and_tabs_separate_too),
        cmocka_unit_test(a_banner_before_the_header_is_text_and_no_error),
        cmocka_unit_test(a_header_that_comes_again_is_taken_as_one),
        cmocka_unit_test(a_row_of_words_is_no_header),
        cmocka_unit_test(short_rows_lack_their_last_cells_and_long_ones_are_cut),
        cmocka_unit_test(a_last_row_that_breaks_off_is_left_out),
        cmocka_unit_test(quoted_cells_keep_separators_quotes_and_line_ends),
        cmocka_unit_test(a_stray_quote_does_not_swallow_what_follows),
        cmocka_unit_test(a_traceback_between_the_rows_is_text),
        cmocka_unit_test(text_that_nobody_takes_is_one_note),
        cmocka_unit_test(columns_without_names_are_given_or_numbered),
        cmocka_unit_test(two_columns_of_one_name_are_warned_of),
        cmocka_unit_test(a_very_wide_table_keeps_its_first_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

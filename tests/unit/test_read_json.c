#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "row_log.h"
#include <stdlib.h>

static void a_jsonl_line_is_a_row_of_wanted_values(void **state)
{
    (void)state;
    struct row_log log = {.kinds = true, .columns = true};
    assert_reads(log, SYNTAX_JSONL, NULL,
                 "{\"step\": 1, \"!no\": [1, {\"x\": \"}\"}], \"s\":\"a\\nb\\u00e9\", "
                 "\"t\":true,\"f\":false,\"z\":null}\n",
                 "1 step=n1@10 s=sa\nb\xc3\xa9@41 t=ttrue@59 f=ffalse@68 z=0null@78\n", "");
    log.kinds = true;
    assert_reads(log, SYNTAX_JSONL, NULL, "{\"ids\": [\"a\", 1], \"o\": {\"k\": {\"l\": 2}}}\n",
                 "1 ids=[[\"a\", 1] o.k.l=n2 o.k={{\"l\": 2} o={{\"k\": {\"l\": 2}}\n", "");
}

static void nan_and_infinity_are_numbers(void **state)
{
    (void)state;
    struct row_log log = {.kinds = true};
    assert_reads(log, SYNTAX_JSONL, NULL, "{\"a\":NaN,\"b\":Infinity,\"c\":-Infinity}\n",
                 "1 a=nNaN b=nInfinity c=n-Infinity\n", "");
}

static void several_objects_and_blank_lines_are_fine(void **state)
{
    (void)state;
    struct row_log log = {0};
    assert_reads(log, SYNTAX_JSONL, NULL, "{\"a\":1} {\"a\":2}{\"a\":3}\r\n\r\n   \n{\"a\":4}",
                 "1 a=1\n1 a=2\n1 a=3\n4 a=4\n", "");
}

static void the_last_of_a_repeated_key_counts(void **state)
{
    (void)state;
    struct row_log log = {0};
    assert_reads(log, SYNTAX_JSONL, NULL, "{\"a\":1,\"b\":2,\"a\":3}\n", "1 a=3 b=2\n", "duplicate-key:1:18");
    assert_reads(log, SYNTAX_JSONL, NULL, "{\"a\":1,\"\\u0061\":3}\n", "1 a=3\n", "duplicate-key:1:17");
    assert_reads(log, SYNTAX_JSONL, NULL, "{\"!o\":{\"x\":1,\"y\":2},\"!o\":{\"y\":3}}\n", "1 !o.y=3\n",
                 "duplicate-key:1:26");
    /* two inner objects may well have the same keys */
    assert_reads(log, SYNTAX_JSONL, NULL, "{\"!o\":{\"x\":1},\"!p\":{\"x\":3}}\n", "1 !o.x=1 !p.x=3\n", "");
}

static void a_value_replaces_an_object_of_the_same_name(void **state)
{
    (void)state;
    struct row_log log = {0};
    assert_reads(log, SYNTAX_JSONL, NULL, "{\"!o\":{\"x\":1},\"!o\":5,\"z\":1}\n", "1 z=1\n",
                 "duplicate-key:1:20");
}

static void a_last_line_that_breaks_off_is_a_note_only(void **state)
{
    (void)state;
    struct row_log log = {0};
    assert_reads(log, SYNTAX_JSONL, NULL, "{\"a\":1}\n{\"a\":2,\"b\":\"x", "1 a=1\n", "truncated:2:0");
    assert_reads(log, SYNTAX_JSONL, NULL, "{\"a\":1}\n{\"a\":2}", "1 a=1\n2 a=2\n", "");
    /* with a line end it was not the writer's death */
    assert_reads(log, SYNTAX_JSONL, NULL, "{\"a\":1}\n{\"a\":2,\"b\":\"x\n", "1 a=1\n", "bad-json:2:14");
}

static void a_garbage_line_goes_to_text_first(void **state)
{
    (void)state;
    struct row_log log = {.note_text = true, .take_text = true};
    assert_reads(log, SYNTAX_JSONL, NULL, "{\"a\":1}\nRuntimeError: x\n{\"a\":2}\n",
                 "1 a=1\n2 ~RuntimeError: x\n3 a=2\n", "");
    log.note_text = true;
    assert_reads(log, SYNTAX_JSONL, NULL, "{'a': 1}\n{\"a\":2}\n", "1 ~{'a': 1}\n2 a=2\n", "bad-json:1:2");
}

static void text_that_nobody_takes_is_one_note_and_torn_records_are_errors(void **state)
{
    (void)state;
    struct row_log log = {0};
    assert_reads(log, SYNTAX_JSONL, NULL,
                 "{\"a\":1}\nTraceback (most recent call last):\n  File \"x.py\", line 3\n    f()\n"
                 "    ^^^\nRuntimeError: bad thing\n{\"a\":2}\n",
                 "1 a=1\n7 a=2\n", "text-between:2:0");
    assert_reads(log, SYNTAX_JSONL, NULL, "{\"a\":1}\nss\": 3, \"b c d\": 4}\n17\n{\"a\":2}\n",
                 "1 a=1\n4 a=2\n", "bad-json:2:1 bad-json:3:1");
}

static void what_json_forbids_is_found_in_unwanted_values_too(void **state)
{
    (void)state;
    static const struct {
        const char *line, *diag;
    } CASES[] = {
        {"{\"!a\":01}\n", "bad-json:1:8"},
        {"{\"!a\":1.}\n", "bad-json:1:9"},
        {"{\"!a\":.5}\n", "bad-json:1:7"},
        {"{\"!a\":+1}\n", "bad-json:1:7"},
        {"{\"!a\":1e}\n", "bad-json:1:9"},
        {"{\"!a\":-}\n", "bad-json:1:8"},
        {"{\"!a\":[1,]}\n", "bad-json:1:10"},
        {"{\"!a\":[1 2]}\n", "bad-json:1:10"},
        {"{\"!a\":tru}\n", "bad-json:1:10"},
        {"{\"!a\":nan}\n", "bad-json:1:8"},
        {"{\"!a\":\"\\x\"}\n", "bad-json:1:9"},
        {"{\"!a\":\"\\u12g4\"}\n", "bad-json:1:12"},
        {"{\"!a\":\"a\tb\"}\n", "bad-json:1:9"},
        {"{\"!a\":{\"b\" 1}}\n", "bad-json:1:12"},
        {"{\"!a\":{b:1}}\n", "bad-json:1:8"},
        {"{\"!a\":1,}\n", "bad-json:1:9"},
        {"{\"!a\":1}}\n", "bad-json:1:9"},
        {"{\"!a\":1\n", "bad-json:1:8"},
        {"[1]\n", "bad-json:1:1"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct row_log log = {0};
        const char *rows = i == 16 ? "1\n" : "";
        assert_reads(log, SYNTAX_JSONL, NULL, CASES[i].line, rows, CASES[i].diag);
    }
}

static void bad_utf8_and_half_a_surrogate_are_warned_of_and_kept(void **state)
{
    (void)state;
    struct row_log log = {0};
    assert_reads(log, SYNTAX_JSONL, NULL, "{\"a\":\"x\xff\"}\n", "1 a=x\xff\n", "bad-encoding:1:8");
    assert_reads(log, SYNTAX_JSONL, NULL, "{\"a\":\"\\ud800z\"}\n", "1 a=\xef\xbf\xbdz\n",
                 "bad-encoding:1:7");
    assert_reads(log, SYNTAX_JSONL, NULL, "{\"a\":\"\\ud83d\\ude00\"}\n", "1 a=\xf0\x9f\x98\x80\n", "");
}

static void lines_of_alternating_shapes_keep_their_keys(void **state)
{
    (void)state;
    struct row_log log = {0};
    assert_reads(log, SYNTAX_JSONL, NULL,
                 "{\"step\": 1, \"loss\": 2}\n{\"step\": 1, \"val\": 3}\n{\"step\":2,\"loss\":  4}\n"
                 "{\"step\": 2, \"val\": 5 }\n{ \"val\": 6, \"step\": 3}\n{\"steps\": 7, \"los\": 8}\n",
                 "1 step=1 loss=2\n2 step=1 val=3\n3 step=2 loss=4\n4 step=2 val=5\n5 val=6 step=3\n"
                 "6 steps=7 los=8\n",
                 "");
}

static void nesting_has_a_limit(void **state)
{
    (void)state;
    struct buf b = {0};
    buf_puts(&b, "{\"!a\":");
    for (int i = 0; i < 100000; i++)
        buf_puts(&b, i % 2 ? "[" : "{\"b\":");
    buf_puts(&b, "\n{\"a\":1}\n");
    struct row_log log = {0};
    assert_int_equal(row_log_read(&log, SYNTAX_JSONL, NULL, buf_view(&b)), 0);
    assert_string_equal(log.text.p, "2 a=1\n");
    assert_int_equal(log.diag.seen[DIAG_BAD_JSON], 1);
    row_log_release(&log);
    buf_release(&b);
}

static void too_many_keys_are_left_out_with_a_warning(void **state)
{
    (void)state;
    struct buf b = {0};
    for (int i = 0; i < 70000; i++)
        buf_printf(&b, "{\"!k%d\":1,\"!k%d\":2}\n", 2 * i, 2 * i + 1);
    buf_puts(&b, "{\"late\":1,\"!k0\":2}\n");
    struct row_log log = {0};
    assert_int_equal(row_log_read(&log, SYNTAX_JSONL, NULL, buf_view(&b)), 0);
    assert_int_equal(log.rows, 70001);
    assert_int_equal(log.diag.seen[DIAG_TOO_MANY_FIELDS], 1);
    assert_int_equal(log.n_names, 0);
    row_log_release(&log);
    buf_release(&b);
}

static void the_handler_can_stop(void **state)
{
    (void)state;
    struct row_log log = {.stop_after = 2};
    assert_int_equal(row_log_read(&log, SYNTAX_JSONL, NULL, STR_LIT("{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n")),
                     42);
    assert_string_equal(log.text.p, "1 a=1\n2 a=2\n");
    row_log_release(&log);
    log.stop_after = 2;
    assert_int_equal(row_log_read(&log, SYNTAX_JSON, NULL, STR_LIT("[{\"a\":1},{\"a\":2},{\"a\":3}]")), 42);
    row_log_release(&log);
}

static void enclosing_values_come_before_the_rows_even_from_behind_them(void **state)
{
    (void)state;
    struct read_layout layout = {.rows = "log_history"};
    struct row_log log = {.columns = true};
    assert_reads(
        log, SYNTAX_JSON, &layout,
        "{\n \"epoch\": 1,\n \"log_history\": [\n  {\"step\": 5},\n  {\"step\": 10,\n \"loss\": 2}\n ],\n"
        " \"args\": {\"max\": 7}\n}\n",
        "1* epoch=1@0 args.max=7@0 args={\"max\": 7}@0\n4 step=5@12\n5 step=10@12 loss=2@0\n", "");
}

static void rows_may_lie_deeper_and_be_an_object_of_objects(void **state)
{
    (void)state;
    struct read_layout layout = {.rows = "!a.b"};
    struct row_log log = {0};
    assert_reads(log, SYNTAX_JSON, &layout,
                 "{\"!a\": {\"b\": {\"x\": {\"m\": 1},\n\"y\": {\"m\": 2}}, \"c\": 3}}",
                 "1* !a.c=3\n1 m=1 @key=x\n2 m=2 @key=y\n", "");
    layout.rows = "x.b";
    assert_reads(log, SYNTAX_JSON, &layout, "{\"x\": {\"b\": {\"p\": {\"m\": 1},\n\"q\": {\"m\": 2}}}}",
                 "1* x={\"b\": {\"p\": {\"m\": 1},\n\"q\": {\"m\": 2}}}\n1 m=1 @key=p\n2 m=2 @key=q\n", "");
}

static void a_list_gives_a_row_each_and_an_object_one(void **state)
{
    (void)state;
    struct row_log log = {0};
    assert_reads(log, SYNTAX_JSON, NULL, "[\n{\"a\":1},\n{\"a\":2}]\n", "2 a=1\n3 a=2\n", "");
    assert_reads(log, SYNTAX_JSON, NULL, "{\n\"a\":\n1}\n", "1 a=1\n", "");
    assert_reads(log, SYNTAX_JSON, NULL, "{\n\"a\":\n1}\n{\n\"a\": 2\n}\n", "1 a=1\n4 a=2\n", "");
    assert_reads(log, SYNTAX_JSON, NULL, "[{\"a\":1},\n 7, {\"a\":2}]", "1 a=1\n2 a=2\n", "bad-json:2:2");
}

static void a_document_that_breaks_off_gives_what_there_is(void **state)
{
    (void)state;
    struct read_layout layout = {.rows = "h"};
    struct row_log log = {0};
    assert_reads(log, SYNTAX_JSON, NULL, "[\n{\"a\":1},\n{\"a\":2", "2 a=1\n", "truncated:3:0");
    assert_reads(log, SYNTAX_JSON, &layout, "{\"e\": 1, \"h\": [{\"a\":1},\n{\"a\"", "1* e=1\n1 a=1\n",
                 "truncated:2:0");
    assert_reads(log, SYNTAX_JSON, &layout, "{\"e\": 1, \"h\": [{\"a\":1},\n{\"a\":01}]}", "1* e=1\n1 a=1\n",
                 "bad-json:2:7");
}

static void golden_values_become_rows_by_step(void **state)
{
    (void)state;
    struct read_layout layout = {.transposed = true};
    struct row_log log = {.kinds = true};
    assert_reads(
        log, SYNTAX_JSON, &layout,
        "{\n\"loss\": {\"start_step\": 1, \"values\": {\n\"1\": 1.5,\n\"10\": \"nan\",\n\"2\": 3}},\n"
        "\"!x\": {\"values\": {\"1\": 9}},\n\"mem\": {\"values\": {\"2\": 7, \"1\": 8, \"x\": 1}}}\n",
        "1* loss.start_step=n1 loss={{\"start_step\": 1, \"values\": {\n\"1\": 1.5,\n\"10\": "
        "\"nan\",\n\"2\": 3}} "
        "mem={{\"values\": {\"2\": 7, \"1\": 8, \"x\": 1}}\n"
        "3 step=n1 loss=n1.5 mem=n8\n5 step=n2 loss=n3 mem=n7\n4 step=n10 loss=snan\n",
        "bad-number:7:0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_jsonl_line_is_a_row_of_wanted_values),
        cmocka_unit_test(nan_and_infinity_are_numbers),
        cmocka_unit_test(several_objects_and_blank_lines_are_fine),
        cmocka_unit_test(the_last_of_a_repeated_key_counts),
        cmocka_unit_test(a_value_replaces_an_object_of_the_same_name),
        cmocka_unit_test(a_last_line_that_breaks_off_is_a_note_only),
        cmocka_unit_test(a_garbage_line_goes_to_text_first),
        cmocka_unit_test(text_that_nobody_takes_is_one_note_and_torn_records_are_errors),
        cmocka_unit_test(what_json_forbids_is_found_in_unwanted_values_too),
        cmocka_unit_test(bad_utf8_and_half_a_surrogate_are_warned_of_and_kept),
        cmocka_unit_test(lines_of_alternating_shapes_keep_their_keys),
        cmocka_unit_test(nesting_has_a_limit),
        cmocka_unit_test(too_many_keys_are_left_out_with_a_warning),
        cmocka_unit_test(the_handler_can_stop),
        cmocka_unit_test(enclosing_values_come_before_the_rows_even_from_behind_them),
        cmocka_unit_test(rows_may_lie_deeper_and_be_an_object_of_objects),
        cmocka_unit_test(a_list_gives_a_row_each_and_an_object_one),
        cmocka_unit_test(a_document_that_breaks_off_gives_what_there_is),
        cmocka_unit_test(golden_values_become_rows_by_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

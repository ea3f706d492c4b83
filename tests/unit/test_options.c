/* The command line: what is taken, and what is refused with which words. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "cli/explain.h"
#include "cli/options.h"
#include "report/report.h"

#include <math.h>

enum {
    ARGS_MAX = 16
};

/* Parses words (ended by NULL) behind the program's name. */
static const char *parse(struct options *o, struct arena *a, const char *const *words)
{
    static char name[] = "oomreport";
    char *argv[ARGS_MAX + 2] = {name};
    int argc = 1;
    for (; words[argc - 1]; argc++) {
        assert_true(argc <= ARGS_MAX);
        argv[argc] = arena_strndup(a, words[argc - 1], strlen(words[argc - 1]));
    }
    char **kept = arena_alloc(a, sizeof argv);
    memcpy(kept, argv, sizeof argv);
    return options_parse(o, argc, kept, a);
}

#define PARSE(o, a, ...) parse(o, a, (const char *const[]){__VA_ARGS__, NULL})

static void assert_says(const char *why, const char *words)
{
    assert_non_null(why);
    if (!strstr(why, words))
        fail_msg("\"%s\" lacks \"%s\"", why, words);
}

static void inputs_and_output_are_found_in_any_order(void **state)
{
    struct arena a = {0};
    struct options o;
    (void)state;
    assert_null(PARSE(&o, &a, "one.jsonl", "-o", "report", "two.jsonl", "-f"));
    assert_int_equal(o.n_inputs, 2);
    assert_string_equal(o.inputs[1], "two.jsonl");
    assert_string_equal(o.output, "report");
    assert_true(o.force);
    assert_int_equal(o.action, ACTION_REPORT);
    assert_int_equal(o.parts, PART_ALL);
    arena_release(&a);
}

static void only_takes_a_list_and_names_the_nearest_of_an_unknown_word(void **state)
{
    struct arena a = {0};
    struct options o;
    (void)state;
    assert_null(PARSE(&o, &a, "--only", "html,json", "x"));
    assert_int_equal(o.parts, PART_HTML | PART_JSON);
    assert_says(PARSE(&o, &a, "--only", "html,jsn", "x"), "did you mean json");
    assert_says(PARSE(&o, &a, "--only", "html,", "x"), "--only: unknown \"\"");
    arena_release(&a);
}

static void a_mistyped_option_names_the_nearest(void **state)
{
    struct arena a = {0};
    struct options o;
    (void)state;
    assert_says(PARSE(&o, &a, "--capcity", "80GB", "x"), "did you mean --capacity");
    assert_says(PARSE(&o, &a, "--capcity=80GB", "x"), "did you mean --capacity");
    assert_says(PARSE(&o, &a, "-x"), "unknown option -x");
    assert_says(PARSE(&o, &a, "--capacity"), "--capacity needs a value");
    assert_says(PARSE(&o, &a, "--force=yes", "x"), "--force takes no value");
    arena_release(&a);
}

static void a_size_without_a_unit_is_refused(void **state)
{
    double v = 0;
    (void)state;
    assert_false(options_size(&v, "80"));
    assert_false(options_size(&v, "GB"));
    assert_false(options_size(&v, "0GB"));
    assert_false(options_size(&v, "-1GB"));
    assert_false(options_size(&v, "80Gb/s"));
    assert_false(options_size(&v, "80GxB"));
    assert_false(options_size(&v, "1.2.3GB"));
    assert_false(options_size(&v, ""));
}

static void decimal_and_binary_units_are_told_apart(void **state)
{
    double v = 0;
    (void)state;
    assert_true(options_size(&v, "80GB"));
    assert_float_equal(v, 80e9, 0);
    assert_true(options_size(&v, "79.5 GiB"));
    assert_float_equal(v, 79.5 * 1073741824.0, 0);
    assert_true(options_size(&v, "81559mib"));
    assert_float_equal(v, 81559.0 * 1048576.0, 0);
    assert_true(options_size(&v, "85899345920B"));
    assert_float_equal(v, 85899345920.0, 0);
}

static void steps_may_be_open_at_either_end(void **state)
{
    struct arena a = {0};
    struct options o;
    (void)state;
    assert_null(PARSE(&o, &a, "--steps", "10:20", "x"));
    assert_float_equal(o.step_from, 10, 0);
    assert_float_equal(o.step_to, 20, 0);
    assert_null(PARSE(&o, &a, "--steps", "10:", "x"));
    assert_true(isnan(o.step_to));
    assert_null(PARSE(&o, &a, "--steps=:20", "x"));
    assert_true(isnan(o.step_from));
    assert_says(PARSE(&o, &a, "--steps", "20:10", "x"), "no range");
    assert_says(PARSE(&o, &a, "--steps", ":", "x"), "no range");
    assert_says(PARSE(&o, &a, "--steps", "7", "x"), "no range");
    arena_release(&a);
}

static void no_input_is_a_usage_error_but_not_for_help(void **state)
{
    struct arena a = {0};
    struct options o;
    (void)state;
    assert_says(PARSE(&o, &a, "-f"), "no input");
    assert_null(PARSE(&o, &a, "--help"));
    assert_int_equal(o.action, ACTION_HELP);
    assert_null(PARSE(&o, &a, "--to", "csv", "--help"));
    assert_int_equal(o.action, ACTION_HELP);
    assert_null(PARSE(&o, &a, "--list-formats"));
    assert_null(PARSE(&o, &a, "--files-from", "list"));
    arena_release(&a);
}

static void options_that_exclude_each_other_are_refused(void **state)
{
    struct arena a = {0};
    struct options o;
    (void)state;
    assert_says(PARSE(&o, &a, "--to", "csv", "--dump", "rows", "x"), "only one of");
    assert_says(PARSE(&o, &a, "--provenance", "x"), "belongs to --to");
    assert_says(PARSE(&o, &a, "--to", "csv", "--stdout", "md", "x"), "--stdout");
    assert_says(PARSE(&o, &a, "-q", "-v", "x"), "exclude");
    assert_says(PARSE(&o, &a, "--explain", "leak", "x"), "take no inputs");
    arena_release(&a);
}

static void what_changes_the_result_is_remembered(void **state)
{
    struct arena a = {0};
    struct options o;
    (void)state;
    assert_null(PARSE(&o, &a, "--capacity", "80GB", "-q", "--steps=5:", "x"));
    assert_int_equal(o.n_given, 2);
    assert_true(str_is(o.given[0], "capacity = 80GB"));
    assert_true(str_is(o.given[1], "steps = 5:"));
    arena_release(&a);
}

static void only_rfc3339_is_a_timestamp(void **state)
{
    (void)state;
    assert_true(options_is_rfc3339("2024-05-01T12:00:00Z"));
    assert_true(options_is_rfc3339("2024-05-01T12:00:00.25+02:00"));
    assert_false(options_is_rfc3339("2024-05-01"));
    assert_false(options_is_rfc3339("2024-05-01T12:00:00"));
    assert_false(options_is_rfc3339("2024-05-01T12:00:00Z "));
    assert_false(options_is_rfc3339("yesterday"));
    assert_false(options_is_rfc3339("2026-13-01T12:00:00Z"));
    assert_false(options_is_rfc3339("2026-02-29T12:00:00Z"));
    assert_true(options_is_rfc3339("2024-02-29T23:59:60Z"));
    assert_false(options_is_rfc3339("2026-11-00T12:00:00Z"));
    assert_false(options_is_rfc3339("2026-11-01T24:00:00Z"));
    assert_false(options_is_rfc3339("2026-11-01T12:60:00Z"));
    assert_false(options_is_rfc3339("2026-11-01T12:00:00+24:00"));
    assert_false(options_is_rfc3339(""));
}

static void help_fits_sixty_lines_of_a_hundred_and_ten_columns(void **state)
{
    struct buf b = {0};
    size_t lines = 0, column = 0;
    (void)state;
    options_help(&b);
    for (size_t i = 0; i < b.n; i++) {
        lines += b.p[i] == '\n';
        column = b.p[i] == '\n' ? 0 : column + 1;
        assert_true(column <= 110);
    }
    assert_true(lines < 60);
    assert_true(str_find(buf_view(&b), STR_LIT("--check-format")) != (size_t)-1);
    buf_release(&b);
}

static void a_subtype_is_explained_with_and_without_its_cause(void **state)
{
    struct arena a = {0};
    struct buf b = {0};
    (void)state;
    assert_null(explain(&b, "fragmentation", &a));
    assert_true(str_starts(buf_view(&b), STR_LIT("capacity/fragmentation\n")));
    buf_clear(&b);
    assert_null(explain(&b, "peak/length", &a));
    assert_true(str_starts(buf_view(&b), STR_LIT("peak/length\n")));
    buf_clear(&b);
    assert_says(explain(&b, "leek", &a), "did you mean leak");
    assert_says(explain(&b, "eval/length", &a), "unknown class");
    buf_release(&b);
    arena_release(&a);
}

static void every_cause_and_subtype_of_the_report_is_explained(void **state)
{
    struct arena a = {0};
    struct buf b = {0};
    (void)state;
    for (int c = CAUSE_LEAK; c <= CAUSE_UNKNOWN; c++)
        assert_null(explain(&b, cause_name((enum cause)c), &a));
    for (int s = SUB_STEP; s <= SUB_SAVE; s++)
        assert_null(explain(&b, subtype_name((enum subtype)s), &a));
    buf_release(&b);
    arena_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inputs_and_output_are_found_in_any_order),
        cmocka_unit_test(only_takes_a_list_and_names_the_nearest_of_an_unknown_word),
        cmocka_unit_test(a_mistyped_option_names_the_nearest),
        cmocka_unit_test(a_size_without_a_unit_is_refused),
        cmocka_unit_test(decimal_and_binary_units_are_told_apart),
        cmocka_unit_test(steps_may_be_open_at_either_end),
        cmocka_unit_test(no_input_is_a_usage_error_but_not_for_help),
        cmocka_unit_test(options_that_exclude_each_other_are_refused),
        cmocka_unit_test(what_changes_the_result_is_remembered),
        cmocka_unit_test(only_rfc3339_is_a_timestamp),
        cmocka_unit_test(help_fits_sixty_lines_of_a_hundred_and_ten_columns),
        cmocka_unit_test(a_subtype_is_explained_with_and_without_its_cause),
        cmocka_unit_test(every_cause_and_subtype_of_the_report_is_explained),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

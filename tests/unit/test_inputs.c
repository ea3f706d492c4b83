/* Operands -> files: order, directories, patterns, repeated names. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "cli/inputs.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct folder {
    struct arena a;
    struct input_list list;
    char path[64];
};

static const char *in(struct folder *f, const char *name)
{
    return arena_printf(&f->a, "%s/%s", f->path, name);
}

static void make_file(struct folder *f, const char *name, const char *text)
{
    FILE *out = fopen(in(f, name), "w");
    assert_non_null(out);
    assert_true(fputs(text, out) >= 0);
    assert_int_equal(fclose(out), 0);
}

static int make_folder(void **state)
{
    struct folder *f = calloc(1, sizeof *f);
    if (!f)
        return -1;
    strcpy(f->path, "/tmp/oomreport-test-"
                    "XXXXXX");
    if (!mkdtemp(f->path))
        return -1;
    *state = f;
    make_file(f, "rank10.jsonl", "ten");
    make_file(f, "rank2.jsonl", "two");
    make_file(f, "notes.txt", "none");
    make_file(f, ".hidden", "none");
    return mkdir(in(f, "below"), 0777);
}

static int remove_folder(void **state)
{
    struct folder *f = *state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", f->path);
    int status = system(command);
    inputs_release(&f->list);
    arena_release(&f->a);
    free(f);
    return status;
}

static const char *expand(struct folder *f, const char *operand)
{
    inputs_release(&f->list);
    return inputs_expand(&f->list, &operand, 1, NULL, &f->a);
}

static void a_directory_stands_for_its_regular_files_in_natural_order(void **state)
{
    struct folder *f = *state;
    make_file(f, "below/deep.jsonl", "deep");
    assert_null(expand(f, f->path));
    assert_int_equal(f->list.n, 3);
    assert_string_equal(f->list.items[0].path, in(f, "notes.txt"));
    assert_string_equal(f->list.items[1].path, in(f, "rank2.jsonl"));
    assert_string_equal(f->list.items[2].path, in(f, "rank10.jsonl"));
    assert_true(f->list.items[2].from_dir);
}

static void a_pattern_that_the_shell_left_alone_is_expanded(void **state)
{
    struct folder *f = *state;
    assert_null(expand(f, in(f, "rank*.jsonl")));
    assert_int_equal(f->list.n, 2);
    assert_false(f->list.items[0].from_dir);
    assert_non_null(expand(f, in(f, "seed*.jsonl")));
}

static void a_missing_file_is_named(void **state)
{
    struct folder *f = *state;
    const char *why = expand(f, in(f, "gone.jsonl"));
    assert_non_null(why);
    assert_non_null(strstr(why, "gone.jsonl: No such file"));
}

static void a_file_under_two_names_is_read_once_under_its_own(void **state)
{
    struct folder *f = *state;
    assert_int_equal(symlink("rank2.jsonl", in(f, "latest.jsonl")), 0);
    assert_null(expand(f, f->path));
    assert_int_equal(f->list.n, 3);
    for (size_t i = 0; i < f->list.n; i++)
        assert_null(strstr(f->list.items[i].path, "latest"));
}

static void a_file_that_was_named_counts_as_named_though_its_directory_is_there_too(void **state)
{
    struct folder *f = *state;
    const char *operands[] = {f->path, in(f, "rank2.jsonl")};
    assert_null(inputs_expand(&f->list, operands, 2, NULL, &f->a));
    assert_int_equal(f->list.n, 3);
    assert_false(f->list.items[1].from_dir);
    assert_true(f->list.items[2].from_dir);
}

static void standard_input_can_be_given_once(void **state)
{
    struct folder *f = *state;
    const char *twice[] = {"-", "-"};
    assert_null(inputs_expand(&f->list, twice, 1, NULL, &f->a));
    assert_int_equal(f->list.n, 1);
    inputs_release(&f->list);
    assert_non_null(inputs_expand(&f->list, twice, 2, NULL, &f->a));
}

static void a_list_of_files_may_have_empty_lines_and_crlf(void **state)
{
    struct folder *f = *state;
    make_file(f, "list", arena_printf(&f->a, "%s\r\n\n%s\n", in(f, "rank10.jsonl"), in(f, "rank2.jsonl")));
    assert_null(inputs_expand(&f->list, NULL, 0, in(f, "list"), &f->a));
    assert_int_equal(f->list.n, 2);
    assert_string_equal(f->list.items[0].path, in(f, "rank2.jsonl"));
}

static void an_input_inside_the_output_directory_is_found(void **state)
{
    struct folder *f = *state;
    assert_null(expand(f, in(f, "rank2.jsonl")));
    assert_non_null(inputs_inside(&f->list, f->path));
    assert_null(inputs_inside(&f->list, in(f, "below")));
    assert_null(inputs_inside(&f->list, in(f, "not-there")));
    assert_null(inputs_inside(&f->list, in(f, "rank1")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
        TEST(a_directory_stands_for_its_regular_files_in_natural_order),
        TEST(a_pattern_that_the_shell_left_alone_is_expanded),
        TEST(a_missing_file_is_named),
        TEST(a_file_under_two_names_is_read_once_under_its_own),
        TEST(a_file_that_was_named_counts_as_named_though_its_directory_is_there_too),
        TEST(standard_input_can_be_given_once),
        TEST(a_list_of_files_may_have_empty_lines_and_crlf),
        TEST(an_input_inside_the_output_directory_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

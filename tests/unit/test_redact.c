/* Paths in texts, and what a redacted analysis still names. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyse/redact_text.h"

static const struct redact_rules plain = {{NULL, 0}, false};

static void check(const char *text, const char *want, const struct redact_rules *rules)
{
    struct arena a = {0};
    assert_string_equal(redact_text(&a, text, rules), want);
    arena_release(&a);
}

static void homes_of_linux_macos_and_windows_are_cut(void **state)
{
    (void)state;
    check("/home/alice/proj/train.py:212 step", "proj/train.py:212 step", &plain);
    check("File \"/home/alice/a.py\", line 3", "File \"a.py\", line 3", &plain);
    check("/root/work/x.py:1 f", "work/x.py:1 f", &plain);
    check("(/Users/bob/x.log)", "(x.log)", &plain);
    check("C:\\Users\\Jane Doe\\run\\a.py:9 g", "run\\a.py:9 g", &plain);
    check("d:/Users/jane/run/a.py:9 g", "run/a.py:9 g", &plain);
    check("C:\\Documents and Settings\\jd\\a.py:1 f", "a.py:1 f", &plain);
    check("\\\\server\\Users\\jd\\a.py:1 f", "a.py:1 f", &plain);
}

static void homes_are_found_below_mounts_in_lists_and_in_urls(void **state)
{
    (void)state;
    check("/lustre/home/carol/run/x.py:4 f", "run/x.py:4 f", &plain);
    check("a=/home/alice/x,/home/bob/y;z", "a=x,y;z", &plain);
    check("file:///home/alice/x.html", "file:x.html", &plain);
    check("node7:/home/alice/x", "node7:x", &plain);
    check("~/x/y ~alice/z", "x/y z", &plain);
    check("/home/alice", "~", &plain);
    check("in /home/alice, nothing", "in ~, nothing", &plain);
    check("/home//alice//x", "x", &plain);
}

static void what_is_no_home_stays(void **state)
{
    (void)state;
    check("grew 3.1 MiB/step in 5 / 5 runs", "grew 3.1 MiB/step in 5 / 5 runs", &plain);
    check("/data/run/x.py:4 f", "/data/run/x.py:4 f", &plain);
    check("\\x1b[31m and n/a", "\\x1b[31m and n/a", &plain);
    check("https://example.org/home/x/y", "https://example.org/home/x/y", &plain);
    check("src/home/x/y.py:1 f", "src/home/x/y.py:1 f", &plain);
    check("/", "/", &plain);
    check("", "", &plain);
    assert_null(redact_text(NULL, NULL, &plain));
}

static void the_folder_of_the_users_files_and_packages_are_cut(void **state)
{
    (void)state;
    struct redact_rules rules = {STR_LIT("/data/team/proj/"), false};
    check("/data/team/proj/src/a.py:1 f", "src/a.py:1 f", &rules);
    check("look at /data/team/proj/a.py:1", "look at a.py:1", &rules);
    check("/data/team/projects/a.py:1", "/data/team/projects/a.py:1", &rules);
    check("/opt/envs/alice/lib/python3.10/site-packages/torch/nn/m.py:5 f", "torch/nn/m.py:5 f", &rules);
}

static void bare_rules_leave_file_names_alone(void **state)
{
    (void)state;
    struct redact_rules bare = {STR_LIT("src/"), true};
    check("/data/secret/proj/a.py:1 f", "a.py:1 f", &bare);
    check("src/secret/a.py:1 f", "a.py:1 f", &bare);
    check("3.1 MiB/step", "3.1 MiB/step", &bare);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(homes_of_linux_macos_and_windows_are_cut),
        cmocka_unit_test(homes_are_found_below_mounts_in_lists_and_in_urls),
        cmocka_unit_test(what_is_no_home_stays),
        cmocka_unit_test(the_folder_of_the_users_files_and_packages_are_cut),
        cmocka_unit_test(bare_rules_leave_file_names_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/mem.h"
#include "report/dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Each test works in a new folder, which is the working directory; names are relative to it. */
static char *home;

static int enter(void **state)
{
    char *where = strdup("/tmp/oomreport-test-XXXXXX");

    home = getcwd(NULL, 0);
    *state = where;
    return mkdtemp(where) && chdir(where) == 0 ? 0 : -1;
}

static int leave(void **state)
{
    char command[200];

    snprintf(command, sizeof command, "rm -rf %s", (char *)*state);
    int rc = chdir(home) || system(command);
    free(*state);
    free(home);
    return rc;
}

static const struct dir_file version_a[] = {
    {"a.txt", {"alpha", 5}}, {"plots/p.png", {"AAAA", 4}}, {"plots/only-a.png", {"a", 1}}};
static const struct dir_file version_b[] = {{"a.txt", {"beta!!", 6}}, {"plots/p.png", {"BB", 2}}};

static int write_version(char version, bool force)
{
    struct diag d;

    diag_init(&d);
    int rc = version == 'a' ? dir_write("report", version_a, 3, force, NULL, &d)
                            : dir_write("report", version_b, 2, force, NULL, &d);
    assert_int_equal(rc == 0, d.n == 0);
    diag_release(&d);
    return rc;
}

static void put(const char *path, const char *text)
{
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static bool holds(const char *path, const char *text)
{
    char got[64] = "";
    FILE *f = fopen(path, "rb");

    if (!f)
        return false;
    size_t n = fread(got, 1, sizeof got - 1, f);
    fclose(f);
    got[n] = '\0';
    return strcmp(got, text) == 0;
}

static bool exists(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0;
}

static unsigned entries(const char *path)
{
    DIR *s = opendir(path);
    unsigned n = 0;

    assert_non_null(s);
    for (struct dirent *e; (e = readdir(s)) != NULL;)
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    closedir(s);
    return n;
}

static bool is_version(char version)
{
    return version == 'a' ? holds("report/a.txt", "alpha") && holds("report/plots/p.png", "AAAA") &&
                                holds("report/plots/only-a.png", "a")
                          : holds("report/a.txt", "beta!!") && holds("report/plots/p.png", "BB") &&
                                !exists("report/plots/only-a.png");
}

static void a_new_directory_holds_the_files_and_their_list(void **state)
{
    (void)state;
    assert_int_equal(write_version('a', false), 0);
    assert_true(is_version('a'));
    assert_int_equal(entries("report"), 3);
    assert_int_equal(entries("."), 1);
    FILE *f = fopen("report/.oomreport", "rb");
    char line[200];
    assert_non_null(fgets(line, sizeof line, f));
    assert_non_null(fgets(line, sizeof line, f));
    assert_string_equal(line, "5 a.txt\n");
    fclose(f);
}

static void folders_above_are_made(void **state)
{
    struct diag d;

    (void)state;
    diag_init(&d);
    assert_int_equal(dir_write("x/y/report/", version_b, 2, false, NULL, &d), 0);
    assert_true(holds("x/y/report/a.txt", "beta!!"));
    diag_release(&d);
}

static void a_report_is_replaced_and_stale_files_of_ours_go(void **state)
{
    (void)state;
    assert_int_equal(write_version('a', false), 0);
    assert_int_equal(write_version('b', false), 0);
    assert_true(is_version('b'));
    assert_int_equal(entries("."), 1);
}

static void foreign_files_stay_the_same_files(void **state)
{
    struct stat before, after;

    (void)state;
    assert_int_equal(write_version('a', false), 0);
    put("report/notes.txt", "mine");
    put("report/plots/hand.png", "mine too");
    assert_int_equal(mkdir("report/sub", 0700), 0);
    assert_int_equal(mkdir("report/sub/empty", 0700), 0);
    put("report/sub/deep.txt", "deep");
    assert_int_equal(symlink("/nowhere", "report/link"), 0);
    assert_int_equal(stat("report/notes.txt", &before), 0);
    assert_int_equal(write_version('b', false), 0);
    assert_true(is_version('b'));
    assert_int_equal(stat("report/notes.txt", &after), 0);
    assert_true(before.st_ino == after.st_ino && after.st_nlink == 1);
    assert_true(holds("report/plots/hand.png", "mine too"));
    assert_true(holds("report/sub/deep.txt", "deep"));
    assert_true(exists("report/sub/empty") && exists("report/link"));
    assert_int_equal(entries("."), 1);
}

struct asked {
    int answer, calls;
    bool complete, older_in_place;
};

static int answer(void *ctx, int made)
{
    struct asked *a = ctx;
    a->calls++;
    a->complete = faccessat(made, "plots/p.png", R_OK, 0) == 0 && faccessat(made, ".oomreport", R_OK, 0) == 0;
    a->older_in_place = holds("report/a.txt", "alpha");
    return a->answer;
}

static void the_caller_has_the_last_word_before_the_exchange(void **state)
{
    struct asked a = {.answer = -1};
    struct dir_ready ready = {answer, &a};
    struct diag d;

    (void)state;
    assert_int_equal(write_version('a', false), 0);
    diag_init(&d);
    assert_int_equal(dir_write("report", version_b, 2, false, &ready, &d), -1);
    assert_true(a.calls == 1 && a.complete && a.older_in_place);
    assert_true(holds("report/a.txt", "alpha") && exists("report/plots/only-a.png"));
    assert_int_equal(entries("."), 1);
    a.answer = 0;
    assert_int_equal(dir_write("report", version_b, 2, false, &ready, &d), 0);
    assert_true(holds("report/a.txt", "beta!!"));
    diag_release(&d);
}

static void a_foreign_directory_is_refused_and_left_alone(void **state)
{
    struct diag d;

    (void)state;
    assert_int_equal(mkdir("report", 0755), 0);
    put("report/thesis.tex", "years");
    diag_init(&d);
    assert_int_equal(dir_write("report", version_a, 3, false, NULL, &d), -1);
    assert_non_null(strstr(d.items[0].text, "not an oomreport directory; use --force or another -o"));
    diag_release(&d);
    assert_int_equal(entries("report"), 1);
    assert_int_equal(entries("."), 1);
}

static void force_replaces_our_names_and_nothing_else(void **state)
{
    (void)state;
    assert_int_equal(mkdir("report", 0755), 0);
    put("report/thesis.tex", "years");
    put("report/a.txt", "theirs");
    assert_int_equal(write_version('a', true), 0);
    assert_true(is_version('a'));
    assert_true(holds("report/thesis.tex", "years"));
    assert_int_equal(entries("."), 1);
}

static void a_foreign_file_under_our_name_is_refused(void **state)
{
    (void)state;
    assert_int_equal(write_version('b', false), 0);
    put("report/plots/only-a.png", "theirs");
    assert_int_equal(write_version('a', false), -1);
    assert_true(holds("report/a.txt", "beta!!") && holds("report/plots/only-a.png", "theirs"));
    assert_int_equal(entries("."), 1);
    assert_int_equal(write_version('a', true), 0);
    assert_true(is_version('a'));
}

static void an_empty_directory_and_its_mode_are_taken_over(void **state)
{
    struct stat st;

    (void)state;
    assert_int_equal(mkdir("report", 0755), 0);
    assert_int_equal(chmod("report", 02750), 0);
    assert_int_equal(write_version('a', false), 0);
    assert_int_equal(stat("report", &st), 0);
    assert_int_equal(st.st_mode & 07777, 02750);
}

static void a_file_of_that_name_is_refused(void **state)
{
    (void)state;
    put("report", "a file");
    assert_int_equal(write_version('a', true), -1);
    assert_true(holds("report", "a file"));
}

static void the_working_directory_is_not_exchanged_away(void **state)
{
    struct diag d;

    (void)state;
    assert_int_equal(mkdir("sub", 0755), 0);
    assert_int_equal(chdir("sub"), 0);
    diag_init(&d);
    assert_int_equal(dir_write(".", version_a, 3, true, NULL, &d), -1);
    assert_int_equal(dir_write("..", version_a, 3, true, NULL, &d), -1);
    assert_int_equal(dir_write("/", version_a, 3, true, NULL, &d), -1);
    diag_release(&d);
    assert_int_equal(entries("."), 0);
    assert_int_equal(chdir(".."), 0);
}

static void a_link_to_a_report_is_followed_and_kept(void **state)
{
    struct diag d;

    (void)state;
    assert_int_equal(write_version('a', false), 0);
    assert_int_equal(symlink("report", "latest"), 0);
    diag_init(&d);
    assert_int_equal(dir_write("latest", version_b, 2, false, NULL, &d), 0);
    diag_release(&d);
    assert_true(is_version('b'));
    assert_true(holds("latest/a.txt", "beta!!"));
    assert_int_equal(entries("."), 2);
}

static void a_list_that_names_files_elsewhere_is_not_believed(void **state)
{
    (void)state;
    assert_int_equal(write_version('a', false), 0);
    put("outside.txt", "keep");
    FILE *f = fopen("report/.oomreport", "ab");
    fputs("4 ../outside.txt\n4 /etc/hostname\n4 plots/../../outside.txt\n", f);
    fclose(f);
    assert_int_equal(write_version('b', false), 0);
    assert_true(holds("outside.txt", "keep"));
    assert_false(manifest_name_ok(STR_LIT("a//b")));
    assert_false(manifest_name_ok(STR_LIT("a/")));
    assert_false(manifest_name_ok(STR_LIT("a\nb")));
    assert_true(manifest_name_ok(STR_LIT("plots/a.dark.png")));
}

static void a_folder_swapped_for_a_link_is_not_followed(void **state)
{
    (void)state;
    assert_int_equal(write_version('a', false), 0);
    assert_int_equal(mkdir("precious", 0755), 0);
    put("precious/p.png", "keep");
    assert_int_equal(system("rm -r report/plots && ln -s ../precious report/plots"), 0);
    assert_int_equal(write_version('b', false), -1); /* a link of another stands where our folder must be */
    assert_true(holds("precious/p.png", "keep"));
    assert_int_equal(entries("."), 2);
}

/* --- failing machine -------------------------------------------------------------------- */

static void a_failing_write_leaves_the_old_report(void **state)
{
    char *big = mem_zero(1, 1 << 20);
    const struct dir_file files[] = {{"a.txt", {"beta!!", 6}}, {"big.bin", {big, 1 << 20}}};
    struct rlimit old, small;
    struct diag d;

    (void)state;
    assert_int_equal(write_version('a', false), 0);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = (struct rlimit){65536, old.rlim_max};
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    diag_init(&d);
    int rc = dir_write("report", files, 2, false, NULL, &d);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    signal(SIGXFSZ, handler);
    assert_int_equal(rc, -1);
    assert_non_null(strstr(d.items[0].text, "cannot write big.bin"));
    diag_release(&d);
    free(big);
    assert_true(is_version('a'));
    assert_int_equal(entries("."), 1);
}

static void a_place_where_nothing_can_be_made_is_told(void **state)
{
    struct diag d;

    (void)state;
    diag_init(&d);
    assert_int_equal(dir_write("/proc/self/report", version_a, 3, false, NULL, &d), -1);
    put("file", "x");
    assert_int_equal(dir_write("file/report", version_a, 3, false, NULL, &d), -1);
    assert_int_equal(dir_write("", version_a, 3, false, NULL, &d), -1);
    assert_int_equal(d.n, 3);
    diag_release(&d);
}

static void descriptors_are_given_back(void **state)
{
    int before = open("/dev/null", O_RDONLY);

    (void)state;
    close(before);
    for (int i = 0; i < 20; i++)
        write_version(i % 2 ? 'a' : 'b', false);
    mkdir("report/x", 0700);
    put("report/only-a", "x");
    write_version('a', false);
    int after = open("/dev/null", O_RDONLY);
    close(after);
    assert_int_equal(before, after);
}

/* --- what a killed process leaves ---------------------------------------------------------- */

static void a_dead_process_s_directory_is_removed_and_a_live_one_s_is_not(void **state)
{
    char dead[64], live[64];
    pid_t child = fork();

    (void)state;
    if (child == 0)
        _exit(0);
    assert_int_equal(waitpid(child, NULL, 0), child); /* its number is free now */
    snprintf(dead, sizeof dead, "report.tmp-%ld", (long)child);
    snprintf(live, sizeof live, "report.tmp-%ld", (long)getppid());
    assert_int_equal(write_version('a', false), 0);
    assert_int_equal(rename("report", dead), 0);
    assert_int_equal(write_version('a', false), 0);
    assert_int_equal(rename("report", live), 0);
    assert_int_equal(mkdir("report.tmp-hand", 0755), 0);
    assert_int_equal(write_version('b', false), 0);
    assert_false(exists(dead));
    assert_true(exists(live) && exists("report.tmp-hand"));
}

static void a_directory_whose_list_was_not_yet_written_is_removed(void **state)
{
    char dead[64], list[100];
    pid_t child = fork();

    (void)state;
    if (child == 0)
        _exit(0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    snprintf(dead, sizeof dead, "report.tmp-%ld", (long)child);
    snprintf(list, sizeof list, "%s/.oomreport", dead);
    assert_int_equal(mkdir(dead, 0755), 0);
    put(list, ""); /* killed between making the file and filling it */
    assert_int_equal(write_version('a', false), 0);
    assert_false(exists(dead));
}

static void a_foreign_file_in_a_dead_process_s_directory_comes_back(void **state)
{
    char dead[64], inside[100];
    pid_t child = fork();

    (void)state;
    if (child == 0)
        _exit(0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    snprintf(dead, sizeof dead, "report.tmp-%ld", (long)child);
    snprintf(inside, sizeof inside, "%s/notes.txt", dead);
    assert_int_equal(write_version('a', false), 0);
    assert_int_equal(rename("report", dead), 0);
    put(inside, "written at the last moment");
    assert_int_equal(write_version('b', false), 0); /* nowhere to put it: it stays */
    assert_true(holds(inside, "written at the last moment"));
    assert_int_equal(write_version('b', false), 0);
    assert_true(holds("report/notes.txt", "written at the last moment"));
    assert_false(exists(dead));
}

static void a_call_that_died_between_two_renames_is_undone(void **state)
{
    (void)state;
    assert_int_equal(write_version('a', false), 0);
    put("report/notes.txt", "mine");
    put("report/.oomreport-moved", "");
    assert_int_equal(rename("report", "report.old"), 0);
    assert_int_equal(write_version('b', false), 0);
    assert_true(is_version('b'));
    assert_true(holds("report/notes.txt", "mine"));
    assert_int_equal(entries("."), 1);
}

static void somebody_s_own_copy_named_old_is_not_touched(void **state)
{
    (void)state;
    assert_int_equal(write_version('a', false), 0);
    assert_int_equal(system("cp -r report report.old"), 0);
    assert_int_equal(write_version('b', false), 0);
    assert_true(holds("report.old/a.txt", "alpha"));
}

static _Noreturn void write_for_ever(void)
{
    struct diag d;

    diag_init(&d);
    for (;;) {
        dir_write("report", version_b, 2, false, NULL, &d);
        dir_write("report", version_a, 3, false, NULL, &d);
    }
}

static void killed_at_any_moment_it_leaves_one_report_whole(void **state)
{
    (void)state;
    assert_int_equal(write_version('a', false), 0);
    put("report/notes.txt", "mine");
    for (int i = 0; i < 60; i++) {
        struct timespec wait = {0, 200000 + (long)(i * 7919 % 60) * 60000};
        pid_t child = fork();

        if (child == 0)
            write_for_ever();
        nanosleep(&wait, NULL);
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, NULL, 0), child);
        assert_true(is_version('a') || is_version('b'));
        assert_true(holds("report/notes.txt", "mine"));
    }
    assert_int_equal(write_version('a', false), 0);
    assert_true(is_version('a') && holds("report/notes.txt", "mine"));
    assert_int_equal(entries("."), 1);
}

static void a_file_inside_is_known_as_inside(void **state)
{
    (void)state;
    assert_int_equal(write_version('a', false), 0);
    put("reportx", "");
    assert_true(dir_holds("report", "report/plots/p.png"));
    assert_true(dir_holds("./report/", "report/../report/a.txt"));
    assert_false(dir_holds("report", "reportx"));
    assert_false(dir_holds("report", "gone"));
}

#define IN_A_FOLDER(test) cmocka_unit_test_setup_teardown(test, enter, leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_A_FOLDER(a_new_directory_holds_the_files_and_their_list),
        IN_A_FOLDER(folders_above_are_made),
        IN_A_FOLDER(a_report_is_replaced_and_stale_files_of_ours_go),
        IN_A_FOLDER(foreign_files_stay_the_same_files),
        IN_A_FOLDER(the_caller_has_the_last_word_before_the_exchange),
        IN_A_FOLDER(a_foreign_directory_is_refused_and_left_alone),
        IN_A_FOLDER(force_replaces_our_names_and_nothing_else),
        IN_A_FOLDER(a_foreign_file_under_our_name_is_refused),
        IN_A_FOLDER(an_empty_directory_and_its_mode_are_taken_over),
        IN_A_FOLDER(a_file_of_that_name_is_refused),
        IN_A_FOLDER(the_working_directory_is_not_exchanged_away),
        IN_A_FOLDER(a_link_to_a_report_is_followed_and_kept),
        IN_A_FOLDER(a_list_that_names_files_elsewhere_is_not_believed),
        IN_A_FOLDER(a_folder_swapped_for_a_link_is_not_followed),
        IN_A_FOLDER(a_failing_write_leaves_the_old_report),
        IN_A_FOLDER(a_place_where_nothing_can_be_made_is_told),
        IN_A_FOLDER(descriptors_are_given_back),
        IN_A_FOLDER(a_dead_process_s_directory_is_removed_and_a_live_one_s_is_not),
        IN_A_FOLDER(a_directory_whose_list_was_not_yet_written_is_removed),
        IN_A_FOLDER(a_foreign_file_in_a_dead_process_s_directory_comes_back),
        IN_A_FOLDER(a_call_that_died_between_two_renames_is_undone),
        IN_A_FOLDER(somebody_s_own_copy_named_old_is_not_touched),
        IN_A_FOLDER(killed_at_any_moment_it_leaves_one_report_whole),
        IN_A_FOLDER(a_file_inside_is_known_as_inside),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "normalise/glob.h"
#include "normalise/stamp.h"
#include "normalise/unit.h"
#include <math.h>

#define MIB 1048576.0

static enum cell_value cell(const char *text, double *v, struct unit *u)
{
    return unit_cell(str_of(text), v, u);
}

static void mapping_units_are_exact(void **state)
{
    struct unit u;
    (void)state;
    assert_true(unit_of_mapping(&u, STR_LIT("MB")));
    assert_true(u.scale == 1e6 && !u.ambiguous);
    assert_true(unit_of_mapping(&u, STR_LIT("MiB")));
    assert_true(u.scale == MIB && !u.ambiguous);
    assert_true(unit_of_mapping(&u, STR_LIT("MB?")));
    assert_true(u.scale == MIB && u.ambiguous);
    assert_false(unit_of_mapping(&u, STR_LIT("mib")));
    assert_false(unit_of_mapping(&u, STR_LIT("MiBB")));
}

static void log_units_ignore_case_and_doubt_mb(void **state)
{
    struct unit u;
    (void)state;
    assert_true(unit_of_log(&u, STR_LIT("mb")));
    assert_true(u.scale == MIB && u.ambiguous);
    assert_true(unit_of_log(&u, STR_LIT("GiB")));
    assert_true(u.scale == 1024 * MIB && !u.ambiguous);
    assert_true(unit_of_log(&u, STR_LIT("%")));
    assert_int_equal(u.kind, UNIT_KIND_OTHER);
    assert_false(unit_of_log(&u, STR_LIT("furlongs")));
}

static void names_end_in_units(void **state)
{
    static const struct {
        const char *name;
        size_t stem;
        double scale;
    } good[] = {{"memory.used [MiB]", 11, MIB},      {"gpu_mem_mb", 7, MIB},
                {"max_active(GiB)", 10, 1024 * MIB}, {"memory_used(MB)", 11, MIB},
                {"memoryUsedMB", 10, MIB},           {"peak_bytes", 4, 1},
                {"gpu_0_memory_used_MB", 17, MIB}};
    static const char *const none[] = {"memory", "step", "lamb", "mem_m", "[MiB", "MiB]", "()", ""};
    struct unit u;
    size_t stem;
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_true(unit_of_name(&u, str_of(good[i].name), &stem));
        assert_int_equal(stem, good[i].stem);
        assert_true(u.scale == good[i].scale);
    }
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_false(unit_of_name(&u, str_of(none[i]), &stem));
}

static void cells_carry_their_own_units(void **state)
{
    double v;
    struct unit u;
    (void)state;
    assert_int_equal(cell(" 1234 MiB", &v, &u), CELL_VALUE_NUMBER);
    assert_true(v == 1234 && u.scale == MIB);
    assert_int_equal(cell("17.50MiB \xC2\xB1 0.00MiB", &v, &u), CELL_VALUE_NUMBER);
    assert_true(v == 17.5 && u.scale == MIB);
    assert_int_equal(cell("2.5GiB(3.12%)", &v, &u), CELL_VALUE_NUMBER);
    assert_true(v == 2.5 && u.scale == 1024 * MIB);
    assert_int_equal(cell("34 %", &v, &u), CELL_VALUE_NUMBER);
    assert_int_equal(u.kind, UNIT_KIND_OTHER);
    assert_int_equal(cell("1e3", &v, &u), CELL_VALUE_NUMBER);
    assert_true(v == 1000 && u.kind == UNIT_KIND_NONE);
    assert_int_equal(cell("12 furlongs", &v, &u), CELL_VALUE_BAD);
    assert_int_equal(cell("2026/01/03", &v, &u), CELL_VALUE_BAD);
    assert_int_equal(cell("twelve", &v, &u), CELL_VALUE_BAD);
}

static void absent_values_are_missing_and_not_zero(void **state)
{
    static const char *const words[] = {"",    " ",   "-",   "[N/A]",    "[Not Found]",
                                        "N/A", "nan", "NaN", "Infinity", "None"};
    double v;
    struct unit u;
    (void)state;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        assert_int_equal(cell(words[i], &v, &u), CELL_VALUE_MISSING);
}

static void oom_in_a_numeric_cell_is_seen(void **state)
{
    double v;
    struct unit u;
    (void)state;
    assert_int_equal(cell("OOM", &v, &u), CELL_VALUE_OOM);
    assert_int_equal(cell("Out of Memory", &v, &u), CELL_VALUE_OOM);
    assert_int_equal(cell("CUDA out of memory. Tried", &v, &u), CELL_VALUE_OOM);
    assert_int_equal(cell("zoom", &v, &u), CELL_VALUE_BAD);
}

static void sizes_without_a_unit_are_told_by_their_magnitude(void **state)
{
    (void)state;
    assert_true(unit_guess(2e9).scale == 1 && !unit_guess(2e9).ambiguous);
    assert_true(unit_guess(4851).scale == MIB && unit_guess(4851).ambiguous);
    assert_true(unit_guess(12.5).scale == 1024 * MIB);
}

static void stamps_are_utc_seconds(void **state)
{
    double t;
    (void)state;
    assert_true(stamp_parse(STR_LIT("2026/01/03 15:36:53.507"), &t));
    assert_true(t == 1767454613.507);
    assert_true(stamp_parse(STR_LIT("1970-01-02T00:00:01Z"), &t));
    assert_true(t == 86401);
    assert_true(stamp_parse(STR_LIT("2024-02-29T12:00:00+02:00"), &t));
    assert_true(t == 1709200800);
    assert_false(stamp_parse(STR_LIT("2026/13/03 15:36:53"), &t));
    assert_false(stamp_parse(STR_LIT("2026/01/03"), &t));
    assert_false(stamp_parse(STR_LIT("soon"), &t));
}

static void durations_are_seconds(void **state)
{
    double t;
    (void)state;
    assert_true(stamp_parse(STR_LIT("0:32:48"), &t));
    assert_true(t == 1968);
    assert_true(stamp_parse(STR_LIT("9 days, 21:49:18"), &t));
    assert_true(t == 9 * 86400 + 21 * 3600 + 49 * 60 + 18);
    assert_true(stamp_parse(STR_LIT("1 day, 0:00:20"), &t));
    assert_true(t == 86420);
    assert_false(stamp_parse(STR_LIT("0:61:00"), &t));
}

static bool globs(const char *pattern, const char *name, bool loose)
{
    struct glob_match m;
    return glob_match(str_of(pattern), str_of(name), loose, &m);
}

static void globs_match_runs_and_indexes(void **state)
{
    struct glob_match m;
    (void)state;
    assert_true(globs("a*c", "abbbc", false));
    assert_true(globs("*", "", false));
    assert_false(globs("a*c", "abbb", false));
    assert_false(globs("memory", "Memory", false));
    assert_true(glob_match(STR_LIT("gpu_id: #/used"), STR_LIT("gpu_id: 12/used"), false, &m));
    assert_true(m.has_index && m.index == 12);
    assert_false(globs("gpu_#", "gpu_x", false));
    assert_true(globs("*gpu_#_*", "x gpu gpu_3_mem", false));
}

static void loose_globs_ignore_case_and_separators(void **state)
{
    (void)state;
    assert_true(globs("max_len", "maxLen", true));
    assert_true(globs("max_len", "max-len", true));
    assert_true(globs("max_len", "Max Len", true));
    assert_false(globs("max_len", "maxlen", false));
    assert_false(globs("max_len", "max_length", true));
}

static void globs_give_the_unit_of_a_name(void **state)
{
    struct glob_match m;
    (void)state;
    assert_true(glob_match(STR_LIT("*peak_mem{unit}"), STR_LIT("gpu_peak_mem_gb"), true, &m));
    assert_true(m.wants_unit && m.has_unit && m.unit.scale == 1024 * MIB);
    assert_true(glob_match(STR_LIT("*peak_mem{unit}"), STR_LIT("peak_mem"), true, &m));
    assert_true(m.wants_unit && !m.has_unit);
    assert_false(glob_match(STR_LIT("peak_mem{unit}"), STR_LIT("peak_mem_ratio"), true, &m));
}

static void globs_take_no_exponential_time(void **state)
{
    char pattern[200], name[4000];
    (void)state;
    for (size_t i = 0; i < sizeof pattern - 2; i += 2)
        memcpy(pattern + i, "a*", 2);
    memcpy(pattern + sizeof pattern - 2, "b", 2);
    memset(name, 'a', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    assert_false(globs(pattern, name, false));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mapping_units_are_exact),
        cmocka_unit_test(log_units_ignore_case_and_doubt_mb),
        cmocka_unit_test(names_end_in_units),
        cmocka_unit_test(cells_carry_their_own_units),
        cmocka_unit_test(absent_values_are_missing_and_not_zero),
        cmocka_unit_test(oom_in_a_numeric_cell_is_seen),
        cmocka_unit_test(sizes_without_a_unit_are_told_by_their_magnitude),
        cmocka_unit_test(stamps_are_utc_seconds),
        cmocka_unit_test(durations_are_seconds),
        cmocka_unit_test(globs_match_runs_and_indexes),
        cmocka_unit_test(loose_globs_ignore_case_and_separators),
        cmocka_unit_test(globs_give_the_unit_of_a_name),
        cmocka_unit_test(globs_take_no_exponential_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

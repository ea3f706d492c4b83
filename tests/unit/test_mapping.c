#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "normalise/mapping.h"

struct fixture {
    struct arena a;
    struct diag d;
};

static int setup(void **state)
{
    static struct fixture f;
    arena_init(&f.a);
    diag_init(&f.d);
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    arena_release(&f->a);
    diag_release(&f->d);
    return 0;
}

static const struct mapping *parse(struct fixture *f, const char *text)
{
    return mapping_parse("x.json", str_of(text), &f->a, &f->d);
}

/* The text is refused with a message at that place which has that word in it. */
static void assert_refused(struct fixture *f, const char *text, uint64_t line, uint32_t col, const char *word)
{
    size_t before = f->d.n;
    assert_null(parse(f, text));
    assert_true(f->d.n > before);
    const struct diag_item *item = &f->d.items[before];
    assert_int_equal(item->code, DIAG_BAD_MAPPING);
    assert_int_equal(item->at.line, line);
    assert_int_equal(item->at.col, col);
    assert_non_null(strstr(item->text, word));
}

static void a_small_mapping_is_read(void **state)
{
    const struct mapping *m =
        parse(*state, "{\"name\": \"x\", \"title\": \"t\", \"reader\": [\"csv\", \"jsonl\"],"
                      "\"peak_reset\": \"never\", \"fields\": {\"mem|memory\": \"peak_bytes MiB\"}}");
    assert_non_null(m);
    assert_string_equal(m->name, "x");
    assert_true(m->reads[SYNTAX_CSV] && m->reads[SYNTAX_JSONL] && !m->reads[SYNTAX_JSON]);
    assert_int_equal(m->n_rules, 2);
    assert_true(str_is(m->rules[1].pattern, "memory"));
    assert_int_equal(m->rules[1].field, F_PEAK);
    assert_true(m->rules[1].unit.scale == 1048576);
    assert_string_equal(mapping_peak(m), "never");
}

static void an_unknown_key_is_an_error_at_its_place(void **state)
{
    assert_refused(*state, "{\"name\": \"x\",\n \"tilte\": \"t\"}", 2, 2, "tilte");
    assert_refused(*state, "{\"detect\": {\"score\": 1, \"al\": []}}", 1, 25, "al");
}

static void a_wrong_type_is_an_error_at_its_value(void **state)
{
    assert_refused(*state, "{\"name\":\n  7}", 2, 3, "text");
    assert_refused(*state, "{\"detect\": {\"score\": \"high\"}}", 1, 22, "number");
    assert_refused(*state, "{\"fields\": {\"a\": \"step\", \"b\": [\"step\", 3]}}", 1, 40, "object");
}

static void unknown_fields_units_and_readers_are_errors(void **state)
{
    assert_refused(*state, "{\"fields\": {\"a\": \"peek_bytes\"}}", 1, 18, "peek_bytes");
    assert_refused(*state, "{\"fields\": {\"a\": \"peak_bytes MiBB\"}}", 1, 18, "MiBB");
    assert_refused(*state, "{\"reader\": \"xml\"}", 1, 12, "xml");
    assert_refused(*state, "{\"peak_reset\": \"sometimes\"}", 1, 16, "peak_reset");
}

static void text_that_is_no_json_is_an_error_where_it_breaks(void **state)
{
    assert_refused(*state, "{\"name\": \"x\",\n nope}", 2, 3, "JSON object");
    assert_refused(*state, "[]", 1, 1, "JSON object");
    assert_refused(*state, "", 1, 1, "JSON object");
    assert_refused(*state, "{} {}", 1, 3, "JSON object");
}

static void a_text_format_without_samples_is_refused(void **state)
{
    struct fixture *f = *state;
    assert_null(
        parse(f, "{\"name\": \"x\", \"title\": \"t\", \"reader\": \"text\", \"fields\": {\"a\": \"step\"}}"));
    assert_non_null(strstr(f->d.items[0].text, "samples"));
}

static void a_sample_that_fails_says_what_came_out(void **state)
{
    struct fixture *f = *state;
    const struct mapping *m =
        parse(f, "{\"name\": \"x\", \"title\": \"t\", \"reader\": \"jsonl\", \"fields\": {\"s\": \"step\"},"
                 "\"samples\": [{\"input\": [\"{\\\"s\\\": 1}\", \"{\\\"s\\\": 2}\"],"
                 "\"records\": [{\"step\": 1}, {\"step\": 3}]}]}");
    assert_non_null(m);
    assert_false(mapping_check(m, &f->a, &f->d));
    assert_int_equal(f->d.n, 1);
    assert_int_equal(f->d.items[0].code, DIAG_BAD_SAMPLE);
    assert_non_null(strstr(f->d.items[0].text, "record 2"));
    assert_non_null(strstr(f->d.items[0].text, "{\"step\":3}"));
    assert_non_null(strstr(f->d.items[0].text, "{\"step\":2}"));
}

static void records_too_many_and_too_few_fail_a_sample(void **state)
{
    struct fixture *f = *state;
    const char *head =
        "{\"name\": \"x\", \"title\": \"t\", \"reader\": \"jsonl\", \"fields\": {\"s\": \"step\"},"
        "\"samples\": [{\"input\": [\"{\\\"s\\\": 1}\", \"{\\\"s\\\": 2}\"], \"records\": ";
    const char *few = arena_printf(&f->a, "%s[{\"step\": 1}]}]}", head);
    const char *many = arena_printf(&f->a, "%s[{\"step\": 1}, {\"step\": 2}, {\"step\": 3}]}]}", head);
    assert_false(mapping_check(parse(f, few), &f->a, &f->d));
    assert_false(mapping_check(parse(f, many), &f->a, &f->d));
}

static void every_built_in_format_gives_its_samples(void **state)
{
    struct fixture *f = *state;
    struct mapping_set *set = mapping_set_new(NULL, NULL, &f->d);
    assert_true(mapping_set_count(set) >= 19);
    for (size_t i = 0; i < mapping_set_count(set); i++) {
        const struct mapping *m = mapping_set_at(set, i);
        assert_true(m->built_in);
        if (m->n_samples == 0)
            fail_msg("%s has no samples", m->name);
        if (!mapping_check(m, &f->a, &f->d))
            diag_print(&f->d, stderr, DIAG_NOTE);
    }
    assert_int_equal(diag_errors(&f->d), 0);
    mapping_set_free(set);
}

static void formats_are_found_by_name(void **state)
{
    struct fixture *f = *state;
    struct mapping_set *set = mapping_set_new("/nonexistent", NULL, &f->d);
    assert_non_null(mapping_set_find(set, STR_LIT("mmcv")));
    assert_null(mapping_set_find(set, STR_LIT("mmc")));
    const struct mapping *m = mapping_set_find(set, STR_LIT("generic"));
    assert_string_equal(mapping_peak(m), "from the data");
    assert_string_equal(mapping_readers(m, &f->a), "jsonl, json, csv");
    mapping_set_free(set);
}

static void a_file_that_is_not_there_is_said(void **state)
{
    struct fixture *f = *state;
    assert_null(mapping_load("/nonexistent/x.json", &f->a, &f->d));
    assert_int_equal(f->d.items[0].code, DIAG_CANNOT_OPEN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_small_mapping_is_read, setup, teardown),
        cmocka_unit_test_setup_teardown(an_unknown_key_is_an_error_at_its_place, setup, teardown),
        cmocka_unit_test_setup_teardown(a_wrong_type_is_an_error_at_its_value, setup, teardown),
        cmocka_unit_test_setup_teardown(unknown_fields_units_and_readers_are_errors, setup, teardown),
        cmocka_unit_test_setup_teardown(text_that_is_no_json_is_an_error_where_it_breaks, setup, teardown),
        cmocka_unit_test_setup_teardown(a_text_format_without_samples_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(a_sample_that_fails_says_what_came_out, setup, teardown),
        cmocka_unit_test_setup_teardown(records_too_many_and_too_few_fail_a_sample, setup, teardown),
        cmocka_unit_test_setup_teardown(every_built_in_format_gives_its_samples, setup, teardown),
        cmocka_unit_test_setup_teardown(formats_are_found_by_name, setup, teardown),
        cmocka_unit_test_setup_teardown(a_file_that_is_not_there_is_said, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

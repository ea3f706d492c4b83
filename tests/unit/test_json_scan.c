#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/buf.h"
#include "read/json_scan.h"
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>

/* Scans one value with the pad that the scanner wants; true if it is all of the text. */
static bool scans(struct json_text *t, struct buf *copy, const char *text)
{
    buf_clear(copy);
    buf_puts(copy, text);
    size_t n = copy->n;
    memset(buf_room(copy, JSON_PAD), 0, JSON_PAD);
    json_text_init(t, (struct str){copy->p, n});
    const char *p = json_skip(t, json_space(t, copy->p));
    return p && json_space(t, p) == t->end;
}

static bool accepts(const char *text)
{
    struct json_text t;
    struct buf copy = {0};
    bool ok = scans(&t, &copy, text);
    buf_release(&copy);
    return ok;
}

static void scanner_and_cjson_accept_the_same_texts(void **state)
{
    (void)state;
    static const char *const TEXTS[] = {
        "0",
        "-0",
        "10",
        "1.5",
        "-1.25e+10",
        "1E5",
        "1e-5",
        "1e",
        "-",
        "e5",
        "--1",
        "1-",
        "0x10",
        "1e+",
        "\"\"",
        "\"a\"",
        "\"a",
        "a\"",
        "\"\\\"",
        "\"\\\\\"",
        "\"\\/\"",
        "\"\\b\\f\\n\\r\\t\"",
        "\"\\a\"",
        "\"\\u\"",
        "\"\\u00\"",
        "\"\\u00e9\"",
        "\"\\uD83D\\uDE00\"",
        "true",
        "false",
        "null",
        "tru",
        "True",
        "nulll",
        "[]",
        "[ ]",
        "[1]",
        "[1,2]",
        "[1,]",
        "[,1]",
        "[1 2]",
        "[",
        "]",
        "[[[]]]",
        "[[]",
        "[]]",
        "{}",
        "{ }",
        "{\"a\":1}",
        "{\"a\" : 1 , \"b\" : [ ] }",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{,}",
        "{a:1}",
        "{1:1}",
        "{\"a\":{\"b\":{\"c\":[{}]}}}",
        "{\"a\":1}}",
        "{\"a\":1",
        "{} {}",
        "[}",
        "{]",
        " 1 ",
        "",
        " ",
        "\"\xc3\xa9\"",
    };
    for (size_t i = 0; i < sizeof TEXTS / sizeof *TEXTS; i++) {
        cJSON *oracle = cJSON_ParseWithOpts(TEXTS[i], NULL, 1);
        if (accepts(TEXTS[i]) != (oracle != NULL))
            fail_msg("%s: cJSON %s it", TEXTS[i], oracle ? "accepts" : "refuses");
        cJSON_Delete(oracle);
    }
}

/* The list of known differences, both ways. */
static void cjson_is_laxer_in_these_points(void **state)
{
    (void)state;
    static const char *const LAX[] = {
        "01",     "-01",      "1.",       "-.5",     "1.e5",           "\"\\u12g4\"",
        "[1.,2]", "\"a\tb\"", "\"a\nb\"", "\001[1]", "\xef\xbb\xbf[1]"};
    for (size_t i = 0; i < sizeof LAX / sizeof *LAX; i++) {
        cJSON *oracle = cJSON_ParseWithOpts(LAX[i], NULL, 1);
        assert_non_null(oracle);
        if (accepts(LAX[i]))
            fail_msg("accepted: %s", LAX[i]);
        cJSON_Delete(oracle);
    }
}

static void scanner_is_laxer_in_these_points(void **state)
{
    (void)state;
    static const char *const LAX[] = {"NaN", "Infinity", "-Infinity", "\"\\ud800\"", "\"\\udc00x\""};
    for (size_t i = 0; i < sizeof LAX / sizeof *LAX; i++) {
        cJSON *oracle = cJSON_ParseWithOpts(LAX[i], NULL, 1);
        assert_null(oracle);
        if (!accepts(LAX[i]))
            fail_msg("refused: %s", LAX[i]);
    }
    assert_false(accepts("nan"));
    assert_false(accepts("+Infinity"));
}

static void a_text_that_ends_too_early_is_told_from_a_wrong_one(void **state)
{
    (void)state;
    static const char WHOLE[] = "{\"a\": [1, -2.5e-3, true, null, \"x\\u00e9\\\\\"], \"b\": {\"c\": NaN}}";
    struct json_text t;
    struct buf copy = {0};
    for (size_t n = 1; n < sizeof WHOLE - 1; n++) {
        char part[sizeof WHOLE];
        memcpy(part, WHOLE, n);
        part[n] = '\0';
        assert_false(scans(&t, &copy, part));
        if (!t.cut)
            fail_msg("%s", part);
    }
    assert_true(scans(&t, &copy, WHOLE));
    assert_false(scans(&t, &copy, "{\"a\": x"));
    assert_false(t.cut);
    assert_int_equal(t.at - copy.p, 6);
    buf_release(&copy);
}

static void special_bytes_are_found_at_any_distance(void **state)
{
    (void)state;
    struct json_text t;
    struct buf copy = {0};
    for (int n = 0; n < 70; n++) {
        char text[128];
        memset(text, 'x', sizeof text);
        text[0] = '"';
        memcpy(text + 1 + n, "\\n\"", 4);
        assert_true(scans(&t, &copy, text));
        memcpy(text + 1 + n, "\x1f\"", 3);
        assert_false(scans(&t, &copy, text));
        assert_int_equal(t.at - copy.p, 1 + n);
        memcpy(text + 1 + n, "\x80\"", 3);
        assert_true(scans(&t, &copy, text));
        assert_int_equal(t.bad_text - copy.p, 1 + n);
    }
    buf_release(&copy);
}

static void overlong_forms_and_surrogates_in_utf8_are_invalid(void **state)
{
    (void)state;
    static const char *const BAD[] = {"\"\xc0\x80\"", "\"\xe0\x80\x80\"", "\"\xed\xa0\x80\"",
                                      "\"\xf4\x90\x80\x80\"", "\"\xe2\x82\""};
    struct json_text t;
    struct buf copy = {0};
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        assert_true(scans(&t, &copy, BAD[i]));
        assert_int_equal(t.bad_text - copy.p, 1);
    }
    assert_true(scans(&t, &copy, "\"\xe2\x82\xac\xf0\x9f\x98\x80\""));
    assert_null(t.bad_text);
    buf_release(&copy);
}

static void nesting_is_accepted_down_to_its_limit(void **state)
{
    (void)state;
    struct buf b = {0};
    for (int depth = JSON_DEPTH_MAX; depth <= JSON_DEPTH_MAX + 1; depth++) {
        buf_clear(&b);
        for (int i = 0; i < depth; i++)
            buf_puts(&b, i % 3 ? "[" : "{\"k\":");
        buf_putc(&b, '0');
        for (int i = depth - 1; i >= 0; i--)
            buf_putc(&b, i % 3 ? ']' : '}');
        assert_int_equal(accepts(b.p), depth == JSON_DEPTH_MAX);
    }
    buf_release(&b);
}

static void escapes_become_what_they_stand_for(void **state)
{
    (void)state;
    static const char RAW[] = "a\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u00e9\\u20AC\\ud83d\\ude00\\ud800z\\udc00";
    char to[sizeof RAW];
    size_t n = json_unescape(to, RAW, sizeof RAW - 1);
    to[n] = '\0';
    assert_string_equal(to, "a\"\\/\b\f\n\r\tA\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xef\xbf\xbdz\xef\xbf\xbd");
    assert_int_equal(json_unescape(to, "\\u0000", 6), 1);
    assert_int_equal(to[0], 0);
}

static int any_key(void *ctx, struct str name)
{
    (void)name;
    return (*(int *)ctx)++;
}

static void keys_are_asked_for_once_whatever_their_order(void **state)
{
    (void)state;
    int keys = 0;
    struct json_scan j;
    struct json_text t;
    json_scan_init(&j, any_key, &keys);
    struct buf copy = {0};
    for (int round = 0; round < 2000; round++) {
        /* five keys in an order that changes from row to row, blanks that change too */
        buf_clear(&copy);
        buf_putc(&copy, '{');
        for (int i = 0; i < 5; i++)
            buf_printf(&copy, "%s\"key%d\":%s%d", i ? (round % 3 ? ", " : ",") : "", (i * 2 + round) % 5,
                       round % 2 ? " " : "", i + round);
        buf_putc(&copy, '}');
        size_t n = copy.n;
        memset(buf_room(&copy, JSON_PAD), 0, JSON_PAD);
        json_text_init(&t, (struct str){copy.p, n});
        assert_ptr_equal(json_scan_object(&j, &t, copy.p), t.end);
        assert_int_equal(j.n_cells, 5);
        for (int i = 0; i < 5; i++) {
            char number[16];
            snprintf(number, sizeof number, "%d", i + round);
            assert_true(str_is(j.cells[i].text, number));
        }
    }
    assert_int_equal(keys, 5);
    json_scan_release(&j);
    buf_release(&copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scanner_and_cjson_accept_the_same_texts),
        cmocka_unit_test(cjson_is_laxer_in_these_points),
        cmocka_unit_test(scanner_is_laxer_in_these_points),
        cmocka_unit_test(a_text_that_ends_too_early_is_told_from_a_wrong_one),
        cmocka_unit_test(special_bytes_are_found_at_any_distance),
        cmocka_unit_test(overlong_forms_and_surrogates_in_utf8_are_invalid),
        cmocka_unit_test(nesting_is_accepted_down_to_its_limit),
        cmocka_unit_test(escapes_become_what_they_stand_for),
        cmocka_unit_test(keys_are_asked_for_once_whatever_their_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

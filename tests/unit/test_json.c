#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/embed.h"
#include "report/json.h"
#include "report_cases.h"

#include <cJSON.h>
#include <stdlib.h>

/* --- a small validator: the part of JSON Schema that our schema uses ------------------ */

struct check {
    const cJSON *schema; /* the whole schema, for $ref */
    bool strict;         /* keys that the schema does not name are errors */
    char why[200];
};

static bool valid(struct check *c, const cJSON *schema, const cJSON *v, const char *at);

static bool wrong(struct check *c, const char *at, const char *what)
{
    snprintf(c->why, sizeof c->why, "%s: %s", at, what);
    return false;
}

static bool has_type(const char *type, const cJSON *v)
{
    if (strcmp(type, "integer") == 0)
        return cJSON_IsNumber(v) && v->valuedouble == floor(v->valuedouble);
    return (strcmp(type, "object") == 0 && cJSON_IsObject(v)) ||
           (strcmp(type, "array") == 0 && cJSON_IsArray(v)) ||
           (strcmp(type, "string") == 0 && cJSON_IsString(v)) ||
           (strcmp(type, "number") == 0 && cJSON_IsNumber(v)) ||
           (strcmp(type, "boolean") == 0 && cJSON_IsBool(v)) ||
           (strcmp(type, "null") == 0 && cJSON_IsNull(v));
}

static bool type_fits(const cJSON *type, const cJSON *v)
{
    const cJSON *one;

    if (cJSON_IsString(type))
        return has_type(type->valuestring, v);
    cJSON_ArrayForEach(one, type) if (has_type(one->valuestring, v)) return true;
    return false;
}

static bool object_fits(struct check *c, const cJSON *schema, const cJSON *v, const char *at)
{
    const cJSON *properties = cJSON_GetObjectItem(schema, "properties"), *item;

    cJSON_ArrayForEach(item, cJSON_GetObjectItem(schema, "required"))
    {
        if (!cJSON_GetObjectItemCaseSensitive(v, item->valuestring))
            return wrong(c, at, item->valuestring);
    }
    cJSON_ArrayForEach(item, v)
    {
        const cJSON *sub = cJSON_GetObjectItemCaseSensitive(properties, item->string);

        if (!sub && c->strict && properties)
            return wrong(c, at, item->string);
        if (sub && !valid(c, sub, item, item->string))
            return false;
    }
    return true;
}

static bool any_of(struct check *c, const cJSON *choices, const cJSON *v, const char *at)
{
    const cJSON *one;

    cJSON_ArrayForEach(one, choices) if (valid(c, one, v, at)) return true;
    return false;
}

static bool valid(struct check *c, const cJSON *schema, const cJSON *v, const char *at)
{
    const cJSON *k, *one;

    if ((k = cJSON_GetObjectItem(schema, "$ref")) != NULL)
        return valid(
            c, cJSON_GetObjectItem(cJSON_GetObjectItem(c->schema, "$defs"), strrchr(k->valuestring, '/') + 1),
            v, at);
    if ((k = cJSON_GetObjectItem(schema, "type")) != NULL && !type_fits(k, v))
        return wrong(c, at, "type");
    if ((k = cJSON_GetObjectItem(schema, "const")) != NULL && !cJSON_Compare(k, v, true))
        return wrong(c, at, "const");
    if ((k = cJSON_GetObjectItem(schema, "enum")) != NULL) {
        bool found = false;
        cJSON_ArrayForEach(one, k) found |= cJSON_Compare(one, v, true);
        if (!found)
            return wrong(c, at, "enum");
    }
    if ((k = cJSON_GetObjectItem(schema, "minimum")) != NULL && cJSON_IsNumber(v) &&
        v->valuedouble < k->valuedouble)
        return wrong(c, at, "minimum");
    if ((k = cJSON_GetObjectItem(schema, "maximum")) != NULL && cJSON_IsNumber(v) &&
        v->valuedouble > k->valuedouble)
        return wrong(c, at, "maximum");
    if ((k = cJSON_GetObjectItem(schema, "anyOf")) != NULL && !any_of(c, k, v, at))
        return false;
    if ((k = cJSON_GetObjectItem(schema, "items")) != NULL)
        cJSON_ArrayForEach(one, v) if (!valid(c, k, one, at)) return false;
    return !cJSON_IsObject(v) || object_fits(c, schema, v, at);
}

static cJSON *schema_parsed(void)
{
    struct str text = embed_find("templates/report.schema.json");
    cJSON *schema = cJSON_ParseWithLength(text.p, text.n);

    assert_non_null(schema);
    return schema;
}

static cJSON *report_of(enum case_kind kind, struct buf *text)
{
    struct report_case c;

    case_fill(&c, kind);
    json_report(text, &c.content);
    case_release(&c);
    cJSON *v = cJSON_ParseWithLengthOpts(text->p, text->n, NULL, false);
    assert_non_null(v);
    return v;
}

static void every_report_fits_the_schema_strictly(void **state)
{
    cJSON *schema = schema_parsed();

    (void)state;
    for (int kind = 0; kind < CASE_COUNT; kind++) {
        struct buf text = {0};
        struct check c = {schema, true, ""};
        cJSON *v = report_of((enum case_kind)kind, &text);

        if (!valid(&c, schema, v, "report"))
            fail_msg("%s: %s", case_names[kind], c.why);
        cJSON_Delete(v);
        buf_release(&text);
    }
    cJSON_Delete(schema);
}

/* The validator must be able to say no. */
static void the_schema_refuses_what_is_wrong(void **state)
{
    static const struct {
        const char *object, *key, *value;
    } wrongs[] = {{"verdict", "cause", "\"leek\""}, {"verdict", "confidence", "1.5"},
                  {"verdict", "summary", "null"},   {"verdict", "certainty", "\"maybe\""},
                  {"verdict", "extra", "1"},        {"verdict", "try", "{}"},
                  {"tool", "name", "\"another\""}};
    cJSON *schema = schema_parsed();

    (void)state;
    for (size_t i = 0; i < sizeof wrongs / sizeof wrongs[0]; i++) {
        struct buf text = {0};
        struct check c = {schema, true, ""};
        cJSON *v = report_of(CASE_LEAK, &text), *object = cJSON_GetObjectItem(v, wrongs[i].object);

        cJSON_DeleteItemFromObject(object, wrongs[i].key);
        if (strcmp(wrongs[i].key, "extra") != 0)
            assert_false(valid(&c, schema, v, "report")); /* missing */
        cJSON_AddItemToObject(object, wrongs[i].key, cJSON_Parse(wrongs[i].value));
        assert_false(valid(&c, schema, v, "report"));
        cJSON_Delete(v);
        buf_release(&text);
    }
    cJSON_Delete(schema);
}

static void the_schema_lists_exactly_the_required_keys(void **state)
{
    cJSON *schema = schema_parsed(), *def;

    (void)state;
    cJSON_ArrayForEach(def, cJSON_GetObjectItem(schema, "$defs"))
    {
        cJSON *properties = cJSON_GetObjectItem(def, "properties");
        if (properties)
            assert_int_equal(cJSON_GetArraySize(properties),
                             cJSON_GetArraySize(cJSON_GetObjectItem(def, "required")));
    }
    cJSON_Delete(schema);
}

static void unknown_is_null_and_bytes_are_whole(void **state)
{
    struct buf text = {0};
    cJSON *v = report_of(CASE_UNKNOWN_CAUSE, &text);

    (void)state;
    assert_null(strstr(text.p, "NaN"));
    assert_null(strstr(text.p, "nan"));
    assert_null(strstr(text.p, "nfinity"));
    assert_non_null(strstr(text.p, "\"leak\": null"));
    assert_non_null(strstr(text.p, "\"capacity_bytes\": 150109106995"));
    cJSON_Delete(v);
    buf_release(&text);
}

static void ids_are_taken_apart(void **state)
{
    struct report_case c;
    struct buf text = {0};

    (void)state;
    case_fill(&c, CASE_LEAK);
    c.analysis.runs[0].failure.batch_ids = "a\\;b;c\\\\;;d";
    json_report(&text, &c.content);
    assert_non_null(strstr(text.p, "\"batch_ids\": [\"a;b\", \"c\\\\\", \"\", \"d\"]"));
    buf_release(&text);
    case_release(&c);
}

static void numbers_are_written_exactly(void **state)
{
    struct buf b = {0};
    struct json j = {.out = &b, .empty = true};

    (void)state;
    json_open_flat(&j, NULL, '[');
    json_u64(&j, NULL, UINT64_MAX);
    json_whole(&j, NULL, 9007199254740991.0);
    json_whole(&j, NULL, 1e300);
    json_whole(&j, NULL, NAN);
    json_number(&j, NULL, 0.1);
    json_number(&j, NULL, INFINITY);
    json_whole(&j, NULL, -0.2);
    json_close(&j, ']');
    assert_string_equal(b.p, "[18446744073709551615, 9007199254740991, null, null, 0.1, null, 0]");
    buf_release(&b);
}

static void above_64_ranks_only_telling_runs_stand_in_full(void **state)
{
    struct report_case c;
    struct buf text = {0};

    (void)state;
    case_fill(&c, CASE_RANKS);
    case_ranks(&c, 65); /* one more line than is kept in full */
    json_report(&text, &c.content);
    cJSON *v = cJSON_ParseWithLength(text.p, text.n);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(v, "ranks")), 65);
    assert_in_range(cJSON_GetArraySize(cJSON_GetObjectItem(v, "runs")), 11, 22);
    cJSON_Delete(v);
    buf_release(&text);
    case_release(&c);
}

static void series_are_reduced_and_keep_their_extremes(void **state)
{
    struct report_case c;
    struct buf text = {0};
    double max = 0;
    const cJSON *one;

    (void)state;
    case_fill(&c, CASE_LEAK);
    series_free(c.series[0]);
    struct series *s = series_new();
    for (unsigned i = 0; i < 100000; i++) {
        struct record r = {0};
        record_set_u(&r, F_STEP, i);
        record_set_u(&r, F_PEAK, i == 77777 ? 1234567890123u : 1000u);
        series_append(s, &r);
    }
    series_seal(s);
    c.series[0] = s;
    c.analysis.runs[0].series = s;
    json_series(&text, &c.analysis);
    assert_true(text.n < 100000);
    cJSON *v = cJSON_ParseWithLength(text.p, text.n);
    const cJSON *run = cJSON_GetArrayItem(cJSON_GetObjectItem(v, "runs"), 0);
    const cJSON *peaks =
        cJSON_GetObjectItem(cJSON_GetObjectItem(cJSON_GetObjectItem(run, "columns"), "peak_bytes"), "max");
    assert_int_equal(cJSON_GetArraySize(peaks), 480);
    cJSON_ArrayForEach(one, peaks) max = fmax(max, one->valuedouble);
    assert_true(max == 1234567890123.0);
    cJSON_Delete(v);
    buf_release(&text);
    case_release(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_report_fits_the_schema_strictly),
        cmocka_unit_test(the_schema_refuses_what_is_wrong),
        cmocka_unit_test(the_schema_lists_exactly_the_required_keys),
        cmocka_unit_test(unknown_is_null_and_bytes_are_whole),
        cmocka_unit_test(ids_are_taken_apart),
        cmocka_unit_test(numbers_are_written_exactly),
        cmocka_unit_test(above_64_ranks_only_telling_runs_stand_in_full),
        cmocka_unit_test(series_are_reduced_and_keep_their_extremes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

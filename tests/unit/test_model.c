#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "model/column.h"
#include "model/series.h"
#include "model/verdict.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t next(uint64_t *x)
{
    *x ^= *x << 13, *x ^= *x >> 7, *x ^= *x << 17;
    return *x;
}

/* What a column gives back must be what went in, whatever the kind of values. */
static void check_round_trip(double (*value)(size_t i, uint64_t r), size_t n)
{
    double *want = calloc(n, sizeof *want), *got = calloc(n, sizeof *got);
    struct column_store store = {0};
    struct column *c = column_new(&store);
    uint64_t x = 1234567;
    for (size_t i = 0; i < n; i++) {
        want[i] = value(i, next(&x));
        column_set_next(c, i, want[i]);
        if (i == n / 2)
            column_seal(c); /* appending goes on after a seal */
    }
    column_seal(c);
    assert_int_equal(column_rows(c), n);
    column_read(c, 0, n, got);
    for (size_t i = 0; i < n; i++)
        if (!(want[i] == got[i] || (isnan(want[i]) && isnan(got[i]))))
            fail_msg("row %zu: %.17g became %.17g", i, want[i], got[i]);
    for (size_t i = 0; i < n; i += 997)
        assert_true(column_at(c, i) == want[i] || isnan(want[i]));
    assert_true(isnan(column_at(c, n)));
    column_free(c);
    column_store_release(&store);
    free(want);
    free(got);
}

static double whole_value(size_t i, uint64_t r)
{
    (void)i;
    return (double)(r % 100000000000u);
}

static double huge_value(size_t i, uint64_t r)
{
    (void)i;
    return (double)(r >> 11) * (r & 1 ? 1 : -1);
}

static double decimal(size_t i, uint64_t r)
{
    static const double scale[] = {10, 1000, 1e6, 1e7};
    return i % 17 == 0 && i / 4096 % 2 ? NAN : (double)(r % 100000000) / scale[i / 4096 % 4];
}

static double fraction(size_t i, uint64_t r)
{
    return i % 5000 < 4200 ? (double)(r % 1000) / 7 : (double)(r % 3);
}

static double sparse(size_t i, uint64_t r)
{
    return i % 50 ? NAN : (double)(r % 255);
}

static double odd(size_t i, uint64_t r)
{
    static const double V[] = {0, -0.0, 254, 255, 256, 65534, 65535, -1, INFINITY, NAN};
    return V[(i / 4096 + r) % 10];
}

static void columns_give_back_what_went_in(void **state)
{
    (void)state;
    check_round_trip(whole_value, 20001);
    check_round_trip(huge_value, 9000);
    check_round_trip(fraction, 12288);
    check_round_trip(decimal, 32768);
    check_round_trip(sparse, 10000);
    check_round_trip(odd, 50000);
    check_round_trip(whole_value, 1);
}

static void a_constant_column_costs_next_to_nothing(void **state)
{
    (void)state;
    struct column_store store = {0};
    struct column *c = column_new(&store);
    for (size_t i = 0; i < 1000000; i++)
        column_set_next(c, i, 32);
    column_seal(c);
    assert_true(column_bytes(c) < 20000);
    column_free(c);
    column_store_release(&store);
}

static struct record step_record(uint64_t step, uint64_t peak)
{
    struct record r;
    record_clear(&r);
    record_set_u(&r, F_STEP, step);
    record_set_u(&r, F_PEAK, peak);
    r.at.line = step + 2;
    return r;
}

static void a_series_keeps_rows_phases_and_places(void **state)
{
    (void)state;
    struct series *s = series_new();
    s->source = "a.jsonl";
    struct record r = step_record(0, 100);
    record_set_s(&r, F_RUN, STR_LIT("job"));
    record_set_u(&r, F_CAPACITY, 1000);
    series_append(s, &r);
    r = step_record(1, 200);
    record_set_s(&r, F_PHASE, STR_LIT("eval"));
    series_append(s, &r);
    r = step_record(2, 300);
    record_set_s(&r, F_PHASE, STR_LIT("save"));
    series_append(s, &r);
    series_seal(s);
    double peak[3], phase[3];
    series_read(s, F_PEAK, 0, 3, peak);
    series_read(s, F_PHASE, 0, 3, phase);
    assert_true(peak[0] == 100 && peak[2] == 300);
    assert_true(phase[0] == PHASE_TRAIN && phase[1] == PHASE_EVAL && phase[2] == 2);
    assert_true(str_is(s->phases[2], "save"));
    assert_int_equal(series_phase_find(s, STR_LIT("warmup")), -1);
    assert_false(series_has(s, F_ALLOCATED));
    assert_true(series_meta(s, F_CAPACITY) == 1000);
    assert_true(str_is(record_text(&s->meta, F_RUN), "job"));
    assert_int_equal(series_place(s, 1).line, 3);
    assert_string_equal(series_place(s, 1).file, "a.jsonl");
    series_free(s);
}

static void phases_without_end_are_other_phases(void **state)
{
    (void)state;
    struct series *s = series_new();
    char name[16];
    for (int i = 0; i < 1000; i++) {
        struct record r = step_record((uint64_t)i, 100);
        snprintf(name, sizeof name, "p%d", i % 500);
        record_set_s(&r, F_PHASE, str_of(name));
        series_append(s, &r);
    }
    series_seal(s);
    double phase[2];
    series_read(s, F_PHASE, 500, 1, &phase[0]);
    series_read(s, F_PHASE, 999, 1, &phase[1]);
    assert_true(str_is(s->phases[(size_t)phase[0]], "p0"));
    assert_true(str_is(s->phases[(size_t)phase[1]], "other"));
    series_free(s);
}

static void ids_are_kept_for_the_largest_and_the_last_batches(void **state)
{
    (void)state;
    struct series *s = series_new();
    for (uint64_t i = 0; i < 1000; i++) {
        char ids[32];
        snprintf(ids, sizeof ids, "sample-%u", (unsigned)i);
        struct record r = step_record(i, i == 123 ? 999999 : 1000 + i % 7);
        record_set_s(&r, F_BATCH_IDS, str_of(ids));
        series_append(s, &r);
    }
    series_seal(s);
    assert_true(str_is(series_ids(s, 123), "sample-123"));
    assert_true(str_is(series_ids(s, 999), "sample-999"));
    assert_int_equal(series_ids(s, 200).n, 0);
    for (size_t i = 1; i < s->n_kept; i++)
        assert_true(s->kept[i - 1].row < s->kept[i].row);
    series_free(s);
}

static void of_events_without_end_the_last_one_is_kept_and_the_rest_counted(void **state)
{
    (void)state;
    struct series *s = series_new();
    struct record r = {0};
    for (uint64_t i = 1; i <= SERIES_EVENTS_MAX + 10; i++) {
        record_set_u(&r, F_STEP, i);
        series_event(s, EVENT_OOM, &r, NULL, 0);
    }
    assert_int_equal(s->n_events, SERIES_EVENTS_MAX);
    assert_int_equal(s->n_ooms_lost, 10);
    assert_int_equal(s->events[SERIES_EVENTS_MAX - 1].rec.v[F_STEP].u, SERIES_EVENTS_MAX + 10);
    assert_int_equal(s->events[0].rec.v[F_STEP].u, 1);
    series_free(s);
}

static void events_own_their_texts_and_know_their_row(void **state)
{
    (void)state;
    struct series *s = series_new();
    struct record r = step_record(5, 1);
    series_append(s, &r);
    char text[] = "CUDA out of memory";
    record_clear(&r);
    record_set_s(&r, F_MESSAGE, str_of(text));
    struct process_use p = {4321, 77};
    series_event(s, EVENT_OOM, &r, &p, 1);
    memset(text, 'x', sizeof text - 1);
    p.pid = 0;
    assert_int_equal(s->events[0].row, 1);
    assert_true(str_is(record_text(&s->events[0].rec, F_MESSAGE), "CUDA out of memory"));
    assert_int_equal(s->events[0].processes[0].pid, 4321);
    series_free(s);
}

static void names_of_the_contract_are_found(void **state)
{
    (void)state;
    assert_int_equal(field_find(STR_LIT("peak_bytes")), F_PEAK);
    assert_int_equal(field_find(STR_LIT("peak")), F_COUNT);
    enum event_kind k;
    assert_true(event_find(&k, STR_LIT("epoch_end")) && k == EVENT_EPOCH_END);
    assert_false(event_find(&k, STR_LIT("oops")));
    assert_string_equal(subtype_name(SUB_SAVE), "save");
    assert_string_equal(subtype_name(SUB_EVAL_BOUNDARY), "boundary");
    assert_string_equal(subtype_name(SUB_SIZING), "sizing");
    assert_null(subtype_name(SUB_NONE));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_give_back_what_went_in),
        cmocka_unit_test(a_constant_column_costs_next_to_nothing),
        cmocka_unit_test(a_series_keeps_rows_phases_and_places),
        cmocka_unit_test(phases_without_end_are_other_phases),
        cmocka_unit_test(ids_are_kept_for_the_largest_and_the_last_batches),
        cmocka_unit_test(events_own_their_texts_and_know_their_row),
        cmocka_unit_test(of_events_without_end_the_last_one_is_kept_and_the_rest_counted),
        cmocka_unit_test(names_of_the_contract_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

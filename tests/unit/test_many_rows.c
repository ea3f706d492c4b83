#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "cli/dump.h"
#include "model/column.h"
#include "normalise/mapping.h"
#include "normalise/normalise.h"
#include "normalise/source_run.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t next(uint64_t *x)
{
    *x ^= *x << 13, *x ^= *x >> 7, *x ^= *x << 17;
    return *x * 0x2545f4914f6cdd1du >> 16;
}

static bool chance(uint64_t *x, unsigned percent)
{
    return next(x) % 100 < percent;
}

/* How one random log is made, in percent of its rows. */
struct style {
    unsigned odd, back, twice, eval, parts;
    bool ids, phase, blanks;
};

static void put_odd(struct buf *b, uint64_t *x, unsigned step)
{
    static const char *const lines[] = {
        "{\"step\":%u,\"allocated_bytes\":null}",
        "{\"step\":%u,\"event\":\"epoch_end\"}",
        "{\"step\":%u,\"event\":\"resume\"}",
        "{\"step\":%u,\"event\":\"oom\",\"requested_bytes\":77}",
        "{\"step\":%u,\"allocated_bytes\":-5}",
        "{\"step\":%u,\"allocated_bytes\":5e3,\"time\":1e-5}",
        "{\"step\":%u,\"allocated_bytes\":9,\"batch_ids\":[\"a;b\",\"c\\\\d\",[1,2]]}",
        "{\"step\":%u,\"phase\":\"eval\"}",
        "{\"step\":%u,\"phase\":\"probe\",\"allocated_bytes\":12}",
        "{\"step\":%u,\"rank\":1,\"allocated_bytes\":7}",
        "{\"step\":%u,\"step\":1,\"allocated_bytes\":7}",
        "{\"step\":%u",
        "{\"oomlog\":1,\"run\":\"again%u\"}",
        "step %u: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
    };
    buf_printf(b, lines[next(x) % (sizeof lines / sizeof *lines)], step);
}

static void put_row(struct buf *b, uint64_t *x, const struct style *s, unsigned step)
{
    const char *blank = s->blanks ? " " : "";
    if (chance(x, s->eval)) {
        buf_printf(b, "{\"step\":%u,\"phase\":\"eval\",\"allocated_bytes\":%u,\"max_len\":%u}", step,
                   (unsigned)(next(x) % 1000000), (unsigned)(next(x) % 100));
        return;
    }
    if (chance(x, s->parts)) {
        buf_printf(b, "{\"step\":%u,\"reserved_bytes\":%u}", step, (unsigned)(next(x) % 1000000));
        return;
    }
    buf_printf(b, "{\"step\":%s%u,%s", blank, step, blank);
    if (s->phase)
        buf_puts(b, "\"phase\":\"train\",");
    buf_printf(b, "\"allocated_bytes\":%u,\"time\":%u.%u,\"loss\":-1.5E-3", (unsigned)(next(x) % 1000000),
               step, (unsigned)(next(x) % 1000));
    if (s->ids)
        buf_printf(b, ",\"batch_ids\":[\"s%u\",\"%u\"]", (unsigned)(next(x) % 50), (unsigned)(next(x) % 50));
    buf_printf(b, ",\"max_len\":%u}", (unsigned)(next(x) % 4096));
}

static void make_log(struct buf *b, uint64_t *x)
{
    struct style s = {.odd = chance(x, 60) ? (unsigned)(next(x) % 12) : 0,
                      .back = chance(x, 30) ? 2 : 0,
                      .twice = chance(x, 20) ? (unsigned)(next(x) % 60) : 0,
                      .eval = chance(x, 40) ? (unsigned)(next(x) % 50) : 0,
                      .parts = chance(x, 30) ? (unsigned)(next(x) % 50) : 0,
                      .ids = chance(x, 60),
                      .phase = chance(x, 50),
                      .blanks = chance(x, 50)};
    const char *end = chance(x, 20) ? "\r\n" : "\n";
    unsigned step = 0, rows = 5 + (unsigned)(next(x) % 300);
    buf_clear(b);
    if (chance(x, 70))
        buf_printf(b, "{\"oomlog\":1,\"run\":\"r\",\"seed\":1}%s", end);
    for (unsigned i = 0; i < rows; i++) {
        step += !chance(x, s.twice);
        if (chance(x, s.back))
            step -= step > 30 ? 25 : 0;
        if (chance(x, s.odd))
            put_odd(b, x, step);
        else
            put_row(b, x, &s, step);
        if (i + 1 < rows || chance(x, 80))
            buf_puts(b, end);
    }
}

/* The series of a log as text, and what was said of it. */
static void read_log(struct buf *out, struct str log, const struct mapping_set *mappings, bool many)
{
    struct diag d;
    struct arena a;
    struct series_set set;
    struct input_info info = {.name = "log", .first_step = NAN, .last_step = NAN};
    struct normalise_settings settings = {.mappings = mappings, .step_from = NAN, .step_to = NAN};
    diag_init(&d);
    arena_init(&a);
    struct builder *b = builder_new(NULL);
    struct record_sink sink = builder_sink(b, "log", "log", &d);
    if (!many)
        sink.rows = NULL;
    struct source *source = source_of_memory("log", log);
    normalise_source(&info, &sink, source, &settings, NULL, &a, &d);
    source_close(source);
    builder_input_end(b, &info);
    builder_finish(&set, b);
    char *text = NULL;
    size_t n = 0;
    FILE *file = open_memstream(&text, &n);
    dump_series(file, &set);
    fclose(file);
    buf_put(out, text, n);
    free(text);
    buf_printf(out, "%llu records, steps %g to %g, %llu skipped\n", (unsigned long long)info.records,
               info.first_step, info.last_step, (unsigned long long)info.skipped);
    for (size_t i = 0; i < set.n; i++)
        for (size_t row = 0; row < set.items[i]->rows; row++) {
            struct str ids = series_ids(set.items[i], row);
            if (ids.n)
                buf_printf(out, "ids of %zu: %.*s\n", row, (int)ids.n, ids.p);
        }
    for (size_t i = 0; i < d.n; i++)
        buf_printf(out, "%llu: %s\n", (unsigned long long)d.items[i].at.line, d.items[i].text);
    series_set_release(&set);
    builder_free(b);
    arena_release(&a);
    diag_release(&d);
}

static void rows_taken_many_at_once_give_the_series_that_they_give_one_by_one(void **state)
{
    (void)state;
    struct diag d;
    struct buf log = {0}, one = {0}, many = {0};
    diag_init(&d);
    struct mapping_set *mappings = mapping_set_new(NULL, NULL, &d);
    for (unsigned seed = 1; seed <= 400; seed++) {
        uint64_t x = seed * 0x9e3779b97f4a7c15u;
        make_log(&log, &x);
        buf_clear(&one);
        buf_clear(&many);
        read_log(&one, buf_view(&log), mappings, false);
        read_log(&many, buf_view(&log), mappings, true);
        if (!str_eq(buf_view(&one), buf_view(&many)))
            fail_msg("seed %u: %s\none by one:\n%s\nmany at once:\n%s", seed, log.p, one.p, many.p);
    }
    buf_release(&log);
    buf_release(&one);
    buf_release(&many);
    mapping_set_free(mappings);
    diag_release(&d);
}

static void rows_cut_off_a_column_are_gone_and_others_can_follow(void **state)
{
    (void)state;
    struct column_store store = {0};
    struct column *c = column_new(&store);
    for (size_t i = 0; i < 3 * COLUMN_BLOCK; i++) {
        column_set_next(c, i, (double)i);
        if (i >= COLUMN_CUT_MAX && i % 5 == 0) {
            column_cut(c, i + 1 - COLUMN_CUT_MAX);
            assert_int_equal(column_rows(c), i + 1 - COLUMN_CUT_MAX);
            assert_true(isnan(column_at(c, i)));
            for (size_t k = i + 1 - COLUMN_CUT_MAX; k <= i; k++)
                column_set_next(c, k, (double)k);
        }
    }
    column_seal(c);
    for (size_t i = 0; i < 3 * COLUMN_BLOCK; i++)
        assert_true(column_at(c, i) == (double)i);
    column_free(c);
    column_store_release(&store);
}

static void runs_of_values_are_appended_across_blocks(void **state)
{
    (void)state;
    struct column_store store = {0};
    struct column *c = column_new(&store);
    double v[1000];
    for (size_t i = 0; i < 1000; i++)
        v[i] = (double)(i * i);
    for (size_t row = 0; row < 20000; row += 1000)
        column_append(c, row + (row >= 10000 ? 500 : 0), v, 1000);
    assert_int_equal(column_rows(c), 20500);
    column_seal(c);
    for (size_t row = 0; row < 20500; row++) {
        double want = row < 10000 ? v[row % 1000] : row < 10500 ? NAN : v[(row - 10500) % 1000];
        double got = column_at(c, row);
        assert_true(want == got || (isnan(want) && isnan(got)));
    }
    column_free(c);
    column_store_release(&store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_taken_many_at_once_give_the_series_that_they_give_one_by_one),
        cmocka_unit_test(rows_cut_off_a_column_are_gone_and_others_can_follow),
        cmocka_unit_test(runs_of_values_are_appended_across_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The bar of what holds the memory: its parts add up, and each has its name and share. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/buf.h"
#include "draw/plot.h"

#include <math.h>

#define MIB 0x1p20

/* A snapshot with n lines at the moment, 10 MiB each, and 20 MiB reserved beyond them. */
static bool draw(struct buf *out, struct picture *p, struct arena *arena, size_t n, enum holder_at at)
{
    struct holder *holders = arena_alloc(arena, (n + 1) * sizeof *holders);
    for (size_t i = 0; i < n; i++)
        holders[i] = (struct holder){.at = at,
                                     .site = arena_printf(arena, "a.py:%zu f", i + 1),
                                     .bytes = 10 * MIB,
                                     .share = 1 / (double)n};
    struct run_report r = {.has_snapshot = n > 0,
                           .holders = holders,
                           .n_holders = n,
                           .capacity_bytes = 200 * MIB,
                           .seed = NAN,
                           .rank = NAN,
                           .source = "s.pickle"};
    r.snapshot.reserved_bytes = r.snapshot.oom_reserved_bytes = (10 * (double)n + 20) * MIB;
    r.snapshot.oom_device_free_bytes = 5 * MIB;
    struct analysis a = {.runs = &r, .n_runs = 1};
    struct canvas c;
    canvas_init(&c, arena, NULL, 960, 400);
    bool drawn = plot_memory(&c, &a, p);
    canvas_print(out, &c);
    return drawn;
}

static void the_parts_of_a_failure_add_up_to_the_device(void **state)
{
    (void)state;
    struct buf b = {0};
    struct picture p = {0};
    struct arena arena = {0};
    assert_true(draw(&b, &p, &arena, 6, HOLDER_AT_OOM));
    assert_string_equal(p.title, "a.py:1 f holds 10.0 MiB of the 60.0 MiB live at the failure");
    assert_non_null(strstr(p.alt, "200.0 MiB in all"));
    static const char *const said[] = {"\"other lines\"", "\"20.0 MiB\"", "\"outside PyTorch's allocator\"",
                                       "\"115.0 MiB\"",   "\"57.5 %\"",   "\"free on the device\"",
                                       "\"5.0 MiB\""};
    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++)
        if (!strstr(b.p, said[i]) && !(i == 6 && strstr(b.p, "\"5.00 MiB\"")))
            fail_msg("no %s in %s", said[i], b.p);
    buf_release(&b);
    arena_release(&arena);
}

static void without_a_failure_the_bar_ends_with_what_is_reserved(void **state)
{
    (void)state;
    struct buf b = {0};
    struct picture p = {0};
    struct arena arena = {0};
    assert_true(draw(&b, &p, &arena, 2, HOLDER_AT_PEAK));
    assert_non_null(strstr(p.alt, "40.0 MiB in all"));
    assert_null(strstr(b.p, "other lines"));
    assert_null(strstr(b.p, "free on the device"));
    buf_release(&b);
    arena_release(&arena);
}

static void without_a_snapshot_there_is_no_bar(void **state)
{
    (void)state;
    struct buf b = {0};
    struct picture p = {0};
    struct arena arena = {0};
    assert_false(draw(&b, &p, &arena, 0, HOLDER_AT_END));
    buf_release(&b);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_parts_of_a_failure_add_up_to_the_device),
        cmocka_unit_test(without_a_failure_the_bar_ends_with_what_is_reserved),
        cmocka_unit_test(without_a_snapshot_there_is_no_bar),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

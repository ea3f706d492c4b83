#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "model/trace.h"
#include <stdlib.h>

static void event(struct trace_file *t, enum trace_action action, uint64_t addr, uint64_t size)
{
    struct trace_event e = {.addr = addr, .size = size, .action = action, .has_addr = true, .has_size = true};
    trace_device_add(trace_file_device(t, 0), &t->names, &e);
}

/* Blocks of one segment that covers them. */
static void segment(struct trace_file *t, const struct trace_block *blocks, size_t n)
{
    uint64_t total = 0;
    for (size_t i = 0; i < n; i++)
        total += blocks[i].size;
    t->blocks = malloc(n * sizeof *t->blocks);
    memcpy(t->blocks, blocks, n * sizeof *t->blocks);
    t->n_blocks = n;
    t->segments = calloc(1, sizeof *t->segments);
    t->segments[0] = (struct trace_segment){.total = total, .n = (uint32_t)n};
    t->n_segments = 1;
}

static void a_whole_trace_begins_at_nothing(void **state)
{
    (void)state;
    struct trace_file *t = trace_file_new();
    struct trace_block blocks[] = {{.address = 100, .size = 512, .requested = 400},
                                   {.address = 612, .size = 512, .state = BLOCK_INACTIVE}};
    event(t, TRACE_SEGMENT_ALLOC, 100, 1024);
    event(t, TRACE_ALLOC, 100, 400);
    event(t, TRACE_ALLOC, 612, 300);
    event(t, TRACE_FREE_REQUESTED, 612, 300);
    event(t, TRACE_FREE_COMPLETED, 612, 300);
    segment(t, blocks, 2);
    trace_file_finish(t);
    const struct trace_totals *s = &t->devices[0]->totals;
    assert_int_equal(s->base, 0);
    assert_int_equal(s->peak, 700);
    assert_int_equal(s->peak_event, 2);
    assert_int_equal(s->live_end, 400);
    assert_int_equal(s->allocated, 512);
    assert_int_equal(s->inactive_split, 512);
    assert_int_equal(s->largest_free, 512);
    assert_int_equal(s->reserved, 1024);
    assert_int_equal(s->reserved_base, 0);
    assert_false(t->devices[0]->truncated);
    trace_file_free(t);
}

static void a_window_gets_its_base_from_the_blocks_at_the_end(void **state)
{
    (void)state;
    struct trace_file *t = trace_file_new();
    /* 1000 were there before and stay, 50 were there before and are freed */
    struct trace_block blocks[] = {{.address = 1, .size = 1024, .requested = 1000},
                                   {.address = 2, .size = 512, .requested = 7}};
    event(t, TRACE_ALLOC, 2, 7);
    event(t, TRACE_ALLOC, 3, 20);
    event(t, TRACE_FREE_REQUESTED, 9, 50);
    event(t, TRACE_FREE_REQUESTED, 3, 20);
    segment(t, blocks, 2);
    trace_file_finish(t);
    const struct trace_device *d = t->devices[0];
    assert_int_equal(d->totals.base, 1050);
    assert_int_equal(d->totals.peak, 1077);
    assert_int_equal(d->totals.peak_event, 1);
    assert_int_equal(d->unmatched, 1);
    assert_int_equal(d->untraced, 1);
    assert_true(d->truncated);
    trace_file_free(t);
}

static void a_peak_before_the_window_has_no_event(void **state)
{
    (void)state;
    struct trace_file *t = trace_file_new();
    struct trace_block blocks[] = {{.address = 1, .size = 1024, .requested = 1000}};
    event(t, TRACE_FREE_REQUESTED, 9, 50);
    event(t, TRACE_ALLOC, 9, 20);
    event(t, TRACE_FREE_REQUESTED, 9, 20);
    segment(t, blocks, 1);
    trace_file_finish(t);
    assert_int_equal(t->devices[0]->totals.peak, 1050);
    assert_true(t->devices[0]->totals.peak_event == TRACE_BEFORE);
    trace_file_free(t);
}

static void frees_may_be_told_by_completion_alone(void **state)
{
    (void)state;
    struct trace_file *t = trace_file_new();
    event(t, TRACE_ALLOC, 1, 10);
    event(t, TRACE_FREE_COMPLETED, 1, 10);
    event(t, TRACE_FREE_COMPLETED, 5, 30); /* from before the trace */
    event(t, TRACE_ALLOC, 1, 5);
    trace_file_finish(t);
    const struct trace_device *d = t->devices[0];
    assert_int_equal(d->totals.base, 30);
    assert_int_equal(d->totals.peak, 40);
    assert_int_equal(d->totals.live_end, 5);
    assert_int_equal(d->unmatched, 1);
    trace_file_free(t);
}

static void a_completion_whose_request_came_before_the_window_frees_nothing(void **state)
{
    (void)state;
    struct trace_file *t = trace_file_new();
    event(t, TRACE_FREE_COMPLETED, 5, 30);
    event(t, TRACE_ALLOC, 1, 10);
    event(t, TRACE_FREE_REQUESTED, 1, 10);
    event(t, TRACE_FREE_COMPLETED, 1, 10);
    trace_file_finish(t);
    assert_int_equal(t->devices[0]->totals.base, 0);
    assert_int_equal(t->devices[0]->totals.peak, 10);
    assert_int_equal(t->devices[0]->unmatched, 0);
    trace_file_free(t);
}

static void an_address_that_comes_again_means_a_lost_free(void **state)
{
    (void)state;
    struct trace_file *t = trace_file_new();
    event(t, TRACE_ALLOC, 1, 100);
    event(t, TRACE_ALLOC, 1, 60);
    event(t, TRACE_FREE_REQUESTED, 1, 60);
    trace_file_finish(t);
    assert_int_equal(t->devices[0]->replaced, 1);
    assert_int_equal(t->devices[0]->totals.peak, 100);
    assert_int_equal(t->devices[0]->totals.live_end, 0);
    trace_file_free(t);
}

static void the_state_at_a_failed_request_is_kept(void **state)
{
    (void)state;
    struct trace_file *t = trace_file_new();
    event(t, TRACE_SEGMENT_ALLOC, 0, 4096);
    event(t, TRACE_ALLOC, 1, 3000);
    event(t, TRACE_OOM, 77, 2048);
    event(t, TRACE_FREE_REQUESTED, 1, 3000);
    event(t, TRACE_SEGMENT_FREE, 0, 4096);
    trace_file_finish(t);
    const struct trace_device *d = t->devices[0];
    assert_int_equal(d->n_ooms, 1);
    assert_int_equal(d->ooms[0].event, 2);
    assert_int_equal(d->ooms[0].requested, 2048);
    assert_int_equal(d->ooms[0].device_free, 77);
    assert_int_equal(d->ooms[0].live, 3000);
    assert_int_equal(d->ooms[0].reserved, 4096);
    trace_file_free(t);
}

static void sizes_beyond_any_device_are_left_out_but_keep_their_index(void **state)
{
    (void)state;
    struct trace_file *t = trace_file_new();
    event(t, TRACE_ALLOC, 1, UINT64_MAX);
    for (int i = 0; i < 10000; i++)
        event(t, TRACE_ALLOC, 10 + (uint64_t)i, ((uint64_t)1 << 50) - 1);
    event(t, TRACE_ALLOC, 2, 5);
    trace_file_finish(t);
    const struct trace_device *d = t->devices[0];
    assert_int_equal(d->n, 10002);
    assert_true(d->impossible > 5000);
    assert_true(d->totals.peak < (uint64_t)1 << 63);
    trace_file_free(t);
}

/* Against the plainest bookkeeping there is. */
static void levels_agree_with_plain_bookkeeping(void **state)
{
    (void)state;
    struct trace_file *t = trace_file_new();
    enum {
        SLOTS = 97,
        EVENTS = 20000
    };
    uint64_t size[SLOTS] = {0}, level = 0, peak = 0, peak_at = 0;
    uint32_t seed = 1;
    for (int i = 0; i < EVENTS; i++) {
        seed = seed * 1664525u + 1013904223u;
        size_t k = (seed >> 8) % SLOTS;
        if (size[k]) {
            event(t, TRACE_FREE_REQUESTED, 4096 * (k + 1), size[k]);
            level -= size[k];
            size[k] = 0;
        } else {
            size[k] = 1 + (seed >> 12);
            event(t, TRACE_ALLOC, 4096 * (k + 1), size[k]);
            level += size[k];
        }
        if (level > peak) {
            peak = level;
            peak_at = (uint64_t)i;
        }
    }
    trace_file_finish(t);
    const struct trace_totals *s = &t->devices[0]->totals;
    assert_true(s->peak == peak && s->peak_event == peak_at && s->live_end == level);
    assert_int_equal(s->base, 0);
    trace_file_free(t);
}

enum {
    ROOMS = 31,
    ENTRIES = 3000
};

/* Random takes and gives, each give completed at once; what is open at the end are the blocks. Level behind
 * each entry in levels. */
static struct trace_file *random_trace(uint64_t from, uint64_t n, int64_t *levels)
{
    struct trace_file *t = trace_file_new();
    struct trace_block blocks[ROOMS];
    uint64_t size[ROOMS] = {0};
    int64_t level = 0;
    uint32_t seed = 7;
    size_t open = 0;
    t->window.from = from;
    t->window.n = n;
    for (size_t i = 0; i < ENTRIES; i++) {
        seed = seed * 1664525u + 1013904223u;
        size_t k = (seed >> 8) % ROOMS;
        if (size[k]) {
            event(t, TRACE_FREE_REQUESTED, 4096 * (k + 1), size[k]);
            levels[i++] = level -= (int64_t)size[k];
            event(t, TRACE_FREE_COMPLETED, 4096 * (k + 1), size[k]);
            size[k] = 0;
        } else {
            size[k] = 1 + (seed >> 20);
            event(t, TRACE_ALLOC, 4096 * (k + 1), size[k]);
            level += (int64_t)size[k];
        }
        levels[i < ENTRIES ? i : ENTRIES] = level;
    }
    for (size_t k = 0; k < ROOMS; k++)
        if (size[k])
            blocks[open++] =
                (struct trace_block){.address = 4096 * (k + 1), .size = 4096, .requested = size[k]};
    segment(t, blocks, open);
    trace_file_finish(t);
    return t;
}

static void levels_of_chosen_events_are_those_of_the_whole(void **state)
{
    (void)state;
    static const uint64_t windows[][2] = {{0, 0}, {500, 700}, {0, 100}, {2500, 0}, {2990, 1}};
    int64_t levels[ENTRIES + 1];
    for (size_t w = 0; w < sizeof windows / sizeof *windows; w++) {
        struct trace_file *t = random_trace(windows[w][0], windows[w][1], levels);
        const struct trace_device *d = t->devices[0];
        struct trace_cursor c;
        struct trace_op op;
        int64_t level = d->totals.base, peak = level;
        assert_int_equal(d->first, windows[w][0]);
        assert_true(d->first + d->n + d->after >= ENTRIES);
        trace_cursor_init(&c, d);
        while (trace_next(&c, &op)) {
            level += trace_op_delta(d, &op);
            assert_int_equal(level, levels[d->first + c.index]);
            peak = level > peak ? level : peak;
        }
        assert_int_equal(c.index + 1, windows[w][1] ? windows[w][1] : d->n);
        assert_int_equal(d->totals.peak, peak);
        trace_file_free(t);
    }
}

static void stacks_are_interned_by_content(void **state)
{
    (void)state;
    struct trace_names n;
    trace_names_init(&n);
    uint32_t a = trace_frame(&n, trace_string(&n, STR_LIT("f")), trace_string(&n, STR_LIT("a.py")), 1);
    uint32_t b = trace_frame(&n, trace_string(&n, STR_LIT("f")), trace_string(&n, STR_LIT("a.py")), 2);
    assert_int_not_equal(a, b);
    uint32_t one = trace_stack(&n, (uint32_t[]){a, b}, 2), other = trace_stack(&n, (uint32_t[]){b, a}, 2);
    assert_int_not_equal(one, other);
    assert_int_equal(trace_stack(&n, (uint32_t[]){a, b}, 2), one);
    assert_int_equal(trace_stack(&n, NULL, 0), 0);
    trace_names_release(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_trace_begins_at_nothing),
        cmocka_unit_test(a_window_gets_its_base_from_the_blocks_at_the_end),
        cmocka_unit_test(a_peak_before_the_window_has_no_event),
        cmocka_unit_test(frees_may_be_told_by_completion_alone),
        cmocka_unit_test(a_completion_whose_request_came_before_the_window_frees_nothing),
        cmocka_unit_test(an_address_that_comes_again_means_a_lost_free),
        cmocka_unit_test(the_state_at_a_failed_request_is_kept),
        cmocka_unit_test(sizes_beyond_any_device_are_left_out_but_keep_their_index),
        cmocka_unit_test(levels_agree_with_plain_bookkeeping),
        cmocka_unit_test(levels_of_chosen_events_are_those_of_the_whole),
        cmocka_unit_test(stacks_are_interned_by_content),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

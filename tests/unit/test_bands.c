/* Bands over a trace, and the three pictures of a snapshot. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyse/bands.h"
#include "analyse/holders.h"
#include "draw/plot.h"
#include "snapshot_loop.h"

#include <math.h>

enum {
    STEPS = 12,
    COLUMNS = 100,
    SITES = 14
};

/* SITES lines that hold for a while, the first of them without an end; each is called from evaluate.py:5. */
static void build(struct loop *l)
{
    uint32_t adam = frame(l, "/x/site-packages/torch/optim/adam.py", 7, "step"), stacks[SITES];
    uint32_t inside = frame(l, "/home/u/evaluate.py", 5, "evaluate");
    for (uint32_t i = 0; i < SITES; i++)
        stacks[i] = stack(l, (uint32_t[]){frame(l, "/home/u/net.py", 10 + i, "forward"), inside}, 2);
    uint32_t of_adam = stack(l, &adam, 1);
    for (int k = 0; k < STEPS; k++) {
        uint64_t held[SITES];
        take(l, 4096, stacks[0]);
        for (uint32_t i = 1; i < SITES; i++)
            held[i] = take(l, 1000 * i, stacks[i]);
        for (uint32_t i = 1; i < SITES; i++)
            give(l, held[i]);
        give(l, take(l, 100, of_adam));
    }
}

static void start(struct loop *l)
{
    *l = (struct loop){.t = trace_file_new()};
    build(l);
}

static void parts_of_each_column_add_up_to_a_level_that_there_was(void **state)
{
    (void)state;
    struct loop l;
    struct bands b;
    struct arena a = {0};
    start(&l);
    finish(&l);
    assert_true(bands_make(&b, &a, l.t, l.t->devices[0], COLUMNS, TRACE_NONE, false));
    assert_int_equal(b.n, BANDS_MAX);
    assert_int_equal(b.n_others, SITES + 1 - BANDS_MAX); /* the optimiser's too */
    double top = 0;
    for (size_t i = 0; i < COLUMNS; i++) {
        double sum = b.others[i];
        for (size_t k = 0; k < b.n; k++)
            sum += b.band[k].bytes[i];
        assert_true(sum == b.level[i]);
        top = fmax(top, sum);
    }
    assert_true(top == (double)l.t->devices[0]->totals.peak);
    assert_string_equal(b.band[0].site, "/home/u/net.py:10 forward"); /* 12 x 4096 is the most */
    assert_true(b.band[0].bytes[COLUMNS - 1] == STEPS * 4096.0);
    for (size_t k = 2; k < b.n; k++)
        assert_true(b.band[k].highest <= b.band[k - 1].highest);
    arena_release(&a);
    trace_file_free(l.t);
}

static void a_line_that_others_are_called_from_gathers_what_they_hold(void **state)
{
    (void)state;
    struct loop l;
    struct bands b;
    struct arena a = {0};
    start(&l);
    finish(&l);
    assert_true(bands_make(&b, &a, l.t, l.t->devices[0], COLUMNS,
                           frame(&l, "/home/u/evaluate.py", 5, "evaluate"), false));
    assert_int_equal(b.n, 2); /* and the optimiser's line */
    assert_string_equal(b.band[0].site, "/home/u/evaluate.py:5 evaluate");
    assert_true(b.band[0].highest == (double)l.t->devices[0]->totals.peak);
    arena_release(&a);
    trace_file_free(l.t);
}

static void a_site_that_is_blamed_for_its_calls_gathers_them_too(void **state)
{
    (void)state;
    struct loop l;
    struct bands b;
    struct arena a = {0};
    start(&l);
    uint32_t inside = frame(&l, "/home/u/evaluate.py", 5, "evaluate");
    take(&l, 77, stack(&l, &inside, 1));
    finish(&l);
    assert_true(bands_make(&b, &a, l.t, l.t->devices[0], COLUMNS, inside, false));
    assert_true(b.band[0].highest == 77);
    assert_true(bands_make(&b, &a, l.t, l.t->devices[0], COLUMNS, inside, true));
    assert_true(b.band[0].highest == (double)l.t->devices[0]->totals.peak);
    arena_release(&a);
    trace_file_free(l.t);
}

static void the_line_named_comes_first_however_small(void **state)
{
    (void)state;
    struct loop l;
    struct bands b;
    struct arena a = {0};
    start(&l);
    finish(&l);
    assert_true(
        bands_make(&b, &a, l.t, l.t->devices[0], COLUMNS, frame(&l, "/home/u/net.py", 11, "forward"), false));
    assert_string_equal(b.band[0].site, "/home/u/net.py:11 forward");
    assert_true(b.band[0].highest == 1000);
    assert_string_equal(b.band[1].site, "/home/u/net.py:10 forward");
    arena_release(&a);
    trace_file_free(l.t);
}

static void memory_from_before_the_trace_is_there_from_the_first_column_on(void **state)
{
    (void)state;
    struct loop l = {.t = trace_file_new()};
    struct bands b;
    struct arena a = {0};
    event(&l, TRACE_FREE_REQUESTED, 4096, 5 << 20, 0);
    take(&l, 1 << 20, stack(&l, (uint32_t[]){frame(&l, "/home/u/a.py", 1, "f")}, 1));
    finish(&l);
    assert_true(bands_make(&b, &a, l.t, l.t->devices[0], 10, TRACE_NONE, false));
    assert_null(b.band[0].site);
    assert_true(b.band[0].bytes[0] == 5 << 20);
    assert_true(b.band[0].bytes[9] == 0);
    assert_true(b.band[1].bytes[9] == 1 << 20);
    arena_release(&a);
    trace_file_free(l.t);
}

static void a_trace_without_events_has_no_bands(void **state)
{
    (void)state;
    struct loop l = {.t = trace_file_new()};
    struct bands b;
    trace_file_device(l.t, 0);
    finish(&l);
    assert_false(bands_make(&b, &(struct arena){0}, l.t, l.t->devices[0], 10, TRACE_NONE, false));
    trace_file_free(l.t);
}

/* --- pictures ------------------------------------------------------------------------ */

struct shown {
    struct series *series;
    struct run_report run;
    struct analysis analysis;
    struct arena arena;
    struct canvas canvas;
    struct picture picture;
};

static void show(struct shown *s, struct loop *l)
{
    struct study study;
    *s = (struct shown){.series = series_new()};
    s->series->trace = l->t;
    s->run = (struct run_report){
        .run = "run", .source = "run.pickle", .seed = NAN, .rank = NAN, .capacity_bytes = NAN};
    s->run.series = s->series;
    study_init(&study, l->t, l->t->devices[0]);
    holders_figures(&s->run, l->t, l->t->devices[0], &s->arena);
    holders_fill(&s->run, &study, &s->arena);
    study_release(&study);
    s->analysis = (struct analysis){.runs = &s->run, .n_runs = 1};
    canvas_init(&s->canvas, &s->arena, NULL, PLOT_WIDTH, PLOT_HEIGHT);
}

static void hide(struct shown *s)
{
    arena_release(&s->arena);
    series_free(s->series);
}

static size_t texts_that_overlap(const struct canvas *c)
{
    size_t n = 0;
    for (size_t i = 0; i < c->n; i++)
        for (size_t k = i + 1; k < c->n; k++) {
            const struct item *a = &c->items[i], *b = &c->items[k];
            if (a->kind != ITEM_TEXT || b->kind != ITEM_TEXT)
                continue;
            double ax = a->anchor == ANCHOR_LEFT    ? a->x
                        : a->anchor == ANCHOR_RIGHT ? a->x - a->width
                                                    : a->x - a->width / 2;
            double bx = b->anchor == ANCHOR_LEFT    ? b->x
                        : b->anchor == ANCHOR_RIGHT ? b->x - b->width
                                                    : b->x - b->width / 2;
            n += ax < bx + b->width && bx < ax + a->width && fabs(a->y - b->y) < 11;
        }
    return n;
}

static bool text_says(const struct canvas *c, const char *what)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->items[i].kind == ITEM_TEXT && strstr(c->items[i].text, what))
            return true;
    return false;
}

static void pictures_of_a_failed_run_name_line_peak_and_request(void **state)
{
    (void)state;
    struct loop l;
    struct shown s;
    start(&l);
    event(&l, TRACE_OOM, 300, 1 << 20, 0);
    finish(&l);
    find_steps_of(l.t);
    show(&s, &l);
    assert_true(plot_sites(&s.canvas, &s.analysis, &s.picture));
    assert_true(text_says(&s.canvas, "net.py:10 forward"));
    assert_true(text_says(&s.canvas, "OOM: asked 1.00 MiB"));
    assert_true(text_says(&s.canvas, "5 other lines"));
    assert_int_equal(texts_that_overlap(&s.canvas), 0);
    canvas_init(&s.canvas, &s.arena, NULL, PLOT_WIDTH, PLOT_HEIGHT);
    assert_true(plot_memory(&s.canvas, &s.analysis, &s.picture));
    assert_int_equal(texts_that_overlap(&s.canvas), 0);
    canvas_init(&s.canvas, &s.arena, NULL, PLOT_WIDTH, PLOT_HEIGHT);
    assert_true(plot_segments(&s.canvas, &s.analysis, &s.picture));
    assert_true(text_says(&s.canvas, "no free block is that large"));
    assert_int_equal(texts_that_overlap(&s.canvas), 0);
    hide(&s);
}

static void a_map_counts_free_pieces_and_those_that_are_large_enough(void **state)
{
    (void)state;
    static struct trace_block blocks[] = {{.address = 0, .size = 3 << 20, .state = BLOCK_INACTIVE},
                                          {.address = 3 << 20, .size = 1 << 20, .requested = 1 << 20},
                                          {.address = 4 << 20, .size = 2 << 20, .state = BLOCK_INACTIVE},
                                          {.address = 8 << 20, .size = 2 << 20, .state = BLOCK_PENDING}};
    struct loop l = {.t = trace_file_new()};
    struct shown s;
    event(&l, TRACE_OOM, 300, 2 << 20, 0);
    l.t->segments = calloc(2, sizeof *l.t->segments);
    l.t->blocks = malloc(sizeof blocks);
    memcpy(l.t->blocks, blocks, sizeof blocks);
    l.t->segments[0] = (struct trace_segment){.address = 0, .total = 6 << 20, .n = 3};
    l.t->segments[1] = (struct trace_segment){.address = 8 << 20, .total = 2 << 20, .first = 3, .n = 1};
    l.t->n_segments = 2;
    l.t->n_blocks = 4;
    trace_file_finish(l.t);
    show(&s, &l);
    assert_true(plot_segments(&s.canvas, &s.analysis, &s.picture));
    assert_string_equal(
        s.picture.title,
        "5.00 MiB of 8.00 MiB reserved are free, in 2 pieces of at most 3.00 MiB; the request was "
        "2.00 MiB");
    assert_true(text_says(&s.canvas, "2 free blocks are that large"));
    assert_true(text_says(&s.canvas, "2.00 MiB in 1 block"));
    hide(&s);
}

static void a_log_has_no_pictures_of_a_snapshot(void **state)
{
    (void)state;
    struct run_report run = {.run = "log"};
    struct analysis a = {.runs = &run, .n_runs = 1};
    struct arena arena = {0};
    struct canvas c;
    struct picture p = {0};
    canvas_init(&c, &arena, NULL, PLOT_WIDTH, PLOT_HEIGHT);
    assert_false(plot_sites(&c, &a, &p));
    assert_false(plot_memory(&c, &a, &p));
    assert_false(plot_segments(&c, &a, &p));
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_of_each_column_add_up_to_a_level_that_there_was),
        cmocka_unit_test(a_line_that_others_are_called_from_gathers_what_they_hold),
        cmocka_unit_test(a_site_that_is_blamed_for_its_calls_gathers_them_too),
        cmocka_unit_test(the_line_named_comes_first_however_small),
        cmocka_unit_test(memory_from_before_the_trace_is_there_from_the_first_column_on),
        cmocka_unit_test(a_trace_without_events_has_no_bands),
        cmocka_unit_test(pictures_of_a_failed_run_name_line_peak_and_request),
        cmocka_unit_test(a_map_counts_free_pieces_and_those_that_are_large_enough),
        cmocka_unit_test(a_log_has_no_pictures_of_a_snapshot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Plots from hand-built series and analyses, seen through the recorded canvas. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/embed.h"
#include "draw/plot.h"
#include "draw/timeline.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const double GIB = 1073741824.0;

/* One run with its analysis; runs[0] leads. */
struct bench {
    struct arena arena;
    struct canvas canvas;
    struct picture picture;
    struct series *series[24];
    struct run_report runs[24];
    struct analysis analysis;
};

static int set_up(void **state)
{
    struct bench *b = calloc(1, sizeof *b);
    b->analysis.runs = b->runs;
    canvas_init(&b->canvas, &b->arena, NULL, PLOT_WIDTH, PLOT_HEIGHT);
    *state = b;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *b = *state;
    for (size_t i = 0; i < b->analysis.n_runs; i++)
        series_free(b->series[i]);
    arena_release(&b->arena);
    free(b);
    return 0;
}

static struct failure no_failure(void)
{
    return (struct failure){.step = NAN,
                            .epoch = NAN,
                            .batch_size = NAN,
                            .max_len = NAN,
                            .tokens = NAN,
                            .height = NAN,
                            .width = NAN,
                            .requested_bytes = NAN,
                            .free_bytes = NAN,
                            .total_bytes = NAN,
                            .allocated_bytes = NAN,
                            .reserved_bytes = NAN,
                            .this_process_bytes = NAN,
                            .other_process_bytes = NAN};
}

static struct run_report *add_run(struct bench *b, const char *name, double seed, double rank)
{
    size_t i = b->analysis.n_runs++;
    struct run_report *r = &b->runs[i];
    r->series = b->series[i] = series_new();
    r->run = r->source = r->format = name;
    r->seed = seed;
    r->rank = rank;
    r->capacity_bytes = NAN;
    r->outcome = OUTCOME_COMPLETED;
    r->verdict.cause = CAUSE_UNKNOWN;
    r->failure = no_failure();
    r->peak = (struct peak_figures){.failing_predicted_bytes = NAN,
                                    .safe_tokens = NAN,
                                    .safe_max_len = NAN,
                                    .safe_batch_size = NAN,
                                    .safe_at_len = NAN};
    return r;
}

static struct series *data(struct bench *b)
{
    return b->series[b->analysis.n_runs - 1];
}

static void put(struct series *s, double step, double allocated, double peak, double reserved)
{
    struct record r;
    record_clear(&r);
    record_set_u(&r, F_STEP, (uint64_t)step);
    if (!isnan(allocated))
        record_set_u(&r, F_ALLOCATED, (uint64_t)allocated);
    if (!isnan(peak))
        record_set_u(&r, F_PEAK, (uint64_t)peak);
    if (!isnan(reserved))
        record_set_u(&r, F_RESERVED, (uint64_t)reserved);
    series_append(s, &r);
}

static void fail_at(struct run_report *r, double step, double asked, double left)
{
    r->outcome = OUTCOME_OOM;
    r->has_failure = true;
    r->failure.step = step;
    r->failure.requested_bytes = asked;
    r->failure.free_bytes = left;
    r->last_step = step - 1;
}

/* A run that grows by a MiB a step into its capacity. */
static struct run_report *add_leak(struct bench *b, const char *name, double seed)
{
    struct run_report *r = add_run(b, name, seed, 0);
    for (int i = 0; i < 2000; i++)
        put(data(b), i, (10 + i / 1024.0) * GIB, (10.6 + i / 1024.0) * GIB, 12.1 * GIB);
    series_seal(data(b));
    fail_at(r, 2000, 0.5 * GIB, 0.1 * GIB);
    r->capacity_bytes = 12.3 * GIB;
    r->verdict.cause = CAUSE_LEAK;
    r->has_leak = true;
    r->leak = (struct leak_figures){.slope_bytes_per_step = GIB / 1024,
                                    .slope_low = GIB / 1100,
                                    .slope_high = GIB / 1000,
                                    .onset_step = 20,
                                    .column = F_ALLOCATED,
                                    .fit_step0 = 0,
                                    .fit_bytes0 = 10 * GIB};
    return r;
}

static const char *find_text(const struct canvas *c, const char *part)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->items[i].kind == ITEM_TEXT && strstr(c->items[i].text, part))
            return c->items[i].text;
    return NULL;
}

static size_t count_marks(const struct canvas *c, enum mark mark, enum ink ink)
{
    size_t n = 0;
    for (size_t i = 0; i < c->n; i++)
        n += c->items[i].kind == ITEM_MARK && c->items[i].mark == mark && c->items[i].ink == ink;
    return n;
}

struct box {
    double left, top, right, bottom;
};

static struct box box_of(const struct item *it)
{
    double left = it->anchor == ANCHOR_LEFT     ? it->x
                  : it->anchor == ANCHOR_MIDDLE ? it->x - it->width / 2
                                                : it->x - it->width;
    return (struct box){left, it->y - 0.76 * it->size, left + it->width, it->y + 0.2 * it->size};
}

/* No text overlaps another or leaves the picture; none is too small. */
static void check_texts(const struct canvas *c)
{
    for (size_t i = 0; i < c->n; i++) {
        if (c->items[i].kind != ITEM_TEXT)
            continue;
        struct box a = box_of(&c->items[i]);
        if (a.left < 0 || a.top < 0 || a.right > c->width || a.bottom > c->height)
            fail_msg("\"%s\" leaves the picture", c->items[i].text);
        assert_true(c->items[i].size >= 11);
        for (size_t k = 0; k < i; k++) {
            if (c->items[k].kind != ITEM_TEXT)
                continue;
            struct box b = box_of(&c->items[k]);
            if (a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom)
                fail_msg("\"%s\" overlaps \"%s\"", c->items[i].text, c->items[k].text);
        }
    }
}

static bool draw(struct bench *b, plot_function *plot)
{
    return plot(&b->canvas, &b->analysis, &b->picture);
}

static void a_spike_of_one_step_in_100000_survives(void **state)
{
    struct bench *b = *state;
    struct run_report *r = add_run(b, "spike", 1, 0);
    for (int i = 0; i < 100000; i++)
        put(data(b), i, (i == 61803 ? 9 : 4) * GIB, NAN, NAN);
    series_seal(data(b));
    r->last_step = 99999;
    assert_true(draw(b, plot_timeline));
    struct frame f;
    plot_frame_init(&f, &b->canvas);
    double expected_x = f.left + (f.right - f.left) * 61803 / 99999.0, highest = 1e9, at = 0;
    for (size_t i = 0; i < b->canvas.n; i++) {
        const struct item *it = &b->canvas.items[i];
        for (size_t k = 0; it->kind == ITEM_COLUMNS && it->size == 0 && k < it->n; k++)
            if ((double)it->top[k] < highest) {
                highest = (double)it->top[k];
                at = it->x + (double)k / CANVAS_SCALE;
            }
    }
    assert_float_equal(at, expected_x, 2);
    assert_true(highest < f.top + (f.bottom - f.top) * 0.15);
    assert_int_equal(count_marks(&b->canvas, MARK_TRIANGLE, INK_ALLOCATED), 1);
}

static void long_series_reduce_like_short_ones(void **state)
{
    struct bench *b = *state;
    enum {
        ROWS = 300000,
        COLUMNS = 777
    };
    add_run(b, "long", 1, 0);
    double *least = malloc(COLUMNS * sizeof *least), *greatest = malloc(COLUMNS * sizeof *greatest);
    double lo, hi;
    for (int i = 0; i < COLUMNS; i++)
        least[i] = greatest[i] = NAN;
    for (int i = 0; i < ROWS; i++) {
        /* every third step is logged, and one figure in seven is missing */
        double step = 3.0 * i, v = (double)((unsigned)i * 2654435761u >> 12);
        int column = (int)(step * COLUMNS / (3.0 * (ROWS - 1)));
        column = column < COLUMNS ? column : COLUMNS - 1;
        put(data(b), step, i % 7 ? v : NAN, 1, NAN);
        if (i % 7) {
            least[column] = fmin(least[column], v);
            greatest[column] = fmax(greatest[column], v);
        }
    }
    series_seal(data(b));
    assert_true(reduce_x_range(b->series[0], X_STEP, &lo, &hi));
    assert_true(lo == 0 && hi == 3.0 * (ROWS - 1));
    enum field field = F_ALLOCATED;
    struct reduced d;
    struct reduce_spec spec = {X_STEP, lo, hi, COLUMNS, &field, 1, -1};
    reduce(&d, &b->arena, b->series[0], &spec);
    double rows = 0;
    for (int i = 0; i < COLUMNS; i++) {
        assert_true(d.segments[0].field[0].min[i] == least[i]);
        assert_true(d.segments[0].field[0].max[i] == greatest[i]);
        rows += d.segments[0].field[0].count[i];
    }
    assert_int_equal((int)rows, ROWS - (ROWS + 6) / 7);
    free(least);
    free(greatest);
}

static void timeline_of_a_leak_says_what_happened(void **state)
{
    struct bench *b = *state;
    struct run_report *r = add_leak(b, "run1.jsonl", 1);
    struct span eval[] = {{500, 540}, {1000, 1040}}, epochs[] = {{0, 0}, {1000, 1}};
    r->eval_spans = eval;
    r->n_eval_spans = 2;
    r->epochs_at = epochs;
    r->n_epochs_at = 2;
    assert_true(draw(b, plot_timeline));
    const struct canvas *c = &b->canvas;
    assert_string_equal(b->picture.title, "Allocated memory grows 1.00 MiB/step until OOM at step 2000");
    assert_non_null(find_text(c, "capacity 12.3 GiB"));
    assert_non_null(find_text(c, "OOM at step 2000"));
    assert_non_null(find_text(c, "asked 512.0 MiB"));
    assert_non_null(find_text(c, "free 102.4 MiB"));
    assert_non_null(find_text(c, "eval"));
    assert_non_null(find_text(c, "epoch"));
    assert_non_null(find_text(c, "min to max within one pixel column; GiB = 2^30 bytes"));
    assert_non_null(strstr(b->picture.alt, "12.3 GiB"));
    assert_int_equal(count_marks(c, MARK_X, INK_OOM), 1);
    check_texts(c);
}

static void labels_of_nine_runs_with_one_end_do_not_overlap(void **state)
{
    struct bench *b = *state;
    static char names[9][32];
    for (int i = 0; i < 9; i++) {
        snprintf(names[i], sizeof names[i], "run%d.jsonl", i);
        add_leak(b, names[i], i);
    }
    assert_true(draw(b, plot_timeline));
    assert_non_null(find_text(&b->canvas, "seed 8: OOM at 2000"));
    check_texts(&b->canvas);
}

static void sixteen_ranks_become_a_band(void **state)
{
    struct bench *b = *state;
    for (int i = 0; i < 18; i++) {
        add_leak(b, "job", 1);
        b->runs[i].rank = i;
    }
    assert_true(draw(b, plot_timeline));
    assert_non_null(find_text(&b->canvas, "17 other ranks:"));
    assert_null(find_text(&b->canvas, "seed 1:"));
    check_texts(&b->canvas);
}

static void a_restart_is_a_gap_and_a_survived_oom_is_hollow(void **state)
{
    struct bench *b = *state;
    struct run_report *r = add_run(b, "restarted", 1, 0);
    struct record e;
    record_clear(&e);
    for (int i = 0; i < 400; i++)
        put(data(b), i, 5 * GIB, NAN, NAN);
    record_set_u(&e, F_STEP, 200);
    record_set_u(&e, F_RECOVERED, 1);
    series_event(data(b), EVENT_OOM, &e, NULL, 0);
    record_set_u(&e, F_STEP, 300);
    series_event(data(b), EVENT_SAVE, &e, NULL, 0);
    series_restart(data(b));
    for (int i = 600; i < 1000; i++)
        put(data(b), i, 8 * GIB, NAN, NAN);
    series_seal(data(b));
    r->last_step = 999;
    assert_true(draw(b, plot_timeline));
    assert_int_equal(count_marks(&b->canvas, MARK_X_HOLLOW, INK_OOM), 1);
    assert_int_equal(count_marks(&b->canvas, MARK_DIAMOND, INK_TEXT), 1);
    assert_non_null(find_text(&b->canvas, "restart"));
    /* Between the two processes no trace has anything. */
    for (size_t i = 0; i < b->canvas.n; i++) {
        const struct item *it = &b->canvas.items[i];
        if (it->kind == ITEM_COLUMNS)
            assert_true(isnan(it->top[it->n / 2]));
    }
    check_texts(&b->canvas);
}

static void growth_states_slope_interval_and_axis_start(void **state)
{
    struct bench *b = *state;
    add_leak(b, "run1.jsonl", 1);
    assert_true(draw(b, plot_growth));
    assert_non_null(strstr(b->picture.title, "1.00 MiB/step from step 20 on"));
    assert_non_null(strstr(b->picture.title, "10.0 GiB"));
    assert_non_null(find_text(&b->canvas, "95 %: 0.93 MiB to"));
    assert_non_null(find_text(&b->canvas, "growth from step 20"));
    check_texts(&b->canvas);
}

static void growth_without_leak_figures_is_absent(void **state)
{
    struct bench *b = *state;
    add_leak(b, "run1.jsonl", 1)->has_leak = false;
    assert_false(draw(b, plot_growth));
    b->runs[0].has_leak = true;
    b->runs[0].leak.fit_bytes0 = NAN;
    assert_false(draw(b, plot_growth));
}

static void growth_of_a_flat_run_is_absent(void **state)
{
    struct bench *b = *state;
    add_leak(b, "run1.jsonl", 1)->verdict.cause = CAUSE_NONE;
    b->runs[0].leak.slope_low = -1;
    assert_false(draw(b, plot_growth));
}

static void law_marks_failing_batch_safe_limit_and_ceiling(void **state)
{
    struct bench *b = *state;
    struct run_report *r = add_run(b, "lengths", 1, 0);
    for (int i = 0; i < 500; i++) {
        struct record rec;
        double tokens = 1000 + (i * 37) % 4000;
        record_clear(&rec);
        record_set_u(&rec, F_STEP, (uint64_t)i);
        record_set_u(&rec, F_TOKENS, (uint64_t)tokens);
        record_set_u(&rec, F_PEAK, (uint64_t)(4 * GIB + tokens * GIB / 1000));
        series_append(data(b), &rec);
    }
    series_seal(data(b));
    fail_at(r, 500, GIB, GIB / 2);
    r->capacity_bytes = 12 * GIB;
    r->failure.tokens = 9000;
    r->verdict.cause = CAUSE_PEAK;
    r->has_peak = r->peak.has_law = true;
    r->peak.failing_predicted_bytes = 13 * GIB;
    r->peak.safe_tokens = 7500;
    r->peak.law = (struct law){.base_bytes = 4 * GIB,
                               .per_token_bytes = GIB / 1000,
                               .per_batch_len2_bytes = 0,
                               .r2 = 1,
                               .n = 500,
                               .size_field = F_TOKENS,
                               .size_name = "tokens",
                               .envelope_bytes = GIB / 10};
    assert_true(draw(b, plot_law));
    assert_string_equal(
        b->picture.title,
        "The peak follows tokens: the failing batch (9000 tokens) needs 13.0 GiB, capacity 12.0 GiB");
    assert_non_null(find_text(&b->canvas, "safe up to 7500 tokens"));
    assert_non_null(find_text(&b->canvas, "capacity 12.0 GiB"));
    assert_int_equal(count_marks(&b->canvas, MARK_X, INK_OOM), 1);
    size_t rows = 0;
    for (size_t i = 0; i < b->canvas.n; i++)
        for (size_t k = 0; b->canvas.items[i].kind == ITEM_CELLS && k < b->canvas.items[i].n; k++)
            rows += b->canvas.items[i].cells[k] > 0;
    assert_in_range(rows, 50, 500);
    check_texts(&b->canvas);
    b->runs[0].peak.has_law = false;
    assert_false(draw(b, plot_law));
}

static void seeds_show_each_run_once_with_a_guide(void **state)
{
    struct bench *b = *state;
    static const double steps[] = {700, 700, 650, NAN};
    static const char *const names[] = {"a", "b", "c", "d"};
    for (int i = 0; i < 4; i++) {
        struct run_report *r = add_run(b, names[i], i + 1, NAN);
        r->last_step = 800;
        if (!isnan(steps[i]))
            fail_at(r, steps[i], NAN, NAN);
    }
    b->runs[0].failure.batch_ids = "7;13";
    b->runs[1].failure.batch_ids = "113;7";
    b->analysis.has_cross = true;
    const char *shared[] = {"13"};
    b->analysis.cross = (struct cross_run){.says = CROSS_SCHEDULE, .shared_ids = shared, .n_shared_ids = 1};
    assert_true(draw(b, plot_seeds));
    assert_string_equal(b->picture.title,
                        "3 of 4 runs failed: at nearly the same step, on different batches");
    assert_int_equal(count_marks(&b->canvas, MARK_X, INK_OOM), 3);
    assert_int_equal(count_marks(&b->canvas, MARK_RING, INK_TEXT), 1);
    assert_non_null(find_text(&b->canvas, "step 700: 2 of 4"));
    for (size_t i = 0; i < b->canvas.n; i++) {
        const struct item *it = &b->canvas.items[i];
        if (it->kind == ITEM_TEXT && strstr(it->text, "batch 7;13"))
            assert_int_equal(it->ink, INK_OOM); /* the shared id */
        if (it->kind == ITEM_TEXT && strstr(it->text, "batch 113;7"))
            assert_int_equal(it->ink, INK_TEXT); /* 113 is not 13 */
    }
    check_texts(&b->canvas);
}

static void headroom_says_where_its_axis_starts(void **state)
{
    struct bench *b = *state;
    struct run_report *r = add_run(b, "tight", 1, 0);
    for (int i = 0; i < 100; i++)
        put(data(b), i, NAN, 20 * GIB + (i % 5) * GIB / 10, NAN);
    series_seal(data(b));
    r->capacity_bytes = 24 * GIB;
    r->verdict.cause = CAUSE_CAPACITY;
    assert_true(draw(b, plot_headroom));
    assert_non_null(strstr(b->picture.title, "does not start at 0"));
    assert_non_null(strstr(b->picture.title, "3.60 GiB of 24.0 GiB"));
    check_texts(&b->canvas);
    b->runs[0].verdict.cause = CAUSE_LEAK;
    assert_false(draw(b, plot_headroom));
}

static void one_row_or_no_memory_gives_no_picture(void **state)
{
    struct bench *b = *state;
    assert_false(draw(b, plot_timeline));
    assert_false(draw(b, plot_seeds));
    add_run(b, "one", 1, 0);
    put(data(b), 0, GIB, GIB, GIB);
    assert_false(draw(b, plot_timeline));
    put(data(b), 1, NAN, NAN, NAN);
    assert_false(draw(b, plot_timeline));
    put(data(b), 2, GIB, NAN, NAN);
    assert_true(draw(b, plot_timeline));
}

static void extreme_figures_give_a_sane_picture(void **state)
{
    struct bench *b = *state;
    static const double values[] = {0, 1, 9007199254740991.0};
    static const double steps[] = {0, 1e15, 9007199254740990.0};
    struct run_report *r = add_run(b, "extreme", 9007199254740991.0, 9007199254740991.0);
    for (int i = 0; i < 3; i++)
        put(data(b), steps[i], values[i], values[2 - i], values[i]);
    r->last_step = 9007199254740990.0;
    fail_at(r, 9007199254740991.0, 9007199254740991.0, 0);
    r->capacity_bytes = 1; /* below all data */
    for (int cause = CAUSE_LEAK; cause <= CAUSE_UNKNOWN; cause++) {
        r->verdict.cause = (enum cause)cause;
        canvas_init(&b->canvas, &b->arena, NULL, PLOT_WIDTH, PLOT_HEIGHT);
        assert_true(draw(b, plot_timeline));
        check_texts(&b->canvas);
        for (size_t i = 0; i < b->canvas.n; i++)
            assert_true(isfinite(b->canvas.items[i].x) && isfinite(b->canvas.items[i].y));
    }
}

static void equal_values_without_steps_are_drawn_by_row(void **state)
{
    struct bench *b = *state;
    add_run(b, "rows", NAN, NAN);
    for (int i = 0; i < 10; i++) {
        struct record r;
        record_clear(&r);
        record_set_u(&r, F_DEVICE_USED, 0);
        series_append(data(b), &r);
    }
    b->runs[0].first_step = b->runs[0].last_step = NAN;
    assert_true(draw(b, plot_timeline));
    assert_non_null(find_text(&b->canvas, "row of the log"));
    assert_non_null(find_text(&b->canvas, "device used"));
    check_texts(&b->canvas);
}

static void hostile_names_are_clipped_and_spelt_out(void **state)
{
    struct bench *b = *state;
    char *name = malloc(1 << 20);
    memset(name, 'x', (1 << 20) - 1);
    name[(1 << 20) - 1] = '\0';
    memcpy(name, "\x1b]0;\xff\xe2\x80\xae", 8);
    struct run_report *r = add_leak(b, "other", 2);
    add_leak(b, name, NAN);
    r->device = name;
    r->source = name;
    r->failure.batch_ids = name;
    for (int i = 0; i < 4; i++) {
        b->analysis.lead = (size_t)i / 2;
        canvas_init(&b->canvas, &b->arena, NULL, PLOT_WIDTH, PLOT_HEIGHT);
        assert_true(draw(b, i % 2 ? plot_seeds : plot_timeline));
        check_texts(&b->canvas);
        assert_non_null(find_text(&b->canvas, "\\u001B]0;\\xFF"));
        assert_true(strlen(b->picture.caption) < 1000 && strlen(b->picture.alt) < 1000);
    }
    free(name);
}

static void pictures_come_in_the_themes_asked_for(void **state)
{
    struct bench *b = *state;
    struct gallery g;
    add_leak(b, "run1.jsonl", 1);
    b->analysis.verdict = b->runs[0].verdict;
    b->analysis.verdict.summary = "Allocated memory grows 1.00 MiB/step until the OOM at step 2000.";
    b->analysis.verdict.fix = "Keep loss.item() instead of loss.";
    struct draw_settings settings = {.themes = {true, true}, .card = true, .font = embed_find("font.ttf")};
    assert_int_equal(draw_all(&g, &b->analysis, &settings), 0);
    assert_int_equal(g.n, 3);
    const struct picture *timeline = gallery_find(&g, "timeline"), *card = gallery_find(&g, "verdict");
    assert_non_null(timeline);
    assert_non_null(card);
    assert_null(gallery_find(&g, "law"));
    assert_int_equal(timeline->width, PLOT_WIDTH);
    assert_true(timeline->png[THEME_LIGHT].n > 1000 && timeline->png[THEME_LIGHT].n < 150 * 1024);
    assert_true(timeline->png[THEME_DARK].n > 1000 && timeline->png[THEME_DARK].n < 150 * 1024);
    assert_true(card->png[THEME_LIGHT].n > 1000 && card->png[THEME_DARK].n == 0);
    assert_memory_equal(card->png[THEME_LIGHT].p, "\x89PNG", 4);
    gallery_release(&g);
    settings.themes[THEME_DARK] = false;
    settings.card = false;
    assert_int_equal(draw_all(&g, &b->analysis, &settings), 0);
    assert_int_equal(g.n, 2);
    assert_int_equal(g.items[0].png[THEME_DARK].n, 0);
    gallery_release(&g);
}

static void bytes_that_are_no_font_are_refused(void **state)
{
    struct bench *b = *state;
    struct gallery g;
    struct draw_settings settings = {.themes = {true, false}, .font = STR_LIT("this is no font")};
    add_leak(b, "run1.jsonl", 1);
    errno = 0;
    assert_int_equal(draw_all(&g, &b->analysis, &settings), -1);
    assert_int_equal(errno, EINVAL);
}

static void dump_tells_what_is_drawn_and_is_the_same_twice(void **state)
{
    struct bench *b = *state;
    struct buf one = {0}, two = {0};
    add_leak(b, "run1.jsonl", 1);
    draw_dump(&one, &b->analysis);
    draw_dump(&two, &b->analysis);
    assert_int_equal(one.n, two.n);
    assert_memory_equal(one.p, two.p, one.n);
    assert_non_null(strstr(one.p, "plot timeline 960x400\n  title: Allocated memory grows"));
    assert_non_null(strstr(one.p, "plot growth 960x400\n"));
    assert_null(strstr(one.p, "plot law"));
    assert_non_null(strstr(one.p, "  trace allocated 70.0 columns=1440"));
    assert_non_null(strstr(one.p, "  mark oom x "));
    buf_release(&one);
    buf_release(&two);
}

#define WITH_BENCH(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_BENCH(a_spike_of_one_step_in_100000_survives),
        WITH_BENCH(long_series_reduce_like_short_ones),
        WITH_BENCH(timeline_of_a_leak_says_what_happened),
        WITH_BENCH(labels_of_nine_runs_with_one_end_do_not_overlap),
        WITH_BENCH(sixteen_ranks_become_a_band),
        WITH_BENCH(a_restart_is_a_gap_and_a_survived_oom_is_hollow),
        WITH_BENCH(growth_states_slope_interval_and_axis_start),
        WITH_BENCH(growth_without_leak_figures_is_absent),
        WITH_BENCH(growth_of_a_flat_run_is_absent),
        WITH_BENCH(law_marks_failing_batch_safe_limit_and_ceiling),
        WITH_BENCH(seeds_show_each_run_once_with_a_guide),
        WITH_BENCH(headroom_says_where_its_axis_starts),
        WITH_BENCH(one_row_or_no_memory_gives_no_picture),
        WITH_BENCH(extreme_figures_give_a_sane_picture),
        WITH_BENCH(equal_values_without_steps_are_drawn_by_row),
        WITH_BENCH(hostile_names_are_clipped_and_spelt_out),
        WITH_BENCH(pictures_come_in_the_themes_asked_for),
        WITH_BENCH(bytes_that_are_no_font_are_refused),
        WITH_BENCH(dump_tells_what_is_drawn_and_is_the_same_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Axes, end labels, colours and the text on pictures. */
#include "draw/axis.h"
#include "draw/labels.h"
#include "draw/text.h"
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct fixture {
    struct arena arena;
    struct canvas canvas;
    struct frame frame;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    canvas_init(&f->canvas, &f->arena, NULL, PLOT_WIDTH, PLOT_HEIGHT);
    plot_frame_init(&f->frame, &f->canvas);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    arena_release(&f->arena);
    free(f);
    return 0;
}

static bool has_text(const struct canvas *c, const char *text)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->items[i].kind == ITEM_TEXT && strcmp(c->items[i].text, text) == 0)
            return true;
    return false;
}

static void bytes_axis_has_one_unit_and_names_it_once(void **state)
{
    struct fixture *f = *state;
    frame_x(&f->frame, X_STEP, 0, 1000);
    frame_y_bytes(&f->frame, 0, 139.8 * 1073741824.0);
    frame_axes(&f->frame);
    size_t named = 0;
    for (size_t i = 0; i < f->canvas.n; i++)
        named += f->canvas.items[i].kind == ITEM_TEXT && strstr(f->canvas.items[i].text, "iB") != NULL;
    assert_int_equal(named, 1);
    assert_true(has_text(&f->canvas, "0 GiB"));
    assert_true(has_text(&f->canvas, "100"));
}

static void steps_have_no_separators(void **state)
{
    struct fixture *f = *state;
    frame_x(&f->frame, X_STEP, 0, 1200000);
    frame_y_bytes(&f->frame, 0, 1e9);
    frame_axes(&f->frame);
    assert_true(has_text(&f->canvas, "1000000"));
}

static void time_axis_counts_from_its_first_record(void **state)
{
    struct fixture *f = *state;
    frame_x(&f->frame, X_TIME, 1700000000.0, 1700000000.0 + 5 * 3600);
    frame_y_bytes(&f->frame, 0, 1e9);
    frame_axes(&f->frame);
    assert_true(has_text(&f->canvas, "0 h"));
    assert_true(has_text(&f->canvas, "5"));
}

static void tick_labels_of_huge_steps_do_not_touch(void **state)
{
    struct fixture *f = *state;
    frame_x(&f->frame, X_STEP, 0, 9007199254740992.0);
    frame_y_bytes(&f->frame, 0, 9007199254740992.0);
    frame_axes(&f->frame);
    double last = -1e9;
    for (size_t i = 0; i < f->canvas.n; i++) {
        const struct item *it = &f->canvas.items[i];
        if (it->kind != ITEM_TEXT || it->anchor != ANCHOR_MIDDLE || it->y > f->frame.bottom + 25)
            continue;
        assert_true(it->x - it->width / 2 > last + 6);
        assert_true(it->x + it->width / 2 <= PLOT_WIDTH);
        last = it->x + it->width / 2;
    }
}

static void one_value_is_still_an_axis(void **state)
{
    struct fixture *f = *state;
    frame_x(&f->frame, X_STEP, 7, 7);
    frame_y_bytes(&f->frame, 0, 0);
    assert_true(f->frame.x.scale.hi > f->frame.x.scale.lo);
    assert_true(f->frame.y.scale.hi > f->frame.y.scale.lo);
    frame_axes(&f->frame);
}

static void labels_at_one_place_are_pushed_apart(void **state)
{
    (void)state;
    struct labels l = {.n = 0};
    for (int i = 0; i < 6; i++)
        labels_add(&l, 200 + i * 0.1, INK_TEXT, "one line", i == 2 ? "a second" : NULL, NULL);
    labels_place(&l, 70, 350);
    for (size_t i = 1; i < l.n; i++)
        assert_true(l.items[i].at - l.items[i - 1].at >= LABEL_HEIGHT * (i == 3 ? 2 : 1) - 1e-9);
    assert_float_equal((l.items[0].at + l.items[5].at) / 2, 200, 8);
}

static void labels_stay_between_the_ends_or_are_left_out(void **state)
{
    (void)state;
    struct labels l = {.n = 0};
    for (int i = 0; i < LABELS_MAX + 5; i++)
        labels_add(&l, i % 2 ? 348 : 78, INK_TEXT, "label", NULL, NULL);
    assert_int_equal(l.n, LABELS_MAX);
    labels_place(&l, 78, 348);
    assert_true(l.n >= 18 && l.n <= 19);
    for (size_t i = 0; i < l.n; i++) {
        assert_true(l.items[i].at >= 78 + LABEL_HEIGHT / 2.0 - 1e-9);
        assert_true(l.items[i].at <= 348 - LABEL_HEIGHT / 2.0 + 1e-9);
        assert_true(i == 0 || l.items[i].at - l.items[i - 1].at >= LABEL_HEIGHT - 1e-9);
    }
}

static void a_label_alone_stays_where_its_line_ends(void **state)
{
    (void)state;
    struct labels l = {.n = 0};
    labels_add(&l, 200, INK_TEXT, "alone", NULL, NULL);
    labels_add(&l, NAN, INK_TEXT, "nowhere", NULL, NULL);
    labels_place(&l, 78, 348);
    assert_int_equal(l.n, 1);
    assert_float_equal(l.items[0].at, 200, 1e-9);
}

static void inks_keep_their_contrast_on_page_and_panel(void **state)
{
    (void)state;
    assert_float_equal(palette_contrast(0x000000, 0xFFFFFF), 21, 1e-9);
    for (int theme = 0; theme < THEME_COUNT; theme++)
        for (int ink = 0; ink < INK_COUNT; ink++) {
            if (!palette_must_contrast((enum ink)ink))
                continue;
            uint32_t rgb = palette_rgb((enum ink)ink, (enum theme)theme);
            for (int ground = INK_PAGE; ground <= INK_PANEL; ground++) {
                double ratio = palette_contrast(rgb, palette_rgb((enum ink)ground, (enum theme)theme));
                if (ratio < 4.5)
                    fail_msg("%s on %s in theme %d: %.2f", palette_name((enum ink)ink),
                             palette_name((enum ink)ground), theme, ratio);
            }
        }
    assert_true(palette_must_contrast(INK_TEXT) && palette_must_contrast(INK_OOM));
}

static bool latin(const void *font, uint32_t code)
{
    (void)font;
    return code < 0x250;
}

static void check_visible(const char *in, size_t n, const char *expected)
{
    char out[64];
    size_t len = text_visible(out, sizeof out, (struct str){in, n}, latin, NULL);
    assert_string_equal(out, expected);
    assert_int_equal(len, strlen(expected));
}

static void bytes_that_cannot_be_drawn_are_spelt_out(void **state)
{
    (void)state;
    check_visible("plain", 5, "plain");
    check_visible("\x1b[31m", 5, "\\u001B[31m");
    check_visible("a\0b\n", 4, "a\\u0000b\\u000A");
    check_visible("\xff\xc3", 2, "\\xFF\\xC3");
    check_visible("\xe2\x80\xae"
                  "abc",
                  6, "\\u202Eabc");
    check_visible("\xe6\x97\xa5", 3, "\\u65E5");
    check_visible("\xf0\x9f\x98\x80", 4, "\\U0001F600");
    check_visible("\xc3\xa9", 2, "\xc3\xa9");
}

static void visible_text_is_cut_between_characters(void **state)
{
    (void)state;
    char out[8];
    assert_int_equal(text_visible(out, sizeof out, STR_LIT("abcdefghij"), latin, NULL), 7);
    assert_string_equal(out, "abcdefg");
    assert_int_equal(text_visible(out, sizeof out,
                                  STR_LIT("abc\xff"
                                          "def"),
                                  latin, NULL),
                     7);
    assert_string_equal(out, "abc\\xFF");
    assert_int_equal(text_visible(out, sizeof out,
                                  STR_LIT("abcd\xff"
                                          "def"),
                                  latin, NULL),
                     4);
    assert_string_equal(out, "abcd");
}

static void text_too_wide_ends_in_an_ellipsis_within_its_width(void **state)
{
    struct fixture *f = *state;
    char *long_text = malloc(1 << 20);
    memset(long_text, 'W', (1 << 20) - 1);
    long_text[(1 << 20) - 1] = '\0';
    double width = canvas_text(&f->canvas, 0, 0, ANCHOR_LEFT, 12, INK_TEXT, 150, long_text);
    free(long_text);
    assert_true(width > 130 && width <= 150);
    const char *shown = f->canvas.items[f->canvas.n - 1].text;
    assert_string_equal(shown + strlen(shown) - 3, "\xE2\x80\xA6");
}

static void paragraph_breaks_at_spaces_and_cuts_its_last_line(void **state)
{
    struct fixture *f = *state;
    size_t lines =
        canvas_paragraph(&f->canvas, 0, 0, 20, 28, INK_TEXT, 200, 3,
                         "one two three four five six seven eight nine ten eleven twelve thirteen");
    assert_int_equal(lines, 3);
    assert_string_equal(f->canvas.items[0].text, "one two three four");
    for (size_t i = 0; i < f->canvas.n; i++)
        assert_true(f->canvas.items[i].width <= 200);
    assert_non_null(strstr(f->canvas.items[2].text, "\xE2\x80\xA6"));
    assert_int_equal(canvas_paragraph(&f->canvas, 0, 0, 20, 28, INK_TEXT, 5, 3, "unbreakable"), 1);
}

#define WITH_FRAME(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FRAME(bytes_axis_has_one_unit_and_names_it_once),
        WITH_FRAME(steps_have_no_separators),
        WITH_FRAME(time_axis_counts_from_its_first_record),
        WITH_FRAME(tick_labels_of_huge_steps_do_not_touch),
        WITH_FRAME(one_value_is_still_an_axis),
        cmocka_unit_test(labels_at_one_place_are_pushed_apart),
        cmocka_unit_test(labels_stay_between_the_ends_or_are_left_out),
        cmocka_unit_test(a_label_alone_stays_where_its_line_ends),
        cmocka_unit_test(inks_keep_their_contrast_on_page_and_panel),
        cmocka_unit_test(bytes_that_cannot_be_drawn_are_spelt_out),
        cmocka_unit_test(visible_text_is_cut_between_characters),
        WITH_FRAME(text_too_wide_ends_in_an_ellipsis_within_its_width),
        WITH_FRAME(paragraph_breaks_at_spaces_and_cuts_its_last_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

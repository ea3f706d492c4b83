#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/diag.h"
#include "base/embed.h"
#include "base/str.h"
#include "base/utf8.h"
#include <stdlib.h>

static void natural_order_puts_rank2_before_rank10(void **state)
{
    (void)state;
    assert_true(str_cmp_natural(STR_LIT("rank2"), STR_LIT("rank10")) < 0);
    assert_true(str_cmp_natural(STR_LIT("rank10"), STR_LIT("rank2")) > 0);
    assert_true(str_cmp_natural(STR_LIT("a1b2"), STR_LIT("a1b2")) == 0);
    assert_true(str_cmp_natural(STR_LIT("a"), STR_LIT("a0")) < 0);
    assert_true(str_cmp_natural(STR_LIT("01"), STR_LIT("1")) != 0);
    assert_true(str_cmp_natural(STR_LIT("x99999999999999999999998"), STR_LIT("x99999999999999999999999")) <
                0);
}

static void find_gives_the_first_occurrence_or_none(void **state)
{
    (void)state;
    assert_int_equal(str_find(STR_LIT("aaab"), STR_LIT("ab")), 2);
    assert_true(str_find(STR_LIT("abc"), STR_LIT("cd")) == (size_t)-1);
    assert_int_equal(str_find(STR_LIT("abc"), STR_LIT("")), 0);
    assert_true(str_find(STR_LIT(""), STR_LIT("a")) == (size_t)-1);
}

static void trim_takes_white_space_from_both_ends_only(void **state)
{
    (void)state;
    assert_true(str_is(str_trim(STR_LIT(" \ta b\r\n")), "a b"));
    assert_int_equal(str_trim(STR_LIT("  ")).n, 0);
    assert_int_equal(str_trim((struct str){"\0 ", 2}).n, 1);
}

static void arena_memory_is_zeroed_aligned_and_of_any_size(void **state)
{
    (void)state;
    struct arena a = {0};
    for (size_t n = 0; n < 3000; n += 37) {
        unsigned char *p = arena_alloc(&a, n);
        assert_int_equal((uintptr_t)p % 16, 0);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(p[i], 0);
        memset(p, 0xA5, n);
    }
    assert_string_equal(arena_printf(&a, "%d-%s", 7, "x"), "7-x");
    char long_text[1000];
    memset(long_text, 'y', 999);
    long_text[999] = '\0';
    assert_string_equal(arena_printf(&a, "%s", long_text), long_text);
    arena_release(&a);
}

static void a_buf_keeps_a_nul_behind_its_bytes(void **state)
{
    (void)state;
    struct buf b = {0};
    for (int i = 0; i < 1000; i++) {
        buf_putc(&b, 'a');
        assert_int_equal(b.p[b.n], '\0');
    }
    buf_printf(&b, "%05d", 42);
    assert_int_equal(b.n, 1005);
    assert_string_equal(b.p + 1000, "00042");
    buf_release(&b);
}

static void utf8_accepts_only_well_formed_sequences(void **state)
{
    (void)state;
    assert_true(utf8_valid(STR_LIT("a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80")));
    assert_false(utf8_valid(STR_LIT("\xC0\x80")));         /* overlong */
    assert_false(utf8_valid(STR_LIT("\xED\xA0\x80")));     /* surrogate */
    assert_false(utf8_valid(STR_LIT("\xF4\x90\x80\x80"))); /* above U+10FFFF */
    assert_false(utf8_valid(STR_LIT("\xE2\x82")));         /* cut off */
    assert_false(utf8_valid(STR_LIT("\x80")));
}

static void control_bytes_are_made_visible(void **state)
{
    (void)state;
    struct buf b = {0};
    utf8_put_visible(&b, (struct str){"a\x1B[31m\0\xFF\xC2\x9B\xC3\xA9", 12});
    assert_string_equal(b.p, "a\\x1B[31m\\x00\\xFF\\xC2\\x9B\xC3\xA9");
    buf_clear(&b);
    utf8_put_visible(&b, STR_LIT("x\xE2\x80\xAEyz")); /* right to left from here on */
    assert_string_equal(b.p, "x\\xE2\\x80\\xAEyz");
    buf_release(&b);
}

static void of_one_kind_five_diagnostics_are_kept_and_the_rest_counted(void **state)
{
    (void)state;
    struct diag d;
    diag_init(&d);
    for (unsigned i = 1; i <= 317; i++)
        diag_add(&d, DIAG_BAD_JSON, (struct place){"x.jsonl", i, 3}, "bad %u", i);
    diag_add(&d, DIAG_RESTART, (struct place){"x.jsonl", 9, 0}, "a note");
    assert_int_equal(d.n, 6);
    assert_int_equal(diag_errors(&d), 317);
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    diag_print(&d, f, DIAG_WARNING);
    fclose(f);
    assert_non_null(strstr(text, "x.jsonl:1:3: error: bad 1 [bad-json]\n"));
    assert_non_null(strstr(text, "x.jsonl: error: 312 more of this kind [bad-json]\n"));
    assert_null(strstr(text, "bad 6"));
    assert_null(strstr(text, "a note"));
    free(text);
    diag_release(&d);
}

static void a_long_text_is_cut_between_characters(void **state)
{
    (void)state;
    struct diag d;
    struct buf b = {0};
    diag_init(&d);
    for (int i = 0; i < 400; i++)
        buf_puts(&b, "\xE2\x82\xAC");
    diag_add(&d, DIAG_BAD_JSON, (struct place){"a", 1, 0}, "x%s", b.p);
    assert_null(strchr(d.items[0].text, '\\'));
    assert_string_equal(d.items[0].text + strlen(d.items[0].text) - 6, "\xE2\x82\xAC...");
    buf_release(&b);
    diag_release(&d);
}

static void a_hostile_text_cannot_reach_the_terminal(void **state)
{
    (void)state;
    struct diag d;
    diag_init(&d);
    diag_add(&d, DIAG_BAD_JSON, (struct place){"a\nb", 1, 0}, "found \"%s\"", "\x1B]0;x\x07");
    assert_string_equal(d.items[0].text, "found \"\\x1B]0;x\\x07\"");
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    diag_print(&d, f, DIAG_NOTE);
    fclose(f);
    assert_string_equal(text, "a\\x0Ab:1: error: found \"\\x1B]0;x\\x07\" [bad-json]\n");
    free(text);
    diag_release(&d);
}

static void embedded_files_are_found_by_name(void **state)
{
    (void)state;
    for (size_t i = 1; i < embed_count; i++)
        assert_true(strcmp(embed_table[i - 1].name, embed_table[i].name) < 0);
    assert_true(embed_find("font.ttf").n > 1000);
    assert_null(embed_find("no such file").p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(natural_order_puts_rank2_before_rank10),
        cmocka_unit_test(find_gives_the_first_occurrence_or_none),
        cmocka_unit_test(trim_takes_white_space_from_both_ends_only),
        cmocka_unit_test(arena_memory_is_zeroed_aligned_and_of_any_size),
        cmocka_unit_test(a_buf_keeps_a_nul_behind_its_bytes),
        cmocka_unit_test(utf8_accepts_only_well_formed_sequences),
        cmocka_unit_test(control_bytes_are_made_visible),
        cmocka_unit_test(of_one_kind_five_diagnostics_are_kept_and_the_rest_counted),
        cmocka_unit_test(a_long_text_is_cut_between_characters),
        cmocka_unit_test(a_hostile_text_cannot_reach_the_terminal),
        cmocka_unit_test(embedded_files_are_found_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

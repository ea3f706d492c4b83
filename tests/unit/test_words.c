#include "report/words.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void assert_short(const char *text, size_t n, const char *expected)
{
    struct arena a = {0};
    assert_string_equal(words_short(&a, text, n), expected);
    arena_release(&a);
}

static void what_is_not_longer_stays(void **state)
{
    (void)state;
    assert_short("rank 3", 6, "rank 3");
    assert_short("", 3, "");
}

static void a_sentence_is_cut_behind_a_whole_word(void **state)
{
    (void)state;
    assert_short("the largest peak (22.6 GiB), growth taken out", 33,
                 "the largest peak (22.6 GiB)\xE2\x80\xA6");
    assert_short("the largest peak (22.6 GiB), growth", 18, "the largest peak\xE2\x80\xA6");
    assert_short("one two three", 7, "one two\xE2\x80\xA6");
}

static void a_long_word_is_cut_within_it(void **state)
{
    (void)state;
    assert_short("summarise-finetune-7b-seed-3", 9, "summarise\xE2\x80\xA6");
    assert_short("a summarise-finetune-7b-seed-3", 11, "a summarise\xE2\x80\xA6");
}

static void characters_count_not_bytes(void **state)
{
    (void)state;
    assert_short("\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9", 3, "\xC3\xA9\xC3\xA9\xC3\xA9\xE2\x80\xA6");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_not_longer_stays),
        cmocka_unit_test(a_sentence_is_cut_behind_a_whole_word),
        cmocka_unit_test(a_long_word_is_cut_within_it),
        cmocka_unit_test(characters_count_not_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

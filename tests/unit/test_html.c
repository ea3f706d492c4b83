#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/utf8.h"
#include "report/escape.h"
#include "report/html.h"
#include "report/page.h"
#include "report_cases.h"

static void escapes_to(void (*escape)(struct buf *, struct str), const char *in, size_t n,
                       const char *expected)
{
    struct buf b = {0};

    escape(&b, (struct str){in, n});
    assert_string_equal(b.p ? b.p : "", expected);
    buf_release(&b);
}

#define GIVES(escape, in, expected) escapes_to(escape, in, sizeof(in) - 1, expected)

static void markup_becomes_entities(void **state)
{
    (void)state;
    GIVES(html_escape, "a<b>&\"'", "a&lt;b&gt;&amp;&quot;&#39;");
    GIVES(html_escape, "", "");
    GIVES(html_escape,
          "gr\xC3\xB6\xC3\x9F"
          "e \xE2\x82\xAC \xF0\x9F\x98\x80",
          "gr\xC3\xB6\xC3\x9F"
          "e \xE2\x82\xAC \xF0\x9F\x98\x80");
}

static void control_characters_are_shown_in_html(void **state)
{
    (void)state;
    GIVES(html_escape, "a\0b\x1b[0m\x7f", "a\\x00b\\x1b[0m\\x7f");
    GIVES(html_escape, "a\tb\nc", "a\tb\nc");
    GIVES(html_escape, "\r", "\\x0d");
    GIVES(html_escape, "\xC2\x85", "\\u{85}");
}

static void bytes_that_are_no_utf8_are_shown_in_html(void **state)
{
    (void)state;
    GIVES(html_escape, "\xff<\xc3", "\\xff&lt;\\xc3");
    GIVES(html_escape, "\xC0\xBC", "\\xc0\\xbc");          /* overlong < */
    GIVES(html_escape, "\xED\xA0\x80", "\\xed\\xa0\\x80"); /* surrogate */
}

static void text_that_would_run_backwards_is_shown_in_html(void **state)
{
    (void)state;
    GIVES(html_escape, "\xE2\x80\xAE", "\\u{202e}");
    GIVES(html_escape, "\xEF\xBF\xBE", "\\u{fffe}");
    GIVES(html_escape, "a\xE2\x80\x8B", "a\\u{200b}");
}

static void json_strings_read_back(void **state)
{
    (void)state;
    GIVES(escape_json, "a\"\\\n\t\x01", "\"a\\\"\\\\\\n\\t\\u0001\"");
    GIVES(escape_json, "</script>", "\"\\u003c/script>\"");
    GIVES(escape_json, "\xff", "\"\xEF\xBF\xBD\"");
}

static void markdown_cannot_begin(void **state)
{
    (void)state;
    GIVES(escape_markdown, "*a* _b_ `c` [d](e) ~f~ |", "\\*a\\* \\_b\\_ \\`c\\` \\[d\\](e) \\~f\\~ \\|");
    GIVES(escape_markdown, "<b>&amp;", "&lt;b&gt;&amp;amp;");
    GIVES(escape_markdown, "@team", "@\xE2\x80\x8Bteam");
    GIVES(escape_markdown, "#7",
          "\\#\xE2\x80\x8B"
          "7");
    GIVES(escape_markdown, "http://x", "http:\xE2\x80\x8B//x");
    GIVES(escape_markdown, "a\nb\x1b", "a b\\\\x1b");
    GIVES(escape_markdown, "3.1 GiB (95 %)", "3.1 GiB (95 %)");
}

static void a_code_span_cannot_be_left(void **state)
{
    (void)state;
    GIVES(escape_markdown_code, "a`b`", "`a'b'`");
    GIVES(escape_markdown_code, "a|b",
          "`a\xC2\xA6"
          "b`");
    GIVES(escape_markdown_code, "", "");
}

static void a_terminal_gets_printable_ascii(void **state)
{
    struct buf b = {0}, in = {0};

    (void)state;
    for (int c = 0; c < 256; c++)
        buf_putc(&in, (char)c);
    for (uint32_t cp = 0x80; cp < 0x3000; cp += 7)
        utf8_put(&in, cp);
    escape_ascii(&b, buf_view(&in));
    for (size_t i = 0; i < b.n; i++)
        assert_in_range((unsigned char)b.p[i], 0x20, 0x7E);
    GIVES(escape_ascii, "3 \xC3\x97 4 \xE2\x80\x93 5", "3 x 4 - 5");
    buf_release(&b);
    buf_release(&in);
}

/* --- the page ------------------------------------------------------------------------ */

static void page_of(struct buf *out, struct report_case *c, enum page_form form)
{
    struct diag d;

    diag_init(&d);
    assert_int_equal(page_render(out, form, &c->content, &c->settings, &d), 0);
    assert_int_equal(d.n, 0);
    diag_release(&d);
}

static size_t count(const char *text, const char *what)
{
    size_t n = 0;

    for (const char *p = text; (p = strstr(p, what)) != NULL; p++)
        n++;
    return n;
}

static void every_case_gives_both_pages(void **state)
{
    (void)state;
    for (int kind = 0; kind < CASE_COUNT; kind++) {
        struct report_case c;

        case_fill(&c, (enum case_kind)kind);
        for (int form = PAGE_LINKED; form <= PAGE_SINGLE; form++) {
            struct buf out = {0};

            page_of(&out, &c, (enum page_form)form);
            assert_int_equal(count(out.p, "<h1"), 1);
            assert_int_equal(count(out.p, "<title>"), 1);
            assert_int_equal(count(out.p, "<table"), count(out.p, "<caption>"));
            assert_int_equal(count(out.p, "<th>"), 0);
            assert_int_equal(count(out.p, "{{"), kind == CASE_HOSTILE ? count(out.p, "{{title}}") : 0);
            buf_release(&out);
        }
        case_release(&c);
    }
}

static void the_linked_page_obeys_a_strict_policy(void **state)
{
    static const char *const forbidden[] = {
        "<script", "<style", " style=", "data:", "src=\"http", "href=\"http", "target="};

    (void)state;
    for (int kind = 0; kind < CASE_COUNT; kind++) {
        struct report_case c;
        struct buf out = {0};

        case_fill(&c, (enum case_kind)kind);
        page_of(&out, &c, PAGE_LINKED);
        for (size_t i = 0; i < sizeof forbidden / sizeof forbidden[0]; i++)
            assert_null(strstr(out.p, forbidden[i]));
        buf_release(&out);
        case_release(&c);
    }
}

static void the_single_page_links_to_no_file(void **state)
{
    struct report_case c;
    struct buf out = {0};

    (void)state;
    case_fill(&c, CASE_LEAK_SEEDS);
    page_of(&out, &c, PAGE_SINGLE);
    assert_null(strstr(out.p, "<link"));
    assert_int_equal(count(out.p, "href="), count(out.p, "href=\"#"));
    assert_non_null(strstr(out.p, "<style>"));
    assert_non_null(strstr(out.p, "prefers-color-scheme"));
    buf_release(&out);
    case_release(&c);
}

static void hostile_text_stays_text_on_the_page(void **state)
{
    struct report_case c;
    struct buf out = {0};

    (void)state;
    case_fill(&c, CASE_HOSTILE);
    page_of(&out, &c, PAGE_LINKED);
    assert_true(count(out.p, "&lt;script&gt;alert(1)") >= 8);
    assert_null(strchr(out.p, 0x1b));
    assert_null(strstr(out.p, "\xE2\x80\xAE"));
    assert_true(utf8_valid(buf_view(&out)));
    buf_release(&out);
    case_release(&c);
}

static void a_section_without_data_is_named_as_not_tested(void **state)
{
    struct report_case c;
    struct buf out = {0};

    (void)state;
    case_fill(&c, CASE_LEAK);
    page_of(&out, &c, PAGE_LINKED);
    assert_null(strstr(out.p, "<h2 id=\"seeds\""));
    assert_non_null(strstr(out.p, "<b>Repeatability across seeds</b>"));
    assert_non_null(strstr(out.p, "<b>Where in the step memory rises</b>"));
    buf_release(&out);
    case_release(&c);
}

static void the_title_says_it_all(void **state)
{
    struct report_case c;
    struct buf out = {0};

    (void)state;
    case_fill(&c, CASE_LEAK_SEEDS);
    page_of(&out, &c, PAGE_LINKED);
    assert_non_null(strstr(out.p, "<title>LEAK (likely) - OOM at step 607 - llama-8b-sft</title>"));
    assert_non_null(strstr(out.p, "5 of 5 seeds (95 % one-sided lower bound 55 %)"));
    buf_release(&out);
    case_release(&c);
}

static void same_input_gives_same_page(void **state)
{
    struct report_case c, again;
    struct buf a = {0}, b = {0};

    (void)state;
    case_fill(&c, CASE_RANKS);
    case_fill(&again, CASE_RANKS);
    page_of(&a, &c, PAGE_LINKED);
    page_of(&b, &again, PAGE_LINKED);
    assert_string_equal(a.p, b.p);
    buf_release(&a);
    buf_release(&b);
    case_release(&c);
    case_release(&again);
}

static void every_link_within_the_page_leads_somewhere(void **state)
{
    (void)state;
    for (int kind = 0; kind < CASE_COUNT; kind++) {
        struct report_case c;
        struct buf out = {0};

        case_fill(&c, (enum case_kind)kind);
        page_of(&out, &c, PAGE_LINKED);
        for (const char *p = out.p; (p = strstr(p, "href=\"#")) != NULL; p++) {
            char id[64];
            snprintf(id, sizeof id, "id=\"%.*s\"", (int)strcspn(p + 7, "\""), p + 7);
            if (!strstr(out.p, id))
                fail_msg("%s: no %s", case_names[kind], id);
        }
        buf_release(&out);
        case_release(&c);
    }
}

static void with_ranks_the_tests_are_an_appendix_that_follows_them(void **state)
{
    (void)state;
    struct report_case c;
    struct buf out = {0};

    case_fill(&c, CASE_RANKS);
    page_of(&out, &c, PAGE_LINKED);
    const char *ranks = strstr(out.p, "id=\"ranks-title\""), *appendix = strstr(out.p, "id=\"appendix\"");
    assert_true(ranks && appendix && strstr(out.p, "id=\"why-title\"") > appendix && ranks < appendix);
    buf_release(&out);
    case_release(&c);
    case_fill(&c, CASE_OK);
    page_of(&out, &c, PAGE_LINKED);
    assert_null(strstr(out.p, "id=\"appendix\""));
    buf_release(&out);
    case_release(&c);
}

static void the_frontier_meets_the_room_at_each_batch_size(void **state)
{
    (void)state;
    struct report_case c;
    struct buf out = {0};

    case_fill(&c, CASE_PEAK);
    struct peak_figures *f = &c.analysis.runs[c.analysis.lead].peak;
    f->law.base_bytes = 10 * CASE_GIB;
    f->law.per_token_bytes = CASE_MIB;
    f->law.per_batch_len2_bytes = CASE_MIB / 1000;
    f->safe_at_len = 2000;
    f->safe_room_bytes =
        10 * CASE_GIB + 8 * (1000 + 1000) * CASE_MIB; /* 1000^2 / 1000 is the quadratic part */
    page_of(&out, &c, PAGE_LINKED);
    const char *table = strstr(out.p, "id=\"frontier\"");
    assert_non_null(table);
    assert_non_null(strstr(
        table, "<th scope=\"row\" class=\"n\">8</th><td class=\"n\">1000</td><td class=\"mut\"></td>"));
    assert_non_null(strstr(table, "class=\"n\">1</th><td class=\"n\">3531</td><td class=\"mut\">longer"));
    buf_clear(&out);
    f->safe_room_bytes = 0;
    page_of(&out, &c, PAGE_LINKED);
    assert_null(strstr(out.p, "id=\"frontier\""));
    buf_release(&out);
    case_release(&c);
}

static void bounds_are_those_of_the_tables(void **state)
{
    (void)state;
    assert_true(fabs(lower_bound_95(5, 5) - 0.5493) < 1e-4);   /* 0.05^(1/5) */
    assert_true(fabs(lower_bound_95(9, 10) - 0.6058) < 1e-4);  /* Clopper and Pearson's table */
    assert_true(fabs(lower_bound_95(1, 5) - 0.010206) < 1e-5); /* 1 - 0.95^(1/5) */
    assert_true(lower_bound_95(0, 5) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(markup_becomes_entities),
        cmocka_unit_test(control_characters_are_shown_in_html),
        cmocka_unit_test(bytes_that_are_no_utf8_are_shown_in_html),
        cmocka_unit_test(text_that_would_run_backwards_is_shown_in_html),
        cmocka_unit_test(json_strings_read_back),
        cmocka_unit_test(markdown_cannot_begin),
        cmocka_unit_test(a_code_span_cannot_be_left),
        cmocka_unit_test(a_terminal_gets_printable_ascii),
        cmocka_unit_test(every_case_gives_both_pages),
        cmocka_unit_test(the_linked_page_obeys_a_strict_policy),
        cmocka_unit_test(the_single_page_links_to_no_file),
        cmocka_unit_test(hostile_text_stays_text_on_the_page),
        cmocka_unit_test(a_section_without_data_is_named_as_not_tested),
        cmocka_unit_test(the_title_says_it_all),
        cmocka_unit_test(same_input_gives_same_page),
        cmocka_unit_test(every_link_within_the_page_leads_somewhere),
        cmocka_unit_test(with_ranks_the_tests_are_an_appendix_that_follows_them),
        cmocka_unit_test(the_frontier_meets_the_room_at_each_batch_size),
        cmocka_unit_test(bounds_are_those_of_the_tables),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

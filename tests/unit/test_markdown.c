#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/utf8.h"
#include "report/facts.h"
#include "report/rich.h"
#include "report/summary.h"
#include "report_cases.h"

static void summary(struct buf *out, enum case_kind kind, const char *format)
{
    struct report_case c;

    case_fill(&c, kind);
    assert_int_equal(report_render(out, format, &c.content, &c.settings), 0);
    case_release(&c);
}

static void markdown_begins_with_the_finding(void **state)
{
    struct buf b = {0};

    (void)state;
    summary(&b, CASE_LEAK_SEEDS, "md");
    assert_true(str_starts(buf_view(&b),
                           STR_LIT("### OOM report: leak, likely (llama-8b-sft)\n\nMemory after each step")));
    assert_non_null(strstr(b.p, "**3.1 MiB/step** in **5 of 5 seeds**"));
    assert_non_null(strstr(b.p, "**Try first:** Append `loss.item()` instead"));
    assert_non_null(strstr(b.p, "\n<!-- oomreport:llama_8b_sft -->\n"));
    assert_true(b.n < 8192);
    buf_release(&b);
}

static void markdown_details_are_balanced_in_every_case(void **state)
{
    (void)state;
    for (int kind = 0; kind < CASE_COUNT; kind++) {
        struct buf b = {0};
        int open = 0;

        summary(&b, (enum case_kind)kind, "md");
        for (const char *p = b.p; *p; p++) {
            open += strncmp(p, "<details>", 9) == 0;
            open -= strncmp(p, "</details>", 10) == 0;
            assert_in_range(open, 0, 1);
        }
        assert_int_equal(open, 0);
        buf_release(&b);
    }
}

static void hostile_text_is_inert_in_markdown(void **state)
{
    struct buf b = {0};

    (void)state;
    summary(&b, CASE_HOSTILE, "md");
    assert_null(strstr(b.p, "<script"));
    assert_null(strstr(b.p, "@team"));
    for (const char *p = b.p; (p = strstr(p, "](")) != NULL; p++)
        assert_int_equal(p[-1], '\\');
    assert_null(strstr(b.p, "http://"));
    assert_null(strchr(b.p, 0x1b));
    assert_true(utf8_valid(buf_view(&b)));
    buf_release(&b);
}

static void every_row_of_a_markdown_table_has_the_cells_of_its_head(void **state)
{
    struct buf b = {0};
    int cells = 0, in_table = 0;

    (void)state;
    summary(&b, CASE_HOSTILE, "md");
    for (char *line = b.p, *end; *line; line = end + 1) {
        int n = 0;

        end = strchr(line, '\n');
        assert_non_null(end);
        for (char *p = line; p < end; p++)
            n += *p == '|' && (p == line || p[-1] != '\\');
        if (*line == '|' && in_table)
            assert_int_equal(n, cells);
        in_table = *line == '|';
        cells = n;
    }
    buf_release(&b);
}

static void text_is_ascii_of_at_most_80_columns(void **state)
{
    (void)state;
    for (int kind = 0; kind < CASE_COUNT; kind++) {
        struct buf b = {0};
        size_t column = 0;

        summary(&b, (enum case_kind)kind, "txt");
        assert_true(b.n > 0 && b.n < 4096);
        for (size_t i = 0; i < b.n; i++) {
            if (b.p[i] == '\n') {
                column = 0;
                continue;
            }
            assert_in_range((unsigned char)b.p[i], 0x20, 0x7E);
            assert_true(++column <= TEXT_COLUMNS);
        }
        buf_release(&b);
    }
}

static void another_format_is_refused(void **state)
{
    struct report_case c;
    struct buf b = {0};

    (void)state;
    case_fill(&c, CASE_OK);
    assert_int_equal(report_render(&b, "pdf", &c.content, &c.settings), -1);
    buf_release(&b);
    case_release(&c);
}

static void parts_are(const char *text, const char *expected)
{
    static const char marks[] = "_*`";
    struct buf b = {0};
    struct str rest = str_of(text), part;
    enum rich_kind kind = RICH_PLAIN;

    for (bool begins = true; rich_next(&part, &kind, &rest, begins); begins = kind == RICH_PLAIN) {
        buf_putc(&b, marks[kind]);
        buf_str(&b, part);
    }
    assert_string_equal(b.p ? b.p : "", expected);
    buf_release(&b);
}

static void figures_are_strong_and_names_of_code_are_code(void **state)
{
    (void)state;
    parts_are("rose 3.1 MiB/step in 5 of 5 seeds.", "_rose *3.1 MiB/step_ in *5 of 5 seeds_.");
    parts_are("use loss.item() (train.py:212), or set A_B=1.",
              "_use `loss.item()_ (`train.py:212_), or set `A_B=1_.");
    parts_are("step 12 of a run", "_step 12 of a run");
    parts_are("95 GiB", "*95 GiB");
    parts_are("GiB 12", "_GiB 12");
    parts_are("", "");
    parts_are("at 10:30 it is late", "_at 10:30 it is late");
}

static void the_batch_that_fails_twice_is_counted(void **state)
{
    struct report_case c;

    (void)state;
    case_fill(&c, CASE_LEAK_SEEDS);
    assert_int_equal(facts_same_batch(&c.analysis), 1);
    c.analysis.runs[1].failure.batch_ids = c.analysis.runs[3].failure.batch_ids =
        c.analysis.runs[0].failure.batch_ids;
    assert_int_equal(facts_same_batch(&c.analysis), 3);
    static const char *shared[] = {"sample-17"};
    c.analysis.cross.shared_ids = shared;
    c.analysis.cross.n_shared_ids = 1;
    assert_int_equal(facts_same_batch(&c.analysis), 5);
    for (size_t i = 0; i < 5; i++) { /* no batch is logged */
        struct failure *f = &c.analysis.runs[i].failure;
        f->batch_ids = NULL;
        f->batch_size = f->max_len = f->tokens = f->height = f->width = NAN;
    }
    c.analysis.cross.by = BY_SHAPE;
    assert_int_equal(facts_same_batch(&c.analysis), 0);
    case_release(&c);
}

static void labels_come_from_what_the_runs_share(void **state)
{
    struct report_case c;
    struct arena a = {0};

    (void)state;
    case_fill(&c, CASE_LEAK_SEEDS);
    assert_string_equal(facts_label(&a, &c.analysis, NULL), "llama-8b-sft");
    assert_string_equal(facts_label(&a, &c.analysis, "mine"), "mine");
    c.analysis.runs[2].run = "other";
    assert_string_equal(facts_label(&a, &c.analysis, NULL), "llama-8b-sft_seed1 +4 more");
    case_release(&c);
    arena_release(&a);
}

static void times_of_the_logs_are_utc(void **state)
{
    struct report_case c;
    struct arena a = {0};

    (void)state;
    case_fill(&c, CASE_LEAK);
    assert_string_equal(facts_times(&a, &c.analysis), "2026-11-28 01:12 to 01:32 UTC");
    case_release(&c);
    arena_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(markdown_begins_with_the_finding),
        cmocka_unit_test(markdown_details_are_balanced_in_every_case),
        cmocka_unit_test(hostile_text_is_inert_in_markdown),
        cmocka_unit_test(every_row_of_a_markdown_table_has_the_cells_of_its_head),
        cmocka_unit_test(text_is_ascii_of_at_most_80_columns),
        cmocka_unit_test(another_format_is_refused),
        cmocka_unit_test(figures_are_strong_and_names_of_code_are_code),
        cmocka_unit_test(the_batch_that_fails_twice_is_counted),
        cmocka_unit_test(labels_come_from_what_the_runs_share),
        cmocka_unit_test(times_of_the_logs_are_utc),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

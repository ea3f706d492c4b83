#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "report/template.h"

struct memory_files {
    struct {
        const char *name, *text;
        bool rendered;
    } file[8];
};

static bool find(void *context, const char *name, struct template_file *out)
{
    const struct memory_files *files = context;

    for (size_t i = 0; i < 8 && files->file[i].name; i++)
        if (strcmp(files->file[i].name, name) == 0) {
            *out = (struct template_file){str_of(files->file[i].text), name, files->file[i].rendered, NULL};
            return true;
        }
    return false;
}

struct fixture {
    struct arena a;
    struct tnode *root;
    struct template_set set;
    struct diag d;
    struct buf out;
};

static void begin(struct fixture *f, struct memory_files *files)
{
    *f = (struct fixture){0};
    arena_init(&f->a);
    diag_init(&f->d);
    f->root = tnode_new(&f->a);
    template_init(&f->set, (struct template_source){find, files});
}

static void end(struct fixture *f)
{
    template_release(&f->set);
    buf_release(&f->out);
    diag_release(&f->d);
    arena_release(&f->a);
}

static void rendering_gives(struct fixture *f, const char *expected)
{
    assert_int_equal(template_render(&f->set, &f->out, "main", f->root, &f->d), 0);
    assert_string_equal(f->out.p ? f->out.p : "", expected);
}

static void rendering_fails_at(struct fixture *f, const char *file, unsigned line, unsigned col,
                               const char *words)
{
    assert_int_equal(template_render(&f->set, &f->out, "main", f->root, &f->d), -1);
    assert_int_equal(f->d.n, 1);
    assert_int_equal(f->d.items[0].code, DIAG_BAD_TEMPLATE);
    assert_string_equal(f->d.items[0].at.file, file);
    assert_int_equal(f->d.items[0].at.line, line);
    assert_int_equal(f->d.items[0].at.col, col);
    assert_non_null(strstr(f->d.items[0].text, words));
}

static void values_are_escaped(void **state)
{
    struct memory_files files = {{{"main", "<p title=\"{{x}}\">{{ x }}</p>", false}}};
    struct fixture f;

    (void)state;
    begin(&f, &files);
    tnode_text(&f.a, f.root, "x", "<b a='1'>&\"");
    rendering_gives(&f,
                    "<p title=\"&lt;b a=&#39;1&#39;&gt;&amp;&quot;\">&lt;b a=&#39;1&#39;&gt;&amp;&quot;</p>");
    end(&f);
}

static void a_value_that_looks_like_a_tag_is_text(void **state)
{
    struct memory_files files = {{{"main", "{{x}}", false}}};
    struct fixture f;

    (void)state;
    begin(&f, &files);
    tnode_text(&f.a, f.root, "x", "{{>main}}{{y}}");
    rendering_gives(&f, "{{&gt;main}}{{y}}");
    end(&f);
}

static void there_is_no_raw_form(void **state)
{
    static const char *const forms[] = {"{{{x}}}", "{{&x}}", "{{!x}}", "{{=x}}", "{{}}", "{{x y}}", "{{X}}"};

    (void)state;
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        struct memory_files files = {{{"main", forms[i], false}}};
        struct fixture f;

        begin(&f, &files);
        tnode_text(&f.a, f.root, "x", "1");
        rendering_fails_at(&f, "main", 1, 1, "expected {{name}}");
        end(&f);
    }
}

static void a_list_repeats_and_sees_names_outside(void **state)
{
    struct memory_files files = {
        {{"main", "{{#rows}}[{{n}}{{unit}}]{{/rows}}{{#none}}never{{/none}}", false}}};
    struct fixture f;

    (void)state;
    begin(&f, &files);
    tnode_text(&f.a, f.root, "unit", "GiB");
    tnode_text(&f.a, tnode_item(&f.a, f.root, "rows"), "n", "1");
    struct tnode *second = tnode_item(&f.a, f.root, "rows");
    tnode_text(&f.a, second, "n", "2");
    tnode_text(&f.a, second, "unit", "MiB");
    rendering_gives(&f, "[1GiB][2MiB]");
    end(&f);
}

static void tags_alone_on_a_line_leave_no_line(void **state)
{
    struct memory_files files = {
        {{"main", "<ul>\n  {{#rows}}\n<li>{{n}}</li>\n  {{/rows}}\n{{>foot}}\n</ul>\n", false},
         {"foot", "<hr>\n", false}}};
    struct fixture f;

    (void)state;
    begin(&f, &files);
    tnode_text(&f.a, tnode_item(&f.a, f.root, "rows"), "n", "1");
    tnode_text(&f.a, tnode_item(&f.a, f.root, "rows"), "n", "2");
    rendering_gives(&f, "<ul>\n<li>1</li>\n<li>2</li>\n<hr>\n</ul>\n");
    end(&f);
}

static void an_include_sees_the_names_where_it_stands(void **state)
{
    struct memory_files files = {
        {{"main", "{{#rows}}{{>cell}}{{/rows}}", false}, {"cell", "<{{n}}>", false}}};
    struct fixture f;

    (void)state;
    begin(&f, &files);
    tnode_text(&f.a, tnode_item(&f.a, f.root, "rows"), "n", "7");
    rendering_gives(&f, "<7>");
    end(&f);
}

static void a_rendered_part_is_put_as_it_is(void **state)
{
    struct memory_files files = {{{"main", "<main>{{>part}}</main>", false}, {"part", "<b>{{x}}</b>", true}}};
    struct fixture f;

    (void)state;
    begin(&f, &files);
    rendering_gives(&f, "<main><b>{{x}}</b></main>");
    end(&f);
}

static void mistakes_are_told_with_their_place(void **state)
{
    static const struct {
        const char *text, *words;
        unsigned line, col;
    } mistakes[] = {{"a\n {{#rows}}", "not closed", 2, 2},
                    {"a\n{{/rows}}", "not opened", 2, 1},
                    {"{{#a}}\n{{#b}}\n{{/a}}", "expected {{/b}} for the list opened on line 2", 3, 1},
                    {"\n\nx {{name", "without }}", 3, 3},
                    {"{{na\nme}}", "without }}", 1, 1},
                    {"<p>{{typo}}</p>", "no text \"typo\"", 1, 4},
                    {"{{>gone}}", "no template \"gone\"", 1, 1}};

    (void)state;
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        struct memory_files files = {{{"main", mistakes[i].text, false}}};
        struct fixture f;

        begin(&f, &files);
        rendering_fails_at(&f, "main", mistakes[i].line, mistakes[i].col, mistakes[i].words);
        end(&f);
    }
}

static void a_mistake_in_an_include_names_that_file(void **state)
{
    struct memory_files files = {{{"main", "{{>part}}", false}, {"part", "\n{{nothing}}", false}}};
    struct fixture f;

    (void)state;
    begin(&f, &files);
    rendering_fails_at(&f, "part", 2, 1, "no text");
    end(&f);
}

static void a_file_that_includes_itself_ends(void **state)
{
    struct memory_files files = {{{"main", "x{{>main}}{{>main}}", false}}};
    struct fixture f;

    (void)state;
    begin(&f, &files);
    rendering_fails_at(&f, "main", 1, 2, "include each other");
    end(&f);
}

static void lists_within_themselves_end(void **state)
{
    struct buf text = {0};
    struct memory_files files = {{{"main", NULL, false}}};
    struct fixture f;

    (void)state;
    for (int i = 0; i < 30; i++) /* 10^30 turns */
        buf_puts(&text, "{{#a}}");
    for (int i = 0; i < 30; i++)
        buf_puts(&text, "{{/a}}");
    files.file[0].text = text.p;
    begin(&f, &files);
    for (int i = 0; i < 10; i++)
        tnode_item(&f.a, f.root, "a");
    assert_int_equal(template_render(&f.set, &f.out, "main", f.root, &f.d), -1);
    assert_non_null(strstr(f.d.items[0].text, "beyond all bounds"));
    end(&f);
    buf_release(&text);
}

static void nesting_is_bounded(void **state)
{
    struct buf text = {0};
    struct memory_files files = {{{"main", NULL, false}}};
    struct fixture f;

    (void)state;
    for (int i = 0; i < TEMPLATE_NESTING + 1; i++)
        buf_puts(&text, "{{#a}}");
    files.file[0].text = text.p;
    begin(&f, &files);
    rendering_fails_at(&f, "main", 1, TEMPLATE_NESTING * 6 + 1, "nested more than");
    end(&f);
    buf_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_escaped),
        cmocka_unit_test(a_value_that_looks_like_a_tag_is_text),
        cmocka_unit_test(there_is_no_raw_form),
        cmocka_unit_test(a_list_repeats_and_sees_names_outside),
        cmocka_unit_test(tags_alone_on_a_line_leave_no_line),
        cmocka_unit_test(an_include_sees_the_names_where_it_stands),
        cmocka_unit_test(a_rendered_part_is_put_as_it_is),
        cmocka_unit_test(mistakes_are_told_with_their_place),
        cmocka_unit_test(a_mistake_in_an_include_names_that_file),
        cmocka_unit_test(a_file_that_includes_itself_ends),
        cmocka_unit_test(lists_within_themselves_end),
        cmocka_unit_test(nesting_is_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/buf.h"
#include "read/source.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

/* All lines as "NUMBER.text|", or "NUMBER~text|" for one without a line end. */
static void lines_of(struct buf *out, struct source *s, struct diag *d)
{
    struct line l;
    while (source_line(s, &l, d)) {
        buf_printf(out, "%" PRIu64 "%s", l.number, l.ended ? "." : "~");
        buf_str(out, l.text);
        buf_putc(out, '|');
    }
}

static void assert_lines(struct str bytes, const char *lines, int code)
{
    struct diag d;
    struct buf out = {0};
    diag_init(&d);
    struct source *s = source_of_memory("f", bytes);
    lines_of(&out, s, &d);
    assert_string_equal(out.p ? out.p : "", lines);
    if (code < 0) {
        assert_int_equal(d.n, 0);
    } else {
        assert_int_equal(d.n, 1);
        assert_int_equal(d.items[0].code, code);
    }
    source_close(s);
    diag_release(&d);
    buf_release(&out);
}

static struct str gzip(struct buf *out, const char *text)
{
    z_stream z = {0};
    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    size_t start = out->n, room = deflateBound(&z, strlen(text));
    z.next_out = (Bytef *)buf_room(out, room);
    z.avail_out = (uInt)room;
    z.next_in = (Bytef *)(uintptr_t)text;
    z.avail_in = (uInt)strlen(text);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    out->n += room - z.avail_out;
    deflateEnd(&z);
    return (struct str){out->p + start, out->n - start};
}

static void lines_end_in_lf_or_crlf(void **state)
{
    (void)state;
    assert_lines(STR_LIT("a\nb\r\n\r\n\nc\r"), "1.a|2.b|3.|4.|5~c\r|", -1);
    assert_lines(STR_LIT("a\n"), "1.a|", -1);
    assert_lines(STR_LIT(""), "", -1);
}

static void byte_order_marks_are_no_part_of_lines(void **state)
{
    (void)state;
    assert_lines(STR_LIT("\xef\xbb\xbf"
                         "a\n\xef\xbb\xbf"
                         "b\n"),
                 "1.a|2.b|", -1);
}

static void utf16_is_transcoded_with_and_without_a_mark(void **state)
{
    (void)state;
    assert_lines(STR_LIT("\xff\xfes\0,\0\xe9\0\r\0\n\0=\xd8\0\xde"), "1.s,\xc3\xa9|2~\xf0\x9f\x98\x80|", -1);
    assert_lines(STR_LIT("\xfe\xff\0s\0,\0\xe9\0\n"), "1.s,\xc3\xa9|", -1);
    assert_lines(STR_LIT("s\0t\0e\0p\0,\0m\0\n\0"), "1.step,m|", -1);
    assert_lines(STR_LIT("\0s\0t\0e\0p\0,\0m\0\n"), "1.step,m|", -1);
    assert_lines(STR_LIT("\xff\xfe"
                         "a\0\x3d\xd8"
                         "b\0\n\0x"),
                 "1.a\xef\xbf\xbd"
                 "b|2~\xef\xbf\xbd|",
                 DIAG_BAD_ENCODING);
}

static void runs_of_nul_are_taken_out_with_one_note(void **state)
{
    (void)state;
    assert_lines(STR_LIT("abc\nd\0\0\0\0e\n\0\0f\n"), "1.abc|2.de|3.f|", DIAG_NUL_BYTES);
}

static void invalid_utf8_passes_as_it_is(void **state)
{
    (void)state;
    assert_lines(STR_LIT("a\xff\xc3(\n"), "1.a\xff\xc3(|", -1);
}

static void gzip_members_follow_each_other(void **state)
{
    (void)state;
    struct buf b = {0};
    gzip(&b, "a\nb");
    gzip(&b, "c\n");
    buf_put(&b, "\0\0\0", 3);
    assert_lines(buf_view(&b), "1.a|2.bc|", -1);
    buf_puts(&b, "tail");
    assert_lines(buf_view(&b), "1.a|2.bc|", DIAG_BAD_GZIP);
    buf_release(&b);
}

static void gzip_that_breaks_off_gives_what_was_there(void **state)
{
    (void)state;
    struct buf b = {0}, text = {0}, out = {0};
    for (int i = 0; i < 20000; i++)
        buf_printf(&text, "line %d\n", i * 7919 % 10007);
    gzip(&b, text.p);
    struct diag d;
    diag_init(&d);
    struct source *s = source_of_memory("f", (struct str){b.p, b.n / 2});
    lines_of(&out, s, &d);
    assert_true(source_cut_off(s));
    assert_false(source_failed(s));
    assert_true(out.n > 1000);
    assert_int_equal(d.n, 1);
    assert_int_equal(d.items[0].code, DIAG_BAD_GZIP);
    source_close(s);
    diag_release(&d);
    buf_release(&b);
    buf_release(&text);
    buf_release(&out);
}

static void damaged_gzip_is_no_input(void **state)
{
    (void)state;
    char name[] = "/tmp/oomreport_test_XXXXXX";
    int fd = mkstemp(name);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "\x1f\x8b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff", 12), 12);
    close(fd);
    struct diag d;
    diag_init(&d);
    assert_null(source_open(name, &d));
    assert_int_equal(d.n, 1);
    assert_int_equal(d.items[0].code, DIAG_BAD_GZIP);
    diag_release(&d);
    unlink(name);
}

static void a_missing_file_a_folder_and_an_empty_file_are_told(void **state)
{
    (void)state;
    struct diag d;
    diag_init(&d);
    assert_null(source_open("/nonexistent/run.jsonl", &d));
    assert_non_null(strstr(d.items[0].text, "No such file"));
    assert_null(source_open("/tmp", &d));
    assert_non_null(strstr(d.items[1].text, "directory"));
    assert_null(source_open("/dev/null", &d));
    assert_int_equal(d.items[2].code, DIAG_EMPTY_INPUT);
    assert_int_equal(d.n, 3);
    diag_release(&d);
}

static void long_lines_are_read_and_longer_ones_left_out(void **state)
{
    (void)state;
    struct buf b = {0};
    buf_puts(&b, "first\n");
    char *x = buf_room(&b, 1000000);
    memset(x, 'x', 1000000);
    b.n += 1000000;
    buf_putc(&b, '\n');
    x = buf_room(&b, SOURCE_LINE_MAX + 10);
    memset(x, 'y', SOURCE_LINE_MAX + 10);
    b.n += SOURCE_LINE_MAX + 10;
    buf_puts(&b, "\nlast\n");
    struct diag d;
    diag_init(&d);
    struct source *s = source_of_memory("f", buf_view(&b));
    struct line l;
    assert_true(source_line(s, &l, &d));
    assert_true(source_line(s, &l, &d));
    assert_int_equal(l.text.n, 1000000);
    assert_true(source_line(s, &l, &d));
    assert_true(str_is(l.text, "last"));
    assert_int_equal(l.number, 4);
    assert_int_equal(l.offset, b.n - 5);
    assert_false(source_line(s, &l, &d));
    assert_int_equal(d.n, 1);
    assert_int_equal(d.items[0].code, DIAG_LINE_TOO_LONG);
    assert_int_equal(d.items[0].at.line, 3);
    source_close(s);
    diag_release(&d);
    buf_release(&b);
}

static void joined_lines_can_be_taken_apart_again(void **state)
{
    (void)state;
    struct diag d;
    diag_init(&d);
    struct source *s = source_of_memory("f", STR_LIT("a\r\nb\nc"));
    struct line l;
    assert_true(source_line(s, &l, &d));
    assert_true(source_line_join(s, &l, 100, &d));
    assert_true(str_is(l.text, "a\r\nb"));
    assert_false(source_line_join(s, &l, 4, &d));
    assert_true(source_line_join(s, &l, 100, &d));
    assert_true(str_is(l.text, "a\r\nb\nc"));
    assert_false(l.ended);
    assert_false(source_line_join(s, &l, 100, &d));
    source_line_unjoin(s, &l);
    assert_true(str_is(l.text, "a"));
    assert_true(source_line(s, &l, &d));
    assert_true(str_is(l.text, "b"));
    assert_int_equal(l.number, 2);
    source_close(s);
    diag_release(&d);
}

static void the_head_is_looked_at_without_being_consumed(void **state)
{
    (void)state;
    struct buf b = {0}, out = {0};
    for (int i = 0; i < 100000; i++)
        buf_printf(&b, "%d\n", i);
    struct diag d;
    diag_init(&d);
    struct source *s = source_of_memory("f", buf_view(&b));
    assert_int_equal(source_head(s).n, SOURCE_HEAD);
    assert_memory_equal(source_head(s).p, b.p, SOURCE_HEAD);
    struct line l;
    uint64_t n = 0;
    bool right = true;
    while (source_line(s, &l, &d)) {
        right = right && strtoull(l.text.p, NULL, 10) == n && l.number == n + 1;
        n++;
    }
    assert_true(right);
    assert_int_equal(n, 100000);
    source_close(s);
    diag_release(&d);
    buf_release(&b);
    buf_release(&out);
}

/* A file is opened, then something happens to it, then it is read; what is said of that. */
static void change_while_read(void (*change)(const char *name, int fd), const char *word)
{
    char name[] = "/tmp/oomreport_test_XXXXXX";
    int fd = mkstemp(name);
    assert_true(fd >= 0);
    struct buf b = {0};
    for (int i = 0; i < 200000; i++)
        buf_printf(&b, "%d\n", i);
    assert_int_equal(write(fd, b.p, b.n), (ssize_t)b.n);
    struct diag d;
    diag_init(&d);
    struct source *s = source_open(name, &d);
    assert_non_null(s);
    assert_int_equal(source_size(s), b.n);
    change(name, fd);
    struct line l;
    while (source_line(s, &l, &d))
        ;
    assert_int_equal(d.n, 1);
    assert_int_equal(d.items[0].code, DIAG_CHANGED_WHILE_READ);
    assert_non_null(strstr(d.items[0].text, word));
    source_close(s);
    diag_release(&d);
    buf_release(&b);
    close(fd);
    unlink(name);
}

static void cut(const char *name, int fd)
{
    (void)name;
    assert_int_equal(ftruncate(fd, 300000), 0);
}

static void grow(const char *name, int fd)
{
    (void)name;
    assert_int_equal(write(fd, "more\n", 5), 5);
}

static void replace(const char *name, int fd)
{
    char other[64];
    (void)fd;
    snprintf(other, sizeof other, "%s.new", name);
    FILE *f = fopen(other, "w");
    assert_non_null(f);
    fputs("another log\n", f);
    fclose(f);
    assert_int_equal(rename(other, name), 0);
}

static void a_file_that_is_cut_off_grows_or_is_replaced_while_read_gives_a_diagnostic(void **state)
{
    (void)state;
    change_while_read(cut, "shorter");
    change_while_read(grow, "grew");
    change_while_read(replace, "replaced");
}

static void the_rest_is_given_in_one_piece_up_to_a_limit(void **state)
{
    (void)state;
    struct diag d;
    struct line l;
    diag_init(&d);
    struct source *s = source_of_memory("f", STR_LIT("a\nb\nc\n"));
    assert_true(source_line(s, &l, &d));
    assert_true(source_rest(s, &l, 100, &d));
    assert_true(str_is(l.text, "b\nc\n"));
    assert_int_equal(l.number, 2);
    source_close(s);
    s = source_of_memory("f", STR_LIT("abcdef"));
    assert_false(source_rest(s, &l, 5, &d));
    assert_int_equal(d.items[0].code, DIAG_CANNOT_READ);
    source_close(s);
    diag_release(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_end_in_lf_or_crlf),
        cmocka_unit_test(byte_order_marks_are_no_part_of_lines),
        cmocka_unit_test(utf16_is_transcoded_with_and_without_a_mark),
        cmocka_unit_test(runs_of_nul_are_taken_out_with_one_note),
        cmocka_unit_test(invalid_utf8_passes_as_it_is),
        cmocka_unit_test(gzip_members_follow_each_other),
        cmocka_unit_test(gzip_that_breaks_off_gives_what_was_there),
        cmocka_unit_test(damaged_gzip_is_no_input),
        cmocka_unit_test(a_missing_file_a_folder_and_an_empty_file_are_told),
        cmocka_unit_test(long_lines_are_read_and_longer_ones_left_out),
        cmocka_unit_test(joined_lines_can_be_taken_apart_again),
        cmocka_unit_test(the_head_is_looked_at_without_being_consumed),
        cmocka_unit_test(a_file_that_is_cut_off_grows_or_is_replaced_while_read_gives_a_diagnostic),
        cmocka_unit_test(the_rest_is_given_in_one_piece_up_to_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

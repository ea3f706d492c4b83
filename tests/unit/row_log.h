/* row_log: what a reader hands out, as text that tests compare.
 *
 * A row is "LINE key=text key=text\n" ("LINE* " for the enclosing document); text
 * lines are "LINE ~text\n". Keys whose own name (behind the last
 * dot) begins with '!' are not wanted. */
#ifndef OOMREPORT_TESTS_ROW_LOG_H
#define OOMREPORT_TESTS_ROW_LOG_H

#include "base/buf.h"
#include "read/read.h"
#include <inttypes.h>

struct row_log {
    struct buf text;
    struct arena arena;
    struct str names[256];
    int n_names;
    bool columns;   /* text is followed by @COLUMN */
    bool kinds;     /* text is preceded by its kind: n s t f 0 [ { */
    bool take_text; /* what text() answers */
    bool note_text; /* text lines are recorded */
    int stop_after; /* rows; 0: never */
    int rows;
    uint64_t skipped;
    struct diag diag;
};

static inline int row_log_key(void *ctx, struct str name)
{
    struct row_log *log = ctx;
    size_t last = name.n;
    while (last && name.p[last - 1] != '.')
        last--;
    if ((last < name.n && name.p[last] == '!') || log->n_names == 256)
        return KEY_UNWANTED;
    log->names[log->n_names] = arena_str(&log->arena, name);
    return log->n_names++;
}

static inline int row_log_row(void *ctx, const struct row *row)
{
    struct row_log *log = ctx;
    buf_printf(&log->text, "%" PRIu64 "%s", row->line, row->is_row ? "" : "*");
    for (size_t i = 0; i < row->n; i++) {
        const struct cell *c = &row->cells[i];
        buf_putc(&log->text, ' ');
        buf_str(&log->text, log->names[c->slot]);
        buf_putc(&log->text, '=');
        if (log->kinds)
            buf_putc(&log->text, "nstf0[{"[c->kind]);
        buf_str(&log->text, c->text);
        if (log->columns)
            buf_printf(&log->text, "@%" PRIu32, c->col);
    }
    buf_putc(&log->text, '\n');
    log->rows++;
    return log->stop_after && log->rows == log->stop_after ? 42 : 0;
}

static inline bool row_log_line(void *ctx, uint64_t line, struct str text)
{
    struct row_log *log = ctx;
    if (log->note_text) {
        buf_printf(&log->text, "%" PRIu64 " ~", line);
        buf_str(&log->text, text);
        buf_putc(&log->text, '\n');
    }
    return log->take_text;
}

static inline int row_log_read(struct row_log *log, enum syntax syntax, const struct read_layout *layout,
                               struct str bytes)
{
    struct source *s = source_of_memory("f", bytes);
    struct row_handler h = {log, row_log_key, row_log_row, row_log_line, NULL};
    int r = read_rows(s, syntax, layout, &h, &log->skipped, &log->diag);
    source_close(s);
    return r;
}

static inline void row_log_release(struct row_log *log)
{
    buf_release(&log->text);
    arena_release(&log->arena);
    diag_release(&log->diag);
    *log = (struct row_log){0};
}

/* Reads input and compares; `diags` is one "name:LINE:COL" for each kept diagnostic, blanks between. */
#define assert_reads(log, syntax, layout, input, rows, diags)                                                \
    do {                                                                                                     \
        struct buf found_ = {0};                                                                             \
        assert_int_equal(row_log_read(&(log), syntax, layout, str_of(input)), 0);                            \
        assert_string_equal((log).text.p ? (log).text.p : "", rows);                                         \
        for (size_t i_ = 0; i_ < (log).diag.n; i_++)                                                         \
            buf_printf(&found_, "%s%s:%" PRIu64 ":%" PRIu32, i_ ? " " : "",                                  \
                       diag_name((log).diag.items[i_].code), (log).diag.items[i_].at.line,                   \
                       (log).diag.items[i_].at.col);                                                         \
        assert_string_equal(found_.p ? found_.p : "", diags);                                                \
        buf_release(&found_);                                                                                \
        row_log_release(&(log));                                                                             \
    } while (0)

#endif

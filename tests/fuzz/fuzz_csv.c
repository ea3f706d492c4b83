/* CSV reader on any bytes; without header logic its cells are compared with libcsv's.
 * The first byte chooses: delimiter by content or given, header or given columns.
 *
 * Not compared, as listed differences: inputs with \r or NUL (libcsv takes a lone \r as
 * a line end), rows of one cell (left out by the reader), text that libcsv
 * refuses in strict mode, fields over more lines than the reader takes, and inputs in
 * which a ragged line without a figure was taken for text between the rows. */
#include "base/buf.h"
#include "read/csv_sniff.h"
#include "read/read.h"
#include "row_text.h"
#include <assert.h>
#include <csv.h>
#include <stdlib.h>

enum {
    COLUMNS = 6
};

static const char *const NAMES[COLUMNS] = {"a", "b", "c", "d", "e", "f"};

/* Cells as "slot:text\n", rows end in "\n". */
struct log {
    struct buf text;
    struct buf row; /* oracle: the row at hand */
    int column;
    bool fill;
    int keys;
};

static int on_key(void *ctx, struct str name)
{
    (void)name;
    return ((struct log *)ctx)->keys++;
}

static void put_cell(struct buf *b, int column, struct str text)
{
    buf_printf(b, "%d:", column);
    buf_str(b, text);
    buf_putc(b, '\n');
}

static int on_row(void *ctx, const struct row *row)
{
    struct log *log = ctx;
    for (size_t i = 0; i < row->n; i++) {
        assert(row->cells[i].kind == CELL_STRING && row->cells[i].text.n > 0);
        put_cell(&log->text, row->cells[i].slot, row->cells[i].text);
    }
    buf_putc(&log->text, '\n');
    return 0;
}

static void oracle_cell(void *p, size_t n, void *ctx)
{
    struct log *log = ctx;
    if (n && log->column < COLUMNS)
        put_cell(&log->row, log->column, (struct str){p, n});
    log->column++;
}

static void oracle_row(int c, void *ctx)
{
    (void)c;
    struct log *log = ctx;
    if (log->column > 1) {
        buf_str(&log->text, buf_view(&log->row));
        buf_putc(&log->text, '\n');
    }
    buf_clear(&log->row);
    log->column = 0;
}

/* False: libcsv refuses it. */
static bool ask_oracle(struct log *log, const char *p, size_t n, char delimiter)
{
    struct csv_parser parser;
    if (csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI) != 0)
        abort();
    csv_set_delim(&parser, (unsigned char)delimiter);
    bool ok = csv_parse(&parser, p, n, oracle_cell, oracle_row, log) == n &&
              csv_fini(&parser, oracle_cell, oracle_row, log) == 0;
    csv_free(&parser);
    return ok;
}

static size_t count(const char *p, size_t n, char c)
{
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        k += p[i] == c;
    return k;
}

static void differential(const char *p, size_t n, char delimiter)
{
    struct log ours = {0}, theirs = {0};
    bool plain = n && !memchr(p, '\r', n) && !memchr(p, 0, n) && (unsigned char)p[0] < 0x80 && p[0] != 0x1f;
    if (!plain || count(p, n, '\n') >= 60 ||
        str_find((struct str){p, n}, STR_LIT("\xef\xbb\xbf")) != (size_t)-1 ||
        csv_sniff((struct str){p, n}, true, delimiter).header)
        return;
    if (ask_oracle(&theirs, p, n, delimiter)) {
        struct diag d;
        diag_init(&d);
        struct source *s = source_of_memory("fuzz.csv", (struct str){p, n});
        struct row_handler h = {&ours, on_key, on_row, NULL, NULL};
        struct read_layout layout = {.delimiter = delimiter, .columns = NAMES, .n_columns = COLUMNS};
        assert(read_rows(s, SYNTAX_CSV, &layout, &h, NULL, &d) == 0);
        if (!d.seen[DIAG_TEXT_BETWEEN])
            assert(str_eq(buf_view(&ours.text), buf_view(&theirs.text)));
        source_close(s);
        diag_release(&d);
    }
    buf_release(&ours.text);
    buf_release(&theirs.text);
    buf_release(&theirs.row);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char DELIMITERS[] = {0, ',', ';', '\t', ' ', 0, ',', ';'};
    if (size == 0)
        return 0;
    const char *p = (const char *)data + 1;
    char delimiter = DELIMITERS[data[0] % 8];
    struct log log = {0};
    struct diag d;
    diag_init(&d);
    struct source *s = source_of_memory("fuzz.csv", (struct str){p, size - 1});
    struct row_handler h = {&log, on_key, on_row, NULL, NULL};
    struct read_layout layout = {.delimiter = delimiter};
    if (data[0] & 8) {
        layout.columns = NAMES;
        layout.n_columns = COLUMNS;
    }
    assert(read_rows(s, SYNTAX_CSV, &layout, &h, NULL, &d) == 0);
    source_close(s);
    diag_release(&d);
    buf_release(&log.text);
    struct row_text one = {0}, many = {.refuse = data[0] & 16};
    row_text_read(&one, (struct str){p, size - 1}, SYNTAX_CSV, &layout, false);
    row_text_read(&many, (struct str){p, size - 1}, SYNTAX_CSV, &layout, true);
    assert(str_eq(buf_view(&one.out), buf_view(&many.out)));
    row_text_release(&one);
    row_text_release(&many);
    if (delimiter == ',' || delimiter == ';')
        differential(p, size - 1, delimiter);
    return 0;
}

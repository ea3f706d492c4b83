/* CSV: a header, rows, and what else gets into such files (banners, joined
 * files, tracebacks, torn lines). Lines without quotes are split here, lines with
 * quotes by libcsv in its strict mode. */
#include "base/mem.h"
#include "read/csv_reader.h"
#include <csv.h>
#include <stdlib.h>

enum {
    FIELD_LINES = 64,       /* a quoted cell over more lines is a stray quote */
    OWN_LINES = 4096,       /* what this program wrote has none, until one is found */
    FIELD_MAX = 1024 * 1024 /* or over more bytes [B] */
};

/* --- a line into fields ------------------------------------------------------------ */

static void add_field(struct csv *c, struct csv_field f)
{
    size_t i = c->n_fields++;
    if (i >= COLUMNS_MAX)
        return;
    if (i == c->cap_fields) {
        c->cap_fields = c->cap_fields ? c->cap_fields * 2 : 64;
        c->field = mem_grow(c->field, c->cap_fields, sizeof *c->field);
    }
    c->field[i] = f;
}

static void split_plain(struct csv *c, struct str line)
{
    struct str cell;
    for (size_t at = 0; csv_next_cell(line, c->delimiter, &at, &cell);)
        add_field(c, (struct csv_field){cell, (uint32_t)(cell.p - line.p) + 1, 0});
}

struct quoted {
    struct csv *c;
    size_t rows;
};

/* The text moves while scratch grows: a field keeps its offset until the row is over. */
static void on_field(void *text, size_t n, void *ctx)
{
    struct quoted *q = ctx;
    add_field(q->c, (struct csv_field){{NULL, n}, 0, q->c->scratch.n});
    buf_put(&q->c->scratch, text, n);
}

static void on_row(int end, void *ctx)
{
    (void)end;
    ((struct quoted *)ctx)->rows++;
}

/* One row of text by libcsv; offset of what is wrong, or (size_t)-1. */
static size_t split_by_libcsv(struct csv *c, struct str text)
{
    struct csv_parser parser;
    struct quoted q = {c, 0};
    c->n_fields = 0;
    buf_clear(&c->scratch);
    if (csv_init(&parser, CSV_STRICT) != 0)
        return 0;
    csv_set_delim(&parser, (unsigned char)c->delimiter);
    size_t done = csv_parse(&parser, text.p, text.n, on_field, on_row, &q);
    if (done == text.n && q.rows == 0)
        csv_parse(&parser, "\n", 1, on_field, on_row, &q);
    csv_free(&parser); /* not csv_fini: it would hand out half a row */
    if (done != text.n || q.rows != 1)
        return done < text.n ? done : text.n;
    for (size_t i = 0; i < c->n_fields && i < COLUMNS_MAX; i++)
        c->field[i].text.p = c->scratch.p + c->field[i].offset;
    return (size_t)-1;
}

static size_t count_quotes(struct str s)
{
    size_t n = 0;
    for (const char *p = s.p, *end = s.p + s.n; p < end && (p = memchr(p, '"', (size_t)(end - p))); p++)
        n++;
    return n;
}

/* A quote in the middle of a cell, or one that nothing closes: that line is no row. */
static void stray_quote(struct csv *c, const struct line *l, size_t offset)
{
    if (c->h->text && c->h->text(c->h->ctx, l->number, l->text))
        return;
    ++*c->skipped;
    if (between_is_text(l->text)) {
        between_add(&c->between, l->number);
        return;
    }
    const char *last = offset <= l->text.n ? l->text.p + offset : l->text.p + l->text.n;
    while (last > l->text.p && *last != '"')
        last--;
    diag_add(
        c->d, DIAG_BAD_QUOTE, (struct place){c->name, l->number, (uint32_t)(last - l->text.p) + 1},
        "stray double quote (one within a cell is written twice, the cell in quotes); the line is left out");
}

/* A line with quotes; it takes in the lines that a quoted cell goes over. False: it is no row. */
static bool split_quoted(struct csv *c, struct line *l)
{
    size_t quotes = count_quotes(l->text), lines = 1, first = l->text.n;
    bool joined = true;
    while (quotes % 2 && lines++ < c->patience) {
        size_t before = l->text.n;
        joined = source_line_join(c->s, l, FIELD_MAX, c->d);
        if (!joined)
            break;
        quotes += count_quotes((struct str){l->text.p + before, l->text.n - before});
    }
    if (!joined && lines == 2 && !l->ended) {
        diag_add(c->d, DIAG_TRUNCATED, (struct place){c->name, l->number, 0},
                 "the last line breaks off within a quoted cell; it is left out");
        return false;
    }
    size_t wrong = quotes % 2 ? first : split_by_libcsv(c, l->text);
    if (wrong == (size_t)-1)
        return true;
    source_line_unjoin(c->s, l);
    c->patience = FIELD_LINES;
    stray_quote(c, l, wrong);
    return false;
}

static bool split(struct csv *c, struct line *l)
{
    c->n_fields = 0;
    if (c->delimiter != CSV_BLANKS && l->text.n && memchr(l->text.p, '"', l->text.n))
        return split_quoted(c, l);
    split_plain(c, l->text);
    return true;
}

/* --- rows ------------------------------------------------------------------------------- */

static bool has_figure(const struct csv *c)
{
    for (size_t i = 0, n = csv_kept(c); i < n; i++)
        if (csv_is_figure(c->field[i].text))
            return true;
    return false;
}

static int deliver(struct csv *c, const struct line *l)
{
    size_t n = 0, fields = csv_kept(c) < c->n_columns ? csv_kept(c) : c->n_columns;
    for (size_t i = 0; i < fields; i++) {
        if (c->slots[i] < 0 || c->field[i].text.n == 0)
            continue;
        c->cells[n++] = (struct cell){
            .slot = c->slots[i], .kind = CELL_STRING, .text = c->field[i].text, .col = c->field[i].col};
    }
    struct row row = {l->number, c->cells, n, true};
    return c->h->row(c->h->ctx, &row);
}

/* The line at hand has another number of cells than the header. True: it is a row all the same. */
static bool accept_ragged(struct csv *c, const struct line *l)
{
    struct place at = {c->name, l->number, 0};
    if (c->n_fields < c->n_columns) {
        if (!l->ended && c->names) {
            diag_add(c->d, DIAG_TRUNCATED, at,
                     "the last line breaks off after %zu of %zu cells; it is left out", c->n_fields,
                     c->n_columns);
            return false;
        }
        if (c->n_fields > 1) {
            diag_add(c->d, DIAG_RAGGED_ROW, at,
                     "expected %zu cells, found %zu; those at the end count as unknown", c->n_columns,
                     c->n_fields);
            return true;
        }
        ++*c->skipped;
        diag_add(c->d, DIAG_RAGGED_ROW, at, "expected %zu cells, found a line without \"%c\"; it is left out",
                 c->n_columns, c->delimiter);
        return false;
    }
    for (size_t i = c->n_columns, n = csv_kept(c); i < n; i++) {
        if (c->field[i].text.n == 0)
            continue; /* "1,2," under "a,b" */
        diag_add(c->d, DIAG_RAGGED_ROW, at, "expected %zu cells, found %zu; those at the end are left out",
                 c->n_columns, c->n_fields);
        break;
    }
    return true;
}

static int read_row(struct csv *c, const struct line *l)
{
    bool odd = c->n_fields != c->n_columns;
    if (!has_figure(c)) {
        if (csv_header_again(c)) {
            csv_header_set(c, l->number);
            return 0;
        }
        if (c->own && !odd)
            return deliver(c, l);
        if (c->h->text && c->h->text(c->h->ctx, l->number, l->text))
            return 0;
        if (odd && between_is_text(l->text)) {
            ++*c->skipped;
            between_add(&c->between, l->number);
            return 0;
        }
    }
    if (odd && !accept_ragged(c, l))
        return 0;
    return deliver(c, l);
}

static bool is_blank(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] != ' ' && s.p[i] != '\t' && s.p[i] != '\r')
            return false;
    return true;
}

static int read_line(struct csv *c, struct line *l, const struct csv_shape *shape,
                     const struct read_layout *layout)
{
    if (is_blank(l->text))
        return 0;
    if (l->number < shape->header && c->n_columns == 0) { /* a banner */
        if (c->h->text)
            c->h->text(c->h->ctx, l->number, l->text);
        return 0;
    }
    if (!split(c, l))
        return 0;
    if (c->n_columns == 0 && shape->header) {
        csv_header_set(c, l->number);
        return 0;
    }
    if (c->n_columns == 0)
        csv_header_number(c, layout, shape->columns ? shape->columns : c->n_fields);
    return read_row(c, l);
}

int read_csv(struct source *s, const struct read_layout *layout, const struct row_handler *h,
             uint64_t *skipped, struct diag *d)
{
    struct str head = source_head(s);
    struct csv_shape shape = csv_sniff(head, head.n < SOURCE_HEAD, layout->delimiter);
    if (!shape.found) /* the user or a mapping says that it is CSV: then the first line has the names */
        shape = (struct csv_shape){true, layout->delimiter ? layout->delimiter : ',',
                                   layout->n_columns ? 0 : 1, 0};
    struct csv c = {
        .h = h, .name = source_name(s), .skipped = skipped, .d = d, .s = s, .delimiter = shape.delimiter};
    c.own = csv_is_own(head) && c.delimiter == ',';
    c.patience = c.own ? OWN_LINES : FIELD_LINES;
    batch_init(&c.batch, h);
    struct line l;
    int stop = 0;
    for (;;) {
        stop = csv_plain_rows(&c);
        if (stop)
            break;
        if (source_more(s))
            continue;
        if (!source_line(s, &l, d))
            break;
        stop = read_line(&c, &l, &shape, layout);
        if (stop)
            break;
    }
    if (stop == 0 && source_failed(s))
        stop = -1;
    between_say(&c.between, c.name, d);
    batch_release(&c.batch);
    free(c.slots);
    free(c.wanted);
    free(c.ends);
    free(c.cells);
    free(c.field);
    buf_release(&c.scratch);
    arena_release(&c.arena);
    return stop;
}

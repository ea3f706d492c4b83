/* CSV: a header, rows, and what else gets into such files (banners, joined
 * files, tracebacks, torn lines). Lines without quotes are split here, lines with
 * quotes by libcsv in its strict mode. */
#include "base/buf.h"
#include "base/mem.h"
#include "base/num_scan.h"
#include "read/batch.h"
#include "read/between.h"
#include "read/csv_sniff.h"
#include "read/readers.h"
#include "read/source.h"
#include <csv.h>
#include <stdio.h>
#include <stdlib.h>
#if defined(__SSE2__) && !defined(OOMREPORT_SCALAR)
#include <emmintrin.h>
#endif

enum {
    FIELD_LINES = 64,        /* a quoted cell over more lines is a stray quote */
    OWN_LINES = 4096,        /* what this program wrote has none, until one is found */
    FIELD_MAX = 1024 * 1024, /* or over more bytes [B] */
    COLUMNS_MAX = 65536,     /* further ones are left out */
    MANY_ROWS = 4096
};

struct field {
    struct str text; /* trimmed unless quoted, without quotes */
    uint32_t col;    /* 0: unknown */
    size_t offset;   /* in scratch, while libcsv is at work */
};

struct csv {
    const struct row_handler *h;
    const char *name;
    uint64_t *skipped;
    struct diag *d;
    struct source *s;
    char delimiter;
    bool own;        /* written by this program: a line with all its cells is a row, whatever they say */
    size_t patience; /* lines that a quoted cell may go over */

    int *slots;       /* n_columns */
    size_t n_columns; /* 0: no header yet */
    uint32_t *wanted; /* n_wanted columns, ascending */
    size_t n_wanted;
    uint32_t *ends;    /* n_columns: where the cells of a plain line end */
    struct str *names; /* n_names, the columns' names, ascending: to know a header that comes again */
    size_t n_names;
    struct arena arena; /* of names */
    struct between between;

    struct field *field; /* of the line at hand: n_fields, of which at most COLUMNS_MAX are kept */
    size_t n_fields, cap_fields;
    struct buf scratch;
    struct cell *cells;
    struct batch_rows batch;
    uint32_t pause; /* so many plain rows come one by one */
};

/* --- a line into fields ------------------------------------------------------------ */

static void add_field(struct csv *c, struct field f)
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
        add_field(c, (struct field){cell, (uint32_t)(cell.p - line.p) + 1, 0});
}

struct quoted {
    struct csv *c;
    size_t rows;
};

/* The text moves while scratch grows: a field keeps its offset until the row is over. */
static void on_field(void *text, size_t n, void *ctx)
{
    struct quoted *q = ctx;
    add_field(q->c, (struct field){{NULL, n}, 0, q->c->scratch.n});
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

static size_t kept(const struct csv *c)
{
    return c->n_fields < COLUMNS_MAX ? c->n_fields : COLUMNS_MAX;
}

/* --- plain lines: the usual case, quick ------------------------------------------------ */

/* Finds where the line at p and its cells end, in text up to `end`, behind which bytes may be read
 * (SOURCE_PAD). False unless the line ends there, has as many cells as columns, and no quotes: then it is
 * for split(). */
static bool find_ends(struct csv *c, const char *p, const char *end, struct str *line)
{
    size_t n = 0, last = c->n_columns - 1, size = (size_t)(end - p);
#if defined(__SSE2__) && !defined(OOMREPORT_SCALAR)
    const __m128i delimiter = _mm_set1_epi8(c->delimiter), quote = _mm_set1_epi8('"'),
                  newline = _mm_set1_epi8('\n');
    for (size_t i = 0; i < size; i += 16) {
        __m128i b = _mm_loadu_si128((const __m128i *)(const void *)(p + i));
        unsigned hits = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(b, delimiter));
        unsigned quotes = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(b, quote));
        unsigned over = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(b, newline));
        unsigned before = over ? (over & -over) - 1 : 0xffffu; /* the bits of bytes before the line's end */
        if (quotes & before)
            return false;
        for (hits &= before; hits; hits &= hits - 1) {
            if (n == last)
                return false;
            c->ends[n++] = (uint32_t)(i + (unsigned)__builtin_ctz(hits));
        }
        if (over) {
            size = i + (unsigned)__builtin_ctz(over);
            break;
        }
    }
#else
    for (size_t i = 0; i < size; i++) {
        if (p[i] == '"' || (p[i] == c->delimiter && n == last))
            return false;
        if (p[i] == c->delimiter)
            c->ends[n++] = (uint32_t)i;
        else if (p[i] == '\n')
            size = i;
    }
#endif
    if (p + size >= end || size > UINT32_MAX / 2) /* no line end in sight */
        return false;
    *line = (struct str){p, size && p[size - 1] == '\r' ? size - 1 : size};
    c->ends[n] = (uint32_t)line->n;
    return n == last;
}

static inline struct str cell_of(const struct csv *c, struct str line, size_t i)
{
    const char *p = line.p + (i ? c->ends[i - 1] + 1 : 0), *end = line.p + c->ends[i];
    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    while (p < end && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    return (struct str){p, (size_t)(end - p)};
}

static inline bool plain_number(struct str text, struct num_plain *number)
{
    return *text.p >= '0' && *text.p <= '9' && num_scan_plain(text.p, number) == text.p + text.n;
}

/* A line that is a row beyond doubt: as many cells as columns, the first value a figure. Behind it, with
 * *n wanted cells in c->cells; NULL: it must be looked at more closely. */
static const char *plain_row(struct csv *c, const char *p, const char *end, size_t *n)
{
    struct str line;
    struct num_plain number;
    if (!find_ends(c, p, end, &line))
        return NULL;
    struct str first = cell_of(c, line, 0);
    if (!(first.n && first.n <= 20 && plain_number(first, &number)) && !csv_is_figure(first))
        return NULL;
    struct cell *cell = c->cells;
    for (size_t k = 0; k < c->n_wanted; k++) {
        uint32_t i = c->wanted[k];
        struct str text = cell_of(c, line, i);
        if (!text.n)
            continue;
        cell->slot = c->slots[i];
        cell->kind = CELL_STRING;
        cell->text = text;
        cell->col = (uint32_t)(text.p - p) + 1;
        cell->plain = 0;
        if (plain_number(text, &number)) {
            cell->plain = CELL_PLAIN(number.decimals);
            cell->whole = number.whole;
        }
        cell++;
    }
    *n = (size_t)(cell - c->cells);
    p = line.p + line.n;
    return p + 1 + (*p == '\r');
}

static int deliver_cells(struct csv *c, uint64_t line, size_t n)
{
    struct row row = {line, c->cells, n, true};
    return c->h->row(c->h->ctx, &row);
}

/* Hands on the rows that wait, as a batch or one by one, which uses c->cells (*used); end: of their text. */
static int flush(struct csv *c, const char *end, bool *used)
{
    size_t rows, n;
    uint32_t pause;
    uint64_t line = c->batch.line;
    if (c->batch.n == 0 || batch_flush(&c->batch, &rows, &pause))
        return 0;
    c->pause = pause < MANY_ROWS ? pause : MANY_ROWS; /* the shape may change */
    *used = true;
    int stop = 0;
    for (size_t i = 0; i < rows && stop == 0; i++)
        if (plain_row(c, c->batch.at[i], end, &n))
            stop = deliver_cells(c, line + i, n);
    return stop;
}

/* The plain lines at the front of the window. 0, or what the handler returned. */
static int read_plain_rows(struct csv *c)
{
    struct str w = source_window(c->s);
    const char *p = w.p, *end = w.p + w.n, *next;
    uint64_t first = source_next_line(c->s), line = first;
    size_t n;
    int stop = 0;
    if (c->n_columns == 0 || c->delimiter == CSV_BLANKS)
        return 0;
    for (; stop == 0 && (next = plain_row(c, p, end, &n)) != NULL; p = next, line++) {
        if (c->pause == 0 && batch_add(&c->batch, line, p, c->cells, n))
            continue;
        bool used = false;
        stop = flush(c, end, &used);
        if (stop || (used && !plain_row(c, p, end, &n)))
            continue;
        if (c->pause == 0 && batch_add(&c->batch, line, p, c->cells, n))
            continue;
        c->pause -= c->pause != 0;
        stop = deliver_cells(c, line, n);
    }
    bool used;
    if (stop == 0)
        stop = flush(c, end, &used);
    source_take(c->s, (size_t)(p - w.p), line - first);
    return stop;
}

/* --- header -------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

/* The names of the fields at hand, ascending, in *a. */
static struct str *sorted_names(const struct csv *c, struct arena *a)
{
    size_t n = kept(c);
    struct str *names = arena_alloc(a, (n + 1) * sizeof *names);
    for (size_t i = 0; i < n; i++)
        names[i] = arena_str(a, c->field[i].text);
    qsort(names, n, sizeof *names, by_name);
    return names;
}

static void set_columns(struct csv *c, size_t n)
{
    c->n_columns = n < COLUMNS_MAX ? n : COLUMNS_MAX;
    c->slots = mem_grow(c->slots, c->n_columns, sizeof *c->slots);
    c->cells = mem_grow(c->cells, c->n_columns, sizeof *c->cells);
    c->wanted = mem_grow(c->wanted, c->n_columns, sizeof *c->wanted);
    c->ends = mem_grow(c->ends, c->n_columns, sizeof *c->ends);
    c->n_wanted = 0;
}

static void set_column(struct csv *c, size_t i, struct str name)
{
    c->slots[i] = name.n ? c->h->key(c->h->ctx, name) : KEY_UNWANTED;
    if (c->slots[i] >= 0)
        c->wanted[c->n_wanted++] = (uint32_t)i;
}

static void set_header(struct csv *c, uint64_t line)
{
    size_t n = c->n_fields;
    while (n > 1 && n <= COLUMNS_MAX && c->field[n - 1].text.n == 0) /* "a,b," */
        n--;
    if (n > COLUMNS_MAX)
        diag_add(c->d, DIAG_TOO_MANY_FIELDS, (struct place){c->name, line, 0},
                 "%zu columns; those after the first %d are left out", n, COLUMNS_MAX);
    set_columns(c, n);
    arena_release(&c->arena);
    arena_init(&c->arena);
    for (size_t i = 0; i < c->n_columns; i++) {
        struct str *name = &c->field[i].text;
        if (i == 0 && name->n > 1 && name->p[0] == '#') /* "# step,loss" */
            *name = str_trim((struct str){name->p + 1, name->n - 1});
        set_column(c, i, *name);
    }
    c->names = sorted_names(c, &c->arena);
    c->n_names = kept(c);
    for (size_t i = 1; i < c->n_names; i++)
        if (c->names[i].n && str_eq(c->names[i - 1], c->names[i]))
            diag_add(c->d, DIAG_DUPLICATE_KEY, (struct place){c->name, line, 0},
                     "two columns are named \"%.*s\"; where both have a value the later one counts",
                     c->names[i].n < 80 ? (int)c->names[i].n : 80, c->names[i].p);
}

/* Columns of a file without a header: from the layout, else "1", "2", …. */
static void set_numbered(struct csv *c, const struct read_layout *layout, size_t n)
{
    set_columns(c, layout->n_columns ? layout->n_columns : n);
    for (size_t i = 0; i < c->n_columns; i++) {
        char number[24];
        snprintf(number, sizeof number, "%zu", i + 1);
        set_column(c, i, str_of(layout->n_columns ? layout->columns[i] : number));
    }
}

/* Files that were joined: is the line at hand a header again, with the same
 * names or others? Names all of them, each once, and one of them known. */
static bool is_header_again(struct csv *c)
{
    size_t n = kept(c), known = 0;
    if (!c->names || n < 2)
        return false;
    for (size_t i = 0; i < n; i++)
        if (!csv_is_name(c->field[i].text) && !(i == 0 && c->field[i].text.n == 0) &&
            !(i == n - 1 && c->field[i].text.n == 0))
            return false;
    struct arena a = {0};
    struct str *names = sorted_names(c, &a);
    bool distinct = true;
    for (size_t i = 0; i < n; i++) {
        known += names[i].n && bsearch(&names[i], c->names, c->n_names, sizeof *names, by_name) != NULL;
        distinct = distinct && (i == 0 || !str_eq(names[i], names[i - 1]));
    }
    arena_release(&a);
    return distinct && (known * 2 >= n || known * 2 >= c->n_names || (known > 0 && n != c->n_columns));
}

/* --- rows ------------------------------------------------------------------------------- */

static bool has_figure(const struct csv *c)
{
    for (size_t i = 0, n = kept(c); i < n; i++)
        if (csv_is_figure(c->field[i].text))
            return true;
    return false;
}

static int deliver(struct csv *c, const struct line *l)
{
    size_t n = 0, fields = kept(c) < c->n_columns ? kept(c) : c->n_columns;
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
    for (size_t i = c->n_columns, n = kept(c); i < n; i++) {
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
        if (is_header_again(c)) {
            set_header(c, l->number);
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
        set_header(c, l->number);
        return 0;
    }
    if (c->n_columns == 0)
        set_numbered(c, layout, shape->columns ? shape->columns : c->n_fields);
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
        stop = read_plain_rows(&c);
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

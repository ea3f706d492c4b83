#include "base/num_scan.h"
#include "read/csv_reader.h"
#if defined(__SSE2__) && !defined(OOMREPORT_SCALAR)
#include <emmintrin.h>
#endif

enum {
    MANY_ROWS = 4096 /* come one by one at most before batches are tried again */
};

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

int csv_plain_rows(struct csv *c)
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

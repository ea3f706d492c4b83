/* Records as JSONL or CSV, in the schema's own form.
 *
 * Header fields are written where they change: in JSONL in a header line, and in a
 * row only where the row differs from the header in force (a log of two GPUs has a rank in
 * each row). In CSV they are columns; "oomlog" is 1 in the first row behind a header, or in a row
 * of its own where one row could not say the same. Reading either gives the same records. */
#include "base/mem.h"
#include "base/num.h"
#include "base/utf8.h"
#include "normalise/held.h"
#include "normalise/normalise.h"
#include <errno.h>
#include <stdlib.h>

enum {
    FLUSH_AT = 256 * 1024,
    EARLY_MAX = 80 /* CSV: records held back, so that the first header line has all their sizes */
};

struct converter {
    FILE *out;
    enum convert_format format;
    bool provenance;
    int error; /* errno of the first failure, or 0 */
    struct buf b;
    struct held header;       /* in force */
    bool has_header, pending; /* pending: CSV, the header has not been written yet */
    bool last_marked;         /* CSV: the last row had "oomlog" */
    uint64_t header_mask;
    struct arena arena;
    struct str sizes[RECORD_EXTRA_MAX * 4]; /* CSV: size_* columns, in order of appearance */
    unsigned n_sizes, n_sizes_written;
    bool wrote_columns;
    struct held *early; /* n_early of EARLY_MAX; NULL once they are written */
    unsigned n_early;
};

struct converter *converter_new(FILE *out, enum convert_format f, bool provenance)
{
    struct converter *c = mem_zero(1, sizeof *c);
    c->out = out;
    c->format = f;
    c->provenance = provenance;
    c->header_mask = part_mask(PART_HEADER);
    arena_init(&c->arena);
    if (f == CONVERT_CSV)
        c->early = mem_zero(EARLY_MAX, sizeof *c->early);
    return c;
}

static void flush(struct converter *c)
{
    if (c->b.n && !c->error && c->out && fwrite(c->b.p, 1, c->b.n, c->out) != c->b.n)
        c->error = errno ? errno : EIO;
    buf_clear(&c->b);
}

/* Length of the run at the front of s that needs no escape in JSON. */
static size_t plain_run(struct str s)
{
    size_t n = 0;
    while (n < s.n && (unsigned char)s.p[n] >= 0x20 && (unsigned char)s.p[n] < 0x80 && s.p[n] != '"' &&
           s.p[n] != '\\')
        n++;
    return n;
}

/* The inside of a JSON string; bytes that are no UTF-8 become U+FFFD. */
static void put_json_chars(struct buf *b, struct str s)
{
    while (s.n) {
        uint32_t code;
        size_t n = plain_run(s);
        if (n) {
            buf_put(b, s.p, n);
            s = (struct str){s.p + n, s.n - n};
            continue;
        }
        n = utf8_next(&code, s);
        if (n == 0) {
            utf8_put(b, 0xFFFD);
            n = 1;
        } else if (code == '"' || code == '\\') {
            buf_putc(b, '\\');
            buf_putc(b, (char)code);
        } else if (code == '\n') {
            buf_puts(b, "\\n");
        } else if (code < 0x20) {
            buf_printf(b, "\\u%04x", (unsigned)code);
        } else {
            buf_put(b, s.p, n);
        }
        s = (struct str){s.p + n, s.n - n};
    }
}

static void put_json_text(struct buf *b, struct str s)
{
    buf_putc(b, '"');
    put_json_chars(b, s);
    buf_putc(b, '"');
}

/* "a;b\;c" as ["a","b;c"]. A backslash and ';' are ASCII, so the text may be cut at them. */
static void put_json_ids(struct buf *b, struct str s)
{
    buf_puts(b, "[\"");
    while (s.n) {
        size_t n = 0;
        while (n < s.n && s.p[n] != ';' && s.p[n] != '\\')
            n++;
        put_json_chars(b, (struct str){s.p, n});
        if (n < s.n && s.p[n] == ';') {
            buf_puts(b, "\",\"");
            n++;
        } else if (n < s.n) {
            bool pair = n + 1 < s.n && (s.p[n + 1] == ';' || s.p[n + 1] == '\\');
            put_json_chars(b, (struct str){s.p + n + pair, 1});
            n += 1 + pair;
        }
        s = (struct str){s.p + n, s.n - n};
    }
    buf_puts(b, "\"]");
}

/* Most of what is written are whole numbers. */
static void put_u64(struct buf *b, uint64_t u)
{
    char text[20];
    size_t i = sizeof text;
    do {
        text[--i] = (char)('0' + u % 10);
        u /= 10;
    } while (u);
    buf_put(b, text + i, sizeof text - i);
}

static void put_json_value(struct buf *b, const struct record *r, enum field f)
{
    switch (field_kind(f)) {
    case KIND_INT:
    case KIND_BYTES:
        put_u64(b, r->v[f].u);
        break;
    case KIND_NUM:
        num_put(b, r->v[f].d);
        break;
    case KIND_BOOL:
        buf_puts(b, r->v[f].u ? "true" : "false");
        break;
    case KIND_STR:
        if (f == F_BATCH_IDS)
            put_json_ids(b, r->v[f].s);
        else
            put_json_text(b, r->v[f].s);
    }
}

static int by_name(const void *a, const void *b)
{
    return str_cmp(((const struct extra *)a)->name, ((const struct extra *)b)->name);
}

static void put_provenance(struct buf *b, const struct record *r)
{
    buf_puts(b, r->at.file ? r->at.file : "");
    buf_printf(b, ":%llu", (unsigned long long)r->at.line);
}

/* The fields of r in mask and its sizes, events first, as the schema's examples have them: one object without
 * a line end, with "at":"file:line" when provenance. */
static void put_object(struct buf *b, const struct record *r, uint64_t mask, bool provenance)
{
    char before = '{';
    uint64_t bits = r->have & mask;
    if (bits >> F_EVENT & 1) {
        buf_puts(b, "{\"event\":");
        put_json_value(b, r, F_EVENT);
        bits &= ~((uint64_t)1 << F_EVENT);
        before = ',';
    }
    for (; bits; bits &= bits - 1) {
        enum field f = (enum field)__builtin_ctzll(bits);
        buf_putc(b, before);
        before = ',';
        buf_putc(b, '"');
        buf_puts(b, field_name(f));
        buf_puts(b, "\":");
        put_json_value(b, r, f);
    }
    struct extra extra[RECORD_EXTRA_MAX];
    memcpy(extra, r->extra, r->n_extra * sizeof *extra);
    qsort(extra, r->n_extra, sizeof *extra, by_name);
    for (unsigned i = 0; i < r->n_extra; i++) {
        buf_putc(b, before);
        before = ',';
        put_json_text(b, extra[i].name);
        buf_putc(b, ':');
        num_put(b, extra[i].value);
    }
    if (provenance && before == ',') {
        struct buf at = {0};
        put_provenance(&at, r);
        buf_puts(b, ",\"at\":");
        put_json_text(b, buf_view(&at));
        buf_release(&at);
    }
    if (before == '{')
        buf_putc(b, '{');
    buf_putc(b, '}');
}

/* Header fields of r that differ from the header in force. */
static uint64_t own_header_fields(const struct converter *c, const struct record *r)
{
    uint64_t own = r->have & c->header_mask & ~((uint64_t)1 << F_OOMLOG);
    for (uint64_t bits = own; bits; bits &= bits - 1) {
        int f = __builtin_ctzll(bits);
        if (c->has_header && record_same(r, &c->header.r, (enum field)f))
            own &= ~((uint64_t)1 << f);
    }
    return own;
}

static void put_json(struct converter *c, const struct record *r)
{
    if (record_has(r, F_OOMLOG)) {
        held_set(&c->header, r);
        c->has_header = true;
        put_object(&c->b, r, c->header_mask, c->provenance);
    } else {
        put_object(&c->b, r, own_header_fields(c, r) | ~c->header_mask, c->provenance);
    }
    buf_putc(&c->b, '\n');
}

static void put_csv_text(struct buf *b, struct str s)
{
    bool quote = s.n == 0 || s.p[0] == ' ' || s.p[s.n - 1] == ' ' || s.p[0] == '\t' || s.p[s.n - 1] == '\t';
    for (size_t i = 0; i < s.n && !quote; i++)
        quote = s.p[i] == ',' || s.p[i] == '"' || s.p[i] == '\n' || s.p[i] == '\r' || s.p[i] == ';';
    if (!quote) {
        buf_str(b, s);
        return;
    }
    buf_putc(b, '"');
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '"')
            buf_putc(b, '"');
        buf_putc(b, s.p[i]);
    }
    buf_putc(b, '"');
}

/* Text in valid UTF-8, as the JSONL form has it, so that both forms say the same. */
static void put_csv_utf8(struct buf *b, struct str s)
{
    if (utf8_valid(s)) {
        put_csv_text(b, s);
        return;
    }
    struct buf clean = {0};
    while (s.n) {
        uint32_t code;
        size_t n = utf8_next(&code, s);
        if (n)
            buf_put(&clean, s.p, n);
        else
            utf8_put(&clean, 0xFFFD);
        n = n ? n : 1;
        s = (struct str){s.p + n, s.n - n};
    }
    put_csv_text(b, buf_view(&clean));
    buf_release(&clean);
}

static void put_csv_value(struct buf *b, const struct record *r, enum field f)
{
    if (field_kind(f) == KIND_STR)
        put_csv_utf8(b, r->v[f].s);
    else
        put_json_value(b, r, f);
}

static void put_columns(struct converter *c)
{
    for (int f = 0; f < F_COUNT; f++) {
        if (f)
            buf_putc(&c->b, ',');
        buf_puts(&c->b, field_name((enum field)f));
    }
    for (unsigned i = 0; i < c->n_sizes; i++) {
        buf_putc(&c->b, ',');
        put_csv_utf8(&c->b, c->sizes[i]);
    }
    if (c->provenance)
        buf_puts(&c->b, ",at");
    buf_putc(&c->b, '\n');
    c->wrote_columns = true;
    c->n_sizes_written = c->n_sizes;
}

/* In order of appearance, those of one record by name. */
static void learn_record_sizes(struct converter *c, const struct record *r)
{
    struct extra extra[RECORD_EXTRA_MAX];
    memcpy(extra, r->extra, r->n_extra * sizeof *extra);
    qsort(extra, r->n_extra, sizeof *extra, by_name);
    for (unsigned i = 0; i < r->n_extra; i++) {
        unsigned k = 0;
        while (k < c->n_sizes && !str_eq(c->sizes[k], extra[i].name))
            k++;
        if (k == c->n_sizes && k < sizeof c->sizes / sizeof *c->sizes)
            c->sizes[c->n_sizes++] = arena_str(&c->arena, extra[i].name);
    }
}

/* A row with its own fields, and the header's in all its other header columns. */
static void put_csv_row(struct converter *c, const struct record *r, uint64_t mask, bool marked)
{
    learn_record_sizes(c, r);
    if (!c->wrote_columns || c->n_sizes > c->n_sizes_written)
        put_columns(c);
    for (int f = 0; f < F_COUNT; f++) {
        bool header = c->header_mask >> f & 1;
        if (f)
            buf_putc(&c->b, ',');
        if (f == F_OOMLOG)
            buf_puts(&c->b, marked ? "1" : "");
        else if (record_has(r, (enum field)f) && mask >> f & 1)
            put_csv_value(&c->b, r, (enum field)f);
        else if (header && c->has_header && record_has(&c->header.r, (enum field)f))
            put_csv_value(&c->b, &c->header.r, (enum field)f);
    }
    for (unsigned i = 0; i < c->n_sizes; i++) {
        buf_putc(&c->b, ',');
        for (unsigned k = 0; k < r->n_extra; k++)
            if (str_eq(r->extra[k].name, c->sizes[i])) {
                num_put(&c->b, r->extra[k].value);
                break;
            }
    }
    if (c->provenance) {
        struct buf at = {0};
        put_provenance(&at, r);
        buf_putc(&c->b, ',');
        put_csv_utf8(&c->b, buf_view(&at));
        buf_release(&at);
    }
    buf_putc(&c->b, '\n');
    c->last_marked = marked;
}

static void write_pending(struct converter *c)
{
    if (c->pending)
        put_csv_row(c, &c->header.r, c->header_mask, true);
    c->pending = false;
}

static void put_csv(struct converter *c, const struct record *r)
{
    if (record_has(r, F_OOMLOG)) {
        write_pending(c);
        held_set(&c->header, r);
        c->has_header = c->pending = true;
        return;
    }
    uint64_t own = own_header_fields(c, r);
    bool merge = c->pending && !own && !c->last_marked;
    if (!merge)
        write_pending(c);
    c->pending = false;
    put_csv_row(c, r, own | ~c->header_mask, merge);
}

static void write_early(struct converter *c)
{
    struct held *early = c->early;
    c->early = NULL;
    for (unsigned i = 0; early && i < c->n_early; i++)
        learn_record_sizes(c, &early[i].r);
    for (unsigned i = 0; early && i < c->n_early; i++) {
        put_csv(c, &early[i].r);
        held_release(&early[i]);
    }
    free(early);
}

static void take(void *ctx, const struct record *r, const struct process_use *processes, size_t n)
{
    struct converter *c = ctx;
    (void)processes; /* they stand in the message */
    (void)n;
    if (c->format == CONVERT_JSONL) {
        put_json(c, r);
    } else if (c->early) {
        held_set(&c->early[c->n_early++], r);
        if (c->n_early == EARLY_MAX)
            write_early(c);
    } else {
        put_csv(c, r);
    }
    if (c->b.n >= FLUSH_AT)
        flush(c);
}

struct record_sink converter_sink(struct converter *c)
{
    return (struct record_sink){c, take, NULL};
}

int converter_close(struct converter *c)
{
    write_early(c);
    write_pending(c);
    flush(c);
    if (!c->error && c->out && fflush(c->out) != 0)
        c->error = errno ? errno : EIO;
    int error = c->error;
    buf_release(&c->b);
    held_release(&c->header);
    arena_release(&c->arena);
    free(c);
    errno = error;
    return error ? -1 : 0;
}

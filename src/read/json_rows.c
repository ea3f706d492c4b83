#include "read/json_rows.h"

enum {
    SHOWN_MAX = 24 /* bytes of the input in a message */
};

void json_rows_init(struct json_rows *r, const char *name, const struct row_handler *h, uint64_t *skipped,
                    struct diag *d)
{
    *r = (struct json_rows){.h = h, .name = name, .skipped = skipped, .d = d};
    json_scan_init(&r->scan, h->key, h->ctx);
}

void json_rows_release(struct json_rows *r)
{
    json_scan_release(&r->scan);
}

static uint32_t column(const struct json_text *t, const char *p)
{
    ptrdiff_t n = p - t->line;
    return p <= t->line_end && n < (ptrdiff_t)UINT32_MAX ? (uint32_t)n + 1 : 0;
}

static int shown(const char *p, const char *end)
{
    ptrdiff_t n = end - p;
    return n < 0 ? 0 : n > SHOWN_MAX ? SHOWN_MAX : (int)n;
}

void json_rows_remarks(struct json_rows *r, struct json_text *t, uint64_t line)
{
    struct json_scan *j = &r->scan;
    if (j->duplicate) {
        struct str key = j->duplicate_key;
        diag_add(r->d, DIAG_DUPLICATE_KEY, (struct place){r->name, line, column(t, j->duplicate_at)},
                 "the key \"%.*s\" comes twice in one object; the last value counts",
                 shown(key.p, key.p + key.n), key.p);
    }
    if (t->bad_text) {
        diag_add(r->d, DIAG_BAD_ENCODING, (struct place){r->name, line, column(t, t->bad_text)},
                 "a string holds bytes that are no UTF-8, or half a surrogate pair; it is used as it is");
        t->bad_text = NULL;
    }
    if (j->keys.full && !r->told_full) {
        r->told_full = true;
        diag_add(r->d, DIAG_TOO_MANY_FIELDS, (struct place){r->name, line, 0},
                 "more than %d different keys (or %d MiB of them); further ones are left out", JSON_KEYS_MAX,
                 JSON_KEY_BYTES_MAX >> 20);
    }
}

int json_rows_deliver(struct json_rows *r, uint64_t line, bool is_row)
{
    struct row row = {line, r->scan.cells, r->scan.n_cells, is_row};
    return r->h->row(r->h->ctx, &row);
}

void json_rows_error(struct json_rows *r, const struct json_text *t, uint64_t line, uint64_t col,
                     const char *outcome)
{
    struct place at = {r->name, line, col < UINT32_MAX ? (uint32_t)col : 0};
    ++*r->skipped;
    int n = shown(t->at, t->end);
    const char *quote = n > 0 && memchr(t->at, '"', (size_t)n) ? "'" : "\"";
    if (t->cut)
        diag_add(r->d, DIAG_BAD_JSON, at, "%s; %s", t->what, outcome);
    else
        diag_add(r->d, DIAG_BAD_JSON, at, "%s, found %s%.*s%s; %s", t->what, quote, n, t->at, quote, outcome);
}

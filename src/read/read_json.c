/* One JSON document (or several, one after the other), held in memory.
 *
 * What a document is read as: an object is a row; a list of objects is a row
 * each; with layout.rows the list (or object of objects) of that name holds the
 * rows and the rest of the document comes first; transposed: see json_transposed.h. */
#include "read/json_rows.h"
#include "read/json_transposed.h"
#include "read/readers.h"
#include "read/source.h"

struct document {
    struct json_rows outer; /* the documents themselves */
    struct json_rows inner; /* the rows within them */
    const struct read_layout *layout;
    struct json_text t;
    const char *counted; /* lines up to here are counted */
    uint64_t line;       /* number of the line that holds *counted */
    int name_slot;       /* of "@key": the name of a row in an object of objects */
    bool asked_name;
};

/* Number of the line that holds p, which never goes back; columns count from its beginning. */
static uint64_t line_of(struct document *doc, const char *p)
{
    const char *nl;
    while ((nl = memchr(doc->counted, '\n', (size_t)(p - doc->counted))) != NULL) {
        doc->counted = nl + 1;
        doc->line++;
    }
    return doc->line;
}

/* The same, with the columns of values on that line made known. */
static uint64_t begin_row(struct document *doc, const char *p)
{
    uint64_t line = line_of(doc, p);
    doc->t.line = doc->counted;
    const char *nl = memchr(p, '\n', (size_t)(doc->t.end - p));
    doc->t.line_end = nl ? nl : doc->t.end;
    return line;
}

static void tell_cut(struct document *doc, const char *what)
{
    diag_add(doc->outer.d, DIAG_TRUNCATED, (struct place){doc->outer.name, line_of(doc, doc->t.end), 0},
             "the document breaks off (the writer died or is still writing); %s", what);
}

/* The error at t.at: counted, then told with its line. */
static void tell_error(struct document *doc, const char *what)
{
    if (doc->t.cut) {
        tell_cut(doc, what);
        return;
    }
    uint64_t line = line_of(doc, doc->t.at);
    json_rows_error(&doc->outer, &doc->t, line, (uint64_t)(doc->t.at - doc->counted) + 1, what);
}

static void remarks(struct document *doc, struct json_rows *r, uint64_t line)
{
    if (r->scan.duplicate || doc->t.bad_text || r->scan.keys.full)
        json_rows_remarks(r, &doc->t, line);
}

/* One row at p; *stop is what the handler returned. NULL: the document cannot be read on. */
static const char *read_row(struct document *doc, const char *p, struct str name, int *stop)
{
    uint64_t line = begin_row(doc, p);
    if (*p != '{') {
        struct json_text t = doc->t;
        t.what = "expected a JSON object";
        t.at = p;
        p = json_skip(&doc->t, p);
        if (p)
            json_rows_error(&doc->inner, &t, line, (uint64_t)(t.at - t.line) + 1, "the item is left out");
        return p;
    }
    struct json_scan *j = &doc->inner.scan;
    p = json_scan_object(j, &doc->t, p);
    if (!p)
        return NULL;
    remarks(doc, &doc->inner, line);
    if (name.p && doc->name_slot >= 0)
        json_scan_add(j, (struct cell){.slot = doc->name_slot, .kind = CELL_STRING, .text = name});
    *stop = json_rows_deliver(&doc->inner, line, true);
    return p;
}

/* The rows of the list or object at p. Behind it, or NULL on an error or when *stop is set. */
static const char *read_list(struct document *doc, const char *p, int *stop)
{
    struct json_text *t = &doc->t;
    char close = *p == '[' ? ']' : '}';
    if (close == '}' && !doc->asked_name) {
        doc->asked_name = true;
        doc->name_slot = doc->inner.h->key(doc->inner.h->ctx, STR_LIT("@key"));
    }
    p = json_space(t, p + 1);
    if (*p == close)
        return p + 1;
    for (;;) {
        struct str name = {NULL, 0};
        if (close == '}') {
            bool escaped;
            if (*p != '"')
                return json_fail(t, p, "expected a key in double quotes");
            const char *key = p + 1;
            if (!(p = json_skip_string(t, p, &escaped)))
                return NULL;
            name = (struct str){key, (size_t)(p - 1 - key)};
            p = json_space(t, p);
            if (*p != ':')
                return json_fail(t, p, "expected ':' after the key");
            p = json_space(t, p + 1);
        }
        p = read_row(doc, p, name, stop);
        if (!p || *stop)
            return NULL;
        p = json_space(t, p);
        if (*p == close && p < t->end)
            return p + 1;
        if (*p != ',')
            return json_fail(t, p, close == ']' ? "expected ',' or ']'" : "expected ',' or '}'");
        p = json_space(t, p + 1);
    }
}

/* The object at p, of which the rows are only a part: its own values first. */
static const char *read_enclosing(struct document *doc, const char *p, int *stop)
{
    uint64_t line = begin_row(doc, p);
    struct json_scan *j = &doc->outer.scan;
    const char *behind = json_scan_object(j, &doc->t, p);
    struct json_text error = doc->t;
    if (behind)
        remarks(doc, &doc->outer, line);
    *stop = json_rows_deliver(&doc->outer, line, false);
    if (*stop)
        return NULL;
    const char *rows = j->stop_value;
    if (doc->layout->transposed)
        *stop = json_transposed(&doc->outer, &doc->t, p, line);
    else if (rows)
        read_list(doc, rows, stop);
    doc->t.what = error.what;
    doc->t.at = error.at;
    doc->t.cut = error.cut;
    return *stop ? NULL : behind;
}

static const char *read_value(struct document *doc, const char *p, int *stop)
{
    if (*p == '[')
        return read_list(doc, p, stop);
    if (*p == '{' && (doc->layout->rows || doc->layout->transposed))
        return read_enclosing(doc, p, stop);
    return read_row(doc, p, (struct str){NULL, 0}, stop);
}

static int read_documents(struct document *doc, struct str text)
{
    int stop = 0;
    json_text_init(&doc->t, text);
    doc->counted = text.p;
    for (const char *p = json_space(&doc->t, text.p); p < doc->t.end; p = json_space(&doc->t, p)) {
        p = read_value(doc, p, &stop);
        if (stop)
            return stop;
        if (!p) {
            tell_error(doc, "what could be read before is used");
            return 0;
        }
    }
    return 0;
}

int read_json(struct source *s, const struct read_layout *layout, const struct row_handler *h,
              uint64_t *skipped, struct diag *d)
{
    struct line rest;
    if (!source_rest(s, &rest, SOURCE_TEXT_MAX, d))
        return -1;
    struct document doc = {.layout = layout, .line = rest.number, .name_slot = KEY_UNWANTED};
    json_rows_init(&doc.outer, source_name(s), h, skipped, d);
    json_rows_init(&doc.inner, source_name(s), h, skipped, d);
    doc.outer.scan.keys.stop = layout->rows;
    doc.outer.scan.keys.stop_values = layout->transposed;
    int stop = read_documents(&doc, rest.text);
    json_rows_release(&doc.outer);
    json_rows_release(&doc.inner);
    return stop == 0 && source_failed(s) ? -1 : stop;
}

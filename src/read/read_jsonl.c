/* JSONL: an object a line, sometimes several, with what else gets into such files. */
#include "read/json_rows.h"
#include "read/readers.h"
#include "read/source.h"

/* The rest of a line, from `from`, is no object; whole: nothing stands before it. */
static void no_row(struct json_rows *r, const struct line *l, struct json_text *t, const char *from,
                   bool whole)
{
    bool object = *from == '{';
    if (t->cut && object && !l->ended) {
        diag_add(r->d, DIAG_TRUNCATED, (struct place){r->name, l->number, 0},
                 "the last line breaks off within a record (the writer died or is still writing); it is "
                 "left out");
        return;
    }
    if (r->h->text && r->h->text(r->h->ctx, l->number, (struct str){from, (size_t)(t->end - from)}))
        return;
    if (!object && whole && between_is_text(l->text)) {
        ++*r->skipped;
        between_add(&r->between, l->number);
        return;
    }
    json_rows_error(r, t, l->number, (uint64_t)(t->at - l->text.p) + 1,
                    object ? "the record is left out" : "the line is left out");
}

static int read_line(struct json_rows *r, const struct line *l)
{
    struct json_text t;
    json_text_init(&t, l->text);
    const char *p = json_space(&t, l->text.p), *first = p;
    while (p < t.end) {
        const char *start = p;
        if (*p == '{')
            p = json_scan_object(&r->scan, &t, p);
        else
            p = json_fail(&t, p, "expected a JSON object");
        if (!p) {
            no_row(r, l, &t, start, start == first);
            return 0;
        }
        if (r->scan.duplicate || t.bad_text || r->scan.keys.full)
            json_rows_remarks(r, &t, l->number);
        int stop = json_rows_deliver(r, l->number, true);
        if (stop)
            return stop;
        p = json_space(&t, p);
    }
    return 0;
}

int read_jsonl(struct source *s, const struct read_layout *layout, const struct row_handler *h,
               uint64_t *skipped, struct diag *d)
{
    (void)layout;
    struct json_rows r;
    json_rows_init(&r, source_name(s), h, skipped, d);
    struct line l;
    int stop = 0;
    while (stop == 0 && source_line(s, &l, d))
        stop = read_line(&r, &l);
    if (stop == 0 && source_failed(s))
        stop = -1;
    between_say(&r.between, r.name, d);
    json_rows_release(&r);
    return stop;
}

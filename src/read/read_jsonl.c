/* JSONL: an object a line, sometimes several, with what else gets into such files. */
#include "base/mem.h"
#include "read/batch.h"
#include "read/json_rows.h"
#include "read/json_template.h"
#include "read/readers.h"
#include "read/source.h"
#include <stdlib.h>

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
    r->objects = 0;
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
        r->objects++;
        int stop = json_rows_deliver(r, l->number, true);
        if (stop)
            return stop;
        p = json_space(&t, p);
    }
    return 0;
}

/* --- many lines at once ---------------------------------------------------------------- */

struct jsonl {
    struct json_rows r;
    struct json_templates templates;
    struct batch_rows batch;
    struct source *s;
};

static int deliver(struct jsonl *j, const struct json_template *m, uint64_t line)
{
    const struct row_handler *h = j->r.h;
    struct row row = {line, m->cells, m->n_cells, true};
    return h->row(h->ctx, &row);
}

/* Hands on the rows that wait, as a batch or one by one; then *matched is set: the templates' cells are those
 * of other lines now. 0, or what the handler returned. */
static int flush(struct jsonl *j, const struct json_text *t, struct json_template *shape, bool *matched)
{
    size_t n;
    uint32_t pause;
    uint64_t line = j->batch.line;
    if (j->batch.n == 0 || batch_flush(&j->batch, &n, &pause))
        return 0;
    shape->pause = pause;
    *matched = true;
    int stop = 0;
    for (size_t i = 0; i < n && stop == 0; i++) {
        struct json_template *m;
        if (json_templates_match(&j->templates, t, j->batch.at[i], &m))
            stop = deliver(j, m, line + i);
    }
    return stop;
}

/* The lines at the front of the window that fit a template. 0, or what the handler returned. */
static int read_known_lines(struct jsonl *j, uint64_t *line)
{
    struct str w = source_window(j->s);
    struct json_text t;
    json_text_init(&t, w);
    const char *p = w.p, *end;
    struct json_template *m = NULL, *waiting = NULL;
    int stop = 0;
    uint64_t first = *line;
    for (; stop == 0 && (end = json_templates_match(&j->templates, &t, p, &m)) != NULL; p = end, ++*line) {
        if (m->pause == 0 && (m == waiting || j->batch.n == 0) &&
            batch_add(&j->batch, *line, p, m->cells, m->n_cells)) {
            waiting = m;
            continue;
        }
        bool matched = false;
        stop = flush(j, &t, waiting, &matched);
        waiting = m;
        if (stop || (matched && !json_templates_match(&j->templates, &t, p, &m)))
            continue;
        if (m->pause == 0 && batch_add(&j->batch, *line, p, m->cells, m->n_cells))
            continue;
        m->pause -= m->pause != 0 && m->pause != BATCH_PAUSE_FOR_GOOD;
        stop = deliver(j, m, *line);
    }
    bool matched;
    if (stop == 0)
        stop = flush(j, &t, waiting, &matched);
    source_take(j->s, (size_t)(p - w.p), *line - first);
    return stop;
}

/* A line that fits no template; what it looks like is learned. */
static int read_new_line(struct jsonl *j, const struct line *l)
{
    uint64_t skipped = *j->r.skipped;
    int stop = read_line(&j->r, l);
    const char *end = l->text.p + l->text.n;
    bool one = j->r.objects == 1 && *j->r.skipped == skipped && !j->r.scan.keys.full;
    if (stop == 0 && one && l->ended) {
        end += *end == '\r';
        json_templates_learn(&j->templates, &j->r.scan,
                             (struct str){l->text.p, (size_t)(end + 1 - l->text.p)});
    }
    return stop;
}

int read_jsonl(struct source *s, const struct read_layout *layout, const struct row_handler *h,
               uint64_t *skipped, struct diag *d)
{
    (void)layout;
    struct jsonl *j = mem_zero(1, sizeof *j);
    json_rows_init(&j->r, source_name(s), h, skipped, d);
    json_scan_trace(&j->r.scan, TEMPLATE_VALUES_MAX);
    batch_init(&j->batch, h);
    j->s = s;
    struct line l = {.number = 0};
    int stop = 0;
    for (;;) {
        uint64_t line = source_next_line(s);
        stop = read_known_lines(j, &line);
        if (stop)
            break;
        if (source_more(s))
            continue;
        if (!source_line(s, &l, d))
            break;
        stop = read_new_line(j, &l);
        if (stop)
            break;
    }
    if (stop == 0 && source_failed(s))
        stop = -1;
    between_say(&j->r.between, j->r.name, d);
    batch_release(&j->batch);
    json_templates_release(&j->templates);
    json_rows_release(&j->r);
    free(j);
    return stop;
}

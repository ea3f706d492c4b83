#include "report/report.h"
#include "base/embed.h"
#include "base/mem.h"
#include "report/ci.h"
#include "report/dir.h"
#include "report/json.h"
#include "report/page.h"
#include "report/pictures.h"
#include "report/summary.h"

#include <stdlib.h>

/* The files of the directory, all in memory. */
struct files {
    struct arena arena;
    struct dir_file *items; /* n items */
    struct buf **owned;     /* n_owned buffers behind some of them */
    size_t n, cap, n_owned;
};

static void add(struct files *f, const char *name, struct str bytes)
{
    if (f->n == f->cap) {
        f->cap = f->cap ? 2 * f->cap : 32;
        f->items = mem_grow(f->items, f->cap, sizeof *f->items);
        f->owned = mem_grow(f->owned, f->cap, sizeof *f->owned);
    }
    f->items[f->n++] = (struct dir_file){name, bytes};
}

/* A file to be filled; call add_made when it is. */
static struct buf *make(struct files *f)
{
    return arena_alloc(&f->arena, sizeof(struct buf));
}

static void add_made(struct files *f, const char *name, struct buf *b)
{
    add(f, name, buf_view(b));
    f->owned[f->n_owned++] = b;
}

static void files_release(struct files *f)
{
    for (size_t i = 0; i < f->n_owned; i++)
        buf_release(f->owned[i]);
    free(f->items);
    free(f->owned);
    arena_release(&f->arena);
}

static int add_page(struct files *f, const char *name, enum page_form form, const struct report_content *c,
                    const struct report_settings *s, struct diag *d)
{
    struct buf *page = make(f);

    if (page_render(page, form, c, s, d) != 0) {
        buf_release(page);
        return -1;
    }
    add_made(f, name, page);
    return 0;
}

static void add_plots(struct files *f, const struct gallery *g)
{
    for (size_t i = 0; g && i < g->n; i++) {
        if (strcmp(g->items[i].name, "verdict") == 0)
            continue;
        for (int t = 0; t < THEME_COUNT; t++)
            if (g->items[i].png[t].n)
                add(f, picture_path(&f->arena, &g->items[i], (enum theme)t), buf_view(&g->items[i].png[t]));
    }
}

static int add_html(struct files *f, const struct report_content *c, const struct report_settings *s,
                    struct diag *d)
{
    struct buf *css = make(f);

    if (page_stylesheet(css, s, d) != 0) {
        buf_release(css);
        return -1;
    }
    add_made(f, "style.css", css);
    add_plots(f, c->gallery);
    return add_page(f, "index.html", PAGE_LINKED, c, s, d);
}

static void add_json(struct files *f, const struct report_content *c)
{
    struct buf *report = make(f), *series = make(f);

    json_report(report, c);
    json_series(series, c->analysis);
    add_made(f, "report.json", report);
    add(f, "report.schema.json", embed_find("templates/report.schema.json"));
    add_made(f, "data/series.json", series);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct dir_file *)a)->name, ((const struct dir_file *)b)->name);
}

static int add_all(struct files *f, const struct report_content *c, const struct report_settings *s,
                   struct diag *d)
{
    const struct picture *card = c->gallery ? gallery_find(c->gallery, "verdict") : NULL;

    if ((s->parts & PART_HTML) && add_html(f, c, s, d) != 0)
        return -1;
    if ((s->parts & PART_SINGLE) && add_page(f, "oomreport.html", PAGE_SINGLE, c, s, d) != 0)
        return -1;
    if ((s->parts & PART_PNG) && card && card->png[THEME_LIGHT].n)
        add(f, "verdict.png", buf_view(&card->png[THEME_LIGHT]));
    if (s->parts & PART_JSON)
        add_json(f, c);
    if (s->parts & PART_MD) {
        struct buf *b = make(f);
        summary_markdown(b, c, s);
        add_made(f, "summary.md", b);
    }
    if (s->parts & PART_TXT) {
        struct buf *b = make(f);
        summary_text(b, c, s);
        add_made(f, "summary.txt", b);
    }
    if (s->parts & PART_JUNIT) {
        struct buf *b = make(f);
        ci_junit(b, c, s);
        add_made(f, "junit.xml", b);
    }
    if (s->parts & PART_METRICS) {
        struct buf *b = make(f);
        ci_metrics(b, c, s);
        add_made(f, "metrics.txt", b);
    }
    if (f->n)
        qsort(f->items, f->n, sizeof *f->items, by_name);
    return 0;
}

int report_write(const char *dir, const struct report_content *c, const struct report_settings *s,
                 struct diag *d)
{
    struct files f = {0};
    int rc = 0;

    for (size_t i = 0; i < c->n_inputs && rc == 0; i++)
        if (c->inputs[i].name && dir_holds(dir, c->inputs[i].name)) {
            diag_add(d, DIAG_FOREIGN_DIRECTORY, (struct place){dir, 0, 0},
                     "input %s lies in it; use another -o", c->inputs[i].name);
            rc = -1;
        }
    if (rc == 0)
        rc = add_all(&f, c, s, d);
    if (rc == 0)
        rc = dir_write(dir, f.items, f.n, s->force, s->ready, d);
    files_release(&f);
    return rc;
}

int report_render(struct buf *out, const char *format, const struct report_content *c,
                  const struct report_settings *s)
{
    if (strcmp(format, "md") == 0)
        summary_markdown(out, c, s);
    else if (strcmp(format, "txt") == 0)
        summary_text(out, c, s);
    else if (strcmp(format, "json") == 0)
        json_report(out, c);
    else
        return -1;
    return 0;
}

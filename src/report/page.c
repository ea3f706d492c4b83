#include "report/page.h"
#include "base/embed.h"
#include "report/facts.h"
#include "report/pictures.h"
#include "report/rich.h"
#include "report/template.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

enum {
    TEMPLATE_FILE_MAX = 1 << 20
};

/* --- where templates come from ----------------------------------------------------- */

struct page_source {
    const char *dir; /* or NULL */
    struct arena *arena;
    struct str sections; /* the parts rendered so far, as file "sections" */
};

/* A file of --templates; false when it is not there. */
static bool read_override(struct page_source *src, const char *name, struct template_file *out)
{
    const char *path = arena_printf(src->arena, "%s/%s", src->dir, name);
    FILE *f = fopen(path, "rb");

    *out = (struct template_file){.shown = path};
    if (!f) {
        out->problem = arena_printf(src->arena, "cannot be opened: %s", strerror(errno));
        return errno != ENOENT;
    }
    char *p = arena_alloc(src->arena, TEMPLATE_FILE_MAX + 1);
    size_t n = fread(p, 1, TEMPLATE_FILE_MAX + 1, f);
    if (ferror(f))
        out->problem = arena_printf(src->arena, "cannot be read: %s", strerror(errno));
    else if (n > TEMPLATE_FILE_MAX)
        out->problem = "is larger than 1 MiB, more than a template may have";
    fclose(f);
    out->bytes = (struct str){p, n};
    return true;
}

static bool find_template(void *context, const char *name, struct template_file *out)
{
    struct page_source *src = context;

    if (strcmp(name, "sections") == 0) {
        *out = (struct template_file){src->sections, name, true, NULL};
        return true;
    }
    if (src->dir && read_override(src, name, out))
        return true;
    const char *full = arena_printf(src->arena, "templates/%s", name);
    *out = (struct template_file){embed_find(full), full, false, NULL};
    return out->bytes.p != NULL;
}

/* --- helpers for sections ---------------------------------------------------------- */

void page_not_tested(struct page *p, const char *what, const char *how)
{
    struct tnode *line = tnode_item(&p->arena, p->not_tested, "lines");

    tnode_text(&p->arena, line, "what", what);
    tnode_text(&p->arena, line, "how", how);
    p->n_not_tested++;
}

static void image(struct page *p, struct tnode *figure, const struct picture *pic, enum theme theme,
                  const char *class)
{
    struct arena *a = &p->arena;
    struct tnode *img = tnode_item(a, figure, "images");
    struct tnode *form = tnode_item(a, img, p->form == PAGE_SINGLE ? "bare" : "linked");

    tnode_text(a, img, "class", class);
    tnode_text(a, img, "alt", pic->alt ? pic->alt : "");
    tnode_printf(a, img, "width", "%d", pic->width);
    tnode_printf(a, img, "height", "%d", pic->height);
    if (p->form == PAGE_SINGLE)
        tnode_str(a, form, "src", picture_data_url(a, &pic->png[theme]));
    else
        tnode_text(a, form, "src", picture_path(a, pic, theme));
}

bool page_figure(struct page *p, struct tnode *root, const char *list, const char *picture,
                 const char *table_id, const char *table_text)
{
    const struct gallery *g = p->content->gallery;
    const struct picture *pic = g ? gallery_find(g, picture) : NULL;
    bool light = pic && pic->png[THEME_LIGHT].n > 0;
    bool dark = pic && pic->png[THEME_DARK].n > 0 && !(light && p->without_dark);

    if (!light && !dark)
        return false;
    struct tnode *figure = tnode_item(&p->arena, root, list);
    if (light)
        image(p, figure, pic, THEME_LIGHT, dark ? "pl" : "p1");
    if (dark)
        image(p, figure, pic, THEME_DARK, light ? "pd" : "p1");
    tnode_printf(&p->arena, figure, "number", "%u", ++p->figures);
    struct str caption = str_trim(str_of(pic->caption));
    if (caption.n && caption.p[caption.n - 1] == '.')
        caption.n--; /* the link to the table follows */
    tnode_str(&p->arena, figure, "caption", caption);
    tnode_text(&p->arena, figure, "table_id", table_id);
    tnode_text(&p->arena, figure, "table_text", table_text);
    return true;
}

static struct tnode *known_cell(struct page *p, struct tnode *row, const char *list, double exact,
                                const char *shown)
{
    struct tnode *cell = tnode_item(&p->arena, row, list);
    struct tnode *state = tnode_item(&p->arena, cell, isnan(exact) ? "unknown" : "known");
    struct buf b = {0};

    num_put(&b, exact);
    tnode_str(&p->arena, state, "exact", arena_str(&p->arena, buf_view(&b)));
    buf_release(&b);
    tnode_text(&p->arena, state, "shown", shown);
    return cell;
}

void page_cell_bytes(struct page *p, struct tnode *row, const char *list, double bytes, enum byte_unit u)
{
    known_cell(p, row, list, round(bytes), words_bytes_in(&p->arena, bytes, u, false));
}

void page_cell_signed(struct page *p, struct tnode *row, const char *list, double bytes, enum byte_unit u)
{
    known_cell(p, row, list, bytes, words_bytes_in(&p->arena, bytes, u, true));
}

void page_cell_number(struct page *p, struct tnode *row, const char *list, double v)
{
    known_cell(p, row, list, v, words_number(&p->arena, v));
}

void page_rich(struct page *p, struct tnode *node, const char *list, const char *text)
{
    static const char *const names[] = {"plain", "strong", "code"};
    struct str rest = str_of(text), part;
    enum rich_kind kind = RICH_PLAIN;

    if (!text)
        return;
    struct tnode *item = tnode_item(&p->arena, node, list);
    for (bool begins = true; rich_next(&part, &kind, &rest, begins); begins = kind == RICH_PLAIN) {
        struct tnode *piece = tnode_item(&p->arena, item, "parts");

        tnode_str(&p->arena, tnode_item(&p->arena, piece, names[kind]), "t", part);
    }
}

void page_optional(struct page *p, struct tnode *node, const char *list, const char *name, const char *text)
{
    if (text)
        tnode_text(&p->arena, tnode_item(&p->arena, node, list), name, text);
}

void page_fact(struct page *p, struct tnode *node, const char *list, const char *what, const char *value)
{
    struct tnode *row = tnode_item(&p->arena, node, list);

    tnode_text(&p->arena, row, "what", what);
    tnode_text(&p->arena, row, "value", value);
}

/* --- the page ---------------------------------------------------------------------- */

struct section {
    const char *name;
    const char *file; /* of templates/ */
    section_fill *fill;
};

static const struct section sections[] = {
#define SECTION(name) {#name, "section_" #name ".html", section_##name},
#include "report/sections.def"
#undef SECTION
};

bool page_shows(const struct page *p, const char *section)
{
    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++)
        if (strcmp(sections[i].name, section) == 0)
            return p->shown >> i & 1;
    return false;
}

static void page_init(struct page *p, enum page_form form, const struct report_content *c,
                      const struct report_settings *s)
{
    *p = (struct page){.form = form, .content = c, .settings = s, .analysis = c->analysis};
    arena_init(&p->arena);
    p->lead = facts_lead(c->analysis);
    p->label = facts_label(&p->arena, c->analysis, s->label);
    p->not_tested = tnode_new(&p->arena);
    p->without_dark = form == PAGE_SINGLE && pictures_too_large(c->gallery);
}

static void fill_frame(struct page *p, struct tnode *root)
{
    struct arena *a = &p->arena;
    struct tnode *form = tnode_item(a, root, p->form == PAGE_SINGLE ? "single" : "linked");

    tnode_text(a, form, "stylesheet", "style.css");
    tnode_text(a, root, "title", facts_title(a, p->analysis, p->label));
    tnode_text(a, root, "version", OOMREPORT_VERSION);
    if (p->form == PAGE_LINKED) {
        page_optional(p, root, "json", "href", p->settings->parts & PART_JSON ? "report.json" : NULL);
        page_optional(p, root, "markdown", "href", p->settings->parts & PART_MD ? "summary.md" : NULL);
        page_optional(p, root, "onefile", "href", p->settings->parts & PART_SINGLE ? "oomreport.html" : NULL);
    }
    page_optional(p, root, "made", "timestamp", p->settings->timestamp);
    page_header(p, root);
}

int page_render(struct buf *out, enum page_form form, const struct report_content *c,
                const struct report_settings *s, struct diag *d)
{
    struct page p;
    struct buf body = {0};
    struct template_set set;
    int rc = 0;

    page_init(&p, form, c, s);
    struct page_source source = {.dir = s->templates_dir, .arena = &p.arena};
    template_init(&set, (struct template_source){find_template, &source});
    for (size_t i = 0; i < sizeof sections / sizeof sections[0] && rc == 0; i++) {
        struct tnode *root = tnode_new(&p.arena);

        if (!sections[i].fill(&p, root))
            continue;
        p.shown |= 1ul << i;
        rc = template_render(&set, &body, sections[i].file, root, d);
    }
    if (rc == 0) {
        struct tnode *root = tnode_new(&p.arena);

        source.sections = buf_view(&body);
        fill_frame(&p, root);
        rc = template_render(&set, out, "page.html", root, d);
    }
    template_release(&set);
    buf_release(&body);
    arena_release(&p.arena);
    return rc;
}

int page_stylesheet(struct buf *out, const struct report_settings *s, struct diag *d)
{
    struct arena a = {0};
    struct page_source source = {.dir = s->templates_dir, .arena = &a};
    struct template_set set;

    template_init(&set, (struct template_source){find_template, &source});
    int rc = template_render(&set, out, "style.css", tnode_new(&a), d);
    template_release(&set);
    arena_release(&a);
    return rc;
}

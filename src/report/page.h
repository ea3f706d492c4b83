/* page: the HTML page in its two forms, put together from sections.
 *
 * A section is section_X.c (fills a tree), templates/section_X.html and one line
 * in sections.def. A section without data is left out, and says under "Not
 * tested" what would enable it. */
#ifndef OOMREPORT_REPORT_PAGE_H
#define OOMREPORT_REPORT_PAGE_H

#include "report/report.h"
#include "report/tree.h"
#include "report/words.h"

enum page_form {
    PAGE_LINKED,
    PAGE_SINGLE
};

struct page {
    struct arena arena;
    enum page_form form;
    const struct report_content *content;
    const struct report_settings *settings;
    const struct analysis *analysis;
    const struct run_report *lead; /* the run of the figures, or NULL without runs */
    const char *label;
    struct tnode *not_tested; /* list "lines" of texts, filled by sections on the way */
    size_t n_not_tested;
    unsigned long shown; /* bit i: the i-th section of sections.def is on the page */
    unsigned figures;    /* numbered so far */
    bool without_dark;   /* dark pictures left out of the single file for its size */
};

/* Renders the page to the end of out. 0, or -1 with bad-template diagnostics in d. */
int page_render(struct buf *out, enum page_form form, const struct report_content *c,
                const struct report_settings *s, struct diag *d);

/* Renders style.css likewise (it may be one of --templates). */
int page_stylesheet(struct buf *out, const struct report_settings *s, struct diag *d);

/* --- for sections ---------------------------------------------------------------- */

/* False when there is nothing to show; `root` is then thrown away. */
typedef bool section_fill(struct page *p, struct tnode *root);
#define SECTION(name) section_fill section_##name;
#include "report/sections.def"
#undef SECTION
/* The line above the verdict; not in sections.def because it stands outside <main>. */
void page_header(struct page *p, struct tnode *root);

/* Whether the section stands on the page; of those that come later false. */
bool page_shows(const struct page *p, const char *section);
void page_not_tested(struct page *p, const char *what, const char *how);
/* List `list` of one item: the picture of that name as a figure with its link to a table. False
 * when it was not drawn. */
bool page_figure(struct page *p, struct tnode *root, const char *list, const char *picture,
                 const char *table_id, const char *table_text);
/* List `list` of one item for templates/cell.html: the figure as shown and exactly. */
void page_cell_bytes(struct page *p, struct tnode *row, const char *list, double bytes, enum byte_unit u);
void page_cell_signed(struct page *p, struct tnode *row, const char *list, double bytes, enum byte_unit u);
void page_cell_number(struct page *p, struct tnode *row, const char *list, double v);
/* List `list` of one item for templates/rich.html: figures strong, names from code as code. */
void page_rich(struct page *p, struct tnode *node, const char *list, const char *text);
/* List `list` of one item with `name` = text; nothing when text is NULL. */
void page_optional(struct page *p, struct tnode *node, const char *list, const char *name, const char *text);
/* A row of list `list` with texts `what` and `value`: for <dl> and two-column tables. */
void page_fact(struct page *p, struct tnode *node, const char *list, const char *what, const char *value);

#endif

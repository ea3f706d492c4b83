/* draw: series + verdicts -> pictures (PNG bytes).
 *
 * One file for each plot, listed in plots.def. Pictures are 960x400 CSS px drawn at scale 2,
 * reduced to min/mean/max per pixel column. The font is given as bytes; fontconfig
 * is never asked. May not know of pages and directories. */
#ifndef OOMREPORT_DRAW_DRAW_H
#define OOMREPORT_DRAW_DRAW_H

#include "base/buf.h"
#include "model/verdict.h"

enum theme {
    THEME_LIGHT,
    THEME_DARK,
    THEME_COUNT
};

struct picture {
    const char *name;            /* "timeline", "growth", "law", "seeds": file name without ".png" */
    const char *title;           /* the finding, as drawn */
    const char *alt;             /* one sentence with the numbers */
    const char *caption;         /* what is shown: run, rank, reduction */
    int width, height;           /* [CSS px]; the PNG is twice as large */
    struct buf png[THEME_COUNT]; /* empty when the theme was not asked for */
};

struct gallery {
    struct arena arena;
    struct picture *items; /* n pictures in the order of plots.def; a plot without data is absent */
    size_t n;
};

struct draw_settings {
    bool themes[THEME_COUNT];
    bool card;       /* also the 1200x630 "verdict" card (light) */
    struct str font; /* a TrueType file */
};

/* 0, or -1 with errno set when drawing failed (no memory in a library). */
int draw_all(struct gallery *out, const struct analysis *a, const struct draw_settings *settings);
void gallery_release(struct gallery *g);
const struct picture *gallery_find(const struct gallery *g, const char *name);
/* --dump=plots: what would be drawn, the card last, as text (title, axes, series of points, marks). */
void draw_dump(struct buf *out, const struct analysis *a);

#endif

/* canvas: what a picture consists of, as a list of rectangles, traces, marks and texts.
 *
 * A plot draws on a canvas once; the list is then painted for each theme
 * (canvas_cairo.c) or printed (canvas_list.c), so that what is printed is what
 * is painted. All places are CSS pixels, y downwards. Texts may be any bytes:
 * they are made visible and clipped on the way in. Knows nothing of series. */
#ifndef OOMREPORT_DRAW_CANVAS_H
#define OOMREPORT_DRAW_CANVAS_H

#include "base/arena.h"
#include "base/buf.h"
#include "draw/palette.h"
#include "draw/raster.h"

enum {
    CANVAS_SCALE = 2,      /* pixels of the PNG per CSS pixel */
    CANVAS_TEXT_MAX = 400, /* [B] longest text that is kept */
    CANVAS_LINES_MAX = 8   /* lines of a wrapped text */
};

enum anchor {
    ANCHOR_LEFT,
    ANCHOR_MIDDLE,
    ANCHOR_RIGHT
};
enum dash {
    DASH_NONE,
    DASH_DASHED /* 6-3 */,
    DASH_DOTTED /* 2-3 */,
    DASH_MIXED /* 2-3-6-3 */
};
enum mark {
    MARK_X,
    MARK_X_HOLLOW,
    MARK_DIAMOND,
    MARK_TRIANGLE,
    MARK_DOT,
    MARK_RING
};
enum item_kind {
    ITEM_RECT,
    ITEM_COLUMNS,
    ITEM_CELLS,
    ITEM_LINE,
    ITEM_MARK,
    ITEM_TEXT
};
enum {
    CELL_LEVELS = 8
};

struct item {
    enum item_kind kind;
    enum ink ink;
    double alpha; /* 0..1 */
    enum dash dash;
    enum mark mark;
    enum anchor anchor;
    double x, y, x2, y2;       /* [px] RECT: corners; LINE: ends; MARK, TEXT: place (text: baseline) */
    double size;               /* [px] LINE: width; MARK: width; TEXT: font size; CELLS: side of one;
                                COLUMNS: 0, or width of the trace */
    const float *top, *bottom; /* COLUMNS: n values [px] each; NAN: nothing there */
    size_t n;
    const unsigned char *cells; /* CELLS: n levels 0..CELL_LEVELS, row by row; 0: nothing there */
    size_t across;              /* CELLS in a row */
    const char *text;
    double width; /* [px] of TEXT */
};

/* A TrueType font in memory, made by canvas_cairo.c. */
struct font;
/* NULL with errno set when the bytes are no usable font; they must outlive it. */
struct font *font_new(struct str bytes);
void font_free(struct font *f);
bool font_has(const struct font *f, uint32_t codepoint);
double font_advance(const struct font *f, uint32_t codepoint); /* [em] */

struct canvas {
    struct arena *arena;     /* borrowed: holds the items and their texts */
    const struct font *font; /* borrowed; NULL: widths of DejaVu Sans from a small table */
    double width, height;    /* [px] */
    struct item *items;      /* n items in painting order */
    size_t n, cap;
};

void canvas_init(struct canvas *c, struct arena *arena, const struct font *font, double width, double height);
void canvas_rect(struct canvas *c, double x, double y, double x2, double y2, enum ink ink, double alpha);
void canvas_line(struct canvas *c, double x, double y, double x2, double y2, enum ink ink, double width,
                 enum dash dash);
void canvas_mark(struct canvas *c, enum mark mark, double x, double y, double size, enum ink ink);
/* n columns of 1/CANVAS_SCALE px from x on, filled from top[i] down to bottom[i] (n values [px]). */
void canvas_columns(struct canvas *c, double x, size_t n, const double *top, const double *bottom,
                    enum ink ink, double alpha);
/* A line through n columns of 1/CANVAS_SCALE px from x on, at y[i] [px]; NAN breaks it. */
void canvas_trace(struct canvas *c, double x, size_t n, const double *y, enum ink ink, double width,
                  enum dash dash);
/* Squares of `side` px from x, y on, n of them in rows of `across`. A level is a share of the ink's strength,
 * or with INK_HEAT0 the class of the heat map. */
void canvas_cells(struct canvas *c, double x, double y, double side, size_t across, size_t n,
                  const unsigned char *levels, enum ink ink);
/* One line of text, cut with an ellipsis to max_width [px]; returns its width [px]. */
double canvas_text(struct canvas *c, double x, double y, enum anchor anchor, double size, enum ink ink,
                   double max_width, const char *text);
/* Text broken at spaces into at most max_lines lines, left-aligned, the last one cut; returns the number of
 * lines. */
size_t canvas_paragraph(struct canvas *c, double x, double y, double size, double line_height, enum ink ink,
                        double max_width, size_t max_lines, const char *text);
double canvas_text_width(const struct canvas *c, double size, const char *text); /* [px] */
/* Bytes as visible text, cut to max_width [px] when that is > 0: what canvas_text() would draw. */
const char *canvas_visible(struct canvas *c, struct str bytes, double size, double max_width);

/* The list as text, one item a line; long columns as their extremes and a sample. */
void canvas_print(struct buf *out, const struct canvas *c);
/* The list as pixels. 0, or -1 with errno set. */
int canvas_paint(struct raster *out, const struct canvas *c, enum theme theme);

#endif

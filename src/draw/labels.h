/* labels: texts at the ends of lines, pushed apart so that none overlaps another. */
#ifndef OOMREPORT_DRAW_LABELS_H
#define OOMREPORT_DRAW_LABELS_H

#include "draw/canvas.h"

enum {
    LABELS_MAX = 24,
    LABEL_LINES = 3,
    LABEL_HEIGHT = 14 /* [px] of a line of 12 px text: the least distance of two labels */
};

struct label {
    double y; /* [px] of the line's end; where the label would like to be */
    enum ink ink;
    const char *lines[LABEL_LINES]; /* NULL: no more lines */
    double at;                      /* [px] middle of the first line, set by labels_place() */
};

struct labels {
    struct label items[LABELS_MAX]; /* n */
    size_t n;
};

/* Further labels than LABELS_MAX are dropped. */
void labels_add(struct labels *l, double y, enum ink ink, const char *line1, const char *line2,
                const char *line3);
/* Sets `at` of all between top and bottom [px], in the order of their y, moved as little as can be;
 * labels for which there is no room are taken out from the end. */
void labels_place(struct labels *l, double top, double bottom);
/* Draws them at x, each joined to its line's end at from_x by a thin line when it had to move;
 * muted ones, which stand for many lines or for none, are not joined. */
void labels_draw(const struct labels *l, struct canvas *c, double from_x, double x, double max_width);

#endif

/* axis: the frame of a plot: title, subtitle, two axes with ticks, the grid. */
#ifndef OOMREPORT_DRAW_AXIS_H
#define OOMREPORT_DRAW_AXIS_H

#include "base/num.h"
#include "draw/canvas.h"
#include "draw/reduce.h"
#include "draw/scale.h"

enum {
    PLOT_WIDTH = 960,
    PLOT_HEIGHT = 400,
    PLOT_LEFT = 70,
    PLOT_RIGHT = 170,
    PLOT_TOP = 78,
    PLOT_BOTTOM = 52
};

struct axis {
    struct scale scale;
    struct ticks ticks;  /* in the displayed unit */
    double origin, unit; /* displayed = (value - origin) / unit */
    const char *suffix;  /* unit's name, written at one tick; "" for none */
    const char *title;   /* or NULL */
    bool identifiers;    /* steps, ids: never shortened */
};

struct frame {
    struct canvas *c;
    double left, top, right, bottom; /* [px] of the plotting area */
    struct axis x, y;
};

/* The usual plotting area of a picture. */
void plot_frame_init(struct frame *f, struct canvas *c);
/* Columns of pixels across the plotting area, for reduce(). */
size_t frame_columns(const struct frame *f);
/* Axes over lo..hi (finite, lo <= hi; widened where they are equal). */
void frame_x(struct frame *f, enum x_kind kind, double lo, double hi);
/* x counts something else: identifiers false, title as given. */
void frame_x_size(struct frame *f, double lo, double hi, const char *title);
/* Bytes in one unit, hi raised to fit the ticks; lo 0 for all but differences. */
void frame_y_bytes(struct frame *f, double lo, double hi);
void frame_title(const struct frame *f, const char *title, const char *subtitle);
/* Horizontal lines at the y ticks; before the data. */
void frame_grid(const struct frame *f);
/* Tick labels, the x axis and its title; after the data. */
void frame_axes(const struct frame *f);
/* n values of the y axis to pixels in place; kept inside the plotting area. */
void frame_y_px(const struct frame *f, double *v, size_t n);

#endif

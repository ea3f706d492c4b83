/* scale: values to pixels, and the ticks of an axis. Knows nothing of drawing. */
#ifndef OOMREPORT_DRAW_SCALE_H
#define OOMREPORT_DRAW_SCALE_H

#include <stdbool.h>

enum {
    TICKS_MIN = 4,
    TICKS_MAX = 7
};

/* lo < hi in the axis's unit; from and to [px], to < from on a y axis. */
struct scale {
    double lo, hi, from, to;
};

/* The pixel of v [px]; NAN for NAN; values outside are not clamped. */
double scale_px(const struct scale *s, double v);
/* As scale_px, but kept between from and to. */
double scale_px_clamped(const struct scale *s, double v);

/* Ticks at first, first + step, … n of them; labels need that many decimals. */
struct ticks {
    double first, step;
    int n, decimals;
};

/* Ticks 1-2-5 times a power of ten within lo..hi, 4 to 7 of them where such a
 * step exists (3 or 8 else); whole: the step is at least 1. lo < hi, both finite. */
struct ticks ticks_choose(double lo, double hi, bool whole);
/* The same for an axis whose upper end is free: *hi is raised to the least value that gives 4 to 7 ticks. */
struct ticks ticks_round_up(double lo, double *hi, bool whole);
double tick_at(const struct ticks *t, int i);

#endif

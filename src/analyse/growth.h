/* growth: does a quantity keep rising along a run?
 *
 * Tells a lasting climb (straight, late, by stairs, under a saw-tooth) from
 * what only looks like one: a warm-up that ends in a plateau, one level shift,
 * a wandering level, a saw-tooth that falls all the way. p-values add nothing
 * once an effect size is required, so the tests are sizes and shares. Knows of
 * x and y only, not of what they measure. */
#ifndef OOMREPORT_ANALYSE_GROWTH_H
#define OOMREPORT_ANALYSE_GROWTH_H

#include <stdbool.h>
#include <stddef.h>

enum growth_shape {
    GROWTH_UNTESTED, /* fewer than 8 values */
    GROWTH_FLAT,
    GROWTH_LINE,     /* climbs to the end, from the start or from onset */
    GROWTH_STAIRS,   /* climbs to the end in three or more jumps */
    GROWTH_PLATEAU,  /* rose, then stopped */
    GROWTH_SHIFT,    /* one jump carries it */
    GROWTH_WANDER,   /* moves, but not more than its own noise */
    GROWTH_TEETH_UP, /* falls back now and then, its low points rise */
    GROWTH_TEETH     /* falls back to where it began */
};

struct growth {
    enum growth_shape shape;
    size_t n; /* values tested, after the warm-up */
    double x_first, x_last;
    double noise;            /* [y] robust spread about the local level */
    double slope, low, high; /* [y/x] with a 95 % interval, of the part that climbs */
    double x0, y0;           /* a point on the fitted line */
    double onset;            /* [x] where the climb begins */
    double rise;             /* [y] climbed from onset to the end */
    double total_rise;       /* [y] last level minus first level */
    double tau;              /* Mann-Kendall over 12 block minima [1] */
    double late_share;       /* share of the climb in its last third; 1/3 when straight [1] */
    double jump_share;       /* share of the climb in its largest single jump [1] */
    double t;                /* slope over its standard error [1] */
    double least_slope;      /* [y/x] smallest slope that would have been found */
    size_t teeth;            /* pieces between falls */
    double tooth;            /* [y] typical climb within a piece */
    double tooth_slope;      /* [y/x] typical slope within a piece */
    double last_rise;        /* [y] climb within the last piece */
    bool teeth_at_restarts;  /* every fall is a restart of the process */
    double strength;         /* 0..1, how far the tests are on the side of a lasting climb */
};

/* x ascending within a piece; y finite or NAN; restart (may be NULL) marks values that
 * begin a new process; effect [y] is the smallest rise that matters. */
void growth_test(struct growth *out, const double *x, const double *y, const unsigned char *restart, size_t n,
                 double effect);
bool growth_climbs(const struct growth *g); /* LINE, STAIRS or TEETH_UP */

#endif

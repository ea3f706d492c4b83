/* timeline: the memory of one run along its steps, reduced; for the timeline and the card. */
#ifndef OOMREPORT_DRAW_TIMELINE_H
#define OOMREPORT_DRAW_TIMELINE_H

#include "draw/plot.h"

enum {
    TIMELINE_LINES = 4,
    TIMELINE_OTHERS = 8
};

struct timeline_line {
    enum field field;
    enum ink ink;
    enum dash dash;
    bool envelope; /* mean and range; else the greatest values */
};

struct timeline {
    const struct run_report *run;
    enum x_kind x_kind;
    double end_x;                               /* x of the failure; NAN: none, or its place is unknown */
    struct timeline_line lines[TIMELINE_LINES]; /* n_lines, main first; fields of `data` in this order */
    size_t n_lines;
    struct reduced data;
    double capacity_bytes; /* of what is shown: device or host [B]; NAN unknown */
    double max_bytes;      /* greatest value of all lines [B] */
    bool show_capacity;    /* it is known and not far above all data */
    struct frame frame;
};

/* Reads the run's data for the plotting area of f. False when there are fewer than two points. */
bool timeline_init(struct timeline *t, const struct frame *f, const struct run_report *run);
/* Sets the y axis for all lines, the capacity when it is shown, and also_bytes [B]. */
void timeline_set_y(struct timeline *t, double also_bytes);
/* The lines with their envelopes, in the plotting area. */
void timeline_draw_lines(const struct timeline *t);
/* The capacity line and the end of the run (line and X). */
void timeline_draw_end(const struct timeline *t);
/* x of an event; NAN when unknown. */
double timeline_event_x(const struct timeline *t, const struct event *e);
/* Last known value of line k, or its greatest [B]; NAN when it has none. */
double timeline_last(const struct timeline *t, size_t k);
double timeline_max(const struct timeline *t, size_t k);
/* [px] where the X of the end stands. */
double timeline_end_y(const struct timeline *t);
/* The finding, as a title. */
const char *timeline_title(struct arena *arena, const struct timeline *t);
/* One sentence with the numbers. */
const char *timeline_alt(struct canvas *c, const struct timeline *t);

#endif

/* plot: what the plots share: their interface, and words for runs and figures. */
#ifndef OOMREPORT_DRAW_PLOT_H
#define OOMREPORT_DRAW_PLOT_H

#include "draw/axis.h"
#include "draw/draw.h"
#include "draw/labels.h"

/* Draws on c (which may change its height) and fills in title, alt and caption of p
 * from c's arena; false when the analysis has no data for it: nothing is shown then. */
typedef bool plot_function(struct canvas *c, const struct analysis *a, struct picture *p);

struct plot {
    const char *name;
    plot_function *draw;
};

#define PLOT(name) plot_function plot_##name;
#include "draw/plots.def"
#undef PLOT

/* The 1200x630 card. */
void card_draw(struct canvas *c, const struct analysis *a, struct picture *p);

enum {
    CARD_WIDTH = 1200,
    CARD_HEIGHT = 630
};

/* The run the figures show, or NULL when there is none. */
const struct run_report *plot_lead(const struct analysis *a);
/* "139.8 GiB"; "unknown" for NAN. */
const char *plot_say_bytes(struct arena *arena, double bytes);
/* The same in a given unit. */
const char *plot_say_bytes_in(struct arena *arena, double bytes, enum byte_unit unit);
/* "3.1 MiB/step" */
const char *plot_say_rate(struct arena *arena, double bytes_per_step);
/* A step, count or identifier: whole numbers in full, no separators. */
const char *plot_say_number(struct arena *arena, double v);
/* "seed 3", "rank 5", else the run's name; rank is added when with_rank and it is known. */
const char *plot_say_run(struct canvas *c, const struct run_report *r, bool with_rank);
/* "run1.jsonl, seed 3, rank 0, NVIDIA H200": for subtitles. */
const char *plot_say_source(struct canvas *c, const struct run_report *r);
/* "OOM at step 11874", "killed at step 12": how the run ended, or NULL when it did not fail. */
const char *plot_say_end(struct arena *arena, const struct run_report *r);
/* The end again as an optional tail for titles: ": OOM at step 12" or "". */
const char *plot_say_end_tail(struct arena *arena, const char *before, const struct run_report *r);
/* The field that stands for what the run held: allocated, else peak, device use, reserved, host; F_COUNT:
 * none. */
enum field plot_main_field(const struct series *s);
const char *plot_field_name(enum field f);

#endif

/* site_words: how lines of code are named and coloured in the plots of a memory snapshot. */
#ifndef OOMREPORT_DRAW_SITE_WORDS_H
#define OOMREPORT_DRAW_SITE_WORDS_H

#include "draw/plot.h"
#include "model/trace.h"

/* The fill of a part: alpha with the ink; labels wear the ink alone. */
struct fill_ink {
    enum ink ink;
    double alpha;
};

/* Of the i-th part of a stack; blamed: the one to look at first. Neighbours differ in lightness. */
struct fill_ink site_ink(size_t i, bool blamed);
/* "main.py:44 train_step" of "src/main.py:44 train_step", the function alone of "??:0 function"; what
 * stands for blocks without a stack for NULL. */
const char *site_short(const char *site);
/* The frame that r's findings name first, or TRACE_NONE. */
uint32_t site_blamed(const struct run_report *r);
/* A square of the fill beside a label at x, y [px] (middle of its first line). */
void site_swatch(struct canvas *c, double x, double y, struct fill_ink ink);
/* The device's trace behind a run; NULL when it has none. */
const struct trace_device *site_trace(const struct run_report *r);

#endif

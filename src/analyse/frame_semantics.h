/* frame_semantics: what the columns and events of a frame mean. Called once,
 * in this order, by frame_init. */
#ifndef OOMREPORT_ANALYSE_FRAME_SEMANTICS_H
#define OOMREPORT_ANALYSE_FRAME_SEMANTICS_H

#include "analyse/frame.h"

/* When the peak counter is reset: declared, else from the shape of the column. */
void frame_find_reset(struct frame *f);
/* Outcome, failure, its phase and figures, survived OOMs, blind interval. */
void frame_find_end(struct frame *f);
/* Capacity in force and what of it the framework can have. */
void frame_find_room(struct frame *f, double capacity_setting);

#endif

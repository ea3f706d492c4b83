/* join: what several inputs say of one (run, rank) becomes one series. Internal to this layer. */
#ifndef OOMREPORT_NORMALISE_JOIN_H
#define OOMREPORT_NORMALISE_JOIN_H

#include "normalise/lane.h"

/* Joins lanes of one run and rank whose figures are of different kinds (memory in one file, shapes or
 * nvidia-smi in another): by step, else by time. Appends the events of logs without rows. Gives different
 * names to those that cannot be one series, and frees those without memory figures and events. Returns how
 * many of the n are left, in order. Texts go into a. */
size_t join_lanes(struct lane **lanes, size_t n, struct arena *a);

#endif

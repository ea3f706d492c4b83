/* stamp: points in time and durations as logs write them. */
#ifndef OOMREPORT_NORMALISE_STAMP_H
#define OOMREPORT_NORMALISE_STAMP_H

#include "base/str.h"

/* "2026-01-03T15:36:53.507Z", "2026/01/03 15:36:53.507" (no zone: UTC), "+02:00" zones:
 * seconds since 1970 [s]. "9 days, 21:49:18", "0:32:48": a duration [s]. False when it is none. */
bool stamp_parse(struct str text, double *seconds);

#endif

/* say: numbers inside sentences, in the arena. */
#ifndef OOMREPORT_ANALYSE_SAY_H
#define OOMREPORT_ANALYSE_SAY_H

#include "base/arena.h"

const char *say_bytes(struct arena *a, double bytes);        /* "3.1 MiB", "unknown" */
const char *say_signed_bytes(struct arena *a, double bytes); /* "-3.1 MiB" */
const char *say_count(struct arena *a, double n);            /* whole: "11874" */
const char *say_number(struct arena *a, double v, int decimals);
const char *say_percent(struct arena *a, double share); /* 0.953 -> "95 %" */
/* "all 51", "96 % of the 51": how many of n lie below the percentile (0..100). */
const char *say_below(struct arena *a, double percentile, double n);
/* " (95 % interval 1.2 MiB to 1.4 MiB)"; "" where both ends print alike. */
const char *say_interval(struct arena *a, double low, double high);
/* "35 minutes", "3.2 hours": a span of s seconds in the largest unit of which it has two. */
const char *say_seconds(struct arena *a, double s);
/* "8", "1.5", "0.34": a ratio without digits that say nothing. */
const char *say_ratio(struct arena *a, double v);
const char *say_plural(double n, const char *one, const char *many);

#endif

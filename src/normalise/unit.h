/* unit: unit words and cells with units in them.
 *
 * A unit in a mapping is exact: "MB" is 10^6 B, "MiB" 2^20 B, and "MB?" says that the
 * writer's "MB" is read as MiB but could be decimal. A unit in a log (a cell, a column
 * name) is read the way writers of such logs nearly always mean it: kB, MB, GB and the
 * bare letters are binary but ambiguous. Knows nothing of fields. */
#ifndef OOMREPORT_NORMALISE_UNIT_H
#define OOMREPORT_NORMALISE_UNIT_H

#include "base/str.h"

enum unit_kind {
    UNIT_KIND_NONE,    /* no unit: the number as it stands */
    UNIT_KIND_BYTES,   /* scale is [B] */
    UNIT_KIND_SECONDS, /* scale is [s] */
    UNIT_KIND_AUTO,    /* memory without a unit: found from the column's first figure */
    UNIT_KIND_STAMP,   /* a point in time only: date texts, or numbers >= 1e8 */
    UNIT_KIND_OTHER    /* a unit that is no size and no time: %, W, C, MHz */
};

struct unit {
    enum unit_kind kind;
    double scale;   /* value * scale = [B] or [s] */
    bool ambiguous; /* the decimal reading is possible too */
};

/* A unit word of a mapping or of --map, exact spelling. False when there is no such unit. */
bool unit_of_mapping(struct unit *out, struct str word);
/* A unit word as logs write it, any case. False when it is none. */
bool unit_of_log(struct unit *out, struct str word);
/* The unit at the end of a column name ("memory.used [MiB]", "gpu_mem_mb", "max_active(GiB)").
 * *stem becomes the length of the name without it. False when the name ends in none. */
bool unit_of_name(struct unit *out, struct str name, size_t *stem);
/* The reading of a number whose column names no unit [B]: bytes from 1e7 on, MiB from 256 on, else GiB. */
struct unit unit_guess(double value);
/* The name of a byte scale for messages: "MiB"; "B" for 1. */
const char *unit_scale_name(double scale);

enum cell_value {
    CELL_VALUE_NUMBER,
    CELL_VALUE_MISSING, /* "", "-", "[N/A]", "nan": not known */
    CELL_VALUE_OOM,     /* "OOM", "Out of Memory": the row died of it */
    CELL_VALUE_BAD      /* none of these */
};

/* Reads "1234", "1234 MiB", "34 %", "17.00MiB ± 0.00MiB", "2.47GiB(3.12%)", "[N/A]", "OOM".
 * *unit has kind NONE when the cell names none. */
enum cell_value unit_cell(struct str text, double *value, struct unit *unit);
/* True when text is an absent value as logs write it. */
bool unit_is_missing(struct str text);
/* True when text says that memory ran out. */
bool unit_is_oom(struct str text);

#endif

/* normalise: rows + mapping -> records -> series.
 *
 * One input at a time becomes records of the schema (model/record.h), which go
 * to a sink: the series builder, or the converter. May not know of triage. */
#ifndef OOMREPORT_NORMALISE_NORMALISE_H
#define OOMREPORT_NORMALISE_NORMALISE_H

#include "base/arena.h"
#include "base/diag.h"
#include "model/input.h"
#include "model/record.h"
#include "model/series.h"
#include "model/trace.h"

/* --map FIELD=COLUMN[:UNIT] and --set FIELD=VALUE, parsed and checked by normalise_map/_set. */
struct field_map {
    enum field field;
    struct str column;
    double scale; /* value * scale = [B] or [s]; 1 otherwise; NAN: unit not given */
};
struct field_set {
    enum field field;
    struct str text;
};

struct mapping_set; /* normalise/mapping.h */

struct normalise_settings {
    const struct mapping_set *mappings;
    const char *format; /* --format NAME|FILE, or NULL: found by content */
    const struct field_map *maps;
    size_t n_maps;
    bool *map_found; /* n_maps: set to true when an input has the column; or NULL */
    const struct field_set *sets;
    size_t n_sets;
    double step_from, step_to;  /* --steps A:B; NAN where open */
    struct trace_window events; /* --events A:B, of snapshots */
};

/* Where records go. The record and its strings are valid during the call only. */
enum {
    STEP_ROWS_MAX = 64
};

/* Step records of consecutive lines that hold the same number fields, a phase and batch ids at most. */
struct step_rows {
    const char *file;
    struct series_rows values; /* at most STEP_ROWS_MAX; without phases */
    const struct str *phase;   /* n names of phases, or NULL: train */
};

struct record_sink {
    void *ctx;
    void (*record)(void *ctx, const struct record *r, const struct process_use *processes,
                   size_t n_processes);
    /* The same for many records at once; false: they have to come one by one. May be NULL. */
    bool (*rows)(void *ctx, const struct step_rows *rows);
};

/* Parses "FIELD=COLUMN[:UNIT]" / "FIELD=VALUE"; NULL, or what is wrong with it (in the arena). */
const char *normalise_map(struct field_map *out, const char *text, struct arena *a);
const char *normalise_set(struct field_set *out, const char *text, struct arena *a);

/* Reads one input (a path or "-") and sends its records to the sink, in order,
 * fields in schema units. info (strings in arena a) says what became of it; its notes come
 * from d. 0, or -1 when nothing could be used (a diagnostic says why). */
int normalise_input(struct input_info *info, const struct record_sink *sink, const char *path,
                    const struct normalise_settings *settings, struct arena *a, struct diag *d);

/* Records -> series: header fields, runs, seeds and ranks from fields, else
 * from names (run1_seed3_rank12.jsonl), else from options; sparse rows of one
 * step joined; files of one run joined; restarts told from double writers. */
struct builder;
struct builder *builder_new(const char *name_pattern /* or NULL */);
void builder_free(struct builder *b);
/* The sink for the input that normalise_input is called with next. Run, seed and rank are looked
 * for in path; the series and their places call the input `name`. */
struct record_sink builder_sink(struct builder *b, const char *path, const char *name, struct diag *d);
/* To be called after each input, with what normalise_input found. */
void builder_input_end(struct builder *b, const struct input_info *info);
/* Moves the series of a builder that read one input, and ended it, into b, as if b had read it. False, and
 * nothing done, when one of them goes on with a series of b. */
bool builder_absorb(struct builder *b, struct builder *from);
/* Sealed series, sorted by run (natural order) then rank; the builder is empty afterwards. */
void builder_finish(struct series_set *out, struct builder *b);

/* The converter: a sink that writes the normalised records as JSONL or CSV.
 * Converting its own output again gives the same bytes. */
struct converter;
enum convert_format {
    CONVERT_JSONL,
    CONVERT_CSV
};
struct converter *converter_new(FILE *out, enum convert_format f, bool provenance);
struct record_sink converter_sink(struct converter *c);
/* Flushes and frees; 0, or -1 with errno when something could not be written. */
int converter_close(struct converter *c);

#endif

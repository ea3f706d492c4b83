/* mapping: one log format as data: how it is recognised, which of its keys are
 * which fields of the schema, and samples that prove it.
 *
 * Mappings come from formats/ (compiled in), the system's and the user's folder, or a file. The
 * file format is described in oomreport-formats(5). No expressions: where a mapping is not enough,
 * a reader is. Knows nothing of rows. */
#ifndef OOMREPORT_NORMALISE_MAPPING_H
#define OOMREPORT_NORMALISE_MAPPING_H

#include "base/arena.h"
#include "base/diag.h"
#include "model/record.h"
#include "model/series.h"
#include "normalise/unit.h"
#include "read/read.h"

/* What a key is for. */
enum map_target {
    TARGET_FIELD, /* a field of the schema */
    TARGET_SIZE,  /* a size_* field */
    TARGET_OOM,   /* an error or status: an out-of-memory event when it says so */
    TARGET_HOST,  /* a host name: becomes "@host", which the builder adds to the run's name */
    TARGET_SHAPE, /* a tensor shape: [batch, len], [batch, len, width], [batch, channels, height, width] */
    TARGET_GPU,   /* text that names a GPU (uuid, bus id): becomes a rank where no index is */
    TARGET_NONE   /* known, and of no use here */
};

struct map_value {
    struct str from, to;
};

/* A key that is a field. Of several rules for one field the first that has a value counts. */
struct map_rule {
    struct str pattern; /* glob */
    enum map_target target;
    enum field field;
    struct str size_name; /* TARGET_SIZE: "size_boxes"; empty: the key's own name */
    struct unit unit;
    struct str when;                /* only in rows of this phase; empty: in all */
    const struct map_value *values; /* n_values: words and what they mean; others are dropped */
    size_t n_values;
};

/* Rows with (or without) a key are of a phase; a key prefix can say so too. */
struct map_phase {
    struct str pattern, phase;
};

enum {
    MAP_SUM_MAX = 8,
    MAP_OPERAND_MAX = 6,
    MAP_ABSENT_MAX = 8
};

/* A figure that is a sum of keys, all of which a row must have. */
struct map_sum {
    enum field field;
    struct unit unit;
    struct str phase; /* the record it gives is of this phase; empty: the row's */
    struct {
        struct str key;    /* exact name; of a header field when it starts with '@' */
        enum field header; /* then, else F_COUNT */
        double sign;       /* +1 or -1 */
    } operand[MAP_OPERAND_MAX];
    size_t n_operands;
};

/* What a match of a text pattern is for. */
enum map_use {
    MAP_USE_RECORD, /* a record */
    MAP_USE_NEXT,   /* its values are added to the next record */
    MAP_USE_KEEP,   /* and to all that follow, until they are matched again */
    MAP_USE_BEGIN,  /* the first line of a record that stands over several lines */
    MAP_USE_PART    /* a further line of one */
};

enum {
    MAP_PATTERN_MAX = 32,
    MAP_HAS_MIN = 3 /* [B] of a text in "has" */
};

/* A pattern of a text format: its named groups are keys, as columns are. */
struct map_pattern {
    struct str re;
    const struct str *has; /* n_has texts, one of which a line that matches holds */
    size_t n_has;
    const struct map_value *set; /* n_set keys and what they are in each record */
    size_t n_set;
    enum map_use use;
    struct str before;       /* key whose value is the line before; empty: none */
    const struct str *after; /* n_after texts; lines count only once one of them was seen; none: always */
    size_t n_after;
};

struct map_sample {
    struct str input;   /* what a file of this format could hold */
    struct str records; /* JSON list of the records it must give */
};

struct map_detect {
    int score;             /* what a match is worth; 0: never by itself */
    const struct str *all; /* globs, each of which some key must match */
    const struct str *any; /* globs, of which some key must match one */
    const struct str *none;
    const struct str *words; /* texts that must stand in the head of the file */
    size_t n_all, n_any, n_none, n_words;
    bool smi; /* rows of nvidia-smi without a header line, recognised by their cells */
};

struct mapping {
    const char *name, *title;
    const char *origin; /* "built in", or the file it came from */
    bool built_in;
    struct str text; /* the JSON itself */
    bool reads[SYNTAX_COUNT];
    struct map_detect detect;
    struct read_layout layout;
    bool layout_rows_guess; /* rows are the first list of objects in the document */
    bool loose;             /* names are compared without case and separators */
    bool own;               /* the schema itself: sizes are whole numbers, "oomlog" marks a header */
    bool oom_words;         /* any column may hold "OOM" */
    bool step_in_epoch;     /* the writer's step starts again with each epoch */
    bool step_of_train;     /* rows without a step stand at the last train step */
    bool redraws;           /* progress bars: a line for the step just read is no new record */
    bool by_time;           /* GPUs without an index take turns within one moment */
    const struct map_pattern *patterns; /* of a text format */
    size_t n_patterns;
    const struct map_rule *rules;
    size_t n_rules;
    const struct map_phase *prefixes, *present, *absent;
    size_t n_prefixes, n_present, n_absent;
    const struct map_sum *sums;
    size_t n_sums;
    struct str peak_reset; /* "step", "interval", "never"; empty: not declared */
    struct str framework;  /* header field; empty: none */
    const struct map_sample *samples;
    size_t n_samples;
};

/* Parses a mapping; origin names it in messages and must live as long as a. NULL after a
 * bad-mapping diagnostic with file:line:col. text must live as long as a. */
struct mapping *mapping_parse(const char *origin, struct str text, struct arena *a, struct diag *d);
/* Runs the samples: a bad-sample diagnostic with what came out and what was expected for each
 * that fails. True when all hold. */
bool mapping_check(const struct mapping *m, struct arena *a, struct diag *d);

/* All mappings a call knows. */
struct mapping_set;
/* Built in, then the system's folder, then the user's ($XDG_DATA_HOME/oomreport/formats): a later
 * one of the same name wins. A file that is no mapping gives a diagnostic and is left out.
 * system_dir and user_dir may be NULL. */
struct mapping_set *mapping_set_new(const char *system_dir, const char *user_dir, struct diag *d);
void mapping_set_free(struct mapping_set *set);
size_t mapping_set_count(const struct mapping_set *set);
/* In order of their names. */
const struct mapping *mapping_set_at(const struct mapping_set *set, size_t i);
const struct mapping *mapping_set_find(const struct mapping_set *set, struct str name);
/* "step", "interval", "never" or "from the data": for --list-formats. */
const char *mapping_peak(const struct mapping *m);
/* "csv", "json, jsonl" (in the arena). */
const char *mapping_readers(const struct mapping *m, struct arena *a);
/* "size_" and a plain name (1 to 64 letters, digits, "_", "." or "-"): such a one stands in every form of
 * the schema, on a page and on a terminal as it is. */
bool mapping_is_size(struct str name);
/* A mapping from a file, kept in the arena; NULL after a diagnostic. */
struct mapping *mapping_load(const char *path, struct arena *a, struct diag *d);

#endif

/* series: what one (run, rank) logged, as columns over its rows, and its events.
 *
 * A row is one observation with at least one memory or shape figure; rows stand
 * in the order of the log after sparse rows of the same step were joined. Knows
 * nothing of formats; owns its columns and strings. */
#ifndef OOMREPORT_MODEL_SERIES_H
#define OOMREPORT_MODEL_SERIES_H

#include "base/arena.h"
#include "model/column.h"
#include "model/record.h"

/* Row phases are small codes; 0 is always "train", 1 is always "eval", others
 * index series.phases. */
enum {
    PHASE_TRAIN = 0,
    PHASE_EVAL = 1
};

enum {
    SERIES_EVENTS_MAX = 65536
};

enum event_kind {
    EVENT_OOM,
    EVENT_END,
    EVENT_RESUME,
    EVENT_EPOCH_END,
    EVENT_EVAL_BEGIN,
    EVENT_EVAL_END,
    EVENT_SAVE,
    EVENT_KILL
};

struct process_use {
    uint64_t pid;
    uint64_t bytes; /* [B] */
};

struct event {
    enum event_kind kind;
    size_t row;        /* rows of the series that came before it */
    struct record rec; /* step, epoch, phase, shape, message, figures; strings owned by the series */
    struct process_use *processes; /* n_processes other processes named by the message */
    size_t n_processes;
};

/* A checkpoint inside a step ("after backward"): rows of the checkpoint table. */
struct checkpoint {
    struct str label;
    size_t row;                         /* rows of the series that came before it */
    double step;                        /* [1] or NAN */
    double allocated_bytes, peak_bytes; /* [B] or NAN */
    double reserved_bytes;              /* [B] or NAN */
};

struct kept_ids {
    size_t row;
    struct str ids; /* CSV form */
    char *owned;
    size_t cap; /* [B] of owned */
};

struct size_column {
    struct str name; /* "size_boxes" */
    struct column *column;
};

enum peak_reset {
    PEAK_RESET_UNKNOWN,
    PEAK_RESET_STEP,
    PEAK_RESET_INTERVAL,
    PEAK_RESET_NEVER
};

struct series {
    struct arena arena;
    struct column_store store; /* of all columns */
    struct record meta;        /* header fields: run, seed, rank, capacity_bytes, …; have bits as usual */
    const char *source;        /* input name(s) as the user gave them, comma-joined */
    const char *format;        /* name of the mapping */
    bool peak_reset_declared;  /* meta's peak_reset came from the log or the mapping, not from the data */

    size_t rows;
    struct column *col[F_COUNT]; /* number fields of STEP; NULL where never logged */
    struct size_column *sizes;   /* n_sizes */
    size_t n_sizes;
    struct column *phase; /* code of each row */
    struct str *phases;   /* n_phases names; [0] "train", [1] "eval" */
    size_t n_phases;
    struct column *line;    /* line of each row in its source */
    struct column *segment; /* 0 first process, +1 at each restart (steps going back, resume) */
    bool has_ids, has_hash; /* whether batch content was logged at all */
    struct column *content; /* 48-bit hash of batch_ids (else batch_hash) of each row, or NULL */
    /* Ids are kept as text only where the report needs them: of the rows with the
     * largest peaks and the last rows before each event. Ascending by row. */
    struct kept_ids *kept; /* n_kept; valid after series_seal */
    size_t n_kept;

    struct event *events; /* n_events, in order; of more than SERIES_EVENTS_MAX the last one is kept too */
    size_t n_events;
    size_t n_ooms_lost;             /* out-of-memory events that had no room */
    struct checkpoint *checkpoints; /* n_checkpoints, in order */
    size_t n_checkpoints;

    struct trace_file *trace; /* what a memory snapshot says of this run, or NULL; shared */
    uint32_t trace_device;

    /* for series_append and its kin alone */
    size_t segment_now, cap_checkpoints, cap_events;
    double *keep_score;
    size_t keep_least;   /* the slot that the next larger score takes */
    size_t keep_settled; /* rows before it were compared with the largest */
};

struct series *series_new(void);
void series_free(struct series *s);

/* Appends a step record as a new row; its strings may die afterwards. Header
 * fields in r are merged into meta (a later value wins). Returns the row. */
size_t series_append(struct series *s, const struct record *r);
/* Step rows that hold the same number fields, no header fields and no sizes. */
struct series_rows {
    size_t n;
    uint64_t line; /* of the first row in its source; the others follow line by line */
    size_t n_fields;
    const enum field *field; /* n_fields, of PART_STEP */
    const double *const
        *value;            /* n_fields times n values, none missing; whole ones for KIND_INT and KIND_BYTES */
    const double *phase;   /* n codes of phases that the series knows; NULL: all are PHASE_TRAIN */
    const struct str *ids; /* n lists in CSV form, or NULL */
};
/* True when the series has columns for all of it already. */
bool series_knows(const struct series *s, const struct series_rows *rows);
/* Appends rows that the series knows, as series_append would one by one. */
void series_append_rows(struct series *s, const struct series_rows *rows);
enum {
    SERIES_BACK_MAX = 4 /* rows that series_take_back can give */
};
/* Takes the last n rows away again, which series_append_rows appended since the last series_pack. Their
 * texts live until the next row is appended. */
void series_take_back(struct series *s, size_t n, struct record *out);
/* Appends an event at the present row; copies what it needs, processes too (n may be 0). */
void series_event(struct series *s, enum event_kind kind, const struct record *r,
                  const struct process_use *processes, size_t n);
void series_checkpoint(struct series *s, const struct record *r);
/* A restart: rows appended from now on belong to the next segment. */
void series_restart(struct series *s);
/* Packs the columns, which gives memory back; appending may go on afterwards. */
void series_pack(struct series *s);
/* Packs everything; call once reading is over. */
void series_seal(struct series *s);

/* True when any row has the field. */
bool series_has(const struct series *s, enum field f);
/* Rows first .. first+n-1 of field f into out; NAN where missing or never logged.
 * F_PHASE gives codes. */
void series_read(const struct series *s, enum field f, size_t first, size_t n, double *out);
/* The batch ids kept for a row, or {NULL, 0}. */
struct str series_ids(const struct series *s, size_t row);
/* What `content` holds for a row with these batch_ids (else this batch_hash). */
double series_content_code(struct str ids);
/* Code of a phase name, or -1 when no row has it. */
int series_phase_find(const struct series *s, struct str name);
/* `source:line` of a row as a place. */
struct place series_place(const struct series *s, size_t row);
/* Header fields as numbers: NAN when unknown. */
double series_meta(const struct series *s, enum field f);
/* Memory held by the columns [B]. */
size_t series_bytes(const struct series *s);

/* All series of a call, sorted by run (natural order), then rank. */
struct series_set {
    struct series **items; /* n items, owned */
    size_t n, cap;
};

void series_set_release(struct series_set *set);
const char *event_name(enum event_kind kind);
/* False when there is no event of that name. */
bool event_find(enum event_kind *out, struct str name);

#endif

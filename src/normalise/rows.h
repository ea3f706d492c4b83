/* rows: the rows of one input become records, by the rules of one mapping.
 *
 * Keys are resolved once, when they are first seen; a row then costs one look
 * into a table per wanted cell and allocates nothing. Internal to this layer. */
#ifndef OOMREPORT_NORMALISE_ROWS_H
#define OOMREPORT_NORMALISE_ROWS_H

#include "base/buf.h"
#include "normalise/held.h"
#include "normalise/mapping.h"
#include "normalise/normalise.h"
#include "read/oom_message.h"

enum {
    SLOTS_MAX = 4096,   /* wanted keys of one input */
    BINDINGS_MAX = 4,   /* rules for one key */
    GROUPS_MAX = 128,   /* records that one row can give: phases x GPU indexes */
    UNKNOWN_MAX = 1024, /* keys without a meaning that are told apart */
    KEYS_MAX = 65536,   /* further keys are not looked at */
    FIELDS_MAX = 24,    /* number fields of rows that are taken many at once */
    SEEN_NAMES_MAX = 12 /* keys named in a no-memory-figures message */
};

/* One rule applied to one key. */
struct binding {
    const struct map_rule *rule; /* NULL: from --map */
    enum map_target target;
    enum field field;
    struct str size_name, when;
    struct unit unit;
    unsigned rank; /* of rules for one field the lowest counts */
};

/* Slots with one plain rule, whose usual cells need no look at it. */
enum quick {
    QUICK_NONE,
    QUICK_WHOLE, /* INT, or BYTES in bytes: digits */
    QUICK_REAL   /* NUM without a unit: a plain decimal number */
};

struct slot {
    enum quick quick;
    bool tells_phase; /* its cells have a say in the row's phase */
    struct str name;
    struct binding b[BINDINGS_MAX];
    unsigned n;
    unsigned group;                 /* of the record it belongs to; 0: all of the row */
    int present;                    /* index of the phase rule that it satisfies, or -1 */
    unsigned absent;                /* bits of the absent rules that it refutes */
    unsigned char sum[MAP_SUM_MAX]; /* bits: operand k of sum i */
    bool in_sum, told_unit, told_big;
};

/* Records of one row: group 0 is what all of them share. */
struct group {
    struct str phase;
    bool has_phase, has_index;
    uint64_t index;
    struct record r;
    unsigned rank[F_COUNT];
    bool touched;
};

enum {
    PLANS_MAX = 4
};

/* How batches with these slots and kinds become step rows. */
struct plan {
    int slot[FIELDS_MAX + 2];
    enum cell_kind kind[FIELDS_MAX + 2];
    size_t n_items; /* 0: none */
    bool fits;
    enum field field[FIELDS_MAX]; /* n_fields, by the item of the same index in item */
    size_t item[FIELDS_MAX], n_fields;
    size_t step, phase, ids; /* items, or NO_ITEM */
};

struct rows {
    const struct normalise_settings *settings;
    const struct mapping *m;
    struct record_sink sink;
    struct arena *a;
    struct diag *d;
    const char *file;
    enum syntax syntax;

    uint64_t header_mask, use_mask, memory_mask; /* bits of fields, for record.have */
    struct slot *slots;                          /* n_slots */
    size_t n_slots, cap_slots;
    size_t tell_phase; /* slots that have a say in the phase */
    uint64_t unknown_keys, keys;
    uint64_t unknown[UNKNOWN_MAX]; /* hashes of their names */
    struct str seen[SEEN_NAMES_MAX];
    struct group *groups; /* n_groups */
    unsigned n_groups;
    struct str gpus[64]; /* n_gpus texts that name GPUs, in order of appearance */
    unsigned n_gpus;
    bool all_oom_words; /* unknown columns are looked at for "OOM" */

    /* the row being read */
    uint64_t line;
    bool document; /* it is the document around the rows */
    struct str phase;
    double operand[MAP_SUM_MAX][MAP_OPERAND_MAX];
    unsigned char operands[MAP_SUM_MAX]; /* bits: which are known */
    struct str oom_text, gpu_text;
    bool oom;
    struct buf ids, host, message;
    double line_rank, line_time; /* of a text line's prefix; NAN */

    /* what went before */
    struct held header; /* in force */
    bool has_header, last_marked;
    double set_capacity;  /* [B] by --set, or NAN */
    struct held defaults; /* step fields that the document gives for all rows */
    double epoch0, epoch_steps, last_train_step, epoch_last, iter_last;
    unsigned turns, turn;
    double turn_gap, turn_start;
    struct oom_message *last_oom; /* since the last row; requested NAN: none */
    bool has_last_oom;

    struct plan plans[PLANS_MAX]; /* the last ones used */
    unsigned next_plan;
    struct buf many_ids; /* of the batch at hand, in CSV form */

    uint64_t records;
    double first_step, last_step; /* of all records, also those that --steps leaves out; NAN: none */
    bool has_memory;
};

void rows_init(struct rows *r, const struct mapping *m, enum syntax syntax, const char *file, struct str head,
               const struct normalise_settings *settings, const struct record_sink *sink, struct arena *a,
               struct diag *d);
void rows_release(struct rows *r);
/* The three callbacks of a reader; ctx is a struct rows. */
int rows_key(void *ctx, struct str name);
int rows_row(void *ctx, const struct row *row);
bool rows_text(void *ctx, uint64_t line, struct str text);
/* many_rows.c: the usual rows, many at once. */
enum batch_answer rows_batch(void *ctx, const struct batch *b);

/* cells.c: applies a cell by its slot to the records of the row. */
void cells_apply(struct rows *r, struct slot *s, const struct cell *c);
/* The same for the usual cell of a slot that is quick; false: it is for cells_apply. */
bool cells_quick(struct rows *r, const struct slot *s, const struct cell *c);
/* The text of a cell by the rule's words: "val" -> "eval". */
struct str cells_word(const struct binding *b, struct str text);

/* emit.c: completes the records of the row and sends them on. */
void emit_row(struct rows *r, bool is_row);
void emit_oom_text(struct rows *r, const struct oom_message *msg, uint64_t line);
void emit_oom(struct rows *r, const struct oom_message *msg, uint64_t line, double rank, bool recovered);
void emit_kill(struct rows *r, struct str text, uint64_t line, double rank);

/* The group of a phase and an index, made when it is new; 0 when there are too many. */
unsigned rows_group(struct rows *r, struct str phase, bool has_phase, bool has_index, uint64_t index);

#endif

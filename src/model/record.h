/* record: THE SCHEMA, one observation of a run: a header, a step, a checkpoint
 * inside a step, or an event.
 *
 * Every input format becomes records; every stage after normalise knows only
 * these names. Plain data: a record owns nothing, its strings point into the
 * input or an arena. Knows nothing of formats and files. */
#ifndef OOMREPORT_MODEL_RECORD_H
#define OOMREPORT_MODEL_RECORD_H

#include "base/diag.h"
#include "base/str.h"
#include <stdbool.h>
#include <stdint.h>

enum field_kind {
    KIND_INT,
    KIND_BYTES,
    KIND_NUM,
    KIND_STR,
    KIND_BOOL
};
enum field_part {
    PART_HEADER,
    PART_STEP,
    PART_EVENT
};

enum field {
#define FIELD(id, name, kind, part) F_##id,
#include "model/fields.def"
#undef FIELD
    F_COUNT
};

enum {
    RECORD_EXTRA_MAX = 16
};

union value {
    uint64_t u;   /* KIND_INT [1], KIND_BYTES [B], KIND_BOOL 0 or 1 */
    double d;     /* KIND_NUM; time in [s] */
    struct str s; /* KIND_STR */
};

/* A size_* field: any other size that varies by batch or model. */
struct extra {
    struct str name; /* with the "size_" prefix */
    double value;
};

struct record {
    uint64_t have; /* bit f is set when v[f] is known; an unknown value is never 0 or -1 */
    union value v[F_COUNT];
    struct extra extra[RECORD_EXTRA_MAX];
    unsigned n_extra;
    struct place at; /* where the record stood */
};

/* batch_ids is held in its CSV form: ids joined by ';', with '\;' and '\\' inside an id. */

_Static_assert(F_COUNT <= 64, "record.have has 64 bits");

/* Bits of record.have by kind and part, for loops over a record that look at no table. */
#define FIELD(id, name, kind, part) | (uint64_t)(KIND_##kind == KIND_STR) << F_##id
static const uint64_t FIELDS_TEXT = 0
#include "model/fields.def"
    ;
#undef FIELD
#define FIELD(id, name, kind, part) | (uint64_t)(KIND_##kind == KIND_NUM) << F_##id
static const uint64_t FIELDS_REAL = 0
#include "model/fields.def"
    ;
#undef FIELD
#define FIELD(id, name, kind, part) | (uint64_t)(PART_##part == PART_HEADER) << F_##id
static const uint64_t FIELDS_HEADER = 0
#include "model/fields.def"
    ;
#undef FIELD
#define FIELD(id, name, kind, part) | (uint64_t)(PART_##part == PART_STEP) << F_##id
static const uint64_t FIELDS_STEP = 0
#include "model/fields.def"
    ;
#undef FIELD

static inline void record_clear(struct record *r)
{
    r->have = 0;
    r->n_extra = 0;
    r->at = (struct place){0};
}
static inline bool record_has(const struct record *r, enum field f)
{
    return (r->have >> f) & 1;
}
static inline void record_set_u(struct record *r, enum field f, uint64_t u)
{
    r->v[f].u = u;
    r->have |= (uint64_t)1 << f;
}
static inline void record_set_d(struct record *r, enum field f, double d)
{
    r->v[f].d = d;
    r->have |= (uint64_t)1 << f;
}
static inline void record_set_s(struct record *r, enum field f, struct str s)
{
    r->v[f].s = s;
    r->have |= (uint64_t)1 << f;
}
static inline void record_unset(struct record *r, enum field f)
{
    r->have &= ~((uint64_t)1 << f);
}

const char *field_name(enum field f);
enum field_kind field_kind(enum field f);
enum field_part field_part(enum field f);
/* The field of that exact name, or F_COUNT. */
enum field field_find(struct str name);
/* A number field as a double (INT, BYTES, BOOL, NUM); NAN when unknown or text. */
double record_number(const struct record *r, enum field f);
/* The text of a text field, or {NULL, 0} when unknown. */
struct str record_text(const struct record *r, enum field f);

#endif

/* held: a record that outlives the row it came from: its texts are copied into a buffer that is
 * used again for the next record, so holding allocates nothing once the buffer has grown. */
#ifndef OOMREPORT_NORMALISE_HELD_H
#define OOMREPORT_NORMALISE_HELD_H

#include "base/buf.h"
#include "model/record.h"

struct held {
    struct record r;
    struct buf text; /* what r's texts point into */
};

/* {0} is a valid empty one. */
void held_release(struct held *h);
/* Makes h a copy of r; r may not point into h. */
void held_set(struct held *h, const struct record *r);
/* Adds the fields of r that h lacks (sizes too). */
void held_add(struct held *h, const struct record *r);

/* Bits of the fields of a part, for record.have. */
uint64_t part_mask(enum field_part part);
/* The fields of r whose bits are in mask, into out; sizes only when extras. */
void record_part(struct record *out, const struct record *r, uint64_t mask, bool extras);
/* True when field f is known in both and equal. */
bool record_same(const struct record *a, const struct record *b, enum field f);

#endif

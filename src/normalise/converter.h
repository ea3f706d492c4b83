/* converter: one record as JSON, for samples and dumps. */
#ifndef OOMREPORT_NORMALISE_CONVERTER_H
#define OOMREPORT_NORMALISE_CONVERTER_H

#include "base/buf.h"
#include "model/record.h"

/* The fields of r whose bits are in mask, and its sizes, as one JSON object without a line end;
 * with "at":"file:line" when provenance. */
void converter_put_json(struct buf *b, const struct record *r, uint64_t mask, bool provenance);

#endif

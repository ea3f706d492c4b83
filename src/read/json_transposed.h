/* json_transposed: {metric: {…, "values": {"STEP": value}}} -> a row for each step.
 *
 * This is how Megatron keeps its golden values: figures by metric, then by step. */
#ifndef OOMREPORT_READ_JSON_TRANSPOSED_H
#define OOMREPORT_READ_JSON_TRANSPOSED_H

#include "read/json_rows.h"

/* Reads the object at p, in line `line`, as far as it is valid (t->what is not
 * for the caller). Asks the handler for "step" and for each metric; rows come by
 * ascending step, each with the line of its first value. 0, or what the handler returned. */
int json_transposed(struct json_rows *r, struct json_text *t, const char *p, uint64_t line);

#endif

/* json_rows: one JSON object -> one row, with the diagnostics both JSON readers give. */
#ifndef OOMREPORT_READ_JSON_ROWS_H
#define OOMREPORT_READ_JSON_ROWS_H

#include "read/between.h"
#include "read/json_scan.h"

struct json_rows {
    struct json_scan scan;
    const struct row_handler *h;
    const char *name; /* of the input */
    uint64_t *skipped;
    struct diag *d;
    bool told_full;
    struct between between;
    size_t objects; /* read in the line at hand (JSONL) */
};

void json_rows_init(struct json_rows *r, const char *name, const struct row_handler *h, uint64_t *skipped,
                    struct diag *d);
void json_rows_release(struct json_rows *r);
/* What is odd about the object read last (duplicate keys, bad characters, too many keys). */
void json_rows_remarks(struct json_rows *r, struct json_text *t, uint64_t line);
/* Hands out the object read last. 0, or what the handler returned. */
int json_rows_deliver(struct json_rows *r, uint64_t line, bool is_row);
/* bad-json for t->what at its column in that line, which `outcome` says the fate of; counts it as skipped. */
void json_rows_error(struct json_rows *r, const struct json_text *t, uint64_t line, uint64_t col,
                     const char *outcome);

#endif

/* json_write: a JSON text written from front to back.
 *
 * Keys come out in the order they are written, numbers exactly, NAN as null.
 * Knows nothing of what is written. */
#ifndef OOMREPORT_REPORT_JSON_WRITE_H
#define OOMREPORT_REPORT_JSON_WRITE_H

#include "base/buf.h"
#include <stdbool.h>
#include <stdint.h>

struct json {
    struct buf *out;
    unsigned depth; /* of open objects and arrays */
    unsigned flat;  /* depth from which all stands on one line; 0: nothing does */
    bool empty;     /* nothing was written yet at this depth */
};

/* In an object `key` names the member; in an array it is NULL. */
void json_open(struct json *j, const char *key, char bracket);      /* '{' or '[' */
void json_open_flat(struct json *j, const char *key, char bracket); /* with all inside on one line */
void json_close(struct json *j, char bracket);                      /* '}' or ']' */
void json_null(struct json *j, const char *key);
void json_bool(struct json *j, const char *key, bool v);
void json_text(struct json *j, const char *key, const char *text); /* NULL gives null */
void json_u64(struct json *j, const char *key, uint64_t v);
/* A whole number from a double: rounded; null for NAN, infinities and beyond 2^53. */
void json_whole(struct json *j, const char *key, double v);
/* The shortest text that reads back as v; null unless finite. */
void json_number(struct json *j, const char *key, double v);

#endif

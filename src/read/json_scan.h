/* json_scan: a JSON scanner that validates everything and keeps only what is wanted.
 *
 * Laxer than the standard in points that logs need: NaN, Infinity and -Infinity
 * are numbers; invalid UTF-8 and unpaired surrogate escapes are noted in bad_text, not
 * refused. Allocates nothing per object once all keys are known.
 *
 * cJSON 1.7 is the oracle of the tests. Where it differs: it accepts 01, 1., 1.e5, -.5,
 * control characters in strings and as white space, a byte order mark, invalid UTF-8, any bytes after \u,
 * and text behind the value unless asked not to; it refuses NaN, Infinity and unpaired
 * surrogates; of a repeated key its look-up gives the first value; it ends a
 * string at \u0000, a number after 63 characters, and nests to 1000 levels.
 *
 * Every text is followed by JSON_PAD readable bytes, the first of which is a
 * control character ('\n', '\r' or 0), as read/source.h gives it. */
#ifndef OOMREPORT_READ_JSON_SCAN_H
#define OOMREPORT_READ_JSON_SCAN_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "read/json_keys.h"
#include "read/read.h"

enum {
    JSON_PAD = 64,
    JSON_DEPTH_MAX = 512, /* nesting that is accepted */
    JSON_ENTER_MAX = 16   /* nesting down to which keys are named "a.b.c" */
};

/* A text that is being scanned, and what was found wrong with it. */
struct json_text {
    const char *end;      /* of the text */
    const char *line;     /* where columns are counted from */
    const char *line_end; /* columns of values behind it are not known */
    const char *at;       /* of the error */
    const char *what;     /* NULL: no error; what was found or expected */
    bool cut;             /* the error is that the text ends too early */
    const char *bad_text; /* first invalid UTF-8 or unpaired surrogate, or NULL */
};

void json_text_init(struct json_text *t, struct str text);
/* Behind white space, at most to t->end. */
const char *json_space(const struct json_text *t, const char *p);
/* Each takes a pointer to the first byte of a value and returns one behind it, or NULL with t->what. */
const char *json_skip(struct json_text *t, const char *p);
/* p is at the opening quote; *escaped tells whether there is a backslash in it. */
const char *json_skip_string(struct json_text *t, const char *p, bool *escaped);
/* Kind of the value that begins with c; CELL_NULL for anything that begins none. */
enum cell_kind json_kind(char c);
/* Sets t->what and t->cut; NULL. */
const char *json_fail(struct json_text *t, const char *at, const char *what);
/* Writes the string between the quotes (validated, n bytes) without escapes; returns its length, <= n. */
size_t json_unescape(char *to, const char *raw, size_t n);

/* Where the values of an object stand that are not entered, in their order. */
struct json_leaf {
    const char *start, *end;
    unsigned depth;
    int slot;
};
struct json_trace {
    struct json_leaf *leaf; /* n, room for cap; NULL: nobody wants to know */
    size_t n, cap;
    bool odd; /* not all of the object is told in cells and leaves: too many values, a value entered and
                 wanted */
};

/* A reader of objects of much the same shape. */
struct json_scan {
    struct json_keys keys;
    struct cell *cells; /* of the object read last: n_cells; room for every key */
    struct json_cell_note *notes;
    size_t n_cells, cap_cells;
    char *scratch; /* unescaped strings of the object read last */
    size_t scratch_n, scratch_cap;
    uint64_t object;        /* serial number of the object read last */
    uint64_t serial;        /* of nested objects */
    const char *stop_value; /* where the value of keys.stop began in the object read last, or NULL */
    uint32_t stop_depth;
    bool duplicate; /* a key came twice in the object read last: duplicate_key */
    struct str duplicate_key;
    const char *duplicate_at;
    struct json_trace trace; /* of the object read last */
};

/* key and ctx: as in struct row_handler. */
void json_scan_init(struct json_scan *j, int (*key)(void *, struct str), void *ctx);
void json_scan_release(struct json_scan *j);
/* Reads the object at p ('{'). Afterwards j->cells holds its wanted values, also
 * those found before an error; of a repeated key only the last. Values of
 * keys that j->keys.stop names are validated, but not entered and not handed out. */
const char *json_scan_object(struct json_scan *j, struct json_text *t, const char *p);
/* From now on j->trace is kept for objects of at most n values. */
void json_scan_trace(struct json_scan *j, size_t n);
/* One more cell behind those of the object read last. */
void json_scan_add(struct json_scan *j, struct cell c);

#endif

/* json_keys: the keys of JSON objects, interned, with the order they come in.
 *
 * A log repeats its keys in the same order line after line. So every key
 * remembers which text (comma, blanks, quoted key, colon) led from its value to
 * the next value: comparing that text finds the next key and validates it at once. */
#ifndef OOMREPORT_READ_JSON_KEYS_H
#define OOMREPORT_READ_JSON_KEYS_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include <stdint.h>

enum {
    JSON_KEYS_MAX = 65536, /* further keys are not wanted */
    JSON_KEY_BYTES_MAX = 16 * 1024 * 1024,
    JSON_GLUE_MAX = 255,
    JSON_EDGES = 2,     /* train and eval lines follow each other */
    JSON_LEARN_MAX = 16 /* times that an edge is learned anew */
};

struct json_edge {
    const char *glue; /* n bytes; n 0: none */
    uint32_t n;
    uint32_t to;
};

struct json_order {
    struct json_edge edge[JSON_EDGES];
    uint32_t learned;
};

struct json_key {
    struct str text; /* as it stands between the quotes */
    struct str name; /* "outer.inner", unescaped */
    uint32_t parent;
    uint32_t same_as; /* the key that this one is another spelling of (escapes), else itself */
    int slot;
    bool stop;               /* its values are not entered */
    struct json_order next;  /* keys that follow it */
    struct json_order first; /* first keys of its object */
    uint64_t stamp;          /* serial number of the object it was last seen in */
    uint64_t inside;         /* serial number of the object that is or was last its value */
    uint64_t cell_object;    /* object in which cell is its cell */
    uint32_t cell;
};

enum {
    JSON_ROOT = 0,
    JSON_NO_KEY = UINT32_MAX
};

struct json_keys {
    int (*key)(void *ctx, struct str name);
    void *ctx;
    struct arena arena;
    struct json_key *all; /* n; all[JSON_ROOT] is the object itself */
    uint32_t n, cap;
    uint32_t *table; /* open addressing, size a power of two */
    uint32_t table_size;
    size_t bytes;
    bool full;        /* keys were left out */
    const char *stop; /* name of a key that is not entered, or NULL */
    bool stop_values; /* nor is "values" in an object of the outermost one */
    struct buf name;
};

void json_keys_init(struct json_keys *k, int (*key)(void *, struct str), void *ctx);
void json_keys_release(struct json_keys *k);
/* The key with that text (validated, between quotes) in the object of parent;
 * JSON_NO_KEY when there are too many keys already. */
uint32_t json_keys_find(struct json_keys *k, uint32_t parent, struct str text, bool escaped);
/* Remembers that glue leads to key `to`. */
void json_keys_learn(struct json_keys *k, struct json_order *o, struct str glue, uint32_t to);

#endif

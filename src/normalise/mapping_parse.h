/* mapping_parse: what the parts of the mapping parser share: the value being looked at with the way to it,
 * and values of each kind, each with a diagnostic at its place when it is another. Private to mapping*.c. */
#ifndef OOMREPORT_NORMALISE_MAPPING_PARSE_H
#define OOMREPORT_NORMALISE_MAPPING_PARSE_H

#include "normalise/json_place.h"
#include "normalise/mapping.h"
#include <cjson/cJSON.h>

enum {
    PARSE_DEPTH = 8 /* keys and items from the document to a value */
};

struct parse {
    struct mapping *m;
    struct arena *a;
    struct diag *d;
    struct json_step path[PARSE_DEPTH];
    size_t depth;
    bool bad; /* something was complained about */
};

/* The way to the value being looked at. */
void parse_enter_key(struct parse *p, const char *key);
void parse_enter_item(struct parse *p, size_t i);
void parse_leave(struct parse *p);

/* A diagnostic at the value, or at its key with the keys that are known. */
void parse_complain(struct parse *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void parse_unknown_key(struct parse *p, const char *known);

bool parse_is_object(struct parse *p, const cJSON *v);
bool parse_bool(struct parse *p, const cJSON *v);
struct str parse_text(struct parse *p, const cJSON *v);

/* A text or a list of texts: n of them, in the arena. */
const struct str *parse_texts(struct parse *p, const cJSON *v, size_t *n);

/* Keys and their texts, {"phase": "eval"}: n of them, in the arena; NULL when v is no object. */
const struct map_value *parse_pairs(struct parse *p, const cJSON *v, size_t *n);

/* The keys of a mapping with the same names. mapping_fields.c: */
void parse_fields(struct parse *p, const cJSON *v);
void parse_phase(struct parse *p, const cJSON *v);
void parse_sums(struct parse *p, const cJSON *v);
/* mapping_patterns.c: */
void parse_patterns(struct parse *p, const cJSON *v);

#endif

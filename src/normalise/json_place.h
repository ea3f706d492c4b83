/* json_place: line and column of a value in a JSON text, which cJSON does not keep.
 *
 * Used for messages only, so it walks the text again for each. */
#ifndef OOMREPORT_NORMALISE_JSON_PLACE_H
#define OOMREPORT_NORMALISE_JSON_PLACE_H

#include "base/diag.h"

/* One step into a value: a key of an object, or the index of a list item when key is NULL. */
struct json_step {
    const char *key;
    size_t index;
};

/* The place in text of the value (of its key, when at_key) that the n steps lead to; the
 * place of the last value on the way that was found when they lead nowhere. */
struct place json_place(const char *file, struct str text, const struct json_step *steps, size_t n,
                        bool at_key);
/* The place of an offset [B] in text. */
struct place json_place_at(const char *file, struct str text, size_t offset);

#endif

/* past_json: members of a parsed report.json, whatever they are.
 *
 * A member that is missing or of another kind is unknown: NAN, NULL or an empty list. */
#ifndef OOMREPORT_READ_PAST_JSON_H
#define OOMREPORT_READ_PAST_JSON_H

#include "model/past.h"

#include <cJSON.h>

double past_number(const cJSON *o, const char *key);
bool past_bool(const cJSON *o, const char *key);
/* In the arena, or NULL. */
const char *past_text(struct arena *a, const cJSON *o, const char *key);
/* The member if it is an object, else NULL. */
const cJSON *past_object(const cJSON *o, const char *key);
/* The member if it is an array, else NULL; *n its length, at most `most`. */
const cJSON *past_array(const cJSON *o, const char *key, size_t *n, size_t most);
/* Number i of an array of numbers; NAN. For short arrays. */
double past_item(const cJSON *array, int i);
/* The number of the member's word among n names; `unknown` when it is none of them. */
int past_word(const cJSON *o, const char *key, const char *const *names, int n, int unknown);
/* "file:line" as a place. */
struct place past_place(struct arena *a, const cJSON *o, const char *key);
/* An array of texts in CSV form (joined by ';', escaped); NULL when there is none. */
const char *past_ids(struct arena *a, const cJSON *o, const char *key);

void past_verdict(struct verdict *out, struct arena *a, const cJSON *o);
/* Figures of a run; its traits and series only where "merge" is there: *merged. */
void past_run(struct run_report *out, bool *merged, struct arena *a, const cJSON *o);
/* out's traits, spans and series from the member "merge". */
void past_merge(struct run_report *out, struct arena *a, const cJSON *merge);

#endif

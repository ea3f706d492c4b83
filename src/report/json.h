/* json: report.json (schema "oomreport/1") and data/series.json.
 *
 * Every key of the schema is present, unknown is null, bytes are integers; the
 * order of keys is that of the schema in templates/report.schema.json. */
#ifndef OOMREPORT_REPORT_JSON_H
#define OOMREPORT_REPORT_JSON_H

#include "report/json_write.h"
#include "report/report.h"

void json_report(struct buf *out, const struct report_content *c);
/* The reduced points behind the pictures: min, mean and max of each column per bucket of rows. */
void json_series(struct buf *out, const struct analysis *an);

/* For json.c: one element of "runs"; "gates" and "baseline"; a verdict. */
void json_run(struct json *j, const struct run_report *r, size_t points);
void json_ids(struct json *j, const char *key, const char *ids); /* CSV form as an array */
/* What merging needs of a run, with at most so many points of its columns. */
void json_merge(struct json *j, const struct run_report *r, size_t points);
void json_points(struct json *j, const char *key, const struct series *s, size_t most);
void json_gates(struct json *j, const struct analysis *an);
void json_verdict(struct json *j, const char *key, const struct verdict *v);

#endif

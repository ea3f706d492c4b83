/* json_snapshot: what a memory snapshot adds to a run in report.json. */
#ifndef OOMREPORT_REPORT_JSON_SNAPSHOT_H
#define OOMREPORT_REPORT_JSON_SNAPSHOT_H

#include "model/verdict.h"
#include "report/json_write.h"

/* Writes the members snapshot, memory_holders and blame; null without a snapshot. */
void json_snapshot(struct json *j, const struct run_report *r);
/* Writes the members joined and grown. */
void json_together(struct json *j, const struct analysis *an);

#endif

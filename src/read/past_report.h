/* past_report: a report.json of an earlier call -> what its analysis held.
 *
 * Reads every minor version of oomreport/1: members that it does not know are skipped, those that are
 * missing are unknown. Any bytes may come: nothing in them is believed beyond its kind. */
#ifndef OOMREPORT_READ_PAST_REPORT_H
#define OOMREPORT_READ_PAST_REPORT_H

#include "model/past.h"
#include "read/read.h"

enum {
    PAST_REPORT_MAX = 64 << 20 /* [B] */
};

/* Whether text (the beginning of a file will do) is of a report.json, of whatever major version. */
bool past_report_detect(struct str head);
/* All that is left of the source. NULL with a diagnostic: no JSON, no report, or of another major version,
 * which it names. */
struct past_report *past_report_read(struct source *s, const char *name, struct diag *d);
/* The same of a file; or of the report.json in a directory. */
struct past_report *past_report_open(const char *path, struct diag *d);

#endif

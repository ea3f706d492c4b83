/* ci: the files that CI systems read: junit.xml and metrics.txt. */
#ifndef OOMREPORT_REPORT_CI_H
#define OOMREPORT_REPORT_CI_H

#include "report/report.h"

enum {
    JUNIT_MAX = 256 << 10 /* [B] */
};

/* A test report in JUnit's XML: one suite for the label, one case for each check, names unique and stable.
 * A failed gate is a failure, a skipped input an error, what cannot be tested skipped. */
void ci_junit(struct buf *out, const struct report_content *c, const struct report_settings *s);
/* OpenMetrics text (openmetrics.io, 1.0): gauges of each run; ends with "# EOF". */
void ci_metrics(struct buf *out, const struct report_content *c, const struct report_settings *s);

#endif

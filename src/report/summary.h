/* summary: the report in a page of text, for people who read it elsewhere.
 *
 * summary.md is for pull requests, step summaries and tickets (GitHub, GitLab, Jira): status first,
 * details folded, no image. summary.txt is 80 columns of ASCII for an e-mail. */
#ifndef OOMREPORT_REPORT_SUMMARY_H
#define OOMREPORT_REPORT_SUMMARY_H

#include "report/report.h"

enum {
    SPARK_COLUMNS = 40,
    TEXT_COLUMNS = 80
};

void summary_markdown(struct buf *out, const struct report_content *c, const struct report_settings *s);
void summary_text(struct buf *out, const struct report_content *c, const struct report_settings *s);

/* The run's memory over its rows: `levels` glyphs from empty to full, highest value per column,
 * from 0 to the capacity (or the highest value). Returns false when there is nothing to show. *what
 * and *top say what the line is of and what its full height is [B]. */
bool summary_spark(struct buf *out, const struct run_report *r, const char *const *glyphs, int levels,
                   const char **what, double *top);

#endif

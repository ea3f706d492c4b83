/* rich: a sentence cut into plain, strong and code parts.
 *
 * "rose by 3.1 MiB/step in 5 of 5 seeds; use loss.item()" has two strong parts and
 * one of code. The sentences of an analysis are plain text; this is what gives
 * their figures weight. Knows nothing of HTML and Markdown. */
#ifndef OOMREPORT_REPORT_RICH_H
#define OOMREPORT_REPORT_RICH_H

#include "base/str.h"

enum rich_kind {
    RICH_PLAIN,
    RICH_STRONG,
    RICH_CODE
};

/* Cuts the next part off the front of rest; false when rest is empty. `begins` tells whether a word
 * may begin at the front: true at first, and after a plain part. */
bool rich_next(struct str *part, enum rich_kind *kind, struct str *rest, bool begins);

#endif

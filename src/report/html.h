/* html: the only place where C writes markup, and it writes only entities.
 *
 * The escaped form is the same for text and for a double-quoted attribute. */
#ifndef OOMREPORT_REPORT_HTML_H
#define OOMREPORT_REPORT_HTML_H

#include "base/buf.h"

/* s as inert HTML: & < > " ' become entities; control characters (but newline and tab),
 * bytes that are not UTF-8 and code points that hide or reorder text are shown as
 * \xNN or \u{NNNN}. */
void html_escape(struct buf *b, struct str s);

#endif

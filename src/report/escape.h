/* escape: text from logs made inert for each kind of output.
 *
 * Bytes that are not UTF-8 and control characters are shown as \xNN, code
 * points that hide or reorder text as \u{NNNN}; nothing is dropped silently.
 * HTML has its own file, html.h. */
#ifndef OOMREPORT_REPORT_ESCAPE_H
#define OOMREPORT_REPORT_ESCAPE_H

#include "base/buf.h"

/* A JSON string with its quotes; bytes that are not UTF-8 become U+FFFD. */
void escape_json(struct buf *b, struct str s);
/* Inline GitHub-flavoured Markdown on one line: no markup, link, mention or table cell can begin. */
void escape_markdown(struct buf *b, struct str s);
/* A Markdown code span on one line that s cannot leave, fit for a table cell. */
void escape_markdown_code(struct buf *b, struct str s);
/* XML 1.0 on one line, for an element or an attribute: only characters that XML may hold. */
void escape_xml(struct buf *b, struct str s);
/* Printable ASCII on one line: no control byte can reach a terminal. */
void escape_ascii(struct buf *b, struct str s);

#endif

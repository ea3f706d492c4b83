/* result: the lines on standard output that say what was found and where it stands. */
#ifndef OOMREPORT_CLI_RESULT_H
#define OOMREPORT_CLI_RESULT_H

#include "cli/term.h"
#include "model/verdict.h"

/* "leak (likely): …", and "try first: …" unless brief. */
void result_verdict(const struct term *t, const struct verdict *v, bool brief);
/* "what if capacity=40GiB: …", a line for each that was asked. */
void result_what_if(const struct term *t, const struct analysis *a);
/* "report: DIR/index.html   share: DIR/oomreport.html (0.6 MiB)", as far as these parts (of enum report_part)
 * were written. made: the directory, open; it may have another name for now. */
void result_where(const char *dir, int made, unsigned parts);

#endif

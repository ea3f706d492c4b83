/* gates: what the gates said, as messages and as an exit status. */
#ifndef OOMREPORT_CLI_GATES_H
#define OOMREPORT_CLI_GATES_H

#include "cli/gate_options.h"
#include "cli/term.h"

/* Reads --baseline, if there is one, and holds a against it and the gates. False when the baseline cannot be
 * read: the reason was said. */
bool gates_run(struct analysis *a, const struct gate_options *g, struct term *t);
/* A line on standard error for each gate that was not passed but the worst, which *why is then set to; the
 * exit status that follows: EXIT_USAGE before EXIT_GATE; EXIT_OK with --warn-only, all lines printed. */
int gates_status(const char **why, struct analysis *a, const struct gate_options *g);

#endif

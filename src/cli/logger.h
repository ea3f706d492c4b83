/* logger: the Python hook that writes the step log, for --logger; its parts are templates/logger_*.py. */
#ifndef OOMREPORT_CLI_LOGGER_H
#define OOMREPORT_CLI_LOGGER_H

#include "base/buf.h"

/* Appends the hook for "torch", "lightning" or "hf": the core, then what binds it to the framework. */
void logger_print(struct buf *out, const char *name);

#endif

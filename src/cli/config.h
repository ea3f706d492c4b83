/* config: settings from a file and from the environment, put before those of the command line.
 *
 * Options beat OOMREPORT_* beat the file (--config, else ./oomreport.conf) beat defaults: what a
 * higher layer sets replaces what a lower one does. `key = value` lines; keys are the long names of
 * options. Knows the table of options, not what they mean. */
#ifndef OOMREPORT_CLI_CONFIG_H
#define OOMREPORT_CLI_CONFIG_H

#include "base/arena.h"
#include "base/buf.h"

struct setting {
    size_t option;     /* in the table */
    const char *value; /* of a flag "yes" or "no" */
    const char *where; /* "oomreport.conf:3", "OOMREPORT_CAPACITY", "command line" */
};

struct config {
    struct setting *items; /* n in force, by layer, then as they were given */
    size_t n, cap;
    int argc;
    char **argv; /* the command line with the lower layers put before it; in the arena */
};

/* Reads the layers below argv. NULL, or one line that says what is wrong, with its place. */
const char *config_read(struct config *c, int argc, char **argv, struct arena *a);
void config_release(struct config *c);
/* What is in force as a file for --config, each value under where it comes from. */
void config_print(struct buf *out, const struct config *c);

#endif

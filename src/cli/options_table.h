/* options_table: options.def as a table, and getopt_long over it. What the options mean is not known here. */
#ifndef OOMREPORT_CLI_OPTIONS_TABLE_H
#define OOMREPORT_CLI_OPTIONS_TABLE_H

#include "base/arena.h"

struct option_row {
    const char *name, *arg; /* arg: what --help calls its value, or NULL: a flag */
    int letter;             /* 0: none */
    const char *help;
};

/* An option on a command line. */
struct option_use {
    size_t option;     /* in the table */
    const char *value; /* NULL: a flag */
};

/* All options, in the order of options.def. n may be NULL. */
const struct option_row *options_table(size_t *n);
/* The next option of argv. 1 with out filled in; 0 at the end, with the operands from *optind on;
 * -1 with one line (in the arena) of what is wrong. first: a new command line. argv is reordered. */
int options_next(struct option_use *out, int argc, char **argv, bool first, const char **why,
                 struct arena *a);
/* The options of argv up to the first that is wrong, into out (argc places); their number. */
size_t options_scan(struct option_use *out, int argc, char **argv, struct arena *a);
/* True for what tells the program to do something else than a report, and how: no place in a file of
 * settings. */
bool options_command_only(size_t option);

#endif

/* formats: where mappings come from, and --list-formats, --show-format, --check-format. */
#ifndef OOMREPORT_CLI_FORMATS_H
#define OOMREPORT_CLI_FORMATS_H

#include "normalise/mapping.h"

#include <stdio.h>

/* The built-in mappings, those of oomreport/formats in the first of $XDG_DATA_DIRS that has it, and the
 * user's
 * ($XDG_DATA_HOME/oomreport/formats). Released with mapping_set_free. */
struct mapping_set *formats_load(struct diag *d);
/* A line for each: name, readers, when the peak is reset, title, and where it is from unless built in. */
void formats_list(FILE *out, const struct mapping_set *set);
/* The mapping's text. NULL, or one line (in the arena) that says what is wrong; the same below. */
const char *formats_show(FILE *out, const struct mapping_set *set, const char *name, struct arena *a);
/* Parses a mapping file and runs its samples. */
const char *formats_check(FILE *out, const char *path, struct diag *d, struct arena *a);
/* NULL when --format's argument is a known name or a file. */
const char *formats_known(const struct mapping_set *set, const char *name, struct arena *a);

#endif

/* source_run: normalise_input for an opened source; for samples and tests. */
#ifndef OOMREPORT_NORMALISE_SOURCE_RUN_H
#define OOMREPORT_NORMALISE_SOURCE_RUN_H

#include "normalise/mapping.h"
#include "normalise/normalise.h"

/* As normalise_input; info->name must be set. m NULL: the mapping is chosen by content. */
int normalise_source(struct input_info *info, const struct record_sink *sink, struct source *source,
                     const struct normalise_settings *settings, const struct mapping *m, struct arena *a,
                     struct diag *d);

#endif

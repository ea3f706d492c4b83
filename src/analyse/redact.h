/* redact: what a report that leaves the house does not say.
 *
 * With REDACT_PATHS paths lose home directories and the folder that the user's files
 * share. With REDACT_ALL runs, inputs, checkpoints and phases of one's own are numbers,
 * and of paths only file names stay; sample ids and messages are not shown. Everything
 * is done on the analysis, before it is drawn or written. */
#ifndef OOMREPORT_ANALYSE_REDACT_H
#define OOMREPORT_ANALYSE_REDACT_H

#include "model/input.h"
#include "model/verdict.h"

enum redact {
    REDACT_NONE,
    REDACT_PATHS,
    REDACT_ALL
};

/* What was named how; made by redact_series, used again by redact_analysis. */
struct redactor {
    enum redact level;
    struct input_info *inputs; /* n_inputs, as they were read */
    size_t n_inputs;
    const char **input_names; /* n_inputs names before redaction */
    struct arena *arena;      /* borrowed: holds the new names, must outlive the analysis */
};

/* Before analyse(): names of runs, inputs, checkpoints and phases, in the series and in inputs. */
void redact_series(struct redactor *r, struct series_set *set);
/* After analyse(): every text of the analysis. */
void redact_analysis(const struct redactor *r, struct analysis *a);
/* A line of settings ("format = my.json"). */
struct str redact_setting(const struct redactor *r, struct str line);

#endif

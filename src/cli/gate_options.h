/* gate_options: the values of --fail-on, --max-peak and their kin. */
#ifndef OOMREPORT_CLI_GATE_OPTIONS_H
#define OOMREPORT_CLI_GATE_OPTIONS_H

#include "analyse/gates.h"

struct gate_options {
    struct gate_settings settings;
    const char *baseline; /* file or directory, or NULL */
    bool warn_only;
};

void gate_options_init(struct gate_options *g);
/* Each reads the value of one option: NULL, or what is wrong (in the arena). */
const char *gate_fail_on(struct gate_options *g, const char *list, struct arena *a);
const char *gate_min_confidence(struct gate_options *g, const char *word, struct arena *a);
/* "70GiB", "90%" */
const char *gate_size_limit(struct size_limit *out, const char *option, const char *text, struct arena *a);
/* "3MiB/step" */
const char *gate_max_growth(struct gate_options *g, const char *text, struct arena *a);
/* "5%" */
const char *gate_max_regression(struct gate_options *g, const char *text, struct arena *a);
/* What one of them needs another for; NULL, or what is wrong. */
const char *gate_check_together(const struct gate_options *g);

#endif

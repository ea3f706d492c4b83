/* gate: limits that a run is held against, and what an earlier report says beside it.
 *
 * Mirrors "gates" and "baseline" of report.json. Knows nothing of options and exit codes. */
#ifndef OOMREPORT_MODEL_GATE_H
#define OOMREPORT_MODEL_GATE_H

#include <stdbool.h>
#include <stddef.h>

enum gate_result {
    GATE_PASS,
    GATE_FAIL,
    GATE_NOT_TESTABLE
};

struct gate {
    const char *id;         /* "max-peak", "fail-on=leak/step" */
    double measured, limit; /* in unit; measured is NAN when not testable */
    const char *unit;       /* "bytes", "bytes/step", "percent", "runs" */
    enum gate_result result;
    const char *text; /* one sentence: what was measured against what, or why it cannot be tested */
};

enum baseline_says {
    BASELINE_WORSE,
    BASELINE_BETTER,
    BASELINE_SAME /* no difference shown: within the noise band */
};

struct baseline_metric {
    const char *id, *unit;
    double before, now; /* in unit; NAN unknown */
    double band;        /* a difference up to this is noise */
    enum baseline_says says;
};

struct baseline {
    const char *name;
    bool comparable;
    const char *why_not;             /* NULL when comparable */
    struct baseline_metric *metrics; /* n_metrics */
    size_t n_metrics;
};

const char *gate_result_name(enum gate_result r);
const char *baseline_says_name(enum baseline_says s); /* "worse", "better", "~" */

#endif

/* gates: an analysis held against limits, and against an earlier report.
 *
 * A gate on a field that no log has is "not testable", never passed. Knows nothing of the command line. */
#ifndef OOMREPORT_ANALYSE_GATES_H
#define OOMREPORT_ANALYSE_GATES_H

#include "model/past.h"

enum fail_on_kind {
    FAIL_ON_OOM,        /* memory ran out in some run */
    FAIL_ON_AT_RISK,    /* it did, or will or may */
    FAIL_ON_CAUSE,      /* this cause, of this subtype unless SUB_NONE */
    FAIL_ON_UNKNOWN,    /* it did, or will, and the log does not tell why */
    FAIL_ON_REGRESSION, /* worse than the baseline */
};

struct fail_on {
    const char *text; /* as given: "leak/step" */
    enum fail_on_kind kind;
    enum cause cause;
    enum subtype subtype;
};

/* A limit in bytes or as a share of the capacity. */
struct size_limit {
    bool given;
    double bytes; /* [B], or NAN where it is a share */
    double share; /* 0..1 of capacity */
};

struct gate_settings {
    const struct fail_on *fail_on; /* n_fail_on */
    size_t n_fail_on;
    enum certainty min_certainty; /* of verdicts that a fail_on cause counts at */
    struct size_limit max_peak, min_headroom;
    double max_growth;     /* [B/step] NAN: not given */
    double max_regression; /* share of the baseline's peak; NAN: not given */
};

/* Fills a->baseline from an earlier report of that name. */
void baseline_compare(struct analysis *a, const struct past_report *past, const char *name);
/* Fills a->gates, in a fixed order. baseline_compare comes first, if there is a baseline. */
void gates_check(struct analysis *a, const struct gate_settings *g);

/* Runs as a gate sees them: one for each job, by name. */
struct job_figures {
    double peak, headroom; /* [B] the worst of its ranks; NAN unknown */
    double growth;         /* [B/step] the steepest that is told from noise, 0: none; NAN untested */
    double unsure;         /* [B/step] half the interval of that growth, or what could not have been seen */
    bool failed;
};
/* n of them, in the arena. */
struct job_figures *gate_jobs(size_t *n, struct arena *arena, const struct run_report *runs, size_t n_runs);

#endif

#include "model/verdict.h"

const char *cause_name(enum cause c)
{
    static const char *const N[] = {"leak", "peak", "eval", "capacity", "none", "unknown"};
    return N[c];
}

const char *subtype_name(enum subtype s)
{
    static const char *const N[] = {
        NULL,         "step",       "batch",     "periodic", "epoch",         "eval",     "host",   "length",
        "resolution", "batch-size", "tokens",    "schedule", "unexplained",   "grad",     "batch",  "kept",
        "boundary",   "sizing",     "optimizer", "typical",  "fragmentation", "external", "resume", "save"};
    return N[s];
}

const char *status_name(enum status s)
{
    static const char *const N[] = {"failed", "at-risk", "ok", "unknown"};
    return N[s];
}

const char *certainty_name(enum certainty c)
{
    static const char *const N[] = {"confirmed", "likely", "possible", "cannot tell"};
    return N[c];
}

const char *effort_name(enum effort e)
{
    static const char *const N[] = {"config", "one line", "redesign"};
    return N[e];
}

const char *question_name(enum question_id q)
{
    static const char *const N[] = {"grows", "outlier_batch", "eval_boundary", "capacity"};
    return N[q];
}

const char *answer_name(enum answer a)
{
    static const char *const N[] = {"yes", "no", "not testable"};
    return N[a];
}

const char *says_name(enum says s)
{
    static const char *const N[] = {"for", "against", "nothing"};
    return N[s];
}

const char *outcome_name(enum outcome o)
{
    static const char *const N[] = {"oom", "killed", "completed", "unknown"};
    return N[o];
}

const char *cross_says_name(enum cross_says s)
{
    static const char *const N[] = {"data", "schedule", "deterministic", "neither", "not testable"};
    return N[s];
}

const char *batch_by_name(enum batch_by b)
{
    static const char *const N[] = {"batch_ids", "batch_hash", "shape"};
    return N[b];
}

const char *steps_by_name(enum steps_by s)
{
    static const char *const N[] = {NULL, "annotations", "optimizer", "period"};
    return N[s];
}

const char *holder_at_name(enum holder_at a)
{
    static const char *const N[] = {"peak", "oom", "end"};
    return N[a];
}

const char *category_name(enum category c)
{
    static const char *const N[] = {"parameter", "gradient",  "activation", "optimizer_state",
                                    "input",     "temporary", "unknown"};
    return N[c];
}

enum holder_at snapshot_moment(const struct run_report *r)
{
    enum holder_at best = HOLDER_AT_END;
    for (size_t i = 0; i < r->n_holders; i++) {
        if (r->holders[i].at == HOLDER_AT_OOM)
            return HOLDER_AT_OOM;
        if (r->holders[i].at == HOLDER_AT_PEAK)
            best = HOLDER_AT_PEAK;
    }
    return best;
}

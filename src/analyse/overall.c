#include "analyse/overall.h"

#include "analyse/ranks.h"
#include "analyse/say.h"

#include <math.h>

/* Failed before not failed, an earlier failure first; then the surer cause; then least head-room. */
static bool leads(const struct run_report *x, const struct run_report *y)
{
    if (x->has_failure != y->has_failure)
        return x->has_failure;
    if (x->has_failure && isfinite(x->failure.step) && isfinite(y->failure.step) &&
        x->failure.step != y->failure.step)
        return x->failure.step < y->failure.step;
    if (x->has_failure && x->outcome != y->outcome)
        return x->outcome == OUTCOME_OOM;
    bool xc = x->verdict.cause < CAUSE_NONE, yc = y->verdict.cause < CAUSE_NONE;
    if (xc != yc)
        return xc;
    if (xc && x->verdict.confidence != y->verdict.confidence)
        return x->verdict.confidence > y->verdict.confidence;
    return x->capacity.headroom_bytes < y->capacity.headroom_bytes;
}

/* The rank that speaks for a job: the one that failed first, else the nearest to failing. */
static size_t speaker(const struct analysis *a, const struct job *job)
{
    if (job->failed != JOB_NONE)
        return (size_t)job->failed;
    size_t best = job->first;
    for (size_t i = job->first + 1; i < job->first + job->n; i++)
        if (leads(&a->runs[i], &a->runs[best]))
            best = i;
    return best;
}

static enum certainty certainty_of(double confidence, size_t agree)
{
    return confidence >= 0.95 && agree >= 2 ? CERTAINTY_CONFIRMED
           : confidence >= 0.75             ? CERTAINTY_LIKELY
           : confidence >= 0.4              ? CERTAINTY_POSSIBLE
                                            : CERTAINTY_CANNOT_TELL;
}

void overall(struct analysis *a)
{
    struct verdict *v = &a->verdict;
    if (a->n_runs == 0) {
        *v = (struct verdict){.cause = CAUSE_UNKNOWN,
                              .status = STATUS_UNKNOWN,
                              .certainty = CERTAINTY_CANNOT_TELL,
                              .summary = "No run was read.",
                              .fix = "Give at least one log with memory figures."};
        return;
    }
    struct job *jobs;
    size_t n = jobs_find(&jobs, &a->arena, a), lead = 0;
    size_t *who = arena_alloc(&a->arena, (n + 1) * sizeof *who);
    for (size_t i = 0; i < n; i++) {
        who[i] = speaker(a, &jobs[i]);
        if (i > 0 && leads(&a->runs[who[i]], &a->runs[who[lead]]))
            lead = i;
    }
    a->lead = who[lead];
    a->ranks_text = ranks_text(a, &jobs[lead]);
    const struct run_report *first = &a->runs[a->lead];
    *v = first->verdict;
    size_t alike = 0, agree = 0;
    for (size_t i = 0; i < n; i++) {
        const struct run_report *r = &a->runs[who[i]];
        alike += r->has_failure == first->has_failure;
        agree += r->has_failure == first->has_failure && r->verdict.cause == v->cause;
    }
    if (alike < 2 || v->cause == CAUSE_UNKNOWN)
        return;
    double odds = v->confidence / fmax(1 - v->confidence, 0.001);
    odds *= pow(1.3, fmin((double)agree - 1, 3)) * pow(0.6, fmin((double)(alike - agree), 4));
    v->confidence = fmin(odds / (1 + odds), 0.99);
    v->certainty = certainty_of(v->confidence, agree);
    const char *kind = first->has_failure ? "failed runs" : "runs";
    v->summary = arena_printf(&a->arena, "%s %s of %s %s agree on the cause.", v->summary,
                              say_count(&a->arena, (double)agree), say_count(&a->arena, (double)alike), kind);
}

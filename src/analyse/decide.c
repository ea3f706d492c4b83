/* decide: findings -> one verdict, in the order of triage, with what is left
 * of the probability going on to the next question. */
#include "analyse/advice.h"
#include "analyse/rules.h"
#include "analyse/stats.h"

#include <math.h>

#define MOST_OF_ONE_RUN 0.985 /* one run without a snapshot is never certain, and at most "likely" */
#define MOST_OF_UNKNOWN 0.39  /* "cannot tell" */
#define SHARPEN 2.0           /* of the log-odds; the rules' margins are cautious, found on simulated runs */

struct shares {
    double leak, peak, eval, capacity, none;
};

static bool other_phase(const struct frame *f)
{
    return f->fail_phase == FAIL_EVAL || f->fail_phase == FAIL_SAVE || f->fail_phase == FAIL_LOAD ||
           f->fail_phase == FAIL_OPTIMIZER;
}

/* A climb counts as the cause of a failure when the failure needed it. */
static double leak_share(const struct run_ctx *c)
{
    const struct frame *f = c->f;
    const struct found_leak *l = &c->leak;
    double p = l->p;
    if (!f->fail || f->killed)
        return p;
    if (!l->sufficient) /* nearly enough is half a reason */
        p *= 0.3 + 0.35 * fmin(fmax((l->covers - 0.75) / 0.25, 0), 1);
    if (other_phase(f) && !(l->rise >= 0.10 * f->capacity))
        p *= 0.25;
    /* the peak that training would have reached at the end: far below the ceiling, something else failed */
    double at_end = c->peak.p99;
    if (isfinite(at_end) && isfinite(f->room) && l->column == F_ALLOCATED && f->train.n > 16) {
        size_t tail = f->train.n / 10 > 4 ? f->train.n / 10 : 4;
        if (f->peak_field == F_PEAK)
            at_end = stats_max(f->train.v[F_PEAK] + f->train.n - tail, tail, NULL);
        if (at_end < 0.6 * f->room && f->blind < 3 * f->stride + 50)
            p *= 0.3;
        else if (at_end < 0.8 * f->room && c->peak.percentile >= 99)
            p *= 0.5;
    }
    /* the failing batch may not have fitted even without the growth; a sharp law says so sharply */
    if (c->peak.percentile >= 90 && isfinite(c->peak.alone)) {
        double sharp = c->peak.fit.r2 > 0.98 && f->room_measured ? 0.97 : 0.88;
        double over = (c->peak.alone / f->room - sharp) / (1.01 - sharp);
        p *= 1 - 0.8 * fmin(fmax(over, 0), 1);
    }
    return p;
}

static struct shares weigh_failed(const struct run_ctx *c)
{
    const struct frame *f = c->f;
    struct shares s = {0};
    if (f->killed) {
        s.leak = fmax(c->leak.p_host, 0);
        return s;
    }
    double rest = 1;
    s.leak = leak_share(c);
    if (c->leak.p_host > s.leak && s.leak < 0.3)
        s.leak = fmax(s.leak, 0.2 * c->leak.p_host);
    double early = c->cap.p_early;
    bool torn = c->leak.sorted && c->leak.column != F_ALLOCATED;
    if (torn) /* sorted lengths and peaks only */
        s.leak = fmin(fmax(s.leak, 0.38), 0.45);
    if (early > 0.5 && s.leak > 0.5 && c->cap.sub == SUB_EXTERNAL)
        s.leak *= 0.6; /* two sufficient causes */
    rest -= s.leak;
    s.capacity = rest * early;
    rest -= s.capacity;
    double peak = c->peak.p, eval = c->eval.p, late = c->cap.p;
    bool frag = c->cap.sub == SUB_FRAGMENTATION && late > 0.6;
    if (f->fail_phase == FAIL_EVAL) {
        s.eval = rest * eval;
        rest -= s.eval;
        s.peak = rest * 0.1;
        s.capacity += rest * late * 0.5;
        rest *= 0.4;
        return s;
    }
    if (frag)
        peak *= c->peak.need_ratio > 1.1 ? 0.5 : 0.25;
    /* a large batch and a boundary at once: the law says which, if it can */
    bool by_law = c->peak.percentile >= 99 && c->peak.predicted > 0.95 * f->room;
    double boundary = c->eval.save_due ? 0.85 : eval;
    if (boundary > 0.3 && !by_law)
        peak *= 1 - 0.8 * boundary;
    if (eval > 0.1 && by_law)
        eval *= 0.3;
    s.peak = rest * peak;
    rest -= s.peak;
    s.eval = rest * eval;
    rest -= s.eval;
    s.capacity += rest * late;
    return s;
}

static struct shares weigh_green(const struct run_ctx *c)
{
    const struct frame *f = c->f;
    struct shares s = {0};
    double rest = 1;
    s.leak = fmax(c->leak.p, c->leak.p_host);
    rest -= s.leak;
    double peak = c->peak.p_risk;
    if (f->survived > 0)
        peak = fmax(peak, 0.88);
    else if (isnan(c->peak.risk_len) && c->out->peak.p_oom_next_epoch > 0.6 &&
             f->per_epoch > (double)f->train.n)
        peak = fmax(peak, 0.5 * c->out->peak.p_oom_next_epoch);
    s.peak = rest * peak;
    rest -= s.peak;
    s.eval = rest * c->eval.p_risk;
    rest -= s.eval;
    s.capacity = rest * c->cap.p_risk;
    rest -= s.capacity;
    double seen = f->train.n >= 200  ? 0.97
                  : f->train.n >= 50 ? 0.93
                  : f->train.n >= 20 ? 0.85
                  : f->train.n >= 10 ? 0.6
                                     : 0.2;
    if (f->floor_field == F_COUNT)
        seen = 0.05;
    s.none = rest * seen;
    return s;
}

static enum subtype leak_subtype(const struct run_ctx *c)
{
    if (c->f->killed || (c->leak.p_host > c->leak.p && !c->f->fail))
        return SUB_HOST;
    return c->leak.carrier;
}

static enum subtype subtype_of(const struct run_ctx *c, enum cause cause)
{
    if (c->snapshot.known && cause < CAUSE_NONE)
        return c->snapshot.subtype;
    switch (cause) {
    case CAUSE_LEAK:
        return leak_subtype(c);
    case CAUSE_PEAK:
        if (!c->f->fail)
            return isfinite(c->peak.risk_len)                                     ? SUB_LENGTH
                   : c->peak.dimension != SUB_UNEXPLAINED || !c->peak.shapes_vary ? c->peak.dimension
                   : c->f->train.v[F_MAX_LEN]                                     ? SUB_LENGTH
                                                                                  : SUB_UNEXPLAINED;
        return c->peak.dimension;
    case CAUSE_EVAL:
        return c->eval.sub;
    case CAUSE_CAPACITY:
        return c->f->fail ? c->cap.sub : SUB_TYPICAL;
    default:
        return SUB_NONE;
    }
}

static enum status status_of(const struct run_ctx *c, enum cause cause)
{
    const struct frame *f = c->f;
    if (f->fail || f->survived > 0)
        return STATUS_FAILED;
    if (cause == CAUSE_NONE) {
        bool unmet = isfinite(c->peak.risk_len) && !(c->out->peak.corpus_max_predicted_bytes < 0.9 * f->room);
        return unmet ? STATUS_AT_RISK : STATUS_OK;
    }
    if (cause == CAUSE_UNKNOWN)
        return STATUS_UNKNOWN;
    if (cause == CAUSE_LEAK && c->leak.p >= c->leak.p_host && f->train.n > 1) {
        /* a climb that would need hundreds of runs to matter */
        double span = f->train.x[f->train.n - 1] - f->train.x[0];
        double left = c->leak.latest - f->train.x[f->train.n - 1];
        if (left > 800 * span)
            return STATUS_OK;
    }
    return STATUS_AT_RISK;
}

static enum certainty certainty_of(double confidence, enum cause cause)
{
    if (cause == CAUSE_UNKNOWN)
        return CERTAINTY_CANNOT_TELL;
    return confidence >= 0.75  ? CERTAINTY_LIKELY
           : confidence >= 0.4 ? CERTAINTY_POSSIBLE
                               : CERTAINTY_CANNOT_TELL;
}

static void answers(struct run_ctx *c, const struct shares *s)
{
    const struct frame *f = c->f;
    struct question *q = c->out->triage;
    bool leak_testable = (c->leak.column != F_COUNT && f->train.n >= 8) || c->leak.host.n >= 8;
    q[Q_GROWS].answer = fmax(c->leak.p, c->leak.p_host) >= 0.5 ? ANSWER_YES
                        : leak_testable                        ? ANSWER_NO
                                                               : ANSWER_NOT_TESTABLE;
    bool peak_testable = f->fail && !f->killed ? isfinite(c->peak.percentile) || isfinite(c->peak.need_ratio)
                                               : c->peak.has_fit || f->survived > 0;
    q[Q_OUTLIER_BATCH].answer = (f->fail ? c->peak.p : fmax(c->peak.p_risk, s->peak)) >= 0.5 ? ANSWER_YES
                                : peak_testable                                              ? ANSWER_NO
                                                : ANSWER_NOT_TESTABLE;
    bool eval_testable = f->fail
                             ? f->fail_phase != FAIL_PHASE_UNKNOWN || c->eval.cadence > 0 || f->per_epoch > 0
                             : f->eval.n > 0;
    q[Q_EVAL_BOUNDARY].answer = (f->fail ? c->eval.p : c->eval.p_risk) >= 0.5 ? ANSWER_YES
                                : eval_testable                               ? ANSWER_NO
                                                                              : ANSWER_NOT_TESTABLE;
    q[Q_CAPACITY].answer = (f->fail ? fmax(c->cap.p, c->cap.p_early) : c->cap.p_risk) >= 0.5 ? ANSWER_YES
                           : isfinite(f->capacity)                                           ? ANSWER_NO
                                                   : ANSWER_NOT_TESTABLE;
    if (!c->snapshot.known)
        return;
    /* what a snapshot shows is exact: the series' own findings do not say otherwise */
    const double share[Q_COUNT] = {s->leak, s->peak, s->eval, s->capacity};
    for (int i = 0; i < Q_COUNT; i++)
        q[i].answer = share[i] >= 0.5 ? ANSWER_YES : q[i].answer == ANSWER_YES ? ANSWER_NO : q[i].answer;
}

static double sharpened(double p)
{
    return p <= 0 ? 0 : p >= 1 ? 1 : 1 / (1 + pow((1 - p) / p, SHARPEN));
}

static struct shares weigh(const struct run_ctx *c)
{
    const struct snapshot_shares *k = &c->snapshot;
    if (k->known)
        return (struct shares){k->leak, k->peak, k->eval, k->capacity, k->none};
    return c->f->fail ? weigh_failed(c) : weigh_green(c);
}

void decide(struct run_ctx *c)
{
    struct verdict *v = &c->out->verdict;
    struct shares s = weigh(c);
    double share[] = {s.leak, s.peak, s.eval, s.capacity, s.none, 0};
    double rest = 1;
    for (int i = 0; i < CAUSE_UNKNOWN; i++)
        rest -= share[i];
    share[CAUSE_UNKNOWN] = fmax(0, rest);
    int best = CAUSE_LEAK, second = -1;
    for (int i = 1; i < CAUSE_UNKNOWN; i++)
        if (share[i] > share[best])
            best = i;
    if (share[best] < 0.36 && share[CAUSE_UNKNOWN] > share[best])
        best = CAUSE_UNKNOWN;
    for (int i = 0; i < CAUSE_UNKNOWN; i++)
        if (i != best && share[i] > 0.01 && (second < 0 || share[i] > share[second]))
            second = i;
    v->cause = (enum cause)best;
    double said = c->snapshot.known ? share[best] : sharpened(share[best]);
    v->confidence = fmin(said, MOST_OF_ONE_RUN);
    if (v->cause == CAUSE_UNKNOWN) /* no claim: how near the best candidate comes to one */
        v->confidence = second >= 0 ? fmin(share[second], MOST_OF_UNKNOWN) : 0;
    v->subtype = subtype_of(c, v->cause);
    v->status = status_of(c, v->cause);
    v->certainty = certainty_of(v->confidence, v->cause);
    if (c->snapshot.known && v->confidence >= 0.95 && v->cause != CAUSE_UNKNOWN)
        v->certainty = CERTAINTY_CONFIRMED; /* exact, not inferred */
    v->has_runner_up = second >= 0;
    v->runner_up = second >= 0 ? (enum cause)second : CAUSE_NONE;
    v->runner_up_confidence = second >= 0 ? fmin(sharpened(share[second]), 1 - v->confidence) : 0;
    answers(c, &s);
    advice_fill(c);
    snapshot_say(c);
    v->runner_up_why_not = second >= 0 ? advice_why_not(c, v->runner_up) : NULL;
}

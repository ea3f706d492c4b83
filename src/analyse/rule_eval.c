/* Eval boundary? Evaluation against training per sample and by batch, what
 * piles up within a pass, and whether the failing step lands on a cadence. */
#include "analyse/rules.h"
#include "analyse/say.h"
#include "analyse/shapes.h"
#include "analyse/stats.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

#define MIB 1048576.0

enum {
    PASSES = 4096
};

struct passes {
    size_t n;
    size_t from[PASSES + 1]; /* index in the eval track */
};

/* Eval rows with a train row between them belong to different passes. */
static void find_passes(struct passes *p, const struct frame *f)
{
    size_t t = 0;
    p->n = 0;
    for (size_t i = 0; i < f->eval.n; i++) {
        bool between = i == 0;
        while (t < f->train.n && f->train.row[t] < f->eval.row[i]) {
            between = between || f->train.row[t] > f->eval.row[i - 1];
            t++;
        }
        if (between && p->n < PASSES)
            p->from[p->n++] = i;
    }
    p->from[p->n] = f->eval.n;
}

/* [step] distance of pass starts, if it is regular. */
static double passes_cadence(const struct passes *p, const struct frame *f)
{
    if (p->n < 2 || f->axis != AXIS_STEP)
        return NAN;
    double gaps[PASSES];
    for (size_t i = 1; i < p->n; i++)
        gaps[i - 1] = f->eval.x[p->from[i]] - f->eval.x[p->from[i - 1]];
    return stats_median(gaps, p->n - 1);
}

/* Growth of allocated within passes: median over passes of last level minus first, and how steady. */
static double kept_in_pass(const struct passes *p, const struct frame *f, double *tau)
{
    const double *v = f->eval.v[F_ALLOCATED] ? f->eval.v[F_ALLOCATED] : f->eval.v[F_PEAK];
    *tau = NAN;
    if (!v || p->n == 0)
        return NAN;
    double rises[PASSES], taus[PASSES];
    size_t n = 0;
    for (size_t i = 0; i < p->n; i++) {
        size_t len = p->from[i + 1] - p->from[i];
        if (len < 8)
            continue;
        struct stats_bins b;
        stats_bin(&b, f->eval.x + p->from[i], v + p->from[i], len, 24);
        if (b.n < 4)
            continue;
        rises[n] = b.mid[b.n - 1] - b.mid[0];
        taus[n++] = stats_trend_tau(b.mid, b.n);
    }
    if (n == 0)
        return NAN;
    /* the last pass may be the one that died: it counts as much as the others together */
    double last = rises[n - 1], last_tau = taus[n - 1];
    double r = stats_median(rises, n), t = stats_median(taus, n);
    *tau = fmax(t, last_tau);
    return fmax(r, last);
}

/* What one sample (or token) costs in evaluation over what it costs in training, above the floor. */
static double per_sample_ratio(const struct run_ctx *c, double floor_level)
{
    const struct frame *f = c->f;
    double values[FIT_TERMS];
    if (f->eval.v[F_PEAK] && c->peak.has_fit && c->peak.kind <= SHAPE_PIXELS) {
        struct shape_model m = {
            .kind = (enum shape_kind)c->peak.kind, .k = c->peak.size_k, .terms = c->peak.fit.terms};
        if (m.terms > 2)
            return NAN;
        shape_fill(&m, f, &f->eval);
        double *r = mem_alloc((f->eval.n + 1) * sizeof *r);
        size_t got = 0;
        for (size_t i = 0; i < f->eval.n; i++) {
            for (size_t k = 0; k < m.terms; k++)
                values[k] = m.x[k][i];
            double want = fit_at(&c->peak.fit, values) - floor_level;
            if (want > 0 && isfinite(f->eval.v[F_PEAK][i]))
                r[got++] = (f->eval.v[F_PEAK][i] - floor_level) / want;
        }
        double ratio = stats_median(r, got);
        free(r);
        shape_release(&m);
        return ratio;
    }
    double train_batch =
        f->train.v[F_BATCH_SIZE] ? stats_quantile_of(f->train.v[F_BATCH_SIZE], f->train.n, 0.5) : NAN;
    if (f->eval.v[F_PEAK] && f->peak_typical > floor_level && f->reset != PEAK_RESET_NEVER) {
        double eval_batch =
            f->eval.v[F_BATCH_SIZE] ? stats_quantile_of(f->eval.v[F_BATCH_SIZE], f->eval.n, 0.5) : NAN;
        double batch = eval_batch / train_batch;
        double peak = stats_quantile_of(f->eval.v[F_PEAK], f->eval.n, 0.5);
        return (peak - floor_level) / (f->peak_typical - floor_level) / (isfinite(batch) ? batch : 1);
    }
    /* no evaluation row: the failing allocation is at least what it needed */
    if (f->fail && f->fail_phase == FAIL_EVAL && isfinite(f->at.need) && f->train.n > 0) {
        struct shape_model m = {
            .kind = (enum shape_kind)c->peak.kind, .k = c->peak.size_k, .terms = c->peak.fit.terms};
        if (c->peak.has_fit && m.terms <= 2 && shape_of_failure(values, &m, f))
            return (f->at.need - floor_level) / fmax(fit_at(&c->peak.fit, values) - floor_level, 1);
        double batch = record_number(&f->fail->rec, F_BATCH_SIZE) / train_batch;
        double len = record_number(&f->fail->rec, F_MAX_LEN) / frame_constant(f, F_MAX_LEN);
        return (f->at.need - floor_level) / fmax(f->peak_max - floor_level, 1) /
               (isfinite(batch) ? batch : 1) / (isfinite(len) && len > 0 ? len : 1);
    }
    return NAN;
}

static double batch_ratio(const struct frame *f)
{
    double train =
        f->train.v[F_BATCH_SIZE] ? stats_quantile_of(f->train.v[F_BATCH_SIZE], f->train.n, 0.5) : NAN;
    double eval = f->eval.v[F_BATCH_SIZE] ? stats_quantile_of(f->eval.v[F_BATCH_SIZE], f->eval.n, 0.5) : NAN;
    if (isnan(eval) && f->fail && f->fail_phase == FAIL_EVAL)
        eval = record_number(&f->fail->rec, F_BATCH_SIZE);
    if (isnan(eval))
        eval = series_meta(f->s, F_EVAL_BATCH_SIZE);
    return eval / train;
}

static bool lands(double step, double cadence)
{
    if (!(cadence >= 8) || !isfinite(step) || step < cadence - 1.5)
        return false;
    double r = fmod(step, cadence);
    return r < 1.5 || r > cadence - 1.5;
}

static void find_boundary(struct run_ctx *c, const struct passes *p)
{
    struct frame *f = c->f;
    struct found_eval *e = &c->eval;
    double configured = series_meta(f->s, F_EVAL_EVERY), found = passes_cadence(p, f);
    e->cadence = configured >= 2 ? configured : found;
    double step = f->fail_step;
    if (!f->fail || f->killed || !isfinite(step))
        return;
    e->save_due = f->fail_phase == FAIL_PHASE_UNKNOWN && lands(step, series_meta(f->s, F_SAVE_EVERY));
    e->at_eval = lands(step, configured);
    if (!e->at_eval && found >= 8 && p->n >= 2) { /* the next pass was due now */
        double due = f->eval.x[p->from[p->n - 1]] + found;
        e->at_eval = fabs(f->fail_x - due) <= fmax(1.5, 0.02 * found);
    }
    double event_epoch = record_number(&f->fail->rec, F_EPOCH);
    const double *epoch = f->train.v[F_EPOCH];
    double last_epoch = epoch && f->train.n ? epoch[f->train.n - 1] : NAN;
    if (isfinite(event_epoch) && isfinite(last_epoch) && last_epoch == floor(last_epoch))
        e->at_epoch = event_epoch == floor(event_epoch) && event_epoch == last_epoch + 1;
    if (!e->at_epoch)
        e->at_epoch = lands(step, f->per_epoch);
    e->on_boundary = e->at_eval || e->at_epoch;
    double cadence = e->at_eval ? e->cadence : f->per_epoch;
    if (e->at_epoch && !(cadence > 0) && f->train.n > 0) /* the first boundary: as far as the log reaches */
        cadence = f->fail_x - f->train.x[0];
    e->chance = e->on_boundary && cadence > 0 ? fmin(1, 3 / cadence) : 1;
}

static enum subtype subtype_of(const struct run_ctx *c, double tau, double ratio, double batch)
{
    const struct frame *f = c->f;
    double effect = fmax(64 * MIB, 0.04 * (isfinite(f->capacity) ? f->capacity : 0));
    if (c->eval.kept > effect && tau > 0.85)
        return SUB_EVAL_KEPT;
    if (f->eval.n == 0 && f->fail && f->fail_phase != FAIL_EVAL)
        return SUB_EVAL_BOUNDARY;
    if (ratio >= 0.93)
        return SUB_EVAL_GRAD;
    if (batch >= 1.3)
        return SUB_EVAL_BATCH;
    return isfinite(ratio) && ratio >= 0.8 ? SUB_EVAL_GRAD
           : isnan(ratio) && isnan(batch)  ? SUB_EVAL_BOUNDARY
                                           : SUB_EVAL_GRAD;
}

static void weigh(struct run_ctx *c, const struct passes *p)
{
    struct frame *f = c->f;
    struct found_eval *e = &c->eval;
    e->p = 0.03;
    e->p_risk = 0;
    double high = f->eval.v[F_PEAK] ? stats_max(f->eval.v[F_PEAK], f->eval.n, NULL) : NAN;
    if (!f->fail && high > 0.95 * f->room && high > 1.05 * f->peak_max)
        e->p_risk = 0.75;
    if (!f->fail || f->killed)
        return;
    if (f->fail_phase == FAIL_EVAL)
        e->p = f->fail_phase_given ? 0.94 : 0.85;
    else if (e->on_boundary && f->fail_phase != FAIL_SAVE && f->fail_phase != FAIL_LOAD &&
             f->fail_phase != FAIL_OPTIMIZER) {
        double base = f->fail_phase == FAIL_TRAIN ? (e->at_eval ? 0.35 : 0.15) : 0.85;
        double passed = p->n > 1 ? 0.8 : 1; /* earlier passes went well */
        e->p = base * passed * (1 - fmin(0.6, 4 * e->chance));
        if (e->save_due)
            e->p = fmin(0.55, 0.7 * e->p);
    }
}

static void tests(struct run_ctx *c, const struct passes *p)
{
    struct frame *f = c->f;
    struct found_eval *e = &c->eval;
    struct eval_figures *o = &c->out->eval;
    struct arena *a = c->arena;
    bool failed = f->fail && !f->killed;
    if (failed && f->fail_phase != FAIL_PHASE_UNKNOWN)
        rule_test(c, Q_EVAL_BOUNDARY, "failing_phase", NAN, "1", NAN,
                  f->fail_phase == FAIL_EVAL ? SAYS_FOR : SAYS_AGAINST, ROW_FAILURE,
                  f->fail_phase == FAIL_EVAL
                      ? "The run failed in evaluation."
                      : arena_printf(a, "The run failed in another phase than evaluation%s.",
                                     f->fail_phase == FAIL_TRAIN ? " (training)" : ""));
    if (failed && e->on_boundary)
        rule_test(c, Q_EVAL_BOUNDARY, "boundary", f->fail_step, "steps",
                  e->at_eval ? e->cadence : f->per_epoch, SAYS_FOR, ROW_FAILURE,
                  arena_printf(
                      a, "Step %s lands on %s (every %s steps); a random step does so with probability %s.",
                      say_count(a, f->fail_step), e->at_eval ? "the evaluation cadence" : "an epoch boundary",
                      say_count(a, e->at_eval ? e->cadence : f->per_epoch), say_number(a, e->chance, 3)));
    else if (failed && (e->cadence > 0 || f->per_epoch > 0))
        rule_test(c, Q_EVAL_BOUNDARY, "boundary", f->fail_step, "steps",
                  e->cadence > 0 ? e->cadence : f->per_epoch, SAYS_AGAINST, ROW_FAILURE,
                  "The failing step lands on no evaluation cadence and no epoch boundary.");
    if (isfinite(o->per_sample_ratio))
        rule_test(c, Q_EVAL_BOUNDARY, "per_sample", o->per_sample_ratio, "1", 0.95,
                  o->per_sample_ratio >= 0.95 ? SAYS_FOR : SAYS_AGAINST,
                  f->eval.n ? f->eval.row[0] : ROW_FAILURE,
                  arena_printf(a,
                               "At equal size evaluation takes %s times the working memory of training "
                               "(without gradients it is well below 1).",
                               say_number(a, o->per_sample_ratio, 2)));
    if (isfinite(o->batch_ratio))
        rule_test(c, Q_EVAL_BOUNDARY, "batch_ratio", o->batch_ratio, "1", 1.3,
                  o->batch_ratio >= 1.3 ? SAYS_FOR : SAYS_NOTHING, ROW_NONE,
                  fabs(o->batch_ratio - 1) < 0.005
                      ? "The evaluation batch is as large as the training batch."
                      : arena_printf(a, "The evaluation batch is %s times the training batch.",
                                     say_ratio(a, o->batch_ratio)));
    if (isfinite(e->kept))
        rule_test(c, Q_EVAL_BOUNDARY, "kept_in_pass", e->kept, "bytes", 0.04 * f->capacity,
                  e->sub == SUB_EVAL_KEPT ? SAYS_FOR : SAYS_NOTHING, f->eval.row[f->eval.n - 1],
                  fabs(e->kept) < 1048576 ? "Within an evaluation pass memory stays level."
                                          : arena_printf(a, "Within an evaluation pass memory rises by %s.",
                                                         say_signed_bytes(a, e->kept)));
    if (p->n > 0 && isfinite(o->peak_bytes))
        rule_test(c, Q_EVAL_BOUNDARY, "peak_against_training", o->peak_bytes / o->train_peak_bytes, "1", 1,
                  o->peak_bytes > o->train_peak_bytes ? SAYS_FOR : SAYS_AGAINST, ROW_NONE,
                  arena_printf(a, "Over %s %s evaluation peaks at %s, training at %s.",
                               say_count(a, (double)p->n), say_plural((double)p->n, "pass", "passes"),
                               say_bytes(a, o->peak_bytes), say_bytes(a, o->train_peak_bytes)));
    if (f->eval.n == 0 && !failed)
        rule_test(c, Q_EVAL_BOUNDARY, "eval_logged", NAN, "1", NAN, SAYS_NOTHING, ROW_NONE,
                  "No evaluation row is logged: what evaluation needs cannot be told.");
}

void rule_eval(struct run_ctx *c)
{
    struct frame *f = c->f;
    struct found_eval *e = &c->eval;
    struct passes *p = mem_alloc(sizeof *p);
    *e = (struct found_eval){.cadence = NAN, .chance = 1, .kept = NAN, .sub = SUB_EVAL_BOUNDARY, .p = 0.03};
    find_passes(p, f);
    e->passes = p->n;
    find_boundary(c, p);
    double tau, floor_level = f->train.v[F_ALLOCATED] && f->train.n
                                  ? stats_quantile_of(f->train.v[F_ALLOCATED] + f->train.n / 2,
                                                      f->train.n - f->train.n / 2, 0.5)
                              : c->peak.has_fit ? c->peak.fit.base
                                                : 0;
    e->kept = kept_in_pass(p, f, &tau);
    struct eval_figures *o = &c->out->eval;
    *o = (struct eval_figures){.cadence_steps = e->cadence,
                               .passes = (double)p->n,
                               .peak_bytes =
                                   f->eval.v[F_PEAK] ? stats_max(f->eval.v[F_PEAK], f->eval.n, NULL) : NAN,
                               .train_peak_bytes = f->peak_max,
                               .kept_bytes = e->kept};
    o->per_sample_ratio = per_sample_ratio(c, floor_level);
    o->batch_ratio = batch_ratio(f);
    c->out->has_eval = p->n > 0 || e->cadence > 0 || f->fail_phase == FAIL_EVAL || e->on_boundary;
    e->sub = subtype_of(c, tau, o->per_sample_ratio, o->batch_ratio);
    weigh(c, p);
    tests(c, p);
    free(p);
}

/* The sentence of the verdict, with the figures that decided, and why the
 * second cause lost. */
#include "analyse/advice.h"
#include "analyse/say.h"

#include <math.h>

static const char *at_step(struct run_ctx *c)
{
    const struct frame *f = c->f;
    if (isfinite(f->fail_step))
        return arena_printf(c->arena, "at step %s", say_count(c->arena, f->fail_step));
    double last = isfinite(c->out->last_step) ? c->out->last_step : NAN;
    return isfinite(last)
               ? arena_printf(c->arena, "after step %s (the last logged)", say_count(c->arena, last))
               : "at an unknown step";
}

static const char *column_of(enum field column)
{
    switch (column) {
    case F_ALLOCATED:
        return "Allocated memory after each step";
    case F_PEAK:
        return "The step's peak";
    case F_RESERVED:
    case F_PEAK_RESERVED:
        return "Reserved memory";
    default:
        return "The device's used memory";
    }
}

/* ", 98 % of it at epoch boundaries (about 1.2 GiB each)," */
static const char *at_boundaries(struct run_ctx *c, enum subtype sub)
{
    struct arena *a = c->arena;
    const struct found_leak *l = &c->leak;
    return arena_printf(
        a, ", %s of it %s%s,", say_percent(a, l->share),
        sub == SUB_EPOCH ? "at epoch boundaries" : "across evaluation passes",
        l->carrier_jump > 0 ? arena_printf(a, " (about %s each)", say_bytes(a, l->carrier_jump)) : "");
}

static const char *leak(struct run_ctx *c, enum subtype sub)
{
    struct arena *a = c->arena;
    const struct frame *f = c->f;
    const struct found_leak *l = &c->leak;
    const struct leak_figures *o = &c->out->leak;
    if (sub == SUB_HOST)
        return arena_printf(
            a, "The process on the host grew by %s (%s a step) over %s steps while the device stayed flat%s.",
            say_bytes(a, l->host.rise), say_bytes(a, l->host.slope),
            say_count(a, l->host.x_last - l->host.x_first + 1),
            f->killed ? arena_printf(a, ", and was killed %s", at_step(c)) : "");
    const char *per = f->axis == AXIS_STEP ? "/step" : f->axis == AXIS_TIME ? "/s" : "/row";
    double span = l->floor.x_last - fmax(l->floor.onset, l->floor.x_first) + 1;
    const char *how = sub == SUB_EPOCH || sub == SUB_EVAL ? at_boundaries(c, sub)
                      : sub == SUB_PERIODIC ? arena_printf(a, ", every %s steps,", say_count(a, l->period))
                      : sub == SUB_BATCH    ? ", in proportion to the batch's size,"
                      : l->floor.teeth >= 2 && !l->floor.teeth_at_restarts && l->floor.tooth > 0
                          ? arena_printf(a, ", falling back %s %s,", say_count(a, (double)l->floor.teeth - 1),
                                         say_plural((double)l->floor.teeth - 1, "time", "times"))
                          : "";
    const char *end;
    if (f->fail)
        end = arena_printf(a, "and met the %s limit %s", say_bytes(a, f->capacity), at_step(c));
    else if (isfinite(o->oom_step_forecast))
        end = arena_printf(a, "and would meet the %s limit near step %s (%s to %s)",
                           say_bytes(a, f->capacity), say_count(a, o->oom_step_forecast),
                           say_count(a, o->forecast_low), say_count(a, o->forecast_high));
    else if (isfinite(l->ahead.mid))
        end = arena_printf(a, "(%s in all), and would meet the %s limit %s after the last row (%s to %s)",
                           say_bytes(a, l->rise), say_bytes(a, f->capacity), say_seconds(a, l->ahead.mid),
                           say_seconds(a, l->ahead.low), say_seconds(a, l->ahead.high));
    else if (f->axis == AXIS_STEP && isfinite(l->latest))
        end = arena_printf(a, "(%s in all), and would fill the %s by step %s at the latest",
                           say_bytes(a, l->rise), say_bytes(a, f->capacity),
                           say_count(a, frame_step(f, l->latest)));
    else
        end = arena_printf(a, "(%s in all)", say_bytes(a, l->rise));
    return arena_printf(a, "%s grew %s%s over %s %s%s%s %s.", column_of(l->column),
                        say_bytes(a, o->slope_bytes_per_step > 0 || f->axis == AXIS_STEP
                                         ? o->slope_bytes_per_step
                                         : l->slope),
                        per, say_count(a, span),
                        f->axis == AXIS_STEP   ? "steps"
                        : f->axis == AXIS_TIME ? "seconds"
                                               : "rows",
                        say_interval(a, l->low, l->high), how, end);
}

/* What else moved while peaks are blamed; "" where it is not known. */
static const char *floor_words(struct run_ctx *c)
{
    if (c->leak.p >= 0.4 && c->leak.rise > 0)
        return arena_printf(c->arena, ", of which %s had been retained", say_bytes(c->arena, c->leak.rise));
    return c->leak.column == F_ALLOCATED && c->f->train.n >= 8 ? ", while the floor was flat" : "";
}

static const char *peak(struct run_ctx *c)
{
    struct arena *a = c->arena;
    const struct frame *f = c->f;
    const struct found_peak *p = &c->peak;
    const struct peak_figures *o = &c->out->peak;
    if (!f->fail && f->survived > 0)
        return arena_printf(a,
                            "The run went on after %s out-of-memory %s: single batches needed more than the "
                            "%s there are (typical peak %s).",
                            say_count(a, (double)f->survived),
                            say_plural((double)f->survived, "error", "errors"), say_bytes(a, f->capacity),
                            say_bytes(a, p->p50));
    if (!f->fail)
        return isfinite(p->risk_len)
                   ? arena_printf(a,
                                  "The run has not met the longest sample (%s tokens): by the law of %s rows "
                                  "that batch needs %s of the %s there are, and so far the peak was %s.",
                                  say_count(a, p->risk_len), say_count(a, (double)p->fit.n),
                                  say_bytes(a, o->corpus_max_predicted_bytes), say_bytes(a, f->room),
                                  say_bytes(a, f->peak_max))
                   : arena_printf(a,
                                  "Peaks spread from %s to %s of %s: with probability %s a batch of the next "
                                  "epoch does not fit.",
                                  say_bytes(a, p->p50), say_bytes(a, f->peak_max), say_bytes(a, f->room),
                                  say_number(a, o->p_oom_next_epoch, 2));
    if (isfinite(p->percentile) && isfinite(p->predicted) && p->predicted < f->room && f->at.need > f->room)
        return arena_printf(a,
                            "The batch %s is larger than %s before it: with %s allocated and %s requested it "
                            "needs at least %s (%s by the memory law), a typical batch %s, and the framework "
                            "can have %s.",
                            at_step(c), say_below(a, p->percentile, (double)f->train.n),
                            say_bytes(a, f->at.allocated), say_bytes(a, f->at.requested),
                            say_bytes(a, f->at.need), say_bytes(a, p->predicted), say_bytes(a, p->p50),
                            say_bytes(a, f->room));
    if (isfinite(p->percentile) && p->predicted < f->room && f->at.need > p->predicted && !f->at.impossible)
        return arena_printf(
            a,
            "The batch %s is larger than %s before it: it needed at least %s (allocated plus "
            "requested; %s by the memory law), a typical batch %s, and the framework can have %s.",
            at_step(c), say_below(a, p->percentile, (double)f->train.n), say_bytes(a, f->at.need),
            say_bytes(a, p->predicted), say_bytes(a, p->p50), say_bytes(a, f->room));
    if (isfinite(p->percentile) && isfinite(p->predicted))
        return arena_printf(a,
                            "The batch %s is larger than %s before it: it needs %s by the "
                            "memory law, a typical batch %s, and the framework can have %s.",
                            at_step(c), say_below(a, p->percentile, (double)f->train.n),
                            say_bytes(a, p->predicted), say_bytes(a, p->p50), say_bytes(a, f->room));
    if (isfinite(p->need_ratio))
        return arena_printf(a,
                            "The step that failed%s needed at least %s, %s times the largest peak of the "
                            "%s rows before it (%s)%s.",
                            isfinite(f->fail_step) ? arena_printf(a, " (step %s)", say_count(a, f->fail_step))
                                                   : "",
                            say_bytes(a, f->at.need), say_number(a, f->at.need / f->peak_max, 2),
                            say_count(a, (double)f->train.n), say_bytes(a, f->peak_max), floor_words(c));
    return arena_printf(a, "The run failed %s with peaks that spread from %s to %s of %s%s.", at_step(c),
                        say_bytes(a, p->p50), say_bytes(a, f->peak_max), say_bytes(a, f->room),
                        floor_words(c));
}

static const char *eval(struct run_ctx *c, enum subtype sub)
{
    struct arena *a = c->arena;
    const struct frame *f = c->f;
    const struct eval_figures *o = &c->out->eval;
    double high = isfinite(o->peak_bytes) && !(f->at.need > o->peak_bytes) ? o->peak_bytes : f->at.need;
    const char *train = isfinite(f->peak_max)
                            ? arena_printf(a, "training peaks at %s", say_bytes(a, f->peak_max))
                            : "training's peak is not logged";
    if (sub == SUB_EVAL_KEPT)
        return arena_printf(a,
                            "Memory rose by %s within an evaluation pass, and the run failed %s; %s, and the "
                            "device has %s.",
                            say_bytes(a, c->eval.kept), at_step(c), train, say_bytes(a, f->capacity));
    if (sub == SUB_EVAL_BOUNDARY)
        return arena_printf(a, "Training ran flat (%s of %s), and the run failed %s, on %s.", train,
                            say_bytes(a, f->capacity), at_step(c),
                            c->eval.at_eval    ? arena_printf(a, "its evaluation cadence of %s steps",
                                                              say_count(a, c->eval.cadence))
                            : c->eval.at_epoch ? "an epoch boundary"
                                               : "evaluation");
    const char *why = sub == SUB_EVAL_BATCH ? arena_printf(a, "its batch is %s times the training batch",
                                                           say_ratio(a, o->batch_ratio))
                      : isfinite(o->per_sample_ratio)
                          ? arena_printf(a, "per sample it takes %s times training's working memory",
                                         say_number(a, o->per_sample_ratio, 2))
                          : "its cost per sample is not known";
    return arena_printf(a, "%s %s: it needs %s of %s, %s, and %s.",
                        f->fail ? "Evaluation failed" : "Evaluation comes close to the limit",
                        f->fail ? at_step(c) : "in this run", say_bytes(a, high), say_bytes(a, f->capacity),
                        train, why);
}

/* ": 22.0 GiB allocated and 2.00 GiB requested, of 24.0 GiB", as far as it is known; a request of 0 is not.
 */
static const char *sizing_figures(struct run_ctx *c)
{
    struct arena *a = c->arena;
    const struct moment *m = &c->f->at;
    bool held = m->allocated > 0, asked = m->requested > 0;
    if (!held && !asked)
        return "";
    return arena_printf(
        a, ": %s%s%s%s%s%s", held ? say_bytes(a, m->allocated) : "", held ? " allocated" : "",
        held && asked ? " and " : "", asked ? say_bytes(a, m->requested) : "", asked ? " requested" : "",
        isfinite(c->f->capacity) ? arena_printf(a, ", of %s", say_bytes(a, c->f->capacity)) : "");
}

static const char *capacity(struct run_ctx *c, enum subtype sub)
{
    struct arena *a = c->arena;
    const struct frame *f = c->f;
    const struct moment *m = &f->at;
    switch (sub) {
    case SUB_FRAGMENTATION:
        return arena_printf(a,
                            "%s a request of %s failed although %s were reserved and unallocated (%s "
                            "reserved of %s): the memory was there, in pieces.",
                            isfinite(f->fail_step) ? arena_printf(a, "At step %s", say_count(a, f->fail_step))
                                                   : "In the end",
                            say_bytes(a, m->requested), say_bytes(a, m->gap), say_bytes(a, m->reserved),
                            say_bytes(a, f->capacity));
    case SUB_EXTERNAL:
        return arena_printf(
            a, "%s of the %s were held outside this process when %s failed; the run itself had %s.",
            say_bytes(a, c->cap.foreign), say_bytes(a, f->capacity),
            arena_printf(a, "a request of %s", say_bytes(a, m->requested)),
            say_bytes(a, isfinite(m->reserved) ? m->reserved : m->allocated));
    case SUB_RESUME:
        return arena_printf(a,
                            "The run failed right after it resumed%s, with %s of %s allocated: loading left "
                            "more on the device than a fresh start does.",
                            isfinite(f->fail_step) ? arena_printf(a, " (step %s)", say_count(a, f->fail_step))
                                                   : "",
                            say_bytes(a, m->allocated), say_bytes(a, f->capacity));
    case SUB_SAVE:
        return arena_printf(
            a, "Saving a checkpoint %s asked for %s with %s free of %s; training itself peaks at %s.",
            at_step(c), say_bytes(a, m->requested), say_bytes(a, m->free), say_bytes(a, f->capacity),
            say_bytes(a, f->peak_max));
    case SUB_OPTIMIZER:
        return arena_printf(
            a,
            "The optimiser's step asked for %s with %s of %s allocated and failed %s, after %s training %s.",
            say_bytes(a, m->requested), say_bytes(a, m->allocated), say_bytes(a, f->capacity), at_step(c),
            say_count(a, (double)f->train.n), say_plural((double)f->train.n, "row", "rows"));
    case SUB_SIZING:
        return arena_printf(
            a, "The run failed %s %s%s.", at_step(c),
            f->train.n == 0
                ? isfinite(f->fail_step) ? "before a step had fitted" : "(no step was read; perhaps none ran)"
                : arena_printf(a, "after only %s logged training %s, of at most %s",
                               say_count(a, (double)f->train.n),
                               say_plural((double)f->train.n, "row", "rows"), say_bytes(a, f->peak_max)),
            sizing_figures(c));
    default:
        if (f->train.n < 8)
            return arena_printf(
                a,
                "The largest peak of its %s training %s is %s, %s of the %s that the framework "
                "can have%s.",
                say_count(a, (double)f->train.n), say_plural((double)f->train.n, "row", "rows"),
                say_bytes(a, f->peak_max), say_percent(a, f->peak_max / f->room), say_bytes(a, f->room),
                f->fail ? arena_printf(a, ", and it failed %s", at_step(c)) : "");
        return arena_printf(a, "A typical step peaks at %s of the room (95 %% of %s rows below %s of %s)%s.",
                            say_percent(a, c->cap.typical_share), say_count(a, (double)f->train.n),
                            say_bytes(a, c->peak.p95), say_bytes(a, f->room),
                            f->fail ? arena_printf(a, ", so ordinary variation tipped it %s", at_step(c))
                                    : ": ordinary variation can tip it");
    }
}

static const char *none(struct run_ctx *c)
{
    struct arena *a = c->arena;
    const struct frame *f = c->f;
    const struct leak_figures *o = &c->out->leak;
    const char *slope = isfinite(o->minimum_detectable_bytes_per_step)
                            ? arena_printf(a, "no leak larger than %s/step",
                                           say_bytes(a, o->minimum_detectable_bytes_per_step))
                            : "growth not testable per step";
    return arena_printf(a, "Over %s training rows memory peaked at %s%s, with %s%s.",
                        say_count(a, (double)f->train.n), say_bytes(a, f->peak_max),
                        isfinite(f->capacity) ? arena_printf(a, " of %s", say_bytes(a, f->capacity))
                                              : " (the device's capacity is not known)",
                        slope,
                        isfinite(c->peak.risk_len)
                            ? arena_printf(a,
                                           "; the longest sample (%s tokens, predicted %s) has not come yet",
                                           say_count(a, c->peak.risk_len),
                                           say_bytes(a, c->out->peak.corpus_max_predicted_bytes))
                            : "");
}

const char *advice_summary(struct run_ctx *c)
{
    const struct verdict *v = &c->out->verdict;
    switch (v->cause) {
    case CAUSE_LEAK:
        return leak(c, v->subtype);
    case CAUSE_PEAK:
        return peak(c);
    case CAUSE_EVAL:
        return eval(c, v->subtype);
    case CAUSE_CAPACITY:
        return capacity(c, v->subtype);
    case CAUSE_NONE:
        return none(c);
    default:
        if (c->f->fail && c->f->train.n == 0)
            return arena_printf(c->arena,
                                "The run failed %s, and no training row was logged that could tell why.",
                                at_step(c));
        return c->f->fail
                   ? arena_printf(c->arena, "The run failed %s, and its %s training %s not tell why: %s.",
                                  at_step(c), say_count(c->arena, (double)c->f->train.n),
                                  say_plural((double)c->f->train.n, "row does", "rows do"),
                                  c->f->train.n < 8 ? "too few rows were logged" : "no cause stands out")
                   : arena_printf(c->arena, "%s training %s without a failure: too little to judge.",
                                  say_count(c->arena, (double)c->f->train.n),
                                  say_plural((double)c->f->train.n, "row", "rows"));
    }
}

const char *advice_why_not(struct run_ctx *c, enum cause second)
{
    struct arena *a = c->arena;
    const struct frame *f = c->f;
    switch (second) {
    case CAUSE_LEAK:
        if (c->leak.doubted)
            return "Memory rises as the largest batches so far turn up; nothing shows that it is kept.";
        if (growth_climbs(&c->leak.floor))
            return arena_printf(a, "Memory does grow (%s in all), but that does not account for the failure.",
                                say_bytes(a, c->leak.rise));
        return isfinite(c->leak.floor.least_slope)
                   ? arena_printf(a, "No lasting climb larger than %s a step was found.",
                                  say_bytes(a, c->leak.floor.least_slope))
                   : "Too few rows to test growth.";
    case CAUSE_PEAK:
        if (isfinite(c->peak.percentile))
            return arena_printf(a, "The failing batch is larger than %s before it.",
                                say_below(a, c->peak.percentile, (double)f->train.n));
        if (isfinite(c->peak.need_ratio))
            return arena_printf(
                a,
                "Allocated plus requested at the failure is %s times the largest peak logged, so no "
                "larger batch is needed to explain it.",
                say_number(a, c->peak.need_ratio, 2));
        return f->fail ? "The failing batch's shape is not known." : "No batch is predicted not to fit.";
    case CAUSE_EVAL:
        return c->eval.on_boundary
                   ? arena_printf(
                         a, "The step lands on a boundary, but a random step does so with probability %s.",
                         say_number(a, c->eval.chance, 3))
               : f->fail ? "The failing step is neither in evaluation nor on its cadence."
                         : "Evaluation stays below the limit.";
    case CAUSE_CAPACITY:
        return isfinite(c->cap.typical_share)
                   ? arena_printf(a, "A typical step peaks at %s of the room, which leaves space.",
                                  say_percent(a, c->cap.typical_share))
                   : "The figures of the failure name another cause first.";
    default:
        return "What was logged does not exclude it.";
    }
}

/* Capacity? What needs no history (another process, save, resume), and the
 * steady state against the ceiling. */
#include "analyse/rules.h"
#include "analyse/say.h"
#include "analyse/stats.h"

#include <math.h>

#define GIB 1073741824.0

static double ramp(double v, double low, double high)
{
    return !(v > low) ? 0 : v >= high ? 1 : (v - low) / (high - low); /* unknown gives 0 */
}

static void early(struct run_ctx *c, enum subtype sub, double p)
{
    if (p > c->cap.p_early) {
        c->cap.p_early = p;
        c->cap.sub = sub;
    }
}

static void later(struct run_ctx *c, enum subtype sub, double p)
{
    if (p > c->cap.p) {
        c->cap.p = p;
        if (c->cap.p_early < p)
            c->cap.sub = sub;
    }
}

/* Context, NCCL and cuBLAS of a clean process take 0.5 to 1.6 GiB. */
static double clean_outside(double capacity)
{
    return fmax(1.8 * GIB, fmin(0.15 * capacity, 4 * GIB));
}

static void external(struct run_ctx *c)
{
    struct frame *f = c->f;
    struct moment *m = &f->at;
    struct arena *a = c->arena;
    double limit = clean_outside(f->capacity), outside = m->outside, named = m->other_process;
    const double *u = f->train.v[F_DEVICE_USED], *r = f->train.v[F_RESERVED];
    if (isnan(outside) && u && r && f->train.n > 0) {
        size_t tail = f->train.n > 8 ? f->train.n - 8 : 0;
        double du = stats_quantile_of(u + tail, f->train.n - tail, 0.5),
               dr = stats_quantile_of(r + tail, f->train.n - tail, 0.5);
        outside = du - dr;
    }
    if (isnan(outside) && isnan(named))
        return;
    double foreign = isfinite(named) ? named : outside;
    bool large = isfinite(named) ? named > 0.04 * f->capacity : outside > limit;
    c->cap.foreign = large ? (isfinite(named) ? named : outside - 1.0 * GIB) : 0;
    rule_test(
        c, Q_CAPACITY, "outside", foreign, "bytes", isfinite(named) ? 0.04 * f->capacity : limit,
        large ? SAYS_FOR : SAYS_AGAINST, f->fail ? ROW_FAILURE : ROW_NONE,
        large && isnan(named)
            ? arena_printf(
                  a,
                  "%s of the device lie outside the framework, and a clean process leaves at most %s "
                  "there: other processes hold about %s.",
                  say_bytes(a, outside), say_bytes(a, limit), say_bytes(a, c->cap.foreign))
        : large
            ? arena_printf(a,
                           "%s of the device belong to other processes (a clean process leaves at "
                           "most %s outside the framework).",
                           say_bytes(a, foreign), say_bytes(a, limit))
            : arena_printf(a, "%s lie outside the framework, as for a clean process (context and libraries).",
                           say_bytes(a, foreign)));
    if (!large || !f->fail || f->killed)
        return;
    double frees = c->cap.foreign + (isfinite(m->free) ? m->free : 0);
    bool sufficient = isnan(m->requested) || frees >= m->requested;
    double over =
        isfinite(named) ? ramp(named / f->capacity, 0.02, 0.12) : ramp((outside - limit) / limit, -0.05, 0.4);
    early(c, SUB_EXTERNAL, (sufficient ? 0.93 : 0.35) * fmax(over, 0.55));
}

/* With accumulation over k micro-steps the optimiser first runs at micro-step k. */
static bool at_first_update(const struct frame *f)
{
    if (f->micro < 2 || f->fail_phase == FAIL_EVAL || f->train.n == 0 || f->resumed)
        return false;
    double done = f->fail_step - frame_step(f, f->train.x[0]);
    if (isnan(done))
        done = (double)f->train.n;
    return done == (double)f->micro - 1 || done == (double)f->micro;
}

static void no_history(struct run_ctx *c)
{
    struct frame *f = c->f;
    if (!f->fail || f->killed)
        return;
    if (f->fail_phase == FAIL_SAVE)
        early(c, SUB_SAVE, 0.94);
    else if (c->eval.save_due)
        later(c, SUB_SAVE, c->eval.on_boundary ? 0.7 : 0.8);
    if (f->fail_phase == FAIL_LOAD)
        early(c, SUB_RESUME, 0.94);
    if (f->resumed && f->rows_since_start <= 1 && f->fail_phase != FAIL_EVAL)
        early(c, SUB_RESUME, 0.92);
    if (f->fail_phase == FAIL_OPTIMIZER)
        early(c, SUB_OPTIMIZER, f->train.n <= 5 * f->micro + 1 ? 0.94 : 0.85);
    if (at_first_update(f)) {
        early(c, SUB_OPTIMIZER, 0.88);
        rule_test(
            c, Q_CAPACITY, "first_update", f->fail_step, "steps", (double)f->micro, SAYS_FOR, ROW_FAILURE,
            "It failed at the micro-step of the first update, where the optimiser's state first appears.");
    }
    if (f->fail_phase == FAIL_SAVE || f->fail_phase == FAIL_LOAD)
        rule_test(c, Q_CAPACITY, "failing_phase", NAN, "1", NAN, SAYS_FOR, ROW_FAILURE,
                  f->fail_phase == FAIL_SAVE ? "The run failed while saving a checkpoint."
                                             : "The run failed while loading a checkpoint.");
    else if (f->fail_phase == FAIL_OPTIMIZER)
        rule_test(c, Q_CAPACITY, "failing_phase", NAN, "1", NAN, SAYS_FOR, ROW_FAILURE,
                  "The run failed in the optimiser's step.");
    if (f->resumed && f->rows_since_start <= 1)
        rule_test(c, Q_CAPACITY, "resumed", (double)f->rows_since_start, "1", 1, SAYS_FOR, ROW_FAILURE,
                  "The run resumed from a checkpoint and failed before its second step.");
}

/* In the middle of a step reserved is above allocated in any run. Held but unusable memory shows in the rows:
 * reserved well above the largest peak. 1 where reserved is not logged. */
static double held_before(struct run_ctx *c, double gap)
{
    struct frame *f = c->f;
    const double *r = f->train.v[F_RESERVED];
    if (!r || f->train.n < 3 || !f->train.v[F_PEAK])
        return 1;
    double held =
        stats_quantile_of(r + f->train.n * 9 / 10, f->train.n - f->train.n * 9 / 10, 0.5) - f->peak_max;
    rule_test(c, Q_CAPACITY, "held_before", held, "bytes", 0.4 * gap,
              held > 0.4 * gap ? SAYS_FOR : SAYS_AGAINST, f->train.row[f->train.n - 1],
              arena_printf(c->arena, "In the last rows reserved memory was %s above the largest peak.",
                           say_bytes(c->arena, held)));
    return 0.25 + 0.75 * ramp(held / gap, 0.1, 0.5);
}

static void fragmentation(struct run_ctx *c)
{
    struct frame *f = c->f;
    struct moment *m = &f->at;
    struct arena *a = c->arena;
    if (!f->fail || f->killed || isnan(m->gap) || isnan(m->requested) || m->impossible)
        return;
    double least = fmax(fmax(0.5 * GIB, 0.07 * f->capacity), m->requested);
    double ratio = m->need / f->peak_max;
    bool big = m->gap >= least;
    rule_test(c, Q_CAPACITY, "reserved_gap", m->gap, "bytes", least, big ? SAYS_FOR : SAYS_AGAINST,
              ROW_FAILURE,
              arena_printf(a, "%s were reserved but not allocated, against a request of %s.",
                           say_bytes(a, m->gap), say_bytes(a, m->requested)));
    if (m->gap < m->requested || m->gap < 0.02 * f->capacity)
        return;
    double p = 0.93 * fmax(ramp(m->gap / least, 0.75, 1.1), 0.15);
    if (isfinite(ratio) && f->train.n >= 3)
        p *= 1 - 0.75 * ramp(ratio, 1.03, 1.15); /* heavier than ever: not the same bytes */
    p *= held_before(c, m->gap);
    if (ratio > 1.02 && ratio < 1.12 && isnan(c->peak.percentile) && f->train.n >= 3)
        p = fmin(p, 0.6); /* just above all before: a larger batch explains it as well */
    later(c, SUB_FRAGMENTATION, p);
}

/* Two to seven rows whose floor climbs by much: a warm-up (compilation, first uses) that has not ended looks
 * the same as a leak. */
static bool early_growth(struct run_ctx *c)
{
    struct frame *f = c->f;
    const double *v = f->train.v[F_ALLOCATED];
    if (!v || f->train.n < 2 || f->train.n >= 8)
        return false;
    double rise = v[f->train.n - 1] - v[0], half = v[f->train.n - 1] - v[(f->train.n - 1) / 2];
    if (!(rise > 0.05 * f->capacity) || !(half > 0.2 * rise))
        return false;
    if (f->fail) {
        c->leak.p = fmax(c->leak.p, 0.4);
        c->peak.p *= 0.5; /* more than before is what growth leads to as well */
    }
    rule_test(
        c, Q_CAPACITY, "early_growth", rise, "bytes", 0.05 * f->capacity, SAYS_NOTHING, f->train.row[0],
        arena_printf(
            c->arena,
            "Over its %s rows memory after the step rose by %s: a warm-up that has not ended and a leak look "
            "the same here.",
            say_count(c->arena, (double)f->train.n), say_bytes(c->arena, rise)));
    return true;
}

static void steady_state(struct run_ctx *c)
{
    struct frame *f = c->f;
    struct arena *a = c->arena;
    double p95 = c->peak.p95, room = f->room;
    c->cap.typical_share = f->peak_known ? f->peak_typical / room : NAN;
    bool failed = f->fail && !f->killed;
    bool last_chance =
        f->fail_phase == FAIL_TRAIN || f->fail_phase == FAIL_PHASE_UNKNOWN || f->fail_phase == FAIL_OTHER;
    if (failed && f->train.n <= 2 && f->eval.n <= 2) {
        bool first = f->train.n == 0;
        double share = isfinite(f->at.need) ? f->at.need / f->capacity : NAN;
        /* a message alone: only a step number says whether it was the first */
        double when = !first || f->fail_step <= (double)f->micro ? 1 : isnan(f->fail_step) ? 0.55 : 0.25;
        later(c,
              first                      ? SUB_SIZING
              : f->peak_max > 0.9 * room ? SUB_TYPICAL
                                         : SUB_SIZING,
              when * (last_chance ? (share > 0.8 || isnan(share) ? 0.9 : 0.6) : 0.2));
        rule_test(c, Q_CAPACITY, "first_steps", (double)f->train.n, "1", 2, SAYS_FOR, ROW_FAILURE,
                  f->train.n == 0 ? isfinite(f->fail_step)
                                        ? "It failed before a training row was logged: it never fitted."
                                        : "No training row was read: if none ran, it never fitted."
                                  : arena_printf(a, "It failed after %s logged training %s: it never fitted.",
                                                 say_count(a, (double)f->train.n),
                                                 say_plural((double)f->train.n, "row", "rows")));
    }

    if (!isfinite(p95) || !isfinite(room))
        return;
    if (early_growth(c)) {
        c->cap.p = fmin(c->cap.p, 0.4);
        return;
    }
    /* steady state, not a long tail: the median has to be near as well */
    double steady = fmin(p95, 1.2 * c->peak.p50),
           share = (steady - (c->leak.p > 0.5 ? c->leak.rise : 0)) / room;
    rule_test(c, Q_CAPACITY, "typical_share", p95 / room, "1", 0.9,
              p95 >= 0.9 * room ? SAYS_FOR : SAYS_AGAINST, ROW_NONE,
              arena_printf(a, "%s peak below %s, %s of the %s that the framework can have.",
                           f->train.n < 8
                               ? arena_printf(a, "The %s logged %s", say_count(a, (double)f->train.n),
                                              say_plural((double)f->train.n, "step", "steps"))
                               : "95 % of the steps",
                           say_bytes(a, p95), say_percent(a, p95 / room), say_bytes(a, room)));
    if (failed && last_chance)
        later(c, SUB_TYPICAL, 0.05 + 0.85 * ramp(share, 0.8, 0.93));
    c->cap.p_risk = 0.9 * ramp(share, 0.9, 0.96);
    if (f->peak_field != F_PEAK) /* what is cached gives way when memory is short */
        c->cap.p_risk *= 0.45;
}

/* One jump of the floor at the first update, then flat: the optimiser's state. Not a cause; worth saying. */
static void optimiser_state(struct run_ctx *c)
{
    struct frame *f = c->f;
    const double *v = f->train.v[F_ALLOCATED];
    size_t k = f->micro;
    if (!v || f->train.n < k + 8 || f->stride > 1)
        return;
    double before = v[0], after = stats_quantile_of(v + k, 6, 0.5),
           later_level = stats_quantile_of(v + f->warm, f->train.n - f->warm, 0.5);
    double jump = after - before;
    if (jump > 0.02 * f->capacity && fabs(later_level - after) < 0.2 * jump) {
        c->cap.optimiser_jump = true;
        rule_test(c, Q_CAPACITY, "optimiser_state", jump, "bytes", 0.02 * f->capacity, SAYS_AGAINST,
                  f->train.row[0],
                  arena_printf(c->arena,
                               "Memory stepped up once by %s at the first update and stayed: that is the "
                               "optimiser's state, constant since, and not the cause of a later failure.",
                               say_bytes(c->arena, jump)));
    }
}

void rule_capacity(struct run_ctx *c)
{
    struct frame *f = c->f;
    c->cap = (struct found_capacity){.typical_share = NAN, .sub = SUB_TYPICAL, .p = 0.03, .foreign = NAN};
    external(c);
    no_history(c);
    fragmentation(c);
    steady_state(c);
    optimiser_state(c);
    struct capacity_figures *o = &c->out->capacity;
    *o = (struct capacity_figures){.typical_share = c->cap.typical_share,
                                   .headroom_bytes = f->room - f->peak_max,
                                   .reserved_minus_allocated_bytes = f->at.gap,
                                   .other_process_bytes = f->at.other_process,
                                   .non_torch_bytes = f->at.outside};
    if (isnan(o->other_process_bytes) && c->cap.foreign > 0)
        o->other_process_bytes = c->cap.foreign;
    if (isnan(o->reserved_minus_allocated_bytes) && f->train.v[F_RESERVED] && f->train.v[F_ALLOCATED] &&
        f->train.n)
        o->reserved_minus_allocated_bytes =
            f->train.v[F_RESERVED][f->train.n - 1] - f->train.v[F_ALLOCATED][f->train.n - 1];
    c->out->has_capacity = isfinite(f->capacity);
    if (isnan(f->capacity))
        rule_test(c, Q_CAPACITY, "capacity_known", NAN, "bytes", NAN, SAYS_NOTHING, ROW_NONE,
                  "The device's capacity is not in the log: give it with --capacity.");
}

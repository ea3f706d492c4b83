/* quality: what is missing, impossible or blind in a run's log, said and not clamped. */
#include "analyse/say.h"
#include "analyse/stats.h"
#include "analyse/tables.h"

#include <math.h>
#include <string.h>

static void add(struct analysis *a, const char *code, const char *text)
{
    enum {
        MOST = 200
    };
    for (size_t i = 0; i < a->n_quality; i++)
        if (strcmp(a->quality[i].code, code) == 0 && strcmp(a->quality[i].text, text) == 0)
            return;
    if (a->n_quality >= MOST)
        return;
    if (!a->quality)
        a->quality = arena_alloc(&a->arena, MOST * sizeof *a->quality);
    a->quality[a->n_quality++] = (struct quality){code, text};
}

static void missing_fields(struct analysis *a, const struct run_ctx *c, const char *run)
{
    const struct frame *f = c->f;
    const struct track *t = &f->train;
    if (t->n == 0 && f->eval.n == 0) {
        add(a, "no-rows",
            arena_printf(&a->arena, "Run %s has no step record: only its events were judged.", run));
        return;
    }
    if (!t->v[F_ALLOCATED])
        add(a, "missing-field",
            arena_printf(&a->arena,
                         "Run %s does not log allocated memory after the step (allocated_bytes); growth was "
                         "judged on %s instead.",
                         run, c->leak.column == F_COUNT ? "nothing" : field_name(c->leak.column)));
    if (!t->v[F_PEAK])
        add(a, "missing-field",
            arena_printf(
                &a->arena,
                "Run %s does not log the step's peak (peak_bytes): what a batch needs cannot be told.", run));
    if (!c->peak.shapes_logged)
        add(a, "missing-field",
            arena_printf(&a->arena,
                         "Run %s logs no shape of the batch (batch_size, max_len, tokens): growth and "
                         "outliers cannot be set against it.",
                         run));
    if (isnan(f->capacity))
        add(a, "missing-field",
            arena_printf(&a->arena, "The device's capacity is unknown for run %s; give it with --capacity.",
                         run));
    if (fabs(f->capacity_set - f->capacity) > 0.02 * f->capacity)
        add(a, "capacity-differs",
            arena_printf(&a->arena,
                         "Run %s says that its device has %s, which was used; the %s given with --capacity "
                         "are for logs that do not say it.",
                         run, say_bytes(&a->arena, f->capacity), say_bytes(&a->arena, f->capacity_set)));
    if (f->axis != AXIS_STEP)
        add(a, "no-steps",
            arena_printf(&a->arena, "Run %s logs no step numbers; %s is the axis.", run,
                         f->axis == AXIS_TIME ? "time" : "the order of the rows"));
}

static void impossible(struct analysis *a, const struct run_ctx *c, const char *run)
{
    const struct frame *f = c->f;
    static const enum field fields[] = {F_ALLOCATED, F_PEAK, F_RESERVED, F_DEVICE_USED};
    for (size_t k = 0; k < 4; k++) {
        const double *v = f->train.v[fields[k]];
        double high = v ? stats_max(v, f->train.n, NULL) : NAN;
        if (high > 1.005 * f->capacity)
            add(a, "impossible-value",
                arena_printf(&a->arena,
                             "Run %s logs %s of %s on a device of %s: check the unit, or memory is shared "
                             "with the host.",
                             run, field_name(fields[k]), say_bytes(&a->arena, high),
                             say_bytes(&a->arena, f->capacity)));
    }
    if (isfinite(f->capacity_refused))
        add(a, "impossible-value",
            arena_printf(
                &a->arena,
                "Run %s says that its device has %s, and its steps had up to %s: that capacity was not "
                "used; check the unit, or give the right one with --capacity.",
                run, say_bytes(&a->arena, f->capacity_refused), say_bytes(&a->arena, f->peak_max)));
    if (f->at.impossible)
        add(a, "impossible-value",
            arena_printf(&a->arena,
                         "The failure of run %s reports %s allocated and %s reserved on a device of %s; its "
                         "arithmetic was not used.",
                         run, say_bytes(&a->arena, f->at.allocated), say_bytes(&a->arena, f->at.reserved),
                         say_bytes(&a->arena, f->at.total)));
    if (isfinite(f->capacity_declared) && isfinite(f->at.total) &&
        fabs(f->capacity_declared - f->at.total) > 0.02 * f->at.total)
        add(a, "capacity-differs",
            arena_printf(&a->arena,
                         "Run %s declares a capacity of %s, its error message says %s; the latter was used.",
                         run, say_bytes(&a->arena, f->capacity_declared), say_bytes(&a->arena, f->at.total)));
    const double *al = f->train.v[F_ALLOCATED], *pk = f->train.v[F_PEAK];
    if (al && pk) {
        size_t bad = 0;
        for (size_t i = 0; i < f->train.n; i++)
            bad += al[i] > pk[i] * 1.001;
        if (bad * 20 > f->train.n)
            add(a, "impossible-value",
                arena_printf(&a->arena,
                             "In %s rows of run %s allocated memory is above the step's peak: the two "
                             "columns do not belong together.",
                             say_count(&a->arena, (double)bad), run));
    }
}

static void gaps(struct analysis *a, const struct run_ctx *c, const char *run)
{
    const struct frame *f = c->f;
    if (f->fail && f->blind > f->stride)
        add(a, "blind-interval",
            arena_printf(&a->arena, "Run %s has no record of the last %s steps before it failed.", run,
                         say_count(&a->arena, f->blind)));
    size_t restarts = 0;
    for (size_t i = 0; i < f->train.n; i++)
        restarts += f->train.restart[i];
    if (restarts > 0)
        add(a, "restarts",
            arena_printf(&a->arena, "Run %s was started again %s %s.", run,
                         say_count(&a->arena, (double)restarts),
                         say_plural((double)restarts, "time", "times")));
    if (f->stride > 1)
        add(a, "log-interval",
            arena_printf(&a->arena,
                         "Run %s logs every %s steps: a single tall step is seen with probability 1/%s.", run,
                         say_count(&a->arena, f->stride), say_count(&a->arena, f->stride)));
    if (f->outcome == OUTCOME_UNKNOWN)
        add(a, "no-end",
            arena_printf(&a->arena, "The log of run %s just stops: whether the run ended well is unknown.",
                         run));
    if (f->reset == PEAK_RESET_NEVER)
        add(a, "peak-never-reset",
            arena_printf(&a->arena,
                         "The peak counter of run %s is never reset%s: it shows the highest so far, not each "
                         "step's peak.",
                         run, f->reset_declared ? "" : " (found from its shape)"));
}

void quality_run(struct analysis *a, const struct run_ctx *c)
{
    const char *run = c->out->run;
    missing_fields(a, c, run);
    impossible(a, c, run);
    gaps(a, c, run);
}

void quality_add(struct analysis *a, const char *code, const char *text)
{
    add(a, code, text);
}

void quality_copy(struct analysis *a, const struct series *copy, const struct series *first)
{
    add(a, "copy",
        arena_printf(&a->arena,
                     "%s has the steps and figures of %s throughout: it is a copy, and was counted once.",
                     copy->source ? copy->source : "A log", first->source ? first->source : "another log"));
}

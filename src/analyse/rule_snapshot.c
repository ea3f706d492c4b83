/* A memory snapshot knows what step logs leave open: what is held, by which line, and what
 * the failing request met. Where a run has one, its findings weigh instead of the series' own. */
#include "analyse/blame.h"
#include "analyse/holders.h"
#include "analyse/rules.h"
#include "analyse/say.h"

#include <math.h>
#include <stdlib.h>

/* The failing request against what was there. */
struct request {
    double need;      /* [B] live + requested */
    double before;    /* [B] highest level before the failing step */
    double scattered; /* [B] reserved, not live */
    double largest;   /* [B] largest free block at the end of the trace */
    double larger;    /* failing step's allocations against the largest before, by site; NAN */
    bool in_optimizer, in_eval;
    size_t steps; /* complete ones before it */
};

static int by_value(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return a < b ? -1 : a > b;
}

/* How much larger the failing step's allocations are: median over the sites, by bytes. */
static double larger(const struct study *s)
{
    double *ratio = calloc(s->n_sites + 1, sizeof *ratio), median = NAN;
    size_t n = 0;
    for (size_t i = 0; ratio && i < s->n_sites; i++) {
        const struct study_site *k = &s->sites[i];
        if (i != s->null_site && k->largest_before >= 4096 && k->largest_failing > 0)
            ratio[n++] = (double)k->largest_failing / (double)k->largest_before;
    }
    if (n >= 3) {
        qsort(ratio, n, sizeof *ratio, by_value);
        median = ratio[n / 2];
    }
    free(ratio);
    return median;
}

static void request_of(struct request *r, const struct study *s)
{
    const struct trace_device *d = s->d;
    const struct trace_oom *o = &d->ooms[d->n_ooms - 1];
    uint32_t flags = s->t->names.stacks[o->stack].flags;
    *r = (struct request){.need = (double)o->live + (double)o->requested,
                          .scattered = (double)o->reserved - (double)o->live,
                          .largest = (double)d->totals.largest_free,
                          .larger = larger(s),
                          .in_optimizer = flags & STACK_OPTIMIZER,
                          .in_eval = flags & STACK_EVAL};
    for (size_t i = 0; i < d->n_steps && d->steps[i].end <= o->event; i++) {
        r->steps++;
        r->before = fmax(r->before, (double)d->steps[i].peak);
        r->before = fmax(r->before, (double)d->steps[i].eval_peak);
    }
}

/* --- findings ----------------------------------------------------------------------- */

static void say_growth(struct run_ctx *c, const struct study *s, const struct growing *g)
{
    struct arena *a = c->arena;
    const struct blame *b = &c->out->blame;
    if (!s->n_samples && !g->any)
        return;
    const char *text =
        g->any ? arena_printf(a, "%s what stays after a step grows by %s a step; %s holds %.0f %% of it.",
                              g->by_window ? "Within the window" : "Step by step", say_bytes(a, g->growth),
                              c->out->has_blame ? b->site : "no single line",
                              c->out->has_blame ? 100 * b->share : 100.0)
               : "No line of code holds more and more from step to step; what grew stopped growing.";
    rule_test(c, Q_GROWS, "sites_growth", g->growth, "bytes/step", 0, g->any ? SAYS_FOR : SAYS_AGAINST,
              ROW_NONE, text);
}

static void grows(struct run_ctx *c, struct study *s, struct growing *g)
{
    blame_growth(g, s);
    if (g->any)
        c->out->has_blame = blame_leak(&c->out->blame, s, g, c->arena);
    say_growth(c, s, g);
    struct snapshot_shares *k = &c->snapshot;
    *k = (struct snapshot_shares){.known = true,
                                  .by_window = g->by_window,
                                  .steps = s->n_samples > 1 ? (double)(s->step[s->n_samples - 1] - s->step[0])
                                                            : NAN,
                                  .rise = g->any ? g->rise : NAN,
                                  .growth = g->any ? g->growth : NAN,
                                  .sites = (double)g->sites,
                                  .scattered = NAN,
                                  .largest_free = NAN,
                                  .need = NAN,
                                  .before = NAN,
                                  .larger = NAN};
    c->out->snapshot.growth_bytes_per_step = g->any ? g->growth : s->n_samples > 1 ? 0 : NAN;
    k->floor_growth = s->n_samples > 1 ? s->floor_rise / k->steps : NAN;
}

/* What is added up in the leak's figures is exact here. */
static void leak_figures(struct run_ctx *c)
{
    struct leak_figures *o = &c->out->leak;
    const struct snapshot_shares *k = &c->snapshot;
    if (!c->out->has_leak)
        *o = (struct leak_figures){.onset_step = NAN,
                                   .increment_vs_activation = NAN,
                                   .slope_bytes_per_second = NAN,
                                   .minimum_detectable_bytes_per_step = NAN,
                                   .oom_step_forecast = NAN,
                                   .forecast_low = NAN,
                                   .forecast_high = NAN,
                                   .column = F_ALLOCATED,
                                   .fit_step0 = NAN,
                                   .fit_bytes0 = NAN};
    bool fits = c->out->has_leak && o->slope_low <= k->growth && k->growth <= o->slope_high;
    c->out->has_leak = true;
    o->slope_bytes_per_step = k->growth;
    if (!fits)
        o->slope_low = o->slope_high = k->growth;
    o->retained_bytes = k->rise;
    o->share_of_growth = c->out->has_blame ? c->out->blame.share : NAN;
}

static void fails(struct run_ctx *c, struct study *s, const struct growing *g)
{
    struct request r;
    struct snapshot_shares *k = &c->snapshot;
    struct arena *a = c->arena;
    request_of(&r, s);
    double requested = c->out->snapshot.oom_requested_bytes;
    bool fits = r.scattered >= requested && r.scattered > r.largest;
    bool first = r.steps == 0;
    k->scattered = r.scattered;
    k->largest_free = r.largest;
    k->need = r.need;
    k->before = r.before > 0 ? r.before : NAN;
    k->larger = r.larger;
    rule_test(c, Q_CAPACITY, "free_fragments", r.scattered, "bytes", requested,
              fits ? SAYS_FOR : SAYS_AGAINST, ROW_FAILURE,
              arena_printf(
                  a,
                  "The request was %s; %s were reserved but not in use, in pieces of at most %s at the end "
                  "of the trace.",
                  say_bytes(a, requested), say_bytes(a, r.scattered), say_bytes(a, r.largest)));
    if (isfinite(r.larger))
        rule_test(
            c, Q_OUTLIER_BATCH, "allocations_in_failing_step", r.larger, "1", 1.5,
            r.larger >= 1.5 ? SAYS_FOR : SAYS_AGAINST, ROW_FAILURE,
            arena_printf(a, "The failing step's allocations are %.1f times the largest before, line by line.",
                         r.larger));
    if (g->any) {
        k->leak = 0.97;
        k->subtype = g->eval_share > 0.8 ? SUB_EVAL : g->each_step ? SUB_STEP : SUB_PERIODIC;
    } else if (first && r.in_optimizer) {
        k->capacity = s->d->truncated ? 0.8 : 0.95;
        k->subtype = SUB_OPTIMIZER;
    } else if (!first && r.larger >= 1.5) {
        k->peak = 0.92;
        k->subtype = SUB_UNEXPLAINED;
        c->out->has_blame = blame_peak(&c->out->blame, s, a);
    } else if (fits && !first && r.need <= 1.02 * r.before) {
        k->subtype = SUB_FRAGMENTATION;
        c->out->has_blame = blame_pins(&c->out->blame, s, a);
        k->capacity = c->out->has_blame ? 0.96 : 0.9;
    } else if (r.in_eval) {
        k->eval = 0.75;
        k->subtype = SUB_EVAL_BATCH;
    } else {
        bool begun = first && !s->d->truncated; /* else steps before the trace may have fitted */
        bool usual = !first && r.need <= 1.05 * r.before;
        k->capacity = begun ? 0.85 : usual ? 0.8 : 0.55;
        k->peak = begun || usual ? 0.05 : 0.3;
        k->subtype = begun ? SUB_SIZING : SUB_TYPICAL;
    }
}

static void lasts(struct run_ctx *c, const struct study *s, const struct growing *g)
{
    struct snapshot_shares *k = &c->snapshot;
    if (g->any) {
        k->leak = g->by_window ? 0.8 : 0.97;
        k->subtype = g->eval_share > 0.8 ? SUB_EVAL : g->each_step ? SUB_STEP : SUB_PERIODIC;
        return;
    }
    size_t n = s->d->n_steps;
    k->none = n >= 16 ? 0.96 : n >= 8 ? 0.92 : n >= 4 ? 0.8 : n >= 2 ? 0.65 : 0.5;
}

void rule_snapshot(struct run_ctx *c)
{
    const struct series *series = c->f->s;
    struct study s;
    struct growing g;
    if (!series->trace || series->trace_device >= series->trace->n_devices)
        return;
    study_init(&s, series->trace, series->trace->devices[series->trace_device]);
    holders_figures(c->out, s.t, s.d, c->arena);
    grows(c, &s, &g);
    if (g.any)
        leak_figures(c);
    if (s.d->n_ooms)
        fails(c, &s, &g);
    else
        lasts(c, &s, &g);
    holders_fill(c->out, &s, c->arena);
    study_release(&s);
}

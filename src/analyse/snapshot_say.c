/* The verdict's sentences where a snapshot names lines of code. */
#include "analyse/rules.h"
#include "analyse/say.h"

#include <math.h>
#include <string.h>

/* "model.py:158 forward" of "/home/…/model.py:158 forward". */
static const char *short_site(const char *site)
{
    const char *colon = strrchr(site, ':'), *begin = site;
    for (const char *p = site; p < (colon ? colon : site); p++)
        if (*p == '/' || *p == '\\')
            begin = p + 1;
    return begin;
}

static const char *failed(struct run_ctx *c)
{
    const struct snapshot_figures *s = &c->out->snapshot;
    return s->has_oom ? arena_printf(c->arena, "; in the end a request of %s failed with %s live",
                                     say_bytes(c->arena, s->oom_requested_bytes),
                                     say_bytes(c->arena, s->oom_live_bytes))
                      : "";
}

static void say_leak(struct run_ctx *c, struct verdict *v)
{
    struct arena *a = c->arena;
    const struct snapshot_shares *k = &c->snapshot;
    const struct blame *b = &c->out->blame;
    const char *who = c->out->has_blame ? short_site(b->site) : "No single line";
    double growth = c->out->has_blame ? b->growth_bytes_per_step : k->growth;
    if (k->by_window)
        v->summary = arena_printf(
            a,
            "%s allocated %s a step in this window, freed nothing, and holds %s, most of it from "
            "steps before the window%s.",
            who, say_bytes(a, growth), say_bytes(a, b->bytes), failed(c));
    else
        v->summary = arena_printf(a, "%s holds %s of the %s a step that stay (%s over %s steps)%s.", who,
                                  say_bytes(a, growth), say_bytes(a, fmax(k->floor_growth, k->growth)),
                                  say_bytes(a, k->rise), say_count(a, k->steps), failed(c));
    if (v->n_advice == 0)
        return;
    struct advice *first = (struct advice *)&v->advice[0];
    const char *what =
        v->subtype == SUB_EVAL
            ? "evaluation keeps what it makes there: run it under torch.no_grad() or inference_mode, and "
              "move outputs to "
              "the host (.cpu()) or reduce them at once"
            : "something keeps a reference to what is made there: a list of tensors (append .item() or "
              ".detach().cpu()), a cache that is never emptied, an attribute that grows";
    first->text = arena_printf(
        a,
        "Look at who keeps the tensors of %s: %s; this gives back %s. Verify with a snapshot of 50 "
        "steps: the line must hold the same after each.",
        who, what, say_bytes(a, k->by_window ? b->bytes : k->rise));
    first->saving_bytes = k->by_window ? b->bytes : k->rise;
    v->fix = first->text;
}

static void say_fragments(struct run_ctx *c, struct verdict *v)
{
    struct arena *a = c->arena;
    const struct snapshot_shares *k = &c->snapshot;
    const struct snapshot_figures *s = &c->out->snapshot;
    const char *pins = c->out->has_blame
                           ? arena_printf(a, "; blocks of %s that outlive their step keep the pieces apart",
                                          short_site(c->out->blame.site))
                           : "";
    v->summary = arena_printf(
        a,
        "A request of %s failed while %s were reserved and free, in pieces of at most %s; with it %s would "
        "have been live, and %s had fitted before%s.",
        say_bytes(a, s->oom_requested_bytes), say_bytes(a, k->scattered), say_bytes(a, k->largest_free),
        say_bytes(a, k->need), say_bytes(a, k->before), pins);
    if (!s->expandable_segments || v->n_advice == 0)
        return;
    struct advice *first = (struct advice *)&v->advice[0];
    first->text = arena_printf(
        a,
        "Expandable segments are on already: round batches to a few fixed shapes, and release what outlives "
        "its step%s. Verify that reserved stays near allocated.",
        c->out->has_blame ? arena_printf(a, " (%s)", short_site(c->out->blame.site)) : "");
    v->fix = first->text;
}

static void say_peak(struct run_ctx *c, struct verdict *v)
{
    struct arena *a = c->arena;
    const struct snapshot_shares *k = &c->snapshot;
    if (!(k->larger > 1))
        return;
    v->summary = arena_printf(
        a,
        "The failing step's allocations are %s times the largest of the same lines before: its batch is an "
        "outlier; it had reached %s (with the request %s) where steps before peaked at %s.",
        say_ratio(a, k->larger), say_bytes(a, c->out->snapshot.oom_live_bytes), say_bytes(a, k->need),
        say_bytes(a, k->before));
}

static void say_none(struct run_ctx *c, struct verdict *v)
{
    struct arena *a = c->arena;
    const struct snapshot_figures *s = &c->out->snapshot;
    const char *peak = arena_printf(a, "the peak was %s of %s reserved", say_bytes(a, s->peak_bytes),
                                    say_bytes(a, s->reserved_bytes));
    if (s->steps_found >= 4)
        v->summary =
            arena_printf(a, "No line holds more from step to step (%s steps), and no request failed; %s.",
                         say_count(a, s->steps_found), peak);
    else if (s->events > 1)
        v->summary =
            arena_printf(a, "No request failed; %s. With %s steps in the trace growth can hardly be told.",
                         peak, say_count(a, s->steps_found));
    else
        v->summary = arena_printf(
            a,
            "No request failed; %s are live of %s reserved. A snapshot without a trace cannot show growth: "
            "call torch.cuda.memory._record_memory_history() first.",
            say_bytes(a, s->live_bytes_at_end), say_bytes(a, s->reserved_bytes));
}

void snapshot_say(struct run_ctx *c)
{
    struct verdict *v = &c->out->verdict;
    if (!c->snapshot.known)
        return;
    v->next_run = NULL;
    if (v->cause == CAUSE_LEAK)
        say_leak(c, v);
    else if (v->cause == CAUSE_CAPACITY && v->subtype == SUB_FRAGMENTATION)
        say_fragments(c, v);
    else if (v->cause == CAUSE_PEAK)
        say_peak(c, v);
    else if (v->cause == CAUSE_NONE)
        say_none(c, v);
}

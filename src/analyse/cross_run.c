#include "analyse/cross_run.h"
#include "analyse/cross_content.h"
#include "analyse/cross_law.h"
#include "analyse/cross_null.h"
#include "analyse/ranks.h"
#include "base/buf.h"
#include <math.h>
#include <string.h>

enum {
    COMPARED_MAX = 64 /* runs that a further one is held against */
};

/* What the comparison rests on. */
struct comparison {
    const struct job *jobs;
    size_t n_jobs;
    struct failed_run *runs; /* n failures that count, in run order */
    size_t n;
    size_t n_failures; /* before those of a repeated seed were left out */
    bool ids_hidden;   /* samples are not named */
    bool all_seeds;    /* every counted failure has a seed, no two the same */
    double low, high;  /* failing steps */
    double p_step;     /* NAN unknown */
    struct content content;
};

/* True when y's failure adds nothing to x's: the same run over again. */
static bool repeats(const struct failed_run *x, const struct failed_run *y)
{
    if (!isnan(x->seed) && !isnan(y->seed))
        return x->seed == y->seed && same_order(x->r, y->r) != 0;
    return same_order(x->r, y->r) == 1;
}

/* One failure of each job; device OOMs only, unless there are fewer than two of them. */
static void collect_failures(struct comparison *c, struct analysis *a)
{
    size_t ooms = 0;
    for (size_t k = 0; k < c->n_jobs; k++)
        ooms += c->jobs[k].failed != JOB_NONE && a->runs[c->jobs[k].failed].outcome == OUTCOME_OOM;
    c->runs = arena_alloc(&a->arena, (c->n_jobs + 1) * sizeof *c->runs);
    for (size_t k = 0; k < c->n_jobs; k++) {
        if (c->jobs[k].failed == JOB_NONE)
            continue;
        const struct run_report *r = &a->runs[c->jobs[k].failed];
        if (ooms >= 2 && r->outcome != OUTCOME_OOM)
            continue;
        struct failed_run f = failed_run_of(r);
        bool again = false;
        c->n_failures++;
        for (size_t i = 0; i < c->n && i < COMPARED_MAX && !again; i++)
            again = repeats(&c->runs[i], &f);
        if (!again)
            c->runs[c->n++] = f;
    }
    c->all_seeds = true;
    for (size_t i = 0; i < c->n; i++) {
        c->all_seeds = c->all_seeds && !isnan(c->runs[i].seed);
        for (size_t k = 0; k < i && k < COMPARED_MAX; k++)
            c->all_seeds = c->all_seeds && c->runs[i].seed != c->runs[k].seed;
    }
}

/* Steps that any run reached [1]. */
static double steps_reached(const struct analysis *a, const struct comparison *c)
{
    double first = NAN, last = c->high;
    for (size_t i = 0; i < a->n_runs; i++) {
        first = fmin(first, a->runs[i].first_step);
        last = fmax(last, a->runs[i].last_step);
    }
    if (isnan(first))
        first = 0;
    return fmax(last, c->high) - fmin(first, c->low) + 1;
}

static void compare_steps(struct comparison *c, const struct analysis *a, struct cross_run *x)
{
    double known = 0;
    c->low = c->high = c->p_step = NAN;
    for (size_t i = 0; i < c->n; i++) {
        if (isnan(c->runs[i].step))
            continue;
        known++;
        c->low = fmin(c->low, c->runs[i].step);
        c->high = fmax(c->high, c->runs[i].step);
    }
    if (known < 2)
        return;
    x->spread_steps = c->high - c->low;
    c->p_step = null_range(known, steps_reached(a, c), x->spread_steps);
}

static bool step_repeats(const struct comparison *c, const struct analysis *a, double below)
{
    if (isnan(c->p_step))
        return false;
    double spread = c->high - c->low;
    return spread == 0 || (spread <= 0.1 * steps_reached(a, c) && c->p_step < below);
}

/* The largest probability at which steps count as repeated. */
static double step_limit(const struct comparison *c)
{
    if (c->content.repeated)
        return 0.005;
    for (size_t i = 0; i < c->n; i++)
        if (c->runs[i].r->verdict.cause != CAUSE_LEAK)
            return 0.05;
    return 0.2;
}

static enum cross_says says_of(const struct comparison *c, bool step, bool batch)
{
    if (c->n < 2)
        return CROSS_NOT_TESTABLE;
    if (step)
        return batch ? CROSS_DETERMINISTIC : CROSS_SCHEDULE;
    if (batch)
        return CROSS_DATA;
    return c->content.tested ? CROSS_NEITHER : CROSS_NOT_TESTABLE;
}

/* --- the sentence --- */

static void put_steps(struct buf *b, const struct comparison *c)
{
    if (isnan(c->low))
        buf_puts(b, "at steps that are not logged");
    else if (c->low == c->high)
        buf_printf(b, "at step %.0f", c->low);
    else
        buf_printf(b, "at steps %.0f to %.0f", c->low, c->high);
}

/* "the same sample 48113 was in the failing batch of 3 of 3 seeds" */
static void put_batch(struct buf *b, const struct comparison *c, const char *noun)
{
    const struct content *t = &c->content;
    if (t->by == BY_SHAPE) {
        buf_printf(b, "the failing batch was among the largest %.2g %% by %s in %zu of %zu %s", 100 * t->rank,
                   t->shape, c->n, c->n, noun);
        return;
    }
    if (t->by == BY_BATCH_HASH) {
        buf_printf(b, "the same batch%s%s failed in %.0f of %.0f %s", c->ids_hidden ? "" : " ",
                   c->ids_hidden ? "" : t->shared[0], t->agree, t->of, noun);
        return;
    }
    buf_printf(b, "the same sample%s", t->n_shared > 1 ? "s" : "");
    for (size_t i = 0; i < t->n_shared && i < 3 && !c->ids_hidden; i++)
        buf_printf(b, "%s%s", i ? ", " : " ", t->shared[i]);
    if (t->n_shared > 3 && !c->ids_hidden)
        buf_printf(b, " and %zu more", t->n_shared - 3);
    buf_printf(b, " %s in the failing batch of %.0f of %.0f %s", t->n_shared > 1 ? "were" : "was", t->agree,
               t->of, noun);
}

static void put_chance(struct buf *b, double p)
{
    if (isnan(p))
        return;
    if (p < 1e-9)
        buf_puts(b, " (by chance: less than 1e-09)");
    else
        buf_printf(b, " (by chance: %.2g)", p);
}

static void put_untestable(struct buf *b, const struct comparison *c)
{
    if (c->n_failures == 0)
        buf_printf(b, "none of %zu runs failed, so there is nothing to compare", c->n_jobs);
    else if (c->n_failures == 1)
        buf_printf(
            b,
            "1 of %zu runs failed; a second failure under another seed would show whether the data or the "
            "step brings it",
            c->n_jobs);
    else if (c->n < 2)
        buf_printf(b,
                   "the %zu failing runs have the same seed or data order, which repeats everything; run "
                   "another seed",
                   c->n_failures);
    else {
        buf_printf(b, "%zu runs failed ", c->n);
        put_steps(b, c);
        buf_puts(b, ", and what was in the failing batches is not logged: log batch_ids");
    }
}

static void put_neither(struct buf *b, const struct comparison *c)
{
    const struct content *t = &c->content;
    if (t->agree > 1 && t->by != BY_SHAPE) {
        buf_printf(b, "; %.0f of the batches share %s, as unrelated ones may", t->agree,
                   c->ids_hidden ? "a sample" : t->shared[0]);
        put_chance(b, t->p);
    } else if (t->passed_before) {
        buf_puts(b, "; what their batches share had passed earlier in the same run");
    } else {
        buf_puts(b, t->by == BY_SHAPE ? ", with batches of ordinary size" : ", with other samples");
    }
    buf_puts(b, t->by == BY_SHAPE ? ": neither the step nor the shape repeats"
                                  : ": neither the step nor the batch repeats");
}

static const char *sentence(struct arena *a, const struct comparison *c, enum cross_says says)
{
    const char *noun = c->all_seeds ? "seeds" : "runs";
    struct buf b = {0};
    switch (says) {
    case CROSS_NOT_TESTABLE:
        put_untestable(&b, c);
        break;
    case CROSS_DATA:
    case CROSS_DETERMINISTIC:
        put_batch(&b, c, noun);
        buf_puts(&b, ", ");
        if (says == CROSS_DETERMINISTIC)
            buf_puts(&b, c->low == c->high ? "each time " : "close together ");
        put_steps(&b, c);
        put_chance(&b, c->content.p);
        break;
    case CROSS_SCHEDULE:
        buf_printf(&b, "%zu of %zu failing %s died ", c->n, c->n, noun);
        put_steps(&b, c);
        put_chance(&b, c->p_step);
        buf_puts(&b,
                 c->content.tested ? ", each with another batch" : "; what was in the batches is not logged");
        break;
    case CROSS_NEITHER:
        buf_printf(&b, "%zu failing %s died ", c->n, noun);
        put_steps(&b, c);
        put_neither(&b, c);
        break;
    }
    if (says != CROSS_NOT_TESTABLE && c->n_failures < c->n_jobs)
        buf_printf(&b, "; %zu of %zu runs failed", c->n_failures, c->n_jobs);
    const char *text = arena_strndup(a, b.p, b.n);
    buf_release(&b);
    return text;
}

/* --- the verdict over all runs --- */

static double odds_factor(const struct verdict *v, enum cross_says says)
{
    bool by_schedule = v->cause == CAUSE_PEAK && v->subtype == SUB_SCHEDULE;
    if (says == CROSS_DATA)
        return v->cause == CAUSE_PEAK ? 4 : v->cause == CAUSE_EVAL ? 1 : 1.0 / 3;
    if (says == CROSS_SCHEDULE) {
        if (v->cause == CAUSE_PEAK)
            return by_schedule ? 3 : 1.0 / 3;
        return v->cause == CAUSE_EVAL ? 3 : 2;
    }
    return says == CROSS_DETERMINISTIC ? 1.5 : 1;
}

static void weigh_verdict(struct verdict *v, const struct comparison *c, enum cross_says says)
{
    if (v->cause == CAUSE_NONE || v->cause == CAUSE_UNKNOWN || says == CROSS_NOT_TESTABLE)
        return;
    size_t same = 0;
    for (size_t i = 0; i < c->n; i++)
        same += c->runs[i].r->verdict.cause == v->cause;
    double factor = odds_factor(v, says);
    double p = fmin(fmax(v->confidence, 0.0), 0.99), odds = p / (1 - p) * factor;
    v->confidence = odds / (1 + odds);
    if (v->confidence >= 0.95 && same >= 2 && factor >= 1)
        v->certainty = CERTAINTY_CONFIRMED;
    else if (v->confidence >= 0.75)
        v->certainty = CERTAINTY_LIKELY;
    else
        v->certainty = v->confidence >= 0.4 ? CERTAINTY_POSSIBLE : CERTAINTY_CANNOT_TELL;
}

/* Logs that were left out as copies of another: the same run over again, or the same file twice. */
static size_t copies(const struct analysis *a)
{
    size_t n = 0;
    for (size_t i = 0; i < a->n_quality; i++)
        n += strcmp(a->quality[i].code, "copy") == 0;
    return n;
}

void cross_run(struct analysis *a)
{
    struct job *jobs;
    struct comparison c = {.n_jobs = jobs_find(&jobs, &a->arena, a), .ids_hidden = a->ids_hidden};
    struct cross_run *x = &a->cross;
    c.jobs = jobs;
    *x = (struct cross_run){.runs_total = (double)c.n_jobs,
                            .spread_steps = NAN,
                            .p_chance = NAN,
                            .by = BY_SHAPE,
                            .says = CROSS_NOT_TESTABLE};
    size_t same = copies(a);
    a->has_cross = c.n_jobs >= 2 || (c.n_jobs == 1 && same > 0);
    if (!a->has_cross)
        return;
    if (c.n_jobs == 1) { /* a comparison was asked for, and there is nothing to compare */
        x->runs_failed = jobs[0].failed != JOB_NONE;
        x->text =
            arena_printf(&a->arena,
                         "%zu logs agree in every figure: the same seed and data order repeat everything, "
                         "or it is one log; run another seed",
                         same + 1);
        return;
    }
    collect_failures(&c, a);
    x->runs_failed = (double)c.n_failures;
    x->steps = arena_alloc(&a->arena, (c.n + 1) * sizeof *x->steps);
    for (size_t i = 0; i < c.n; i++)
        if (!isnan(c.runs[i].step))
            x->steps[x->n_steps++] = c.runs[i].step;
    compare_steps(&c, a, x);
    c.content = (struct content){.p = NAN, .by = BY_SHAPE};
    if (c.n >= 2)
        content_compare(&c.content, &a->arena, c.runs, c.n, step_repeats(&c, a, step_limit(&c)));
    x->step_reproducible = step_repeats(&c, a, step_limit(&c));
    x->batch_reproducible = c.content.repeated;
    x->by = c.content.by;
    x->shared_ids = c.content.by == BY_BATCH_IDS ? c.content.shared : NULL;
    x->n_shared_ids = c.content.by == BY_BATCH_IDS ? c.content.n_shared : 0;
    x->p_chance = c.content.p;
    x->says = says_of(&c, x->step_reproducible, x->batch_reproducible);
    x->text = sentence(&a->arena, &c, x->says);
    const char *by_law = cross_law_text(a, c.jobs, c.n_jobs);
    if (by_law)
        x->text = arena_printf(&a->arena, "%s; %s", x->text, by_law);
    weigh_verdict(&a->verdict, &c, x->says);
}

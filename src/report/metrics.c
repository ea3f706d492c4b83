/* metrics.txt in the OpenMetrics text format 1.0. */
#include "base/num.h"
#include "report/ci.h"
#include "report/escape.h"
#include "report/facts.h"

#include <math.h>

enum {
    RUNS_MAX = 64, /* above this a line for each run, not for each of its ranks */
    LABEL_MAX = 200
};

struct out {
    struct buf *b;
    struct arena a;
    const struct analysis *an;
};

/* A label's value: escaped as the format asks, and without what may not be shown. */
static void put_value(struct out *o, const char *text)
{
    struct buf plain = {0};

    escape_ascii(&plain, str_of(words_short(&o->a, text, LABEL_MAX)));
    for (size_t i = 0; i < plain.n; i++) {
        if (plain.p[i] == '"' || plain.p[i] == '\\')
            buf_putc(o->b, '\\');
        buf_putc(o->b, plain.p[i]);
    }
    buf_release(&plain);
}

static void put_label(struct out *o, bool *first, const char *name, const char *value)
{
    buf_printf(o->b, "%s%s=\"", *first ? "{" : ",", name);
    put_value(o, value);
    buf_putc(o->b, '"');
    *first = false;
}

static void put_run(struct out *o, const char *family, const struct run_report *r, bool rank, double v)
{
    bool first = true;

    if (!isfinite(v))
        return;
    buf_puts(o->b, family);
    put_label(o, &first, "run", r->run ? r->run : "");
    if (!isnan(r->seed))
        put_label(o, &first, "seed", words_number(&o->a, r->seed));
    if (rank && !isnan(r->rank))
        put_label(o, &first, "rank", words_number(&o->a, r->rank));
    buf_puts(o->b, "} ");
    num_put(o->b, v);
    buf_putc(o->b, '\n');
}

static void put_family(struct out *o, const char *name, const char *type, const char *unit, const char *help)
{
    buf_printf(o->b, "# TYPE %s %s\n", name, type);
    if (unit)
        buf_printf(o->b, "# UNIT %s %s\n", name, unit);
    buf_printf(o->b, "# HELP %s %s\n", name, help);
}

static double peak_of(const struct run_report *r)
{
    return r->traits.peak_bytes;
}

static double headroom_of(const struct run_report *r)
{
    return r->capacity_bytes - r->traits.peak_bytes;
}

static double growth_of(const struct run_report *r)
{
    return r->has_leak ? r->leak.slope_bytes_per_step : NAN;
}

static double ooms_of(const struct run_report *r)
{
    return r->survived_ooms + (r->outcome == OUTCOME_OOM);
}

/* The worst rank of the run that begins at i, and where the next one begins. */
static double worst_of(const struct analysis *an, size_t i, size_t *next,
                       double (*figure)(const struct run_report *), bool least)
{
    const struct run_report *r = &an->runs[i];
    double worst = figure(r);

    for (*next = i + 1; *next < an->n_runs && strcmp(an->runs[*next].run, r->run) == 0; (*next)++) {
        double v = figure(&an->runs[*next]);
        worst = least ? fmin(worst, v) : fmax(worst, v);
    }
    return worst;
}

static void put_figures(struct out *o, const char *sample, double (*figure)(const struct run_report *),
                        bool least)
{
    size_t next;

    for (size_t i = 0; i < o->an->n_runs && o->an->n_runs <= RUNS_MAX; i++)
        put_run(o, sample, &o->an->runs[i], true, figure(&o->an->runs[i]));
    for (size_t i = 0, n = 0; i < o->an->n_runs && o->an->n_runs > RUNS_MAX && n < RUNS_MAX; i = next, n++)
        put_run(o, sample, &o->an->runs[i], false, worst_of(o->an, i, &next, figure, least));
}

static void put_verdict(struct out *o, const char *label)
{
    const struct verdict *v = &o->an->verdict;
    bool first = true;

    put_family(o, "oomreport_verdict", "info", NULL, "What was found over all runs.");
    buf_puts(o->b, "oomreport_verdict_info");
    put_label(o, &first, "label", label);
    put_label(o, &first, "cause", cause_name(v->cause));
    put_label(o, &first, "subtype", subtype_name(v->subtype) ? subtype_name(v->subtype) : "");
    put_label(o, &first, "status", status_name(v->status));
    put_label(o, &first, "certainty", certainty_name(v->certainty));
    buf_puts(o->b, "} 1\n");
}

static void put_gates(struct out *o)
{
    if (o->an->n_gates == 0)
        return;
    put_family(o, "oomreport_gate_failed", "gauge", NULL, "1: the gate failed; 0: it passed.");
    for (size_t i = 0; i < o->an->n_gates; i++) {
        const struct gate *g = &o->an->gates[i];
        bool first = true;

        if (g->result == GATE_NOT_TESTABLE)
            continue;
        buf_puts(o->b, "oomreport_gate_failed");
        put_label(o, &first, "gate", g->id);
        buf_printf(o->b, "} %d\n", g->result == GATE_FAIL);
    }
}

void ci_metrics(struct buf *out, const struct report_content *c, const struct report_settings *s)
{
    struct out o = {.b = out, .an = c->analysis};
    size_t failed = facts_failed_runs(c->analysis), same = facts_same_batch(c->analysis);

    arena_init(&o.a);
    put_verdict(&o, facts_label(&o.a, c->analysis, s->label));
    put_family(&o, "oomreport_peak_bytes", "gauge", "bytes", "Largest memory figure of the run.");
    put_figures(&o, "oomreport_peak_bytes", peak_of, false);
    put_family(&o, "oomreport_headroom_bytes", "gauge", "bytes", "Capacity less the largest figure.");
    put_figures(&o, "oomreport_headroom_bytes", headroom_of, true);
    put_family(&o, "oomreport_growth_bytes_per_step", "gauge", "bytes_per_step",
               "Slope of memory over the steps, beyond what the batches explain.");
    put_figures(&o, "oomreport_growth_bytes_per_step", growth_of, false);
    put_family(&o, "oomreport_oom", "counter", NULL, "Out-of-memory errors, survived ones too.");
    put_figures(&o, "oomreport_oom_total", ooms_of, false);
    if (failed >= 2) {
        put_family(&o, "oomreport_same_batch_ratio", "gauge", "ratio",
                   "Of the failed runs, those that failed on the same batch.");
        buf_puts(out, "oomreport_same_batch_ratio ");
        num_put(out, same > 1 ? (double)same / (double)failed : 0);
        buf_putc(out, '\n');
    }
    put_gates(&o);
    buf_puts(out, "# EOF\n");
    arena_release(&o.a);
}

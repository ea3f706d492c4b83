#include "report/json.h"
#include "base/mem.h"
#include "report/json_snapshot.h"

#include <math.h>
#include <stdlib.h>

enum {
    RUNS_IN_FULL = 64,
    LEAST_HEADROOM = 10,
    /* points of a column that a run carries for merging */
    POINTS_ALL = 1200,
    POINTS_MOST = 240,
    POINTS_LEAST = 24
};

void json_verdict(struct json *j, const char *key, const struct verdict *v)
{
    json_open(j, key, '{');
    json_text(j, "cause", cause_name(v->cause));
    json_text(j, "subtype", subtype_name(v->subtype));
    json_text(j, "status", status_name(v->status));
    json_number(j, "confidence", isnan(v->confidence) ? 0 : v->confidence);
    json_text(j, "certainty", certainty_name(v->certainty));
    json_text(j, "summary", v->summary ? v->summary : "");
    json_text(j, "fix", v->fix ? v->fix : "");
    json_open(j, "try", '[');
    for (size_t i = 0; i < v->n_advice; i++) {
        json_open(j, NULL, '{');
        json_text(j, "text", v->advice[i].text ? v->advice[i].text : "");
        json_text(j, "effort", effort_name(v->advice[i].effort));
        json_whole(j, "saving_bytes", v->advice[i].saving_bytes);
        json_close(j, '}');
    }
    json_close(j, ']');
    json_text(j, "counterfactual", v->counterfactual);
    if (v->has_runner_up) {
        json_open(j, "runner_up", '{');
        json_text(j, "cause", cause_name(v->runner_up));
        json_number(j, "confidence", isnan(v->runner_up_confidence) ? 0 : v->runner_up_confidence);
        json_text(j, "why_not", v->runner_up_why_not ? v->runner_up_why_not : "");
        json_close(j, '}');
    } else {
        json_null(j, "runner_up");
    }
    json_text(j, "next_run", v->next_run);
    json_close(j, '}');
}

static void put_cross(struct json *j, const struct analysis *an)
{
    const struct cross_run *c = &an->cross;

    if (!an->has_cross) {
        json_null(j, "cross_run");
        return;
    }
    json_open(j, "cross_run", '{');
    json_whole(j, "runs_failed", c->runs_failed);
    json_whole(j, "runs_total", c->runs_total);
    json_open(j, "failing_step", '{');
    json_bool(j, "reproducible", c->step_reproducible);
    json_open_flat(j, "steps", '[');
    for (size_t i = 0; i < c->n_steps; i++)
        json_whole(j, NULL, c->steps[i]);
    json_close(j, ']');
    json_whole(j, "spread_steps", c->spread_steps);
    json_close(j, '}');
    json_open(j, "failing_batch", '{');
    json_bool(j, "reproducible", c->batch_reproducible);
    json_text(j, "by", batch_by_name(c->by));
    json_open_flat(j, "shared_ids", '[');
    for (size_t i = 0; i < c->n_shared_ids && !an->ids_hidden; i++)
        json_text(j, NULL, c->shared_ids[i]);
    json_close(j, ']');
    json_number(j, "p_chance", c->p_chance);
    json_close(j, '}');
    json_text(j, "says", cross_says_name(c->says));
    json_text(j, "text", c->text ? c->text : "");
    json_close(j, '}');
}

static void put_inputs(struct json *j, const struct report_content *c)
{
    json_open(j, "inputs", '[');
    for (size_t i = 0; i < c->n_inputs; i++) {
        const struct input_info *in = &c->inputs[i];

        json_open(j, NULL, '{');
        json_text(j, "name", in->name ? in->name : "");
        json_text(j, "format", in->format);
        json_u64(j, "records", in->records);
        json_u64(j, "skipped", in->skipped);
        json_open(j, "notes", '[');
        for (size_t k = 0; k < in->n_notes; k++) {
            json_open_flat(j, NULL, '{');
            if (in->notes[k].line)
                json_u64(j, "line", in->notes[k].line);
            else
                json_null(j, "line");
            json_text(j, "code", in->notes[k].code);
            json_text(j, "text", in->notes[k].text);
            json_close(j, '}');
        }
        json_close(j, ']');
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void put_ranks(struct json *j, const struct analysis *an)
{
    if (!an->ranks) {
        json_null(j, "ranks");
        return;
    }
    json_open(j, "ranks", '[');
    for (size_t i = 0; i < an->n_ranks; i++) {
        const struct rank_row *r = &an->ranks[i];

        json_open_flat(j, NULL, '{');
        json_text(j, "run", r->run ? r->run : "");
        json_whole(j, "rank", r->rank);
        json_text(j, "outcome", outcome_name(r->outcome));
        json_whole(j, "last_step", r->last_step);
        json_whole(j, "peak_bytes", r->peak_bytes);
        json_whole(j, "headroom_bytes", r->headroom_bytes);
        json_number(j, "slope_bytes_per_step", r->slope_bytes_per_step);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void put_what_if(struct json *j, const struct analysis *an)
{
    if (an->n_what_if == 0) {
        json_null(j, "what_if");
        return;
    }
    json_open(j, "what_if", '[');
    for (size_t i = 0; i < an->n_what_if; i++) {
        const struct what_if_answer *w = &an->what_if[i];

        json_open(j, NULL, '{');
        json_text(j, "change", w->change);
        json_text(j, "text", w->text);
        if (w->fits < 0)
            json_null(j, "fits");
        else
            json_bool(j, "fits", w->fits);
        json_whole(j, "predicted_bytes", w->predicted_bytes);
        json_close(j, '}');
    }
    json_close(j, ']');
}

/* --- which runs stand in full ------------------------------------------------------- */

struct candidate {
    size_t at;
    double failed_step; /* NAN unless it failed */
    double headroom;    /* NAN unknown */
};

static int number_order(double a, double b)
{
    if (isnan(a) || isnan(b))
        return isnan(a) - isnan(b);
    return (a > b) - (a < b);
}

static int by_failure(const void *pa, const void *pb)
{
    const struct candidate *a = pa, *b = pb;
    int o = number_order(a->failed_step, b->failed_step);

    return o ? o : (a->at > b->at) - (a->at < b->at);
}

static int by_headroom(const void *pa, const void *pb)
{
    const struct candidate *a = pa, *b = pb;
    int o = number_order(a->headroom, b->headroom);

    return o ? o : (a->at > b->at) - (a->at < b->at);
}

static double headroom_of(const struct analysis *an, const struct run_report *r)
{
    if (r->has_capacity)
        return r->capacity.headroom_bytes;
    for (size_t i = 0; i < an->n_ranks; i++)
        if (an->ranks[i].rank == r->rank && an->ranks[i].run && r->run &&
            strcmp(an->ranks[i].run, r->run) == 0)
            return an->ranks[i].headroom_bytes;
    return NAN;
}

/* keep[i]: whether run i stands in "runs". Above RUNS_IN_FULL ranks: those that failed first, those
 * with least headroom and the median one. */
static void choose_runs(bool *keep, const struct analysis *an)
{
    if (an->n_ranks <= RUNS_IN_FULL) {
        for (size_t i = 0; i < an->n_runs; i++)
            keep[i] = true;
        return;
    }
    struct candidate *c = mem_zero(an->n_runs, sizeof *c);
    for (size_t i = 0; i < an->n_runs; i++) {
        const struct run_report *r = &an->runs[i];
        bool failed = r->outcome == OUTCOME_OOM || r->outcome == OUTCOME_KILLED;

        c[i] = (struct candidate){i, failed && r->has_failure ? r->failure.step : NAN, headroom_of(an, r)};
    }
    if (an->lead < an->n_runs)
        keep[an->lead] = true;
    qsort(c, an->n_runs, sizeof *c, by_failure);
    for (size_t i = 0; i < an->n_runs && i < LEAST_HEADROOM && c[i].failed_step == c[0].failed_step; i++)
        keep[c[i].at] = true;
    qsort(c, an->n_runs, sizeof *c, by_headroom);
    for (size_t i = 0; i < an->n_runs && i < LEAST_HEADROOM; i++)
        keep[c[i].at] = true;
    keep[c[an->n_runs / 2].at] = true;
    free(c);
}

static void put_runs(struct json *j, const struct analysis *an)
{
    bool *keep = mem_zero(an->n_runs + 1, sizeof *keep);

    choose_runs(keep, an);
    json_open(j, "runs", '[');
    size_t kept = 0;
    for (size_t i = 0; i < an->n_runs; i++)
        kept += keep[i];
    size_t points = kept < 4 ? POINTS_MOST : POINTS_ALL / kept;
    points = points > POINTS_MOST ? POINTS_MOST : points < POINTS_LEAST ? POINTS_LEAST : points;
    for (size_t i = 0; i < an->n_runs; i++)
        if (keep[i])
            json_run(j, &an->runs[i], points);
    json_close(j, ']');
    free(keep);
}

void json_report(struct buf *out, const struct report_content *c)
{
    struct json j = {.out = out, .empty = true};
    const struct analysis *an = c->analysis;

    json_open(&j, NULL, '{');
    json_text(&j, "schema", "oomreport/1");
    json_open_flat(&j, "tool", '{');
    json_text(&j, "name", "oomreport");
    json_text(&j, "version", OOMREPORT_VERSION);
    json_close(&j, '}');
    json_verdict(&j, "verdict", &an->verdict);
    put_runs(&j, an);
    put_cross(&j, an);
    json_together(&j, an);
    put_inputs(&j, c);
    json_open(&j, "quality", '[');
    for (size_t i = 0; i < an->n_quality; i++) {
        json_open_flat(&j, NULL, '{');
        json_text(&j, "code", an->quality[i].code);
        json_text(&j, "text", an->quality[i].text);
        json_close(&j, '}');
    }
    json_close(&j, ']');
    put_ranks(&j, an);
    json_gates(&j, an);
    put_what_if(&j, an);
    json_close(&j, '}');
    buf_putc(out, '\n');
}

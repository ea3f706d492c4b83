#include "report/json.h"
#include "report/json_snapshot.h"
#include "report/words.h"

#include <math.h>

static void put_place(struct json *j, const char *key, struct place at)
{
    struct arena a = {0};

    json_text(j, key, words_place(&a, at));
    arena_release(&a);
}

/* "8812;9" in CSV form as ["8812", "9"]. */
void json_ids(struct json *j, const char *key, const char *ids)
{
    struct buf id = {0};

    if (!ids) {
        json_null(j, key);
        return;
    }
    json_open_flat(j, key, '[');
    for (const char *p = ids; *ids; p++) {
        if (*p == '\\' && p[1]) {
            buf_putc(&id, *++p);
        } else if (*p == ';' || *p == '\0') {
            json_text(j, NULL, id.p ? id.p : "");
            buf_clear(&id);
            if (*p == '\0')
                break;
        } else {
            buf_putc(&id, *p);
        }
    }
    json_close(j, ']');
    buf_release(&id);
}

static void put_failure(struct json *j, const struct run_report *r)
{
    const struct failure *f = &r->failure;

    if (!r->has_failure) {
        json_null(j, "failure");
        return;
    }
    json_open(j, "failure", '{');
    json_whole(j, "step", f->step);
    json_number(j, "epoch", f->epoch);
    json_text(j, "phase", f->phase);
    json_open(j, "batch", '{');
    json_whole(j, "batch_size", f->batch_size);
    json_whole(j, "max_len", f->max_len);
    json_whole(j, "tokens", f->tokens);
    json_whole(j, "height", f->height);
    json_whole(j, "width", f->width);
    json_ids(j, "batch_ids", f->ids_hidden ? NULL : f->batch_ids);
    json_text(j, "batch_hash", f->ids_hidden ? NULL : f->batch_hash);
    json_close(j, '}');
    json_whole(j, "requested_bytes", f->requested_bytes);
    json_whole(j, "free_bytes", f->free_bytes);
    json_whole(j, "total_bytes", f->total_bytes);
    json_whole(j, "allocated_bytes", f->allocated_bytes);
    json_whole(j, "reserved_bytes", f->reserved_bytes);
    json_whole(j, "this_process_bytes", f->this_process_bytes);
    json_whole(j, "other_process_bytes", f->other_process_bytes);
    json_open(j, "processes", '[');
    for (size_t i = 0; i < f->n_processes; i++) {
        json_open_flat(j, NULL, '{');
        json_u64(j, "pid", f->processes[i].pid);
        json_u64(j, "bytes", f->processes[i].bytes);
        json_close(j, '}');
    }
    json_close(j, ']');
    json_text(j, "message", f->message);
    put_place(j, "where", f->where);
    json_close(j, '}');
}

static void put_tables(struct json *j, const struct run_report *r)
{
    json_open(j, "phases", '[');
    for (size_t i = 0; i < r->n_phases; i++) {
        json_open_flat(j, NULL, '{');
        json_text(j, "phase", r->phases[i].phase ? r->phases[i].phase : "");
        json_whole(j, "n", r->phases[i].n);
        json_whole(j, "before_bytes", r->phases[i].before_bytes);
        json_whole(j, "peak_bytes", r->phases[i].peak_bytes);
        json_whole(j, "after_bytes", r->phases[i].after_bytes);
        json_close(j, '}');
    }
    json_close(j, ']');
    if (r->n_checkpoints == 0) {
        json_null(j, "checkpoints");
        return;
    }
    json_open(j, "checkpoints", '[');
    for (size_t i = 0; i < r->n_checkpoints; i++) {
        json_open_flat(j, NULL, '{');
        json_text(j, "label", r->checkpoints[i].label ? r->checkpoints[i].label : "");
        json_whole(j, "n", r->checkpoints[i].n);
        json_whole(j, "allocated_bytes", r->checkpoints[i].allocated_bytes);
        json_whole(j, "delta_bytes", r->checkpoints[i].delta_bytes);
        json_whole(j, "peak_bytes", r->checkpoints[i].peak_bytes);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void put_test(struct json *j, const struct test *t)
{
    json_open(j, NULL, '{');
    json_text(j, "id", t->id);
    json_number(j, "measured", t->measured);
    json_text(j, "unit", t->unit);
    json_number(j, "limit", t->limit);
    json_text(j, "says", says_name(t->says));
    json_text(j, "text", t->text ? t->text : "");
    put_place(j, "where", t->where);
    json_close(j, '}');
}

static void put_triage(struct json *j, const struct run_report *r)
{
    json_open(j, "triage", '[');
    for (int q = 0; q < Q_COUNT; q++) {
        json_open(j, NULL, '{');
        json_text(j, "question", question_name(r->triage[q].id));
        json_text(j, "answer", answer_name(r->triage[q].answer));
        json_open(j, "tests", '[');
        for (size_t i = 0; i < r->triage[q].n_tests; i++)
            put_test(j, &r->triage[q].tests[i]);
        json_close(j, ']');
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void put_leak(struct json *j, const struct run_report *r)
{
    const struct leak_figures *l = &r->leak;

    if (!r->has_leak) {
        json_null(j, "leak");
        return;
    }
    json_open(j, "leak", '{');
    json_number(j, "slope_bytes_per_step", l->slope_bytes_per_step);
    json_number(j, "slope_low", l->slope_low);
    json_number(j, "slope_high", l->slope_high);
    json_whole(j, "onset_step", l->onset_step);
    json_number(j, "share_of_growth", l->share_of_growth);
    json_whole(j, "retained_bytes", l->retained_bytes);
    json_number(j, "increment_vs_activation", l->increment_vs_activation);
    json_number(j, "slope_bytes_per_second", l->slope_bytes_per_second);
    json_number(j, "minimum_detectable_bytes_per_step", l->minimum_detectable_bytes_per_step);
    json_whole(j, "oom_step_forecast", l->oom_step_forecast);
    json_whole(j, "forecast_low", l->forecast_low);
    json_whole(j, "forecast_high", l->forecast_high);
    json_open(j, "backtest", '[');
    for (size_t i = 0; i < l->n_backtest; i++) {
        json_open_flat(j, NULL, '{');
        json_number(j, "at_share", l->backtest[i].at_share);
        json_whole(j, "step", l->backtest[i].step);
        json_whole(j, "low", l->backtest[i].low);
        json_whole(j, "high", l->backtest[i].high);
        json_close(j, '}');
    }
    json_close(j, ']');
    json_text(j, "column", l->column < F_COUNT ? field_name(l->column) : NULL);
    json_close(j, '}');
}

static void put_law(struct json *j, const struct peak_figures *p)
{
    if (!p->has_law) {
        json_null(j, "law");
        return;
    }
    json_open(j, "law", '{');
    json_number(j, "base_bytes", p->law.base_bytes);
    json_number(j, "per_token_bytes", p->law.per_token_bytes);
    json_number(j, "per_batch_len2_bytes", p->law.per_batch_len2_bytes);
    json_number(j, "r2", p->law.r2);
    json_whole(j, "n", p->law.n);
    json_text(j, "size_name", p->law.size_name);
    json_whole(j, "envelope_bytes", p->law.envelope_bytes);
    json_close(j, '}');
}

static void put_peak(struct json *j, const struct run_report *r)
{
    const struct peak_figures *p = &r->peak;

    if (!r->has_peak) {
        json_null(j, "peak");
        return;
    }
    json_open(j, "peak", '{');
    put_law(j, p);
    json_whole(j, "typical_bytes", p->typical_bytes);
    json_whole(j, "max_bytes", p->max_bytes);
    json_number(j, "failing_batch_percentile", p->failing_batch_percentile);
    json_whole(j, "failing_predicted_bytes", p->failing_predicted_bytes);
    json_number(j, "safe_tokens", p->safe_tokens);
    json_number(j, "safe_max_len", p->safe_max_len);
    json_number(j, "safe_batch_size", p->safe_batch_size);
    json_number(j, "safe_at_len", p->safe_at_len);
    json_number(j, "safe_margin", p->safe_margin);
    json_number(j, "safe_probability", p->safe_probability);
    json_whole(j, "corpus_max_predicted_bytes", p->corpus_max_predicted_bytes);
    json_number(j, "p_oom_next_epoch", p->p_oom_next_epoch);
    json_close(j, '}');
}

static void put_eval(struct json *j, const struct run_report *r)
{
    const struct eval_figures *e = &r->eval;

    if (!r->has_eval) {
        json_null(j, "eval");
        return;
    }
    json_open(j, "eval", '{');
    json_number(j, "cadence_steps", e->cadence_steps);
    json_whole(j, "passes", e->passes);
    json_whole(j, "peak_bytes", e->peak_bytes);
    json_whole(j, "train_peak_bytes", e->train_peak_bytes);
    json_number(j, "per_sample_ratio", e->per_sample_ratio);
    json_number(j, "batch_ratio", e->batch_ratio);
    json_whole(j, "kept_bytes", e->kept_bytes);
    json_close(j, '}');
}

static void put_capacity(struct json *j, const struct run_report *r)
{
    const struct capacity_figures *c = &r->capacity;

    if (!r->has_capacity) {
        json_null(j, "capacity");
        return;
    }
    json_open(j, "capacity", '{');
    json_number(j, "typical_share", c->typical_share);
    json_whole(j, "headroom_bytes", c->headroom_bytes);
    json_whole(j, "reserved_minus_allocated_bytes", c->reserved_minus_allocated_bytes);
    json_whole(j, "other_process_bytes", c->other_process_bytes);
    json_whole(j, "non_torch_bytes", c->non_torch_bytes);
    json_close(j, '}');
}

void json_run(struct json *j, const struct run_report *r, size_t points)
{
    json_open(j, NULL, '{');
    json_text(j, "run", r->run ? r->run : "");
    json_whole(j, "seed", r->seed);
    json_whole(j, "rank", r->rank);
    json_text(j, "source", r->source);
    json_text(j, "format", r->format);
    json_text(j, "device", r->device);
    json_whole(j, "capacity_bytes", r->capacity_bytes);
    json_whole(j, "steps", r->steps);
    json_whole(j, "first_step", r->first_step);
    json_whole(j, "last_step", r->last_step);
    json_number(j, "epochs", r->epochs);
    json_text(j, "outcome", outcome_name(r->outcome));
    json_whole(j, "survived_ooms", isnan(r->survived_ooms) ? 0 : r->survived_ooms);
    put_failure(j, r);
    put_tables(j, r);
    json_verdict(j, "verdict", &r->verdict);
    put_triage(j, r);
    put_leak(j, r);
    put_peak(j, r);
    put_eval(j, r);
    put_capacity(j, r);
    json_snapshot(j, r);
    json_merge(j, r, points);
    json_close(j, '}');
}

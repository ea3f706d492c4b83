/* past_run: the figures of a run, read back from report.json. The inverse of report/json_run.c. */
#include "read/past_json.h"

#include <math.h>

enum {
    LIST_MAX = 4096 /* items of a list that are read */
};

/* The names of an enumeration as a table of words. */
#define NAMES(kind, count)                                                                                   \
    static int word_##kind(const cJSON *o, const char *key, int unknown)                                     \
    {                                                                                                        \
        const char *names[count];                                                                            \
        for (int i = 0; i < (count); i++)                                                                    \
            names[i] = kind##_name(i);                                                                       \
        return past_word(o, key, names, count, unknown);                                                     \
    }
NAMES(cause, CAUSE_UNKNOWN + 1)
NAMES(status, STATUS_UNKNOWN + 1)
NAMES(certainty, CERTAINTY_CANNOT_TELL + 1)
NAMES(effort, EFFORT_REDESIGN + 1)
NAMES(answer, ANSWER_NOT_TESTABLE + 1)
NAMES(says, SAYS_NOTHING + 1)
NAMES(outcome, OUTCOME_UNKNOWN + 1)
NAMES(steps_by, STEPS_BY_PERIOD + 1)
NAMES(holder_at, HOLDER_AT_END + 1)
NAMES(category, CATEGORY_COUNT)

/* Two causes share the word "batch" and "eval" is both: the subtype is looked for among those of the cause.
 */
static enum subtype subtype_of(const cJSON *o, enum cause cause)
{
    static const enum subtype first[] = {SUB_STEP, SUB_LENGTH, SUB_EVAL_GRAD, SUB_SIZING, SUB_SAVE + 1};
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, "subtype");
    if (!cJSON_IsString(v) || cause >= CAUSE_NONE)
        return SUB_NONE;
    for (int s = (int)first[cause]; s < (int)first[cause + 1]; s++)
        if (strcmp(subtype_name((enum subtype)s), v->valuestring) == 0)
            return (enum subtype)s;
    return SUB_NONE;
}

void past_verdict(struct verdict *out, struct arena *a, const cJSON *o)
{
    size_t n;
    const cJSON *list = past_array(o, "try", &n, LIST_MAX), *v, *second = past_object(o, "runner_up");
    struct advice *advice = arena_alloc(a, (n + 1) * sizeof *advice);
    double confidence = past_number(o, "confidence");
    *out =
        (struct verdict){.cause = (enum cause)word_cause(o, "cause", CAUSE_UNKNOWN),
                         .status = (enum status)word_status(o, "status", STATUS_UNKNOWN),
                         .confidence = isnan(confidence) ? 0 : fmin(fmax(confidence, 0), 1),
                         .certainty = (enum certainty)word_certainty(o, "certainty", CERTAINTY_CANNOT_TELL),
                         .summary = past_text(a, o, "summary"),
                         .fix = past_text(a, o, "fix"),
                         .advice = advice,
                         .counterfactual = past_text(a, o, "counterfactual"),
                         .next_run = past_text(a, o, "next_run")};
    out->subtype = subtype_of(o, out->cause);
    out->summary = out->summary ? out->summary : "";
    out->fix = out->fix ? out->fix : "";
    cJSON_ArrayForEach(v, list)
    {
        const char *text = past_text(a, v, "text");
        if (text && out->n_advice < n)
            advice[out->n_advice++] = (struct advice){
                text, (enum effort)word_effort(v, "effort", EFFORT_CONFIG), past_number(v, "saving_bytes")};
    }
    out->has_runner_up = second != NULL;
    if (second) {
        out->runner_up = (enum cause)word_cause(second, "cause", CAUSE_UNKNOWN);
        out->runner_up_confidence = past_number(second, "confidence");
        out->runner_up_why_not = past_text(a, second, "why_not");
    }
}

static void read_failure(struct run_report *out, struct arena *a, const cJSON *run)
{
    size_t n;
    const cJSON *o = past_object(run, "failure"), *batch = past_object(o, "batch"), *v;
    const cJSON *list = past_array(o, "processes", &n, LIST_MAX);
    struct process_use *uses = arena_alloc(a, (n + 1) * sizeof *uses);
    struct failure *f = &out->failure;
    out->has_failure = o != NULL;
    *f = (struct failure){.step = past_number(o, "step"),
                          .epoch = past_number(o, "epoch"),
                          .phase = past_text(a, o, "phase"),
                          .batch_size = past_number(batch, "batch_size"),
                          .max_len = past_number(batch, "max_len"),
                          .tokens = past_number(batch, "tokens"),
                          .height = past_number(batch, "height"),
                          .width = past_number(batch, "width"),
                          .batch_ids = past_ids(a, batch, "batch_ids"),
                          .batch_hash = past_text(a, batch, "batch_hash"),
                          .requested_bytes = past_number(o, "requested_bytes"),
                          .free_bytes = past_number(o, "free_bytes"),
                          .total_bytes = past_number(o, "total_bytes"),
                          .allocated_bytes = past_number(o, "allocated_bytes"),
                          .reserved_bytes = past_number(o, "reserved_bytes"),
                          .this_process_bytes = past_number(o, "this_process_bytes"),
                          .other_process_bytes = past_number(o, "other_process_bytes"),
                          .processes = uses,
                          .message = past_text(a, o, "message"),
                          .where = past_place(a, o, "where")};
    cJSON_ArrayForEach(v, list)
    {
        double pid = past_number(v, "pid"), bytes = past_number(v, "bytes");
        if (pid >= 0 && bytes >= 0 && bytes < 0x1p63 && pid < 0x1p63 && f->n_processes < n)
            uses[f->n_processes++] = (struct process_use){(uint64_t)pid, (uint64_t)bytes};
    }
}

static void read_tables(struct run_report *out, struct arena *a, const cJSON *run)
{
    size_t n, m;
    const cJSON *list = past_array(run, "phases", &n, LIST_MAX), *v;
    const cJSON *points = past_array(run, "checkpoints", &m, LIST_MAX);
    out->phases = arena_alloc(a, (n + 1) * sizeof *out->phases);
    cJSON_ArrayForEach(v, list) if (out->n_phases < n) out->phases[out->n_phases++] =
        (struct phase_row){past_text(a, v, "phase"), past_number(v, "n"), past_number(v, "before_bytes"),
                           past_number(v, "peak_bytes"), past_number(v, "after_bytes")};
    if (m > 0)
        out->checkpoints = arena_alloc(a, m * sizeof *out->checkpoints);
    cJSON_ArrayForEach(v, points) if (out->n_checkpoints < m) out->checkpoints[out->n_checkpoints++] =
        (struct checkpoint_row){past_text(a, v, "label"), past_number(v, "n"),
                                past_number(v, "allocated_bytes"), past_number(v, "delta_bytes"),
                                past_number(v, "peak_bytes")};
}

static void read_triage(struct run_report *out, struct arena *a, const cJSON *run)
{
    size_t n, m;
    const cJSON *list = past_array(run, "triage", &n, Q_COUNT), *v, *t;
    for (int q = 0; q < Q_COUNT; q++) {
        out->triage[q].id = (enum question_id)q;
        out->triage[q].answer = ANSWER_NOT_TESTABLE;
    }
    cJSON_ArrayForEach(v, list)
    {
        const char *id = past_text(a, v, "question");
        int q = 0;
        while (id && q < Q_COUNT && strcmp(id, question_name((enum question_id)q)) != 0)
            q++;
        if (!id || q == Q_COUNT || out->triage[q].tests)
            continue;
        struct question *to = &out->triage[q];
        const cJSON *tests = past_array(v, "tests", &m, 64);
        to->answer = (enum answer)word_answer(v, "answer", ANSWER_NOT_TESTABLE);
        to->tests = arena_alloc(a, (m + 1) * sizeof *to->tests);
        cJSON_ArrayForEach(t, tests)
        {
            struct test test = {past_text(a, t, "id"),
                                past_number(t, "measured"),
                                past_text(a, t, "unit"),
                                past_number(t, "limit"),
                                (enum says)word_says(t, "says", SAYS_NOTHING),
                                past_text(a, t, "text"),
                                past_place(a, t, "where")};
            if (test.id && test.unit && to->n_tests < m)
                to->tests[to->n_tests++] = test;
        }
    }
}

static void read_leak(struct run_report *out, const cJSON *run)
{
    size_t n;
    const cJSON *o = past_object(run, "leak"), *v, *list = past_array(o, "backtest", &n, 3);
    const cJSON *column = cJSON_GetObjectItemCaseSensitive(o, "column");
    struct leak_figures *l = &out->leak;
    out->has_leak = o != NULL;
    *l = (struct leak_figures){
        .slope_bytes_per_step = past_number(o, "slope_bytes_per_step"),
        .slope_low = past_number(o, "slope_low"),
        .slope_high = past_number(o, "slope_high"),
        .onset_step = past_number(o, "onset_step"),
        .share_of_growth = past_number(o, "share_of_growth"),
        .retained_bytes = past_number(o, "retained_bytes"),
        .increment_vs_activation = past_number(o, "increment_vs_activation"),
        .slope_bytes_per_second = past_number(o, "slope_bytes_per_second"),
        .minimum_detectable_bytes_per_step = past_number(o, "minimum_detectable_bytes_per_step"),
        .oom_step_forecast = past_number(o, "oom_step_forecast"),
        .forecast_low = past_number(o, "forecast_low"),
        .forecast_high = past_number(o, "forecast_high"),
        .column = cJSON_IsString(column) ? field_find(str_of(column->valuestring)) : F_COUNT,
        .fit_step0 = NAN,
        .fit_bytes0 = NAN};
    cJSON_ArrayForEach(v, list) if (l->n_backtest < n) l->backtest[l->n_backtest++] = (struct backtest){
        past_number(v, "at_share"), past_number(v, "step"), past_number(v, "low"), past_number(v, "high")};
}

static void read_law(struct peak_figures *p, struct arena *a, const cJSON *o)
{
    static const struct {
        const char *name;
        enum field field;
    } sizes[] = {{"tokens", F_TOKENS}, {"batch x max_len", F_MAX_LEN}, {"batch x pixels", F_WIDTH}};
    const char *name = past_text(a, o, "size_name");
    p->has_law = o && name;
    p->law = (struct law){past_number(o, "base_bytes"),
                          past_number(o, "per_token_bytes"),
                          past_number(o, "per_batch_len2_bytes"),
                          past_number(o, "r2"),
                          past_number(o, "n"),
                          F_COUNT,
                          name,
                          past_number(o, "envelope_bytes")};
    for (size_t i = 0; name && i < sizeof sizes / sizeof *sizes; i++)
        if (strcmp(name, sizes[i].name) == 0)
            p->law.size_field = sizes[i].field;
}

static void read_peak(struct run_report *out, struct arena *a, const cJSON *run)
{
    const cJSON *o = past_object(run, "peak");
    out->has_peak = o != NULL;
    out->peak =
        (struct peak_figures){.typical_bytes = past_number(o, "typical_bytes"),
                              .max_bytes = past_number(o, "max_bytes"),
                              .failing_batch_percentile = past_number(o, "failing_batch_percentile"),
                              .failing_predicted_bytes = past_number(o, "failing_predicted_bytes"),
                              .safe_tokens = past_number(o, "safe_tokens"),
                              .safe_max_len = past_number(o, "safe_max_len"),
                              .safe_batch_size = past_number(o, "safe_batch_size"),
                              .safe_at_len = past_number(o, "safe_at_len"),
                              .safe_margin = past_number(o, "safe_margin"),
                              .safe_probability = past_number(o, "safe_probability"),
                              .corpus_max_predicted_bytes = past_number(o, "corpus_max_predicted_bytes"),
                              .p_oom_next_epoch = past_number(o, "p_oom_next_epoch")};
    read_law(&out->peak, a, past_object(o, "law"));
}

static void read_eval_and_capacity(struct run_report *out, const cJSON *run)
{
    const cJSON *e = past_object(run, "eval"), *c = past_object(run, "capacity");
    out->has_eval = e != NULL;
    out->eval = (struct eval_figures){past_number(e, "cadence_steps"),    past_number(e, "passes"),
                                      past_number(e, "peak_bytes"),       past_number(e, "train_peak_bytes"),
                                      past_number(e, "per_sample_ratio"), past_number(e, "batch_ratio"),
                                      past_number(e, "kept_bytes")};
    out->has_capacity = c != NULL;
    out->capacity =
        (struct capacity_figures){past_number(c, "typical_share"), past_number(c, "headroom_bytes"),
                                  past_number(c, "reserved_minus_allocated_bytes"),
                                  past_number(c, "other_process_bytes"), past_number(c, "non_torch_bytes")};
}

static void read_holders(struct run_report *out, struct arena *a, const cJSON *run)
{
    size_t n, m;
    const cJSON *list = past_array(run, "memory_holders", &n, LIST_MAX), *v, *frame;
    const cJSON *blame = past_object(run, "blame");
    out->holders = arena_alloc(a, (n + 1) * sizeof *out->holders);
    cJSON_ArrayForEach(v, list)
    {
        if (out->n_holders == n)
            break;
        struct holder *h = &out->holders[out->n_holders++];
        const cJSON *stack = past_array(v, "stack", &m, 256);
        *h = (struct holder){.at = (enum holder_at)word_holder_at(v, "at", HOLDER_AT_PEAK),
                             .site = past_text(a, v, "site"),
                             .frame = UINT32_MAX, /* of a trace, which a report has not */
                             .stack = arena_alloc(a, (m + 1) * sizeof *h->stack),
                             .bytes = past_number(v, "bytes"),
                             .count = past_number(v, "count"),
                             .share = past_number(v, "share"),
                             .growth_bytes_per_step = past_number(v, "growth_bytes_per_step"),
                             .category = (enum category)word_category(v, "category", CATEGORY_UNKNOWN)};
        cJSON_ArrayForEach(frame, stack) if (cJSON_IsString(frame) && h->n_stack < m) h->stack[h->n_stack++] =
            arena_strndup(a, frame->valuestring, strlen(frame->valuestring));
    }
    out->has_blame = blame != NULL;
    out->blame = (struct blame){past_text(a, blame, "site"), UINT32_MAX, past_number(blame, "bytes"),
                                past_number(blame, "share"), past_number(blame, "growth_bytes_per_step")};
}

static void read_snapshot(struct run_report *out, struct arena *a, const cJSON *run)
{
    const cJSON *o = past_object(run, "snapshot"), *oom = past_object(o, "oom");
    out->has_snapshot = o != NULL;
    if (!o)
        return;
    out->snapshot =
        (struct snapshot_figures){.device = past_number(o, "device"),
                                  .events = past_number(o, "events"),
                                  .unmatched_frees = past_number(o, "unmatched_frees"),
                                  .truncated = past_bool(o, "truncated"),
                                  .steps_found = past_number(o, "steps_found"),
                                  .steps_by = (enum steps_by)word_steps_by(o, "steps_by", STEPS_BY_NONE),
                                  .peak_bytes = past_number(o, "peak_bytes"),
                                  .peak_event = past_number(o, "peak_event"),
                                  .live_bytes_at_end = past_number(o, "live_bytes_at_end"),
                                  .allocated_bytes = past_number(o, "allocated_bytes"),
                                  .reserved_bytes = past_number(o, "reserved_bytes"),
                                  .inactive_split_bytes = past_number(o, "inactive_split_bytes"),
                                  .largest_free_block_bytes = past_number(o, "largest_free_block_bytes"),
                                  .has_oom = oom != NULL,
                                  .oom_event = past_number(oom, "event"),
                                  .oom_requested_bytes = past_number(oom, "requested_bytes"),
                                  .oom_device_free_bytes = past_number(oom, "device_free_bytes"),
                                  .oom_live_bytes = past_number(oom, "live_bytes"),
                                  .oom_reserved_bytes = NAN,
                                  .max_split_size_bytes = NAN};
    read_holders(out, a, run);
}

void past_run(struct run_report *out, bool *merged, struct arena *a, const cJSON *o)
{
    const char *run = past_text(a, o, "run"), *source = past_text(a, o, "source"),
               *format = past_text(a, o, "format");
    double survived = past_number(o, "survived_ooms");
    *out = (struct run_report){.run = run ? run : "",
                               .source = source ? source : "",
                               .format = format ? format : "",
                               .device = past_text(a, o, "device"),
                               .seed = past_number(o, "seed"),
                               .rank = past_number(o, "rank"),
                               .capacity_bytes = past_number(o, "capacity_bytes"),
                               .steps = past_number(o, "steps"),
                               .first_step = past_number(o, "first_step"),
                               .last_step = past_number(o, "last_step"),
                               .epochs = past_number(o, "epochs"),
                               .outcome = (enum outcome)word_outcome(o, "outcome", OUTCOME_UNKNOWN),
                               .survived_ooms = isnan(survived) ? 0 : survived};
    read_failure(out, a, o);
    read_tables(out, a, o);
    past_verdict(&out->verdict, a, past_object(o, "verdict"));
    read_triage(out, a, o);
    read_leak(out, o);
    read_peak(out, a, o);
    read_eval_and_capacity(out, o);
    read_snapshot(out, a, o);
    const cJSON *merge = past_object(o, "merge");
    past_merge(out, a, merge);
    *merged = merge != NULL;
}

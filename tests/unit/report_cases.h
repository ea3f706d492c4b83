/* report_cases: analyses made by hand, for the tests of the report layer. */
#ifndef OOMREPORT_TESTS_REPORT_CASES_H
#define OOMREPORT_TESTS_REPORT_CASES_H

#include "report/report.h"

#include <math.h>
#include <stdio.h>

#define CASE_GIB 1073741824.0
#define CASE_MIB 1048576.0

enum case_kind {
    CASE_LEAK,
    CASE_LEAK_SEEDS,
    CASE_PEAK,
    CASE_EVAL,
    CASE_OK,
    CASE_UNKNOWN_CAUSE,
    CASE_RANKS,
    CASE_HOSTILE,
    CASE_EMPTY,
    CASE_COUNT
};

static const char *const case_names[CASE_COUNT] = {"leak",    "seeds", "peak",    "eval", "ok",
                                                   "unknown", "ranks", "hostile", "empty"};

/* Text that would do harm if it were taken for markup. */
#define CASE_HOSTILE_TEXT                                                                                    \
    "<script>alert(1)</script>|`x`](http://evil) @team #7 \"q\" 'a' \x1b[31m \x07 \xff\xfe ]]> {{title}} "   \
    "\xE2\x80\xAE end"

struct report_case {
    struct analysis analysis;
    struct series *series[80];
    size_t n_series;
    struct input_info inputs[2];
    struct report_content content;
    struct report_settings settings;
};

static struct series *case_series(struct report_case *c, enum case_kind kind, int seed, int rank, int rows)
{
    struct series *s = series_new();

    for (int i = 0; i < rows; i++) {
        struct record r = {0};
        bool eval = kind == CASE_EVAL && i % 100 >= 95;
        double wave = (i * 7919 + seed * 104729 + rank * 31) % 1000 / 1000.0;
        double floor =
            90 * CASE_GIB + (kind == CASE_LEAK || kind == CASE_LEAK_SEEDS ? i * 44.0 / rows * CASE_GIB : 0);
        double size = 2000 + 2000 * wave * wave * wave;

        record_set_u(&r, F_STEP, (uint64_t)i);
        record_set_u(&r, F_ALLOCATED, (uint64_t)floor);
        record_set_u(&r, F_PEAK, (uint64_t)(floor + (eval ? 40 : size / 1000) * CASE_GIB));
        record_set_u(&r, F_RESERVED, (uint64_t)(floor + 6 * CASE_GIB));
        record_set_u(&r, F_TOKENS, (uint64_t)(8 * size));
        record_set_u(&r, F_BATCH_SIZE, 8);
        record_set_u(&r, F_MAX_LEN, (uint64_t)size);
        record_set_d(&r, F_TIME, 1795828320.0 + i * 2);
        if (eval)
            record_set_s(&r, F_PHASE, STR_LIT("eval"));
        series_append(s, &r);
    }
    series_seal(s);
    c->series[c->n_series++] = s;
    return s;
}

static struct failure case_no_figures(void)
{
    return (struct failure){.step = NAN,
                            .epoch = NAN,
                            .batch_size = NAN,
                            .max_len = NAN,
                            .tokens = NAN,
                            .height = NAN,
                            .width = NAN,
                            .requested_bytes = NAN,
                            .free_bytes = NAN,
                            .total_bytes = NAN,
                            .allocated_bytes = NAN,
                            .reserved_bytes = NAN,
                            .this_process_bytes = NAN,
                            .other_process_bytes = NAN};
}

static void case_failure(struct run_report *r, double step, const char *phase, const char *ids)
{
    static const struct process_use other[] = {{4711, (uint64_t)(1.1 * CASE_GIB)}};

    r->outcome = OUTCOME_OOM;
    r->has_failure = true;
    r->failure = case_no_figures();
    r->failure.step = step;
    r->failure.epoch = 3.25;
    r->failure.phase = phase;
    r->failure.batch_ids = ids;
    r->failure.batch_size = 8;
    r->failure.max_len = 4096;
    r->failure.tokens = 32768;
    r->failure.requested_bytes = 2.12 * CASE_GIB;
    r->failure.free_bytes = 0.71 * CASE_GIB;
    r->failure.total_bytes = 139.8 * CASE_GIB;
    r->failure.allocated_bytes = 134.4 * CASE_GIB;
    r->failure.reserved_bytes = 136.9 * CASE_GIB;
    r->failure.this_process_bytes = 138.0 * CASE_GIB;
    r->failure.other_process_bytes = 1.1 * CASE_GIB;
    r->failure.processes = other;
    r->failure.n_processes = 1;
    r->failure.message =
        "CUDA out of memory. Tried to allocate 2.12 GiB. GPU 0 has a total capacity of 139.80 GiB of "
        "which 727.00 MiB is free. Process 4711 has 1.10 GiB memory in use.";
    r->failure.where = (struct place){"seed3.jsonl", 601, 0};
}

static struct test *case_test(struct arena *a, struct question *q, size_t n)
{
    q->tests = arena_alloc(a, n * sizeof *q->tests);
    q->n_tests = n;
    return q->tests;
}

static void case_triage(struct arena *a, struct run_report *r, enum cause cause)
{
    static const enum cause of[Q_COUNT] = {CAUSE_LEAK, CAUSE_PEAK, CAUSE_EVAL, CAUSE_CAPACITY};

    for (int i = 0; i < Q_COUNT; i++) {
        struct question *q = &r->triage[i];
        bool yes = of[i] == cause;
        struct test *t = case_test(a, q, i == 2 ? 1 : 2);

        q->id = (enum question_id)i;
        q->answer = cause == CAUSE_UNKNOWN ? ANSWER_NOT_TESTABLE : yes ? ANSWER_YES : ANSWER_NO;
        static const char *const ids[] = {"floor_slope", "failing_batch_percentile", "eval_phase_at_failure",
                                          "typical_share"};
        static const char *const texts[] = {
            "Memory after each step rises by 3.1 MiB/step (95 %: 3.0 to 3.2) over 600 rows.",
            "The failing batch stands at percentile 43 of those before it.",
            "The failure is 74 steps after the last evaluation ended.",
            "A typical step needs 68 % of the device."};
        static const char *const units[] = {"bytes/step", "percent", "steps", "percent"};
        static const double measured[] = {3.1 * CASE_MIB, 43, 74, 68},
                            limits[] = {0.1 * CASE_MIB, 99.5, 1, 90};
        t[0] = (struct test){ids[i],
                             cause == CAUSE_UNKNOWN ? NAN : measured[i],
                             units[i],
                             limits[i],
                             yes ? SAYS_FOR : SAYS_AGAINST,
                             texts[i],
                             {"seed3.jsonl", 312, 0}};
        if (q->n_tests > 1)
            t[1] = (struct test){"closure",
                                 1.04,
                                 "1",
                                 1.25,
                                 yes ? SAYS_FOR : SAYS_NOTHING,
                                 "The growth alone meets the capacity within 4 % of the failing step.",
                                 {0}};
    }
}

static void case_leak_figures(struct run_report *r)
{
    r->has_leak = true;
    r->leak = (struct leak_figures){
        .slope_bytes_per_step = 3.1 * CASE_MIB,
        .slope_low = 3.0 * CASE_MIB,
        .slope_high = 3.2 * CASE_MIB,
        .onset_step = 12,
        .share_of_growth = 0.97,
        .retained_bytes = 44 * CASE_GIB,
        .increment_vs_activation = 0.94,
        .slope_bytes_per_second = 1.5 * CASE_MIB,
        .minimum_detectable_bytes_per_step = 0.04 * CASE_MIB,
        .oom_step_forecast = 11890,
        .forecast_low = 11600,
        .forecast_high = 12200,
        .n_backtest = 3,
        .backtest = {{0.5, 11700, 10900, 12600}, {0.7, 11810, 11400, 12300}, {0.9, 11880, 11620, 12110}},
        .column = F_ALLOCATED,
        .fit_step0 = 0,
        .fit_bytes0 = 90 * CASE_GIB};
}

static void case_peak_figures(struct run_report *r)
{
    r->has_peak = true;
    r->peak = (struct peak_figures){.has_law = true,
                                    .typical_bytes = 92.3 * CASE_GIB,
                                    .max_bytes = 139.1 * CASE_GIB,
                                    .failing_batch_percentile = 99.8,
                                    .failing_predicted_bytes = 141.2 * CASE_GIB,
                                    .safe_tokens = 30100,
                                    .safe_max_len = 3760,
                                    .safe_batch_size = 7,
                                    .safe_at_len = 4096,
                                    .safe_margin = 0.05,
                                    .safe_probability = 0.99,
                                    .corpus_max_predicted_bytes = 151.0 * CASE_GIB,
                                    .p_oom_next_epoch = 0.31};
    r->peak.law = (struct law){.base_bytes = 88.1 * CASE_GIB,
                               .per_token_bytes = 0.121 * CASE_MIB,
                               .per_batch_len2_bytes = 12.5,
                               .r2 = 0.983,
                               .n = 598,
                               .size_field = F_TOKENS,
                               .size_name = "tokens",
                               .envelope_bytes = 1.3 * CASE_GIB};
}

static void case_eval_figures(struct run_report *r)
{
    r->has_eval = true;
    r->eval = (struct eval_figures){.cadence_steps = 100,
                                    .passes = 6,
                                    .peak_bytes = 130 * CASE_GIB,
                                    .train_peak_bytes = 94 * CASE_GIB,
                                    .per_sample_ratio = 1.31,
                                    .batch_ratio = 4,
                                    .kept_bytes = 0};
}

static void case_tables(struct arena *a, struct run_report *r, enum case_kind kind)
{
    r->n_phases = kind == CASE_EVAL || kind == CASE_LEAK_SEEDS ? 2 : 1;
    r->phases = arena_alloc(a, 2 * sizeof *r->phases);
    r->phases[0] = (struct phase_row){"train", 570, 90 * CASE_GIB, 94 * CASE_GIB, 90.5 * CASE_GIB};
    r->phases[1] = (struct phase_row){"eval", 30, 90.5 * CASE_GIB, 130 * CASE_GIB, 91 * CASE_GIB};
    if (kind != CASE_LEAK_SEEDS)
        return;
    static const struct checkpoint_row rows[] = {
        {"start", 40, 90 * CASE_GIB, NAN, 90 * CASE_GIB},
        {"after forward", 40, 93.2 * CASE_GIB, 3.2 * CASE_GIB, 93.3 * CASE_GIB},
        {"after backward", 40, 91 * CASE_GIB, -2.2 * CASE_GIB, 94 * CASE_GIB}};
    r->checkpoints = arena_alloc(a, sizeof rows);
    memcpy(r->checkpoints, rows, sizeof rows);
    r->n_checkpoints = 3;
}

static void case_run(struct report_case *c, struct run_report *r, enum case_kind kind, enum cause cause,
                     int seed, int rank)
{
    struct arena *a = &c->analysis.arena;
    int rows = 600 + seed * 7;

    *r = (struct run_report){.series = case_series(c, kind, seed, rank, rows),
                             .format = "oomlog",
                             .device = "NVIDIA H200",
                             .seed = seed,
                             .rank = rank,
                             .capacity_bytes = 139.8 * CASE_GIB,
                             .steps = rows,
                             .first_step = 0,
                             .last_step = rows - 1,
                             .epochs = 3.25,
                             .outcome = OUTCOME_COMPLETED,
                             .failure = case_no_figures()};
    r->run = kind == CASE_RANKS ? "job" : arena_printf(a, "llama-8b-sft_seed%d", seed);
    r->source = arena_printf(a, "seed%d.jsonl", seed);
    case_triage(a, r, cause);
    case_tables(a, r, kind);
    r->verdict.cause = cause;
    if (cause != CAUSE_UNKNOWN) {
        case_leak_figures(r);
        case_peak_figures(r);
        r->has_capacity = true;
        r->capacity =
            (struct capacity_figures){0.68, 0.7 * CASE_GIB, 2.5 * CASE_GIB, 1.1 * CASE_GIB, 1.1 * CASE_GIB};
    }
    if (kind == CASE_EVAL)
        case_eval_figures(r);
    if (cause != CAUSE_NONE && cause != CAUSE_UNKNOWN)
        case_failure(r, rows, kind == CASE_EVAL ? "eval" : "train",
                     arena_printf(a, "sample-%d;sample-17", 1000 + seed));
}

static void case_verdict(struct report_case *c, enum cause cause, enum subtype sub, const char *summary,
                         const char *fix)
{
    static const struct advice advice[] = {
        {"Append loss.item() instead of loss, so that no graph is kept.", EFFORT_ONE_LINE, 44 * CASE_GIB},
        {"Set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True.", EFFORT_CONFIG, NAN},
        {"Shard the optimiser's state over the ranks.", EFFORT_REDESIGN, 21 * CASE_GIB}};
    struct verdict *v = &c->analysis.verdict;

    *v = (struct verdict){
        .cause = cause,
        .subtype = sub,
        .status = STATUS_FAILED,
        .confidence = 0.9,
        .certainty = CERTAINTY_LIKELY,
        .summary = summary,
        .fix = fix,
        .advice = advice,
        .n_advice = 3,
        .counterfactual = "Without the 44 GiB of growth step 600 would have needed 95.1 GiB of 139.8 GiB.",
        .has_runner_up = cause != CAUSE_PEAK,
        .runner_up = CAUSE_PEAK,
        .runner_up_confidence = 0.06,
        .runner_up_why_not = "The failing batch differs in 4 of 5 seeds."};
    if (cause == CAUSE_NONE || cause == CAUSE_UNKNOWN) {
        v->status = cause == CAUSE_NONE ? STATUS_OK : STATUS_UNKNOWN;
        v->n_advice = 0;
        v->counterfactual = NULL;
        v->has_runner_up = false;
        v->certainty = cause == CAUSE_NONE ? CERTAINTY_LIKELY : CERTAINTY_CANNOT_TELL;
        v->next_run = "Log allocated_bytes after each step and the batch's shape for 300 steps.";
    }
}

static void case_cross(struct report_case *c)
{
    static double steps[] = {607, 614, 621, 628, 635};
    struct cross_run *x = &c->analysis.cross;

    c->analysis.has_cross = true;
    *x = (struct cross_run){.runs_failed = 5,
                            .runs_total = 5,
                            .steps = steps,
                            .n_steps = 5,
                            .spread_steps = 28,
                            .by = BY_BATCH_IDS,
                            .p_chance = 0.4,
                            .says = CROSS_NEITHER,
                            .text = "Neither the failing step nor the failing batch comes back: 5 of 5 seeds "
                                    "fail within 28 steps on other batches."};
}

static void case_ranks(struct report_case *c, size_t n)
{
    struct analysis *a = &c->analysis;

    a->ranks = arena_alloc(&a->arena, n * sizeof *a->ranks);
    a->n_ranks = n;
    for (size_t i = 0; i < n; i++)
        a->ranks[i] = (struct rank_row){"job",
                                        (double)i,
                                        i == 27 ? OUTCOME_OOM : OUTCOME_UNKNOWN,
                                        600,
                                        (120 + (double)(i * 7 % 20)) * CASE_GIB,
                                        (19.8 - (double)(i * 7 % 20)) * CASE_GIB,
                                        (double)i * 1000 - 9000};
}

static void case_snapshot(struct run_report *r)
{
    static const char *stack[] = {"train.py:212 step", "train.py:300 main"};
    static struct holder holders[] = {
        {HOLDER_AT_PEAK, "model.py:40 forward", 3, stack, 2, 30 * CASE_GIB, 12, 0.3, NAN,
         CATEGORY_ACTIVATION},
        {HOLDER_AT_OOM, "train.py:212 step", 1, stack, 2, 44 * CASE_GIB, 600, 0.33, 3.1 * CASE_MIB,
         CATEGORY_UNKNOWN},
        {HOLDER_AT_OOM, NULL, UINT32_MAX, stack, 0, 4 * CASE_GIB, 9, 0.03, 0, CATEGORY_UNKNOWN}};

    r->has_snapshot = r->has_blame = true;
    r->snapshot = (struct snapshot_figures){.device = 0,
                                            .events = 90000,
                                            .unmatched_frees = 12,
                                            .truncated = true,
                                            .steps_found = 40,
                                            .steps_by = STEPS_BY_OPTIMIZER,
                                            .peak_bytes = 134 * CASE_GIB,
                                            .peak_event = NAN,
                                            .live_bytes_at_end = 130 * CASE_GIB,
                                            .allocated_bytes = 134 * CASE_GIB,
                                            .reserved_bytes = 136 * CASE_GIB,
                                            .inactive_split_bytes = 1 * CASE_GIB,
                                            .largest_free_block_bytes = 0.5 * CASE_GIB,
                                            .has_oom = true,
                                            .oom_event = 89999,
                                            .oom_requested_bytes = 2.12 * CASE_GIB,
                                            .oom_device_free_bytes = 0.71 * CASE_GIB,
                                            .oom_live_bytes = 134 * CASE_GIB,
                                            .oom_reserved_bytes = NAN,
                                            .max_split_size_bytes = NAN};
    r->holders = holders;
    r->n_holders = 3;
    r->blame = (struct blame){"train.py:212 step", 1, 44 * CASE_GIB, 0.97, 3.1 * CASE_MIB};
}

static void case_hostile(struct report_case *c)
{
    struct run_report *r = &c->analysis.runs[0];
    static const struct input_note notes[] = {{7, "bad-json", CASE_HOSTILE_TEXT}};
    static const struct quality quality[] = {{"impossible-value", CASE_HOSTILE_TEXT}};

    r->run = r->source = r->format = r->device = CASE_HOSTILE_TEXT;
    r->failure.message = r->failure.batch_ids = r->failure.phase = CASE_HOSTILE_TEXT;
    r->failure.where.file = CASE_HOSTILE_TEXT;
    r->phases[0].phase = CASE_HOSTILE_TEXT;
    c->analysis.verdict.summary = c->analysis.verdict.fix = CASE_HOSTILE_TEXT;
    c->analysis.verdict.runner_up_why_not = CASE_HOSTILE_TEXT;
    c->inputs[0].name = CASE_HOSTILE_TEXT;
    c->inputs[0].notes = notes;
    c->inputs[0].n_notes = 1;
    c->analysis.quality = (struct quality *)quality;
    c->analysis.n_quality = 1;
    c->settings.label = CASE_HOSTILE_TEXT;
}

static void case_fill(struct report_case *c, enum case_kind kind)
{
    static const enum cause causes[CASE_COUNT] = {CAUSE_LEAK, CAUSE_LEAK, CAUSE_PEAK,
                                                  CAUSE_EVAL, CAUSE_NONE, CAUSE_UNKNOWN,
                                                  CAUSE_LEAK, CAUSE_LEAK, CAUSE_UNKNOWN};
    static const enum subtype subs[CASE_COUNT] = {SUB_STEP, SUB_STEP, SUB_LENGTH, SUB_EVAL_BATCH, SUB_NONE,
                                                  SUB_NONE, SUB_STEP, SUB_STEP,   SUB_NONE};
    static const char *const summaries[CASE_COUNT] = {
        "Memory after each step rose by 3.1 MiB/step in 600 steps, 44 GiB in all, and met the 139.8 GiB of "
        "the device at step 607.",
        "Memory after each step rose by 3.1 MiB/step in 5 of 5 seeds and met the 139.8 GiB of the device at "
        "step 607.",
        "The failing batch is longer than 99.8 % of those before it and needs 141.2 GiB of 139.8 GiB by the "
        "law of the others.",
        "Evaluation needs 130 GiB where training needs 94 GiB, with a batch 4 times as large.",
        "The largest of 600 steps needed 94 GiB of 139.8 GiB, and memory after the step does not rise.",
        "The log holds neither memory after the step nor the batch's shape.",
        "Rank 27 of 64 grew by 3.1 MiB/step and met the 139.8 GiB of its device; ranks 24-31 hold 11 GiB "
        "more than the median.",
        "",
        "No rows."};
    static const char *const fixes[CASE_COUNT] = {
        "Append loss.item() instead of loss (train.py:212): growth goes to 0 and the peak to about 95 GiB; "
        "verify with 300 steps.",
        "Append loss.item() instead of loss (train.py:212): growth goes to 0 and the peak to about 95 GiB; "
        "verify with 300 steps.",
        "Cap a batch at 30100 tokens, which keeps the peak below 132.8 GiB; verify that batch sample-1000 "
        "passes.",
        "Evaluate with the training batch size under torch.inference_mode(): about 36 GiB less; verify with "
        "one evaluation.",
        "Nothing has to change.",
        NULL,
        "Append loss.item() instead of loss: growth goes to 0; verify with 300 steps.",
        "",
        NULL};
    static const struct input_note notes[] = {
        {601, "truncated", "the last line ends in the middle; usual when the process died"}};
    static const struct quality quality[] = {
        {"impossible-value", "83.48 GiB allocated on a device of 79.19 GiB at step 12."}};
    static const struct str lines[] = {{"capacity = 139.8GiB", 19}, {"label = llama-8b-sft", 20}};
    size_t n = kind == CASE_EMPTY ? 0 : kind == CASE_LEAK_SEEDS ? 5 : kind == CASE_RANKS ? 64 : 1;

    *c = (struct report_case){0};
    arena_init(&c->analysis.arena);
    c->analysis.runs = arena_alloc(&c->analysis.arena, (n + 1) * sizeof *c->analysis.runs);
    c->analysis.n_runs = n;
    c->analysis.lead = kind == CASE_RANKS ? 27 : 0;
    case_verdict(c, causes[kind], subs[kind], summaries[kind], fixes[kind]);
    for (size_t i = 0; i < n; i++)
        case_run(c, &c->analysis.runs[i], kind, causes[kind], kind == CASE_RANKS ? 1 : (int)i + 1,
                 kind == CASE_RANKS ? (int)i : 0);
    if (kind == CASE_LEAK_SEEDS)
        case_cross(c);
    if (kind == CASE_LEAK_SEEDS)
        case_snapshot(&c->analysis.runs[0]);
    if (kind == CASE_RANKS)
        case_ranks(c, 64);
    c->inputs[0] = (struct input_info){.name = "seed3.jsonl",
                                       .format = "oomlog",
                                       .size = 123456,
                                       .records = 601,
                                       .skipped = 1,
                                       .has_memory = true,
                                       .built_in = true,
                                       .notes = notes,
                                       .n_notes = 1};
    c->inputs[1] = (struct input_info){.name = "notes.txt", .size = 1200, .skipped = 40};
    c->analysis.quality = (struct quality *)quality;
    c->analysis.n_quality = 1;
    c->content = (struct report_content){&c->analysis, NULL, c->inputs, 2};
    c->settings = (struct report_settings){.parts = PART_ALL, .settings_lines = lines, .n_settings = 2};
    if (kind == CASE_HOSTILE)
        case_hostile(c);
}

static void case_release(struct report_case *c)
{
    for (size_t i = 0; i < c->n_series; i++)
        series_free(c->series[i]);
    arena_release(&c->analysis.arena);
}

#endif

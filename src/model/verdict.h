/* verdict: what the triage found, as the report and the plots need it.
 *
 * Mirrors report.json. Plain data; all pointers are owned by the analysis's
 * arena. Quantities that may be unknown are doubles with NAN for unknown; bytes
 * are exact below 2^53. Texts are finished English sentences in plain text:
 * sizes in GiB/MiB, no markup, no escaping. Knows nothing of files and pages. */
#ifndef OOMREPORT_MODEL_VERDICT_H
#define OOMREPORT_MODEL_VERDICT_H

#include "base/arena.h"
#include "base/diag.h"
#include "model/gate.h"
#include "model/series.h"
#include "model/traits.h"

enum cause {
    CAUSE_LEAK,
    CAUSE_PEAK,
    CAUSE_EVAL,
    CAUSE_CAPACITY,
    CAUSE_NONE,
    CAUSE_UNKNOWN
};

enum subtype {
    SUB_NONE, /* null in JSON */
    SUB_STEP,
    SUB_BATCH,
    SUB_PERIODIC,
    SUB_EPOCH,
    SUB_EVAL,
    SUB_HOST, /* leak */
    SUB_LENGTH,
    SUB_RESOLUTION,
    SUB_BATCH_SIZE,
    SUB_TOKENS,
    SUB_SCHEDULE,
    SUB_UNEXPLAINED, /* peak */
    SUB_EVAL_GRAD,
    SUB_EVAL_BATCH,
    SUB_EVAL_KEPT,
    SUB_EVAL_BOUNDARY, /* eval */
    SUB_SIZING,
    SUB_OPTIMIZER,
    SUB_TYPICAL,
    SUB_FRAGMENTATION,
    SUB_EXTERNAL,
    SUB_RESUME,
    SUB_SAVE
};

enum status {
    STATUS_FAILED,
    STATUS_AT_RISK,
    STATUS_OK,
    STATUS_UNKNOWN
};
enum certainty {
    CERTAINTY_CONFIRMED,
    CERTAINTY_LIKELY,
    CERTAINTY_POSSIBLE,
    CERTAINTY_CANNOT_TELL
};
enum effort {
    EFFORT_CONFIG,
    EFFORT_ONE_LINE,
    EFFORT_REDESIGN
};

struct advice {
    const char *text;
    enum effort effort;
    double saving_bytes; /* [B] or NAN */
};

struct verdict {
    enum cause cause;
    enum subtype subtype;
    enum status status;
    double confidence; /* 0..1 */
    enum certainty certainty;
    const char *summary; /* one sentence with the deciding figures */
    const char *fix;     /* one sentence: what to change first, what that should give, how to verify */
    const struct advice *advice; /* n_advice; the fix first */
    size_t n_advice;
    const char *counterfactual; /* or NULL */
    bool has_runner_up;
    enum cause runner_up;
    double runner_up_confidence;
    const char *runner_up_why_not;
    const char *next_run; /* or NULL */
};

enum question_id {
    Q_GROWS,
    Q_OUTLIER_BATCH,
    Q_EVAL_BOUNDARY,
    Q_CAPACITY,
    Q_COUNT
};
enum answer {
    ANSWER_YES,
    ANSWER_NO,
    ANSWER_NOT_TESTABLE
};
enum says {
    SAYS_FOR,
    SAYS_AGAINST,
    SAYS_NOTHING
};

/* One test of a question: "measured" against "limit", and what that says. */
struct test {
    const char *id;   /* stable, snake_case: "floor_slope" */
    double measured;  /* in unit; NAN when not testable */
    const char *unit; /* "bytes/step", "bytes", "1", "percent", "steps"; never NULL */
    double limit;     /* in unit, NAN if there is none */
    enum says says;
    const char *text;   /* one sentence */
    struct place where; /* the row or message that decided it; file NULL if none */
};

struct question {
    enum question_id id;
    enum answer answer;
    struct test *tests; /* n_tests */
    size_t n_tests;
};

struct backtest {
    double at_share;        /* 0.5, 0.7, 0.9 of the rows */
    double step, low, high; /* forecast made then [step]; NAN: none could be made */
};

struct leak_figures {
    double slope_bytes_per_step, slope_low, slope_high; /* [B/step] 95 % */
    double onset_step;                                  /* [step] first step of the growth */
    double share_of_growth;         /* 0..1 of the total rise that the named carrier explains */
    double retained_bytes;          /* [B] retained at the last row */
    double increment_vs_activation; /* slope against one step's activations [1] */
    double slope_bytes_per_second;
    double minimum_detectable_bytes_per_step;
    double oom_step_forecast, forecast_low, forecast_high; /* [step] */
    struct backtest backtest[3];
    size_t n_backtest;
    /* for the growth plot: which column was tested, and the fitted line */
    enum field column;            /* F_ALLOCATED, F_PEAK, F_DEVICE_USED, F_HOST_RSS, … */
    double fit_step0, fit_bytes0; /* the line passes here, with slope_bytes_per_step */
};

struct law {
    double base_bytes, per_token_bytes, per_batch_len2_bytes; /* [B], [B/token], [B/(sample*token^2)] */
    double r2;                                                /* 0..1 */
    double n;                                                 /* rows it was fitted on */
    /* what stands for "tokens" and "len": the name of the shape used, for axis titles */
    enum field size_field; /* F_TOKENS, F_MAX_LEN (batch*len), F_WIDTH (batch*h*w), F_COUNT for a size_* */
    const char *size_name; /* "tokens", "batch x max_len", "batch x pixels", "size_boxes" */
    double envelope_bytes; /* [B] add to the law to be above 99 % of rows */
};

struct peak_figures {
    bool has_law;
    struct law law;
    double typical_bytes, max_bytes; /* [B] median and maximum peak */
    double failing_batch_percentile; /* 0..100 among batches seen before */
    double failing_predicted_bytes;  /* [B] by the law for the failing batch */
    double safe_tokens, safe_max_len, safe_batch_size, safe_at_len, safe_margin, safe_probability;
    double safe_room_bytes; /* [B] what base and batch may take together: the ceiling less the margin; 0: no
                               budget */
    double corpus_max_predicted_bytes, p_oom_next_epoch;
};

struct eval_figures {
    double cadence_steps, passes, peak_bytes, train_peak_bytes, per_sample_ratio, batch_ratio, kept_bytes;
};

struct capacity_figures {
    double typical_share, headroom_bytes, reserved_minus_allocated_bytes, other_process_bytes,
        non_torch_bytes;
};

struct failure {
    double step, epoch; /* NAN unknown */
    const char *phase;  /* or NULL */
    double batch_size, max_len, tokens, height, width;
    const char *batch_ids;  /* CSV form, or NULL */
    const char *batch_hash; /* or NULL */
    bool ids_hidden;        /* ids and hash may be compared, not shown (--redact all) */
    double requested_bytes, free_bytes, total_bytes, allocated_bytes, reserved_bytes, this_process_bytes;
    double other_process_bytes;
    const struct process_use *processes; /* n_processes */
    size_t n_processes;
    const char *message; /* or NULL */
    struct place where;
};

struct phase_row {
    const char *phase;
    double n;
    double before_bytes, peak_bytes, after_bytes; /* [B] or NAN: median before, max peak, median after */
};

struct checkpoint_row {
    const char *label;
    double n;
    double allocated_bytes, delta_bytes, peak_bytes; /* medians; delta against the label before it */
};

enum outcome {
    OUTCOME_OOM,
    OUTCOME_KILLED,
    OUTCOME_COMPLETED,
    OUTCOME_UNKNOWN
};

struct span {
    double from, to; /* [step], inclusive */
};

enum steps_by {
    STEPS_BY_NONE,
    STEPS_BY_ANNOTATIONS,
    STEPS_BY_OPTIMIZER,
    STEPS_BY_PERIOD
};

enum holder_at {
    HOLDER_AT_PEAK,
    HOLDER_AT_OOM,
    HOLDER_AT_END
};

enum category {
    CATEGORY_PARAMETER,
    CATEGORY_GRADIENT,
    CATEGORY_ACTIVATION,
    CATEGORY_OPTIMIZER_STATE,
    CATEGORY_INPUT,
    CATEGORY_TEMPORARY,
    CATEGORY_UNKNOWN,
    CATEGORY_COUNT
};

/* What a memory snapshot says of a device, exact. Sizes are requested bytes unless said otherwise. */
struct snapshot_figures {
    double device, events, unmatched_frees;
    bool truncated;
    double steps_found;
    enum steps_by steps_by;
    double peak_bytes, peak_event; /* peak_event: NAN when it lies before the first event */
    double live_bytes_at_end;
    double allocated_bytes; /* [B] rounded, from the blocks */
    double reserved_bytes, inactive_split_bytes, largest_free_block_bytes;
    double reserved_at_peak_bytes;
    double growth_bytes_per_step; /* [B/step] of the lines that leak; 0: none does; NAN: not testable */
    bool has_oom;
    double oom_event, oom_requested_bytes, oom_device_free_bytes, oom_live_bytes, oom_reserved_bytes;
    bool expandable_segments;
    double max_split_size_bytes; /* NAN: unlimited or not given */
    const char *alloc_conf;      /* PYTORCH_CUDA_ALLOC_CONF, or NULL */
};

/* Memory by the line that asked for it, at one moment. */
struct holder {
    enum holder_at at;
    const char *site;   /* "file:line function", or NULL: blocks without a stack */
    uint32_t frame;     /* the same as the trace's names number it; UINT32_MAX for NULL */
    const char **stack; /* n_stack frames of its largest stack, innermost first */
    size_t n_stack;
    double bytes, count;
    double share; /* 0..1 of what is live at that moment */
    double growth_bytes_per_step;
    enum category category;
};

struct blame {
    const char *site; /* or NULL */
    uint32_t frame;   /* as in struct holder */
    double bytes, share, growth_bytes_per_step;
};

struct run_report {
    bool beside; /* another run of the analysis is the same job seen otherwise, and speaks for it */
    const struct series *series;
    const char *run, *source, *format, *device; /* device may be NULL */
    double seed, rank;                          /* NAN unknown */
    double capacity_bytes; /* in force: from the log, the message or --capacity; NAN unknown */
    double steps, first_step, last_step, epochs; /* steps: rows that are train steps */
    enum outcome outcome;
    double survived_ooms;
    bool has_failure;
    struct failure failure;
    struct phase_row *phases;
    size_t n_phases;
    struct checkpoint_row *checkpoints; /* NULL when none were logged */
    size_t n_checkpoints;
    struct verdict verdict;
    struct question triage[Q_COUNT]; /* in order */
    bool has_leak, has_peak, has_eval, has_capacity;
    struct leak_figures leak;
    struct peak_figures peak;
    struct eval_figures eval;
    struct capacity_figures capacity;
    /* for the timeline: where evaluation ran, and at which steps epochs began */
    struct span *eval_spans;
    size_t n_eval_spans;
    struct span *epochs_at; /* from = first step of the epoch, to = its number */
    size_t n_epochs_at;
    /* from a memory snapshot */
    bool has_snapshot;
    struct snapshot_figures snapshot;
    struct holder *holders; /* n_holders, by moment, then largest first; NULL without a snapshot */
    size_t n_holders;
    bool has_blame;
    struct blame blame;
    struct run_traits traits;
};

enum cross_says {
    CROSS_DATA,
    CROSS_SCHEDULE,
    CROSS_DETERMINISTIC,
    CROSS_NEITHER,
    CROSS_NOT_TESTABLE
};
enum batch_by {
    BY_BATCH_IDS,
    BY_BATCH_HASH,
    BY_SHAPE
};

struct cross_run {
    double runs_failed, runs_total;
    bool step_reproducible;
    double *steps; /* n_steps failing steps, in run order */
    size_t n_steps;
    double spread_steps; /* max - min [step], NAN below two */
    bool batch_reproducible;
    enum batch_by by;
    const char **shared_ids; /* n_shared_ids */
    size_t n_shared_ids;
    double p_chance; /* probability that unrelated failures agree this well, NAN untestable */
    enum cross_says says;
    const char *text;
};

struct rank_row {
    const char *run;
    double rank;
    enum outcome outcome;
    double last_step, peak_bytes, headroom_bytes, slope_bytes_per_step;
};

/* What the lead run would have needed with a change (--what-if). */
struct what_if_answer {
    const char *change; /* as given: "capacity=40GiB,batch_size=4" */
    const char *text;   /* sentences */
    int fits;           /* the failing batch, else the largest seen: 1, 0, or -1 where it cannot be told */
    double predicted_bytes; /* [B] what that batch needs, or NAN */
};

struct quality {
    const char *code; /* "missing-field", "impossible-value", "blind-interval", … */
    const char *text;
};

/* A step log and a memory snapshot of one job. */
struct joined {
    size_t log, snapshot; /* runs */
    double log_growth;    /* [B/step] of the floor in the log; NAN: it has none */
    double sites_growth;  /* [B/step] of the lines that leak in the snapshot */
    double share;         /* of the first that the second is; NAN */
    const char *site;     /* the line that is blamed, or NULL */
    double site_growth;   /* [B/step] of it */
    const char *text;     /* sentences */
};

/* Two snapshots of one process: what holds more in the later one, at the end of each. */
struct grown_site {
    const char *site; /* NULL: blocks without a stack */
    double before_bytes, after_bytes;
};

struct grown {
    size_t before, after; /* runs */
    double before_bytes, after_bytes;
    struct grown_site *sites; /* n_sites, what grew most first */
    size_t n_sites;
    const char *text;
};

struct analysis {
    bool has_joined, has_grown;
    struct joined joined;
    struct grown grown;
    struct arena arena;
    struct verdict verdict; /* over all runs */
    size_t lead; /* index of the run that the page's figures show: the first to fail, else the nearest */
    struct run_report *runs;
    size_t n_runs;
    bool has_cross;
    struct cross_run cross;
    struct rank_row *ranks; /* NULL unless some run has two ranks or more */
    size_t n_ranks;
    const char *ranks_text; /* which rank failed first and which is out of line, of the lead's job; or NULL */
    struct quality *quality;
    size_t n_quality;
    struct what_if_answer *what_if; /* n_what_if, in the order asked; of the lead run */
    size_t n_what_if;
    struct gate *gates; /* n_gates that were asked for */
    size_t n_gates;
    bool has_baseline;
    struct baseline baseline;
    bool ids_hidden; /* sample ids and hashes may be compared, not shown (--redact all) */
};

/* The words of report.json: "leak", "step", "at-risk", "cannot tell", … SUB_NONE gives NULL. */
const char *cause_name(enum cause c);
const char *subtype_name(enum subtype s);
const char *status_name(enum status s);
const char *certainty_name(enum certainty c);
const char *effort_name(enum effort e);
const char *question_name(enum question_id q);
const char *answer_name(enum answer a);
const char *says_name(enum says s);
const char *outcome_name(enum outcome o);
const char *cross_says_name(enum cross_says s);
const char *batch_by_name(enum batch_by b);
const char *steps_by_name(enum steps_by s); /* STEPS_BY_NONE gives NULL */
const char *holder_at_name(enum holder_at a);
const char *category_name(enum category c);

/* The moment at which a snapshot's holders say most: the failure, else the peak, else the end. */
enum holder_at snapshot_moment(const struct run_report *r);

#endif

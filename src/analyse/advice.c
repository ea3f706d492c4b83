/* Fixes, ordered by what the figures say; counterfactual. */
#include "analyse/advice.h"

#include "analyse/say.h"
#include "analyse/shapes.h"
#include "analyse/stats.h"

#include <math.h>
#include <string.h>

enum {
    MOST = 6
};

struct list {
    struct advice *v;
    size_t n;
};

static void add(struct list *l, const char *text, enum effort effort, double saving)
{
    if (l->n < MOST && text)
        l->v[l->n++] = (struct advice){text, effort, saving > 0 ? saving : NAN};
}

static const char *verify_leak =
    "Verify with a run of 200 steps: allocated memory after the step must stay flat.";
static const char *verify_eval =
    "Verify with three evaluation passes: allocated memory must come back to the same level after each.";
static const char *verify_epoch =
    "Verify with three short epochs: allocated memory must come back to the same level after each.";

static void host_leak(struct run_ctx *c, struct list *l)
{
    struct arena *a = c->arena;
    add(l,
        arena_printf(a,
                     "Stop the growth of the process on the host: look at the data loader's workers, "
                     "cached samples and lists kept in Python; fewer workers (num_workers) tell whether "
                     "they are the cause. Verify with host_rss_bytes over 200 steps: it must stay flat, "
                     "where it now grows %s a step.",
                     say_bytes(a, c->leak.host.slope)),
        EFFORT_ONE_LINE, c->leak.host.rise);
    add(l,
        "Keep the data set's index in one array (numpy or Arrow) instead of Python objects, which are "
        "copied on write in every worker.",
        EFFORT_REDESIGN, NAN);
}

static void leak_fix(struct run_ctx *c, struct list *l, enum subtype sub)
{
    struct arena *a = c->arena;
    const struct leak_figures *o = &c->out->leak;
    double rise = c->leak.rise, per = o->slope_bytes_per_step, share = o->increment_vs_activation;
    const char *gain = rise > 0 ? arena_printf(a, "this gives back the %s retained", say_bytes(a, rise))
                                : "this ends the growth";
    switch (sub) {
    case SUB_EVAL:
        add(l,
            arena_printf(
                a,
                "Drop the evaluation's outputs when a pass ends: keep no predictions, logits or metric state "
                "on the device across passes (move them with .cpu() or reset the metric); %s. %s",
                gain, verify_eval),
            EFFORT_ONE_LINE, rise);
        break;
    case SUB_EPOCH:
        add(l,
            arena_printf(a,
                         "Look at what the end of an epoch keeps: model snapshots, histories of outputs, a "
                         "data loader or iterator built anew; release it or move it to the host; %s. %s",
                         gain, verify_epoch),
            EFFORT_ONE_LINE, rise);
        break;
    case SUB_PERIODIC:
        add(l,
            arena_printf(a,
                         "Look at what runs every %s steps (logging, a callback, a visualiser) and keeps "
                         "tensors: store loss.item() or .detach().cpu() there; %s. %s",
                         say_count(a, c->leak.period), gain, verify_leak),
            EFFORT_ONE_LINE, rise);
        break;
    case SUB_BATCH:
        add(l,
            arena_printf(a,
                         "Keep no logits, predictions or batch caches across steps: append .detach().cpu() "
                         "or the reduced figure, and evict the cache that is keyed by batch; %s. %s",
                         gain, verify_leak),
            EFFORT_ONE_LINE, rise);
        break;
    default:
        add(l,
            share > 0.5 && share < 2
                ? arena_printf(a,
                               "Accumulate loss.item() (or loss.detach()) instead of the loss: %s a step is "
                               "close to one step's activations, so a whole graph is kept per step; %s. %s",
                               say_bytes(a, per), gain, verify_leak)
                : arena_printf(a,
                               "Find what the loop still references after a step: append loss.item(), not "
                               "the loss, and .detach() what is kept; %s. %s",
                               gain, verify_leak),
            EFFORT_ONE_LINE, rise);
    }
}

static void leak(struct run_ctx *c, struct list *l, enum subtype sub)
{
    if (sub == SUB_HOST) {
        host_leak(c, l);
        return;
    }
    leak_fix(c, l, sub);
    if (c->leak.floor.shape == GROWTH_TEETH_UP || c->leak.floor.shape == GROWTH_TEETH)
        add(l,
            "Call gc.collect() every 100 steps as an experiment: if memory then stays flat, reference cycles "
            "hold the tensors (a hook or a closure over the graph).",
            EFFORT_ONE_LINE, NAN);
    add(l,
        "Record a memory snapshot (torch.cuda.memory._record_memory_history, _dump_snapshot) over 50 steps: "
        "it names the line whose allocations are never freed.",
        EFFORT_ONE_LINE, NAN);
}

static void peak(struct run_ctx *c, struct list *l, enum subtype sub)
{
    struct arena *a = c->arena;
    const struct peak_figures *o = &c->out->peak;
    const struct frame *f = c->f;
    double saving = isfinite(o->failing_predicted_bytes) ? o->failing_predicted_bytes - o->typical_bytes
                                                         : f->at.need - o->typical_bytes;
    const char *verify = "Verify by running the largest batch first: its peak must stay below the limit.";
    if (sub == SUB_RESOLUTION)
        add(l,
            arena_printf(a,
                         "Cap the pixels per batch: lower the batch size at the largest resolutions, or drop "
                         "those; about %s less at the failing step. %s",
                         say_bytes(a, saving), verify),
            EFFORT_CONFIG, saving);
    else if (sub == SUB_SCHEDULE)
        add(l,
            arena_printf(a,
                         "Lower the batch size where the schedule reaches its largest shapes (%s less is "
                         "needed there), and run the last stage first as a test. %s",
                         say_bytes(a, saving), verify),
            EFFORT_CONFIG, saving);
    else if (sub == SUB_UNEXPLAINED)
        add(l,
            "Log the size that varies (boxes, labels, edges, images per pack: any size_* column) and cap it "
            "per batch; no logged shape explains this peak. Verify that the failing batch is the largest in "
            "that size.",
            EFFORT_ONE_LINE, saving);
    else if (o->safe_tokens > 0)
        add(l,
            arena_printf(a,
                         "Batch by a budget instead of a count: at most %s tokens a batch (padded), or "
                         "samples of at most %s tokens at the present batch size; both keep the predicted "
                         "peak %s below the limit (99 %% of batches). %s",
                         say_count(a, o->safe_tokens), say_count(a, o->safe_max_len),
                         say_percent(a, o->safe_margin), verify),
            EFFORT_CONFIG, saving);
    else
        add(l,
            arena_printf(a,
                         "Cap the batch by its size (tokens or samples) instead of a fixed count; the "
                         "outlier needs %s more than a typical batch. %s",
                         say_bytes(a, saving), verify),
            EFFORT_CONFIG, saving);
    if (o->safe_batch_size >= 1 && isfinite(o->safe_at_len))
        add(l,
            arena_printf(a, "Use a batch size of %s where samples reach %s tokens.",
                         say_count(a, o->safe_batch_size), say_count(a, o->safe_at_len)),
            EFFORT_CONFIG, NAN);
    if (o->law.per_batch_len2_bytes > 0 && o->has_law && isfinite(o->safe_at_len))
        add(l,
            "Use an attention kernel that does not store the len x len matrix (flash or memory-efficient "
            "attention): the law has a quadratic part.",
            EFFORT_ONE_LINE, o->law.per_batch_len2_bytes * o->safe_at_len * o->safe_at_len);
    add(l, "Checkpoint activations: they are what the large batch adds.", EFFORT_ONE_LINE, 0.6 * saving);
    add(l,
        "Truncate or drop samples beyond the cap, and place the largest batch first, so that a run fails at "
        "once or not at all.",
        EFFORT_CONFIG, NAN);
}

static void eval(struct run_ctx *c, struct list *l, enum subtype sub)
{
    struct arena *a = c->arena;
    const struct eval_figures *o = &c->out->eval;
    const struct frame *f = c->f;
    double high = isfinite(o->peak_bytes) && o->peak_bytes > 0 ? o->peak_bytes : f->at.need,
           over = high - o->train_peak_bytes;
    const char *verify = "Verify by running one evaluation pass before training.";
    if (sub == SUB_EVAL_KEPT)
        add(l,
            arena_printf(a,
                         "Move predictions to the host batch by batch (.cpu()), or reduce them to the metric "
                         "at once, instead of keeping %s on the device within a pass. %s",
                         say_bytes(a, c->eval.kept), verify),
            EFFORT_ONE_LINE, c->eval.kept);
    else if (sub == SUB_EVAL_BATCH)
        add(l,
            arena_printf(a,
                         "Evaluate with the training batch size: the evaluation batch is %s times as large, "
                         "and evaluation peaks at %s. %s",
                         say_ratio(a, o->batch_ratio), say_bytes(a, high), verify),
            EFFORT_CONFIG, isfinite(o->batch_ratio) && o->batch_ratio > 1 ? over : NAN);
    else if (sub == SUB_EVAL_GRAD)
        add(l,
            arena_printf(a,
                         "Wrap evaluation in torch.inference_mode() (or no_grad): per sample it takes %s "
                         "times training's working memory, so gradients are tracked; 30 to 50 %% of it is "
                         "commonly saved. %s",
                         say_number(a, o->per_sample_ratio, 2), verify),
            EFFORT_ONE_LINE, 0.4 * (high - c->peak.fit.base));
    else
        add(l,
            arena_printf(a,
                         "Wrap evaluation in torch.inference_mode(), use the training batch size there, and "
                         "log its rows with phase=eval: the failure lands on the boundary, and evaluation "
                         "itself is not logged. %s",
                         verify),
            EFFORT_ONE_LINE, NAN);
    if (sub != SUB_EVAL_GRAD)
        add(l, "Make sure that evaluation runs in torch.inference_mode() or no_grad.", EFFORT_ONE_LINE, NAN);
    if (sub != SUB_EVAL_BATCH)
        add(l, "Use the training batch size (or half of it) in evaluation.", EFFORT_CONFIG, NAN);
    add(l, "Release training's gradients before evaluation (zero_grad(set_to_none=True)).", EFFORT_ONE_LINE,
        NAN);
}

static bool advises_expandable(const struct run_ctx *c)
{
    const char *m = c->out->failure.message;
    return !m || !strstr(m, "reserved") || strstr(m, "expandable_segments") || strstr(m, "max_split_size_mb");
}

/* " 1.20 GiB were missing." or nothing. */
static const char *lacking(struct arena *a, const struct moment *m)
{
    return isfinite(m->missing) ? arena_printf(a, " %s were missing.", say_bytes(a, m->missing)) : "";
}

/* Causes that have their own remedy and no use for the general levers; false for the others. */
static bool own_remedy(struct run_ctx *c, struct list *l, enum subtype sub)
{
    struct arena *a = c->arena;
    const struct moment *m = &c->f->at;
    switch (sub) {
    case SUB_FRAGMENTATION:
        add(l,
            advises_expandable(c)
                ? arena_printf(
                      a,
                      "Set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True: it makes the %s that are "
                      "reserved but unallocated usable. Verify that reserved stays near allocated.",
                      say_bytes(a, m->gap))
                : arena_printf(a,
                               "Round batches to a few fixed shapes: %s are reserved in pieces that no "
                               "request fits, and the message no longer advises expandable segments. Verify "
                               "that reserved stays near allocated.",
                               say_bytes(a, m->gap)),
            EFFORT_CONFIG, m->gap);
        add(l, "Pad to a few fixed lengths (buckets), so that freed blocks fit again.", EFFORT_CONFIG, NAN);
        add(l, "Run the largest batch first, so that the allocator's blocks are large enough from the start.",
            EFFORT_CONFIG, NAN);
        return true;
    case SUB_EXTERNAL:
        add(l,
            arena_printf(
                a,
                "Free the device of other processes (%s are not ours): nvidia-smi names them, a forgotten "
                "notebook kernel is usual. Verify that nvidia-smi shows an empty device before the start.",
                say_bytes(a, c->cap.foreign)),
            EFFORT_CONFIG, c->cap.foreign);
        add(l,
            "Ask the scheduler for exclusive devices, or pin this job to an empty one with "
            "CUDA_VISIBLE_DEVICES.",
            EFFORT_CONFIG, NAN);
        return true;
    case SUB_RESUME:
        add(l,
            arena_printf(a,
                         "Load the checkpoint to the host (map_location=\"cpu\"), copy it into the model and "
                         "delete it before the first step: on the device it stands beside the model.%s "
                         "Verify that allocated memory before the first step equals a fresh run's.",
                         lacking(a, m)),
            EFFORT_ONE_LINE, NAN);
        add(l, "Resume model, optimiser and scheduler one after the other, freeing each state dict.",
            EFFORT_ONE_LINE, NAN);
        return true;
    case SUB_SAVE:
        add(l,
            arena_printf(a,
                         "Gather and save the state on the host (sharded or CPU-offloaded state dict, rank 0 "
                         "only): saving asked for %s more on the device. Verify with a save at step 1.",
                         say_bytes(a, m->requested)),
            EFFORT_ONE_LINE, m->requested);
        add(l, "Free the cached activations (empty_cache) and gradients before saving.", EFFORT_ONE_LINE,
            NAN);
        return true;
    default:
        return false;
    }
}

static void capacity(struct run_ctx *c, struct list *l, enum subtype sub)
{
    struct arena *a = c->arena;
    const struct frame *f = c->f;
    const struct moment *m = &f->at;
    if (own_remedy(c, l, sub))
        return;
    switch (sub) {
    case SUB_OPTIMIZER:
        add(l,
            arena_printf(
                a,
                "Make the optimiser smaller: foreach=False (or fused=True) avoids its temporaries%s; "
                "an 8-bit or factored optimiser, or sharded states, cut its constant part. "
                "Verify with five update steps.",
                isfinite(m->requested) ? arena_printf(a, " of %s", say_bytes(a, m->requested)) : ""),
            EFFORT_CONFIG, m->requested);
        add(l, "Shard the optimiser's states over the ranks (ZeRO stage 1, FSDP).", EFFORT_CONFIG, NAN);
        break;
    case SUB_SIZING:
        add(l,
            arena_printf(
                a, "Halve the batch size and double gradient accumulation%s.%s Verify with five steps.",
                c->f->train.n == 0 && isnan(c->f->fail_step) ? ""
                                                             : ": it failed before a step had ever fitted",
                lacking(a, m)),
            EFFORT_CONFIG, NAN);
        break;
    default: {
        double over = c->peak.p95 - 0.9 * f->room;
        add(l,
            arena_printf(a,
                         "Lower the batch size a little and raise gradient accumulation: %s already peak at "
                         "%s of the room, and about %s must go. Verify that 95 %% of the steps peak below 90 "
                         "%% of it.",
                         f->train.n < 8 ? "the logged steps" : "95 % of the steps",
                         say_percent(a, c->peak.p95 / f->room), say_bytes(a, over)),
            EFFORT_CONFIG, over);
    }
    }
    add(l, "Checkpoint activations.", EFFORT_ONE_LINE,
        isfinite(c->peak.p50) && f->train.v[F_ALLOCATED]
            ? 0.6 * (c->peak.p50 - stats_quantile_of(f->train.v[F_ALLOCATED], f->train.n, 0.5))
            : NAN);
    add(l, "Train in bf16 where weights or activations are still 32-bit.", EFFORT_CONFIG, NAN);
    add(l, "Shard or offload parameters and optimiser states.", EFFORT_REDESIGN, NAN);
}

/* ---- without this cause ---- */

static const char *counterfactual(struct run_ctx *c, const struct verdict *v)
{
    struct arena *a = c->arena;
    const struct frame *f = c->f;
    const struct moment *m = &f->at;
    const char *step =
        isfinite(f->fail_step) ? arena_printf(a, "step %s", say_count(a, f->fail_step)) : "the failing step";
    double need = m->need;
    if (!f->fail || f->killed)
        return NULL;
    if (v->cause == CAUSE_LEAK && c->leak.rise > 0 && isfinite(need))
        return arena_printf(a, "Without the %s of growth %s would have needed %s of %s.",
                            say_bytes(a, c->leak.rise), step, say_bytes(a, need - c->leak.rise),
                            say_bytes(a, f->capacity));
    if (v->cause == CAUSE_PEAK && isfinite(c->peak.p50))
        return arena_printf(a, "With a typical batch %s would have needed %s of %s.", step,
                            say_bytes(a, c->peak.p50), say_bytes(a, f->capacity));
    if (v->cause == CAUSE_EVAL && isfinite(f->peak_max) && f->train.n)
        return arena_printf(a, "Training alone has never needed more than %s of %s.",
                            say_bytes(a, f->peak_max), say_bytes(a, f->capacity));
    if (v->cause == CAUSE_CAPACITY && v->subtype == SUB_FRAGMENTATION && isfinite(need))
        return arena_printf(a, "With the reserved memory usable %s would have needed %s of %s.", step,
                            say_bytes(a, need), say_bytes(a, f->capacity));
    if (v->cause == CAUSE_CAPACITY && v->subtype == SUB_EXTERNAL && isfinite(need))
        return arena_printf(a, "On an empty device %s would have needed %s of the %s there are.", step,
                            say_bytes(a, need), say_bytes(a, f->capacity));
    return NULL;
}

void advice_fill(struct run_ctx *c)
{
    struct verdict *v = &c->out->verdict;
    struct list l = {arena_alloc(c->arena, MOST * sizeof *l.v), 0};
    switch (v->cause) {
    case CAUSE_LEAK:
        leak(c, &l, v->subtype);
        break;
    case CAUSE_PEAK:
        peak(c, &l, v->subtype);
        break;
    case CAUSE_EVAL:
        eval(c, &l, v->subtype);
        break;
    case CAUSE_CAPACITY:
        capacity(c, &l, v->subtype);
        break;
    case CAUSE_NONE:
        add(&l, "Nothing has to change.", EFFORT_CONFIG, NAN);
        break;
    default:
        break;
    }
    v->summary = advice_summary(c);
    v->counterfactual = counterfactual(c, v);
    v->next_run = advice_next_run(c);
    if (l.n == 0)
        add(&l,
            v->next_run ? v->next_run
                        : "Log more: allocated_bytes, peak_bytes and the batch's shape of each step.",
            EFFORT_ONE_LINE, NAN);
    v->advice = l.v;
    v->n_advice = l.n;
    v->fix = l.v[0].text;
}

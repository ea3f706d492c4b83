#include "analyse/cross_law.h"

#include "analyse/say.h"

#include <math.h>

enum {
    LEAST = 8 /* rows to tell a fixed part by */
};

/* What a run of one batch size needs. */
struct size_group {
    const struct run_report *r;
    double batch;  /* samples */
    double len;    /* of the batch that stands for the run; NAN unknown */
    double need;   /* [B] of that batch */
    bool at_least; /* it failed, and may have asked for more */
    double fixed;  /* [B] that does not grow with the batch; NAN unknown */
    double floor;  /* [B] allocated after the step */
    double n;      /* rows */
};

static struct size_group group_of(const struct run_report *r)
{
    struct size_group g = {.r = r,
                           .batch = r->traits.typical_batch,
                           .len = r->traits.typical_len,
                           .floor = r->traits.typical_floor,
                           .need = r->traits.typical_peak,
                           .fixed = NAN,
                           .n = r->steps};
    const struct failure *f = &r->failure;
    double asked = f->allocated_bytes + f->requested_bytes;
    if (isnan(g.batch) && r->has_failure)
        g.batch = f->batch_size;
    if (isnan(g.need) && r->has_failure) {
        g.need = asked;
        g.len = f->max_len;
        g.at_least = true;
    }
    const struct law *law = &r->peak.law;
    if (r->peak.has_law && law->r2 > 0.8 && (law->size_field == F_MAX_LEN || law->size_field == F_TOKENS) &&
        isfinite(g.len))
        g.fixed = law->base_bytes;
    else if (isfinite(g.floor) && g.n >= LEAST)
        g.fixed = g.floor;
    return g;
}

/* What a batch of g's own size and length needs by the run `by`; NAN when that cannot tell. */
static double predicted(const struct size_group *by, const struct size_group *g)
{
    const struct law *law = &by->r->peak.law;
    if (by->fixed == law->base_bytes && by->r->peak.has_law && isfinite(g->len))
        return law->base_bytes +
               g->batch * g->len * (law->per_token_bytes + law->per_batch_len2_bytes * g->len);
    bool same_len = isnan(by->len) ? isnan(g->len) : fabs(by->len - g->len) < 0.02 * by->len;
    return same_len && by->n >= LEAST ? by->fixed + (by->need - by->fixed) * g->batch / by->batch : NAN;
}

const char *cross_law_text(struct analysis *a, const struct job *jobs, size_t n_jobs)
{
    struct size_group small = {.batch = NAN, .fixed = NAN}, large = {.batch = NAN};
    for (size_t k = 0; k < n_jobs && k < 64; k++) {
        size_t speaker = jobs[k].failed != JOB_NONE ? (size_t)jobs[k].failed : jobs[k].first;
        struct size_group g = group_of(&a->runs[speaker]);
        if (!(g.batch > 0) || !(g.need > 0))
            continue;
        if (isfinite(g.fixed) && g.n >= LEAST && (isnan(small.batch) || g.batch < small.batch))
            small = g;
        if (isnan(large.batch) || g.batch > large.batch)
            large = g;
    }
    if (!(large.batch > 1.02 * small.batch))
        return NULL;
    double need = predicted(&small, &large), off = large.need / need - 1;
    if (!(need > 0))
        return NULL;
    bool agrees = large.at_least ? off < 0.1 : fabs(off) < 0.1;
    return arena_printf(
        &a->arena,
        agrees
            ? "linear in the batch: batch %s needs %s by the law fitted at batch %s (%s %s), so the batch's "
              "size "
              "alone makes the difference"
            : "batch %s would need %s by the law fitted at batch %s, but it took %s%s: something besides the "
              "batch's size differs between the runs",
        say_count(&a->arena, large.batch), say_bytes(&a->arena, need), say_count(&a->arena, small.batch),
        agrees ? (large.at_least ? "measured at least" : "measured") : (large.at_least ? "at least " : ""),
        say_bytes(&a->arena, large.need));
}

/* Outlier batch? The memory law of the batch's shape, where the failing batch
 * stands in it, and what a batch not yet met would need. */
#include "analyse/budget.h"
#include "analyse/request_factors.h"
#include "analyse/rules.h"
#include "analyse/say.h"
#include "analyse/shapes.h"
#include "analyse/stats.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The train peaks as the law sees them: without what was retained, and of a counter that is never reset
 * only the rows that set a record (their step's own peak). */
static double *law_values(const struct run_ctx *c)
{
    const struct frame *f = c->f;
    size_t n = f->train.n;
    double *y = mem_alloc((n + 1) * sizeof *y);
    memcpy(y, f->train.v[F_PEAK], n * sizeof *y);
    const double *floor_v = f->train.v[F_ALLOCATED];
    bool grows = c->leak.p > 0.4;
    double base = floor_v && grows ? stats_quantile_of(floor_v, n < 16 ? n : 16, 0.5) : 0, before = NAN;
    for (size_t i = 0; i < n; i++) {
        bool record = isnan(before) || y[i] > before;
        before = isfinite(y[i]) ? y[i] : before;
        if (f->reset == PEAK_RESET_NEVER && !record)
            y[i] = NAN;
        else if (grows && floor_v)
            y[i] -= floor_v[i] - base;
        else if (grows && c->leak.column == F_PEAK && growth_climbs(&c->leak.floor))
            y[i] -= c->leak.floor.slope * fmax(0, f->train.x[i] - c->leak.floor.onset);
    }
    return y;
}

static void fill_law(struct run_ctx *c, const struct shape_model *m, const double *y)
{
    struct frame *f = c->f;
    struct law *law = &c->out->peak.law;
    const struct fit *fit = &c->peak.fit;
    c->out->peak.has_law = true;
    *law = (struct law){.base_bytes = fit->base,
                        .per_token_bytes = fit->c[0],
                        .per_batch_len2_bytes =
                            m->kind == SHAPE_PADDED || m->kind == SHAPE_TOKENS ? fit->c[1] : 0,
                        .r2 = fit->r2,
                        .n = (double)fit->n};
    law->size_field = m->kind == SHAPE_TOKENS   ? F_TOKENS
                      : m->kind == SHAPE_PADDED ? F_MAX_LEN
                      : m->kind == SHAPE_PIXELS ? F_WIDTH
                      : m->kind == SHAPE_BATCH  ? F_BATCH_SIZE
                                                : F_COUNT;
    law->size_name = m->kind == SHAPE_TOKENS   ? "tokens"
                     : m->kind == SHAPE_PADDED ? (f->train.v[F_BATCH_SIZE] ? "batch x max_len" : "max_len")
                     : m->kind == SHAPE_PIXELS ? "batch x pixels"
                     : m->kind == SHAPE_BATCH  ? "batch size"
                                               : arena_printf(c->arena, "%s", f->size_name[m->k]);
    double *r = mem_alloc((f->train.n + 1) * sizeof *r);
    size_t got = 0, stride = f->train.n > 16384 ? f->train.n / 16384 : 1;
    for (size_t i = f->warm; i < f->train.n; i += stride) {
        double v[FIT_TERMS];
        bool ok = isfinite(y[i]);
        for (size_t k = 0; k < m->terms; k++) {
            v[k] = m->x[k][i];
            ok = ok && isfinite(v[k]);
        }
        if (ok)
            r[got++] = y[i] - fit_at(fit, v);
    }
    law->envelope_bytes = fmax(0, stats_quantile(r, got, 0.99));
    free(r);
}

/* ---- where the failing batch stands ---- */

/* What is retained at the last row above where the run began [B]; 0 when nothing grows. */
static double retained_now(const struct run_ctx *c)
{
    const struct frame *f = c->f;
    const double *v = f->train.v[F_ALLOCATED];
    size_t n = f->train.n;
    if (c->leak.p <= 0.4)
        return 0;
    if (!v || n < 8)
        return c->leak.rise;
    return fmax(0, stats_quantile_of(v + n - 4, 4, 0.5) - stats_quantile_of(v, n < 16 ? n : 16, 0.5));
}

static double rank_below(const double *v, size_t n, double value)
{
    size_t below = 0, seen = 0;
    for (size_t i = 0; i < n; i++)
        if (isfinite(v[i])) {
            below += v[i] < value * (1 - 1e-9);
            seen++;
        }
    return seen ? 100 * (double)below / (double)seen : NAN;
}

/* Percentile of the failing value of a field among train rows; NAN when it never varied or is unknown. */
static double field_percentile(const struct frame *f, enum field field)
{
    double v = f->fail ? record_number(&f->fail->rec, field) : NAN;
    if (!isfinite(v) || !f->train.v[field])
        return NAN;
    if (v == frame_constant(f, field))
        return NAN;
    return rank_below(f->train.v[field], f->train.n, v);
}

static enum subtype dimension_of(const struct frame *f, const struct shape_model *m)
{
    double len = field_percentile(f, F_MAX_LEN), batch = field_percentile(f, F_BATCH_SIZE);
    double tokens = field_percentile(f, F_TOKENS);
    double h = field_percentile(f, F_HEIGHT), w = field_percentile(f, F_WIDTH);
    if (m->kind == SHAPE_PIXELS || fmax(h, w) >= 95)
        return fmax(h, w) >= batch || isnan(batch) ? SUB_RESOLUTION : SUB_BATCH_SIZE;
    if (m->kind == SHAPE_BATCH)
        return SUB_BATCH_SIZE;
    if (m->kind == SHAPE_SIZE) {
        const char *name = f->size_name[m->k];
        if (strstr(name, "len") || strstr(name, "frame") || strstr(name, "dur"))
            return SUB_LENGTH;
        if (strstr(name, "pix") || strstr(name, "res") || strstr(name, "area"))
            return SUB_RESOLUTION;
        return SUB_TOKENS;
    }
    if (len >= 98 || (isfinite(len) && len >= fmax(isnan(batch) ? 0 : batch, 90)))
        return SUB_LENGTH;
    if (batch >= 98 && !(len > 90))
        return SUB_BATCH_SIZE;
    if (isnan(len) && isnan(batch) && isnan(tokens))
        return f->train.v[F_MAX_LEN] || f->train.v[F_TOKENS] ? SUB_LENGTH : SUB_UNEXPLAINED;
    return isnan(len) && isfinite(batch) && isnan(tokens) ? SUB_BATCH_SIZE : SUB_TOKENS;
}

static void place_failure(struct run_ctx *c, const struct shape_model *m)
{
    struct frame *f = c->f;
    struct found_peak *p = &c->peak;
    double v[FIT_TERMS] = {0};
    if (!shape_of_failure(v, m, f))
        return;
    size_t n = f->train.n;
    double *all = mem_alloc((n + 1) * sizeof *all);
    bool law = p->has_fit && p->fit.c[0] + p->fit.c[1] > 0;
    double value = law ? fit_at(&p->fit, v) : v[0];
    for (size_t i = 0; i < n; i++) {
        double row[FIT_TERMS];
        for (size_t k = 0; k < m->terms; k++)
            row[k] = m->x[k][i];
        all[i] = law ? fit_at(&p->fit, row) : row[0];
    }
    p->percentile = rank_below(all, n, value);
    free(all);
    p->dimension = dimension_of(f, m);
    if (law) {
        p->alone = value;
        p->predicted = value + retained_now(c);
    }
}

/* ---- how sure ---- */

static double ramp(double v, double low, double high)
{
    return !(v > low) ? 0 : v >= high ? 1 : (v - low) / (high - low); /* unknown gives 0 */
}

/* Of every step the peak is known, and what was held and unallocated could not have served the request: more
 * than ever before was needed, not the same bytes in pieces. */
static bool in_one_piece(const struct frame *f)
{
    bool every = f->reset == PEAK_RESET_NEVER || f->reset == PEAK_RESET_INTERVAL || f->stride <= 1;
    return f->peak_field == F_PEAK && every && f->at.gap < f->at.requested;
}

static void weigh(struct run_ctx *c)
{
    struct frame *f = c->f;
    struct found_peak *p = &c->peak;
    p->p = 0.03;
    if (!f->fail || f->killed)
        return;
    if (f->fail_phase != FAIL_TRAIN && f->fail_phase != FAIL_PHASE_UNKNOWN && f->fail_phase != FAIL_OTHER)
        return;
    double retained = c->leak.p > 0.4 ? c->leak.rise : 0;
    double need = f->at.need - retained;
    p->need_ratio =
        f->at.impossible || !f->peak_known || f->train.n == 0 ? NAN : need / (f->peak_max - retained);
    double spread = (p->p99 - p->p50) / f->room;
    double chance = 1.0 / ((double)f->train.n + 1);
    if (isfinite(p->percentile) && f->train.n >= 5) {
        double rank = ramp(p->percentile, 88, 99), scale = isfinite(f->room) ? f->room : f->peak_max;
        double env = c->out->peak.law.envelope_bytes;
        double reach = isfinite(p->predicted) ? (p->predicted + (isfinite(env) ? env : 0)) / f->room : NAN;
        double fits = isnan(reach) ? 0.85 : ramp(reach, 0.55, 0.92);
        double out =
            isfinite(p->predicted) ? ramp((p->predicted - retained - p->p95) / scale, -0.02, 0.03) : 0.8;
        p->p = 0.96 * rank * fmax(fits, 0.3 * ramp(p->need_ratio, 1.05, 1.2)) * (0.3 + 0.7 * out) *
               (1 - 2 * chance);
        if (p->need_ratio > 1.1 && p->percentile < 90)
            p->p = fmax(p->p, 0.45 * ramp(p->need_ratio, 1.05, 1.3));
        if (p->p < 0.03)
            p->p = 0.03;
        if (p->percentile < 90)
            p->dimension = SUB_UNEXPLAINED;
        return;
    }
    /* the failing batch is not in the log, or its logged shape never varies */
    if (isfinite(p->need_ratio))
        p->p = 0.05 +
               0.83 * (in_one_piece(f) ? ramp(p->need_ratio, 1.0, 1.08) : ramp(p->need_ratio, 1.03, 1.17));
    if (f->reset == PEAK_RESET_NEVER)
        spread = (f->peak_max - p->p50) / f->room;
    if (c->leak.p < 0.4) /* peaks that vary widely: the next record is a matter of time */
        p->p = fmax(p->p, 0.05 + 0.55 * ramp(spread, 0.12, 0.3));
    p->p *= 1 - 0.85 * ramp(fmin(p->p95, 1.2 * p->p50) / f->room, 0.88,
                            0.95); /* any step comes close to the ceiling */
    if (f->train.n < 5)
        p->p *= 0.4;
    bool unlogged = !p->shapes_vary;
    p->dimension =
        unlogged ? SUB_UNEXPLAINED
                 : dimension_of(f, &(struct shape_model){.kind = (enum shape_kind)p->kind, .k = p->size_k});
}

/* ---- tests ---- */

static void tests(struct run_ctx *c)
{
    struct frame *f = c->f;
    struct found_peak *p = &c->peak;
    struct arena *a = c->arena;
    bool failed = f->fail && !f->killed;
    if (p->has_fit)
        rule_test(c, Q_OUTLIER_BATCH, "law", p->fit.r2, "1", NAN, SAYS_NOTHING, ROW_NONE,
                  arena_printf(a, "Over %s rows the peak follows %s: %s plus %s per unit (R squared %s).",
                               say_count(a, (double)p->fit.n), c->out->peak.law.size_name,
                               say_bytes(a, p->fit.base), say_bytes(a, p->fit.c[0]),
                               say_number(a, p->fit.r2, 2)));
    if (failed && isfinite(p->percentile))
        rule_test(c, Q_OUTLIER_BATCH, "failing_batch_rank", p->percentile, "percent", 99,
                  p->percentile >= 99  ? SAYS_FOR
                  : p->percentile < 90 ? SAYS_AGAINST
                                       : SAYS_NOTHING,
                  ROW_FAILURE,
                  arena_printf(a, "The failing batch is larger than %s batches logged before it.",
                               say_below(a, p->percentile, (double)f->train.n)));
    if (failed && isfinite(p->predicted) && isfinite(f->room))
        rule_test(c, Q_OUTLIER_BATCH, "predicted_need", p->predicted, "bytes", 0.85 * f->room,
                  p->predicted >= 0.85 * f->room ? SAYS_FOR : SAYS_AGAINST, ROW_FAILURE,
                  arena_printf(a, "By the law the failing batch needs %s; the framework can have %s.",
                               say_bytes(a, p->predicted), say_bytes(a, f->room)));
    if (failed && isfinite(p->need_ratio))
        rule_test(c, Q_OUTLIER_BATCH, "need_against_largest_peak", p->need_ratio, "1", 1.1,
                  p->need_ratio > 1.1     ? SAYS_FOR
                  : p->need_ratio <= 1.05 ? SAYS_AGAINST
                                          : SAYS_NOTHING,
                  ROW_FAILURE,
                  arena_printf(a,
                               "Allocated plus requested at the failure is %s, %s the largest peak "
                               "logged before (%s)%s.",
                               say_bytes(a, f->at.need),
                               fabs(p->need_ratio - 1) < 0.005
                                   ? "as much as"
                                   : arena_printf(a, "%s times", say_number(a, p->need_ratio, 2)),
                               say_bytes(a, f->peak_max),
                               c->leak.p > 0.4 && c->leak.rise > 0 ? ", growth taken out of both" : ""));
    const char *product = failed ? request_factors(a, f->at.requested, frame_fail_shape(f, F_BATCH_SIZE),
                                                   frame_fail_shape(f, F_MAX_LEN))
                                 : NULL;
    if (product)
        rule_test(c, Q_OUTLIER_BATCH, "request_product", f->at.requested, "bytes", NAN, SAYS_NOTHING,
                  ROW_FAILURE,
                  arena_printf(a, "The request of %s is %s.", say_bytes(a, f->at.requested), product));
    if (isfinite(p->p99) && isfinite(f->room))
        rule_test(c, Q_OUTLIER_BATCH, "spread", (p->p99 - p->p50) / f->room, "1", 0.25,
                  (p->p99 - p->p50) / f->room > 0.25 ? SAYS_FOR : SAYS_NOTHING, ROW_NONE,
                  p->p99 - p->p50 < 0.002 * p->p99
                      ? arena_printf(a, "Peaks hardly vary: they are at %s.", say_bytes(a, p->p50))
                      : arena_printf(a, "Peaks spread from %s (median) to %s (99 %% of rows).",
                                     say_bytes(a, p->p50), say_bytes(a, p->p99)));
    if (f->survived > 0)
        rule_test(c, Q_OUTLIER_BATCH, "survived", (double)f->survived, "1", 1, SAYS_FOR, ROW_NONE,
                  arena_printf(a, "The run went on after %s out-of-memory %s: single batches were too large.",
                               say_count(a, (double)f->survived),
                               say_plural((double)f->survived, "error", "errors")));
    if (!p->shapes_vary && f->train.n >= 8)
        rule_test(c, Q_OUTLIER_BATCH, "shape_logged", NAN, "1", NAN, SAYS_NOTHING, ROW_NONE,
                  p->shapes_logged
                      ? "The logged shape of the batch never varies: if a size varies, it is not logged."
                      : "No shape of the batch is logged (batch_size, max_len, tokens, height, width or a "
                        "size_* column).");
    if (p->schedule)
        rule_test(
            c, Q_OUTLIER_BATCH, "size_trend", c->leak.size_tau, "1", 0.8, SAYS_FOR, ROW_NONE,
            arena_printf(
                a,
                "The batches themselves grow along the run (Kendall's tau %s): sorted order or a schedule.",
                say_number(a, c->leak.size_tau, 2)));
}

static void begin(struct run_ctx *c)
{
    struct frame *f = c->f;
    struct found_peak *p = &c->peak;
    *p = (struct found_peak){.predicted = NAN,
                             .alone = NAN,
                             .percentile = NAN,
                             .need_ratio = NAN,
                             .risk_len = NAN,
                             .p = 0.03,
                             .dimension = SUB_UNEXPLAINED,
                             .kind = SHAPE_NONE};
    struct peak_figures *o = &c->out->peak;
    *o = (struct peak_figures){.typical_bytes = f->peak_typical,
                               .max_bytes = f->peak_max,
                               .failing_batch_percentile = NAN,
                               .failing_predicted_bytes = NAN,
                               .safe_tokens = NAN,
                               .safe_max_len = NAN,
                               .safe_batch_size = NAN,
                               .safe_at_len = NAN,
                               .safe_margin = NAN,
                               .safe_probability = NAN,
                               .corpus_max_predicted_bytes = NAN,
                               .p_oom_next_epoch = NAN};
    c->out->has_peak = f->peak_field != F_COUNT && f->train.n > 0;
    p->p50 = p->p95 = p->p99 = NAN;
    if (c->out->has_peak && f->peak_known) {
        p->p50 = frame_peak_quantile(f, 0.5);
        p->p95 = frame_peak_quantile(f, 0.95);
        p->p99 = frame_peak_quantile(f, 0.99);
    }
}

void rule_peak(struct run_ctx *c)
{
    struct frame *f = c->f;
    struct found_peak *p = &c->peak;
    struct peak_figures *o = &c->out->peak;
    struct shape_model m = {.kind = SHAPE_NONE};
    begin(c);
    struct shape_model some[4 + FRAME_SIZES];
    size_t n_models = shape_candidates(some, 4 + FRAME_SIZES, f, &f->train);
    p->shapes_vary = n_models > 0;
    p->shapes_logged = f->train.v[F_BATCH_SIZE] || f->train.v[F_MAX_LEN] || f->train.v[F_TOKENS] ||
                       f->train.v[F_HEIGHT] || f->n_sizes > 0;
    double *y = NULL;
    if (f->train.v[F_PEAK] && f->train.n >= 8) {
        y = law_values(c);
        shape_best(&m, &p->fit, f, &f->train, y, f->train.n > 40 ? 2 : 0);
        p->has_fit = m.kind != SHAPE_NONE && (p->fit.r2 > 0.1);
    }
    if (m.kind == SHAPE_NONE && n_models > 0) {
        m = some[0];
        shape_fill(&m, f, &f->train);
    }
    p->kind = (int)m.kind;
    p->size_k = m.k;
    if (p->has_fit && y)
        fill_law(c, &m, y);
    if (m.kind != SHAPE_NONE)
        place_failure(c, &m);
    p->schedule = c->leak.size_tau > 0.8 && (!f->fail || !(p->percentile < 97));
    weigh(c);
    if (p->schedule && p->percentile >= 97)
        p->dimension = SUB_SCHEDULE;
    o->failing_batch_percentile = p->percentile;
    o->failing_predicted_bytes = p->predicted;
    if (p->has_fit)
        budget_fill(c, &m);
    tests(c);
    shape_release(&m);
    free(y);
}

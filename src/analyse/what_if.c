#include "analyse/what_if.h"

#include "analyse/say.h"
#include "analyse/shapes.h"
#include "analyse/stats.h"
#include "base/buf.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

#define GIB 1073741824.0

/* What a batch needs before and after the change [B]; NAN unknown. */
struct need {
    double before, after;
    bool at_least; /* the level is what had been asked for when it failed */
};

struct scene {
    struct run_ctx *c;
    const struct what_if_change *change;
    struct buf text;
    const char *why_not; /* what of the training batch cannot be answered, or NULL */
    bool by_law;         /* else in proportion to the working memory */
    double full;         /* samples of a full batch as it was; NAN unknown */
    double room;         /* [B] under the change; NAN unknown */
    double base;         /* [B] that stays allocated after a step; NAN unknown */
    struct need failing, typical, largest;
};

static bool of_batch(const struct what_if_change *k)
{
    return isfinite(k->batch_size) || isfinite(k->max_len);
}

/* ---- one batch under the change ---- */

static double batch_after(const struct scene *s, double batch)
{
    if (isnan(s->change->batch_size))
        return batch;
    return batch >= s->full ? s->change->batch_size : fmin(batch, s->change->batch_size);
}

static double len_after(const struct scene *s, double len)
{
    return isnan(s->change->max_len) ? len : fmin(len, s->change->max_len);
}

/* Terms of the law from those before. */
static void terms_after(double *out, const struct scene *s, const double *before, double batch, double len)
{
    double b = batch_after(s, batch) / batch, l = len_after(s, len) / len;
    b = isfinite(b) ? b : 1;
    l = isfinite(l) ? l : 1;
    double first = before[0] * b * l;
    switch ((enum shape_kind)s->c->peak.kind) {
    case SHAPE_TOKENS: /* the second is tokens x len, or tokens squared where no length is logged */
        out[1] = before[1] * b * l * (isfinite(len) ? l : b * l);
        break;
    case SHAPE_PADDED:
        out[1] = before[1] * b * l * l;
        break;
    default:
        out[1] = before[1] * b;
    }
    out[0] = first;
}

static double saved(const struct scene *s, const double *terms, double batch, double len)
{
    double after[FIT_TERMS] = {0};
    terms_after(after, s, terms, batch, len);
    return fit_at(&s->c->peak.fit, terms) - fit_at(&s->c->peak.fit, after);
}

/* ---- what can be answered ---- */

static const char *why_no_law(const struct scene *s)
{
    const struct run_ctx *c = s->c;
    const struct frame *f = c->f;
    const struct what_if_change *k = s->change;
    if (isfinite(k->batch_size) && !f->train.v[F_BATCH_SIZE])
        return "no law: the batch's size is not logged";
    if (isfinite(k->max_len) && !f->train.v[F_MAX_LEN])
        return "no law: the batch's length (max_len) is not logged";
    if (!f->peak_known)
        return "no law: the peaks of the steps are not logged";
    if (!c->peak.has_fit)
        return c->peak.shapes_vary ? "no law: the logged shapes do not explain the peaks" : NULL;
    enum shape_kind kind = (enum shape_kind)c->peak.kind;
    if (kind == SHAPE_SIZE || c->peak.fit.terms > 2)
        return arena_printf(c->arena, "the law also depends on %s, which the change does not give",
                            kind == SHAPE_SIZE ? f->size_name[c->peak.size_k] : "another logged size");
    if (isfinite(k->max_len) && (kind == SHAPE_BATCH || kind == SHAPE_PIXELS))
        return "no law of the length: the peaks do not follow max_len";
    return NULL;
}

/* Shapes that never vary give no law; then all that a step adds to the floor goes with the batch. */
static void in_proportion(struct scene *s)
{
    const struct frame *f = s->c->f;
    double b = batch_after(s, s->full) / s->full, len = frame_constant(f, F_MAX_LEN);
    double l = isfinite(len) ? len_after(s, len) / len : 1, share = (isfinite(b) ? b : 1) * l;
    if (isnan(s->base)) {
        s->why_not =
            "no law: the batch's shape never varies, and what stays allocated after a step is not logged";
        return;
    }
    s->typical.after = s->base + share * (s->typical.before - s->base);
    s->largest.after = s->base + share * (s->largest.before - s->base);
    s->failing.after = s->failing.before - (1 - share) * (s->largest.before - s->base);
}

static void by_law(struct scene *s)
{
    struct run_ctx *c = s->c;
    const struct frame *f = c->f;
    struct shape_model m = {
        .kind = (enum shape_kind)c->peak.kind, .k = c->peak.size_k, .terms = c->peak.fit.terms};
    double v[FIT_TERMS] = {0}, most = -INFINITY;
    size_t n = f->train.n, stride = n / 8192 + 1, got = 0;
    s->by_law = true;
    if (shape_of_failure(v, &m, f)) {
        double batch = frame_fail_shape(f, F_BATCH_SIZE), len = frame_fail_shape(f, F_MAX_LEN);
        s->failing.after = s->failing.before - saved(s, v, batch, len);
    } else
        s->failing.after = NAN;
    double *after = mem_alloc((n / stride + 2) * sizeof *after);
    shape_fill(&m, f, &f->train);
    for (size_t i = 0; i < n; i += stride) {
        double row[FIT_TERMS] = {0};
        for (size_t k = 0; k < m.terms; k++)
            row[k] = m.x[k][i];
        double less = saved(s, row, f->train.v[F_BATCH_SIZE] ? f->train.v[F_BATCH_SIZE][i] : NAN,
                            f->train.v[F_MAX_LEN] ? f->train.v[F_MAX_LEN][i] : NAN);
        double need = fit_at(&c->peak.fit, row);
        if (isfinite(need) && isfinite(less)) {
            after[got++] = need - less;
            most = fmax(most, need - less);
        }
    }
    s->typical.after = got ? stats_quantile(after, got, 0.5) : NAN;
    s->largest.after = got ? most : NAN;
    shape_release(&m);
    free(after);
}

static bool in_evaluation(const struct run_ctx *c)
{
    return c->out->verdict.cause == CAUSE_EVAL || (c->f->fail && c->f->fail_phase == FAIL_EVAL);
}

/* Evaluation has a batch of its own. What had piled up within the pass stays. */
static void evaluation(struct scene *s)
{
    struct run_ctx *c = s->c;
    double factor = s->change->eval_batch;
    const char *what = in_evaluation(c) && c->f->fail ? "the evaluation that failed" : "evaluation";
    double before = c->out->has_eval ? c->out->eval.peak_bytes : NAN;
    if (in_evaluation(c))
        before = fmax(isfinite(s->failing.before) ? s->failing.before : 0, isfinite(before) ? before : 0);
    if (!(before > 0)) {
        s->why_not = "no evaluation is logged";
        return;
    }
    if (isnan(s->base)) {
        s->why_not =
            "what stays allocated after a step is not logged, so that evaluation's own share is not known";
        return;
    }
    double kept = c->eval.kept > 0 ? c->eval.kept : 0;
    double after = s->base + kept + factor * fmax(0, before - s->base - kept);
    buf_printf(&s->text, " With %s times its batch %s needs %s instead of %s.",
               say_number(c->arena, factor, 2), what, say_bytes(c->arena, after),
               say_bytes(c->arena, before));
    if (in_evaluation(c))
        s->failing.after = after;
}

/* ---- the scene ---- */

static void set_room(struct scene *s)
{
    const struct frame *f = s->c->f;
    double all = s->change->capacity_bytes;
    s->room = f->room;
    if (isfinite(all))
        s->room = isfinite(f->room) ? f->room + (all - f->capacity) : all - fmin(0.6 * GIB, 0.025 * all);
}

static void set_levels(struct scene *s)
{
    struct run_ctx *c = s->c;
    const struct frame *f = c->f;
    double need = f->at.impossible ? NAN : f->at.need, law = c->peak.predicted;
    const double *floor_v = f->train.v[F_ALLOCATED];
    s->base = floor_v           ? stats_quantile_of(floor_v, f->train.n, 0.5)
              : c->peak.has_fit ? c->peak.fit.base
                                : NAN;
    s->full = f->train.v[F_BATCH_SIZE] ? stats_quantile_of(f->train.v[F_BATCH_SIZE], f->train.n, 0.95) : NAN;
    bool of_law = isfinite(law) && !in_evaluation(c) && !(need > law);
    s->failing.before = f->fail && !f->killed ? (of_law ? law : need) : NAN;
    s->failing.at_least = !of_law;
    s->typical.before = f->peak_known ? c->peak.p50 : NAN;
    s->largest.before = f->peak_known ? f->peak_max : NAN;
    s->failing.after = s->failing.before;
    s->typical.after = s->typical.before;
    s->largest.after = s->largest.before;
}

static void change_batch(struct scene *s)
{
    if (!of_batch(s->change))
        return;
    if (in_evaluation(s->c)) {
        s->failing.after = s->failing.before; /* evaluation's batch is not training's */
        buf_puts(
            &s->text,
            " The failing step is evaluation's, whose batch this leaves as it is (eval_batch changes it).");
    }
    s->why_not = why_no_law(s);
    if (s->why_not)
        return;
    double evaluation_need = s->failing.after;
    if (s->c->peak.has_fit)
        by_law(s);
    else
        in_proportion(s);
    if (in_evaluation(s->c))
        s->failing.after = evaluation_need;
}

static void put_need(struct scene *s, const char *who, const struct need *n)
{
    struct arena *a = s->c->arena;
    double by = n->after - n->before;
    if (isnan(n->after))
        return;
    buf_printf(&s->text, " %s needs %s%s", who, n->at_least ? "at least " : "", say_bytes(a, n->after));
    if (fabs(by) >= 0.5 * 1048576)
        buf_printf(&s->text, " (%s %s)", say_bytes(a, fabs(by)), by < 0 ? "less" : "more");
    buf_putc(&s->text, ';');
}

/* Slope against room: where a leak would end. */
static void put_leak(struct scene *s, double gained)
{
    struct run_ctx *c = s->c;
    struct arena *a = c->arena;
    const struct found_leak *l = &c->leak;
    const struct leak_figures *o = &c->out->leak;
    bool failed = c->f->fail && isfinite(c->f->fail_step);
    double old = failed ? c->f->fail_step : o->oom_step_forecast;
    if (c->out->verdict.cause != CAUSE_LEAK || c->out->verdict.subtype == SUB_HOST ||
        c->f->axis != AXIS_STEP || !(l->slope > 0) || isnan(old) || isnan(gained))
        return;
    double at = old + gained / l->slope, low = l->low > 0 ? l->low : l->slope,
           high = l->high > 0 ? l->high : l->slope;
    double first = (failed ? old : o->forecast_low) + gained / (gained > 0 ? high : low);
    double last = (failed ? old : o->forecast_high) + gained / (gained > 0 ? low : high);
    if (at <= c->f->train.x[0] - c->f->offset)
        buf_puts(&s->text, " The growth would not even come to bear: it fails at the start.");
    else if (fabs(at - old) < 1)
        buf_printf(&s->text, " The growth of %s/step stays: it would still fail near step %s.",
                   say_bytes(a, l->slope), say_count(a, old));
    else
        buf_printf(&s->text,
                   " The growth of %s/step stays: it would fail near step %s (%s to %s) instead of %s, if no "
                   "larger batch comes first.",
                   say_bytes(a, l->slope), say_count(a, at), say_count(a, fmax(0, first)), say_count(a, last),
                   say_count(a, old));
}

/* Whether the batch that counts fits: 1, 0, or -1 where it cannot be told. */
static int put_verdict(struct scene *s, const struct need *n, const char *who)
{
    struct run_ctx *c = s->c;
    struct arena *a = c->arena;
    if (isnan(n->after) || isnan(s->room))
        return -1;
    double margin = fmax(0.01 * s->room, s->by_law ? 2 * c->peak.fit.sd : 0);
    const char *fits = n->after > s->room + margin   ? "does not fit"
                       : n->after > s->room - margin ? "is too close to tell"
                       : n->at_least                 ? "fits, as far as it had got when it failed"
                                                     : "fits";
    buf_printf(&s->text, " %s %s: the framework can have %s.", who, fits, say_bytes(a, s->room));
    return n->after > s->room + margin   ? 0
           : n->after > s->room - margin ? -1
           : n->at_least && !s->by_law   ? -1
                                         : 1;
}

static struct what_if_answer answer(struct run_ctx *c, const struct what_if_change *change)
{
    struct scene s = {.c = c, .change = change};
    struct what_if_answer out = {.change = change->given, .fits = -1, .predicted_bytes = NAN};
    bool grows = c->leak.p > 0.4 && c->leak.rise > 0;
    set_room(&s);
    set_levels(&s);
    change_batch(&s);
    if (isfinite(change->eval_batch))
        evaluation(&s);
    if (s.why_not) {
        buf_printf(&s.text, " This cannot be answered: %s.", s.why_not);
    } else {
        bool failed = isfinite(s.failing.before);
        const struct need *n = failed ? &s.failing : &s.largest;
        if (failed && isnan(n->after))
            buf_puts(&s.text,
                     " The failing batch's shape is not known, so what it would need is not either.");
        if (!(in_evaluation(c) && isfinite(change->eval_batch))) /* said already */
            put_need(&s, in_evaluation(c) ? "The evaluation that failed" : "The failing batch", &s.failing);
        if (!grows || !failed) {
            put_need(&s, "a typical batch", &s.typical);
            put_need(&s, "the largest of the log", &s.largest);
        }
        if (s.text.n && s.text.p[s.text.n - 1] == ';')
            s.text.p[s.text.n - 1] = '.';
        out.fits = put_verdict(&s, n, failed ? "The failing step" : "The largest batch of the log");
        if (c->out->verdict.subtype == SUB_FRAGMENTATION)
            buf_puts(&s.text,
                     " It failed because the free memory was in pieces, which these sums do not count.");
        out.predicted_bytes = n->after;
        double room = isnan(s.room) || isnan(c->f->room) ? NAN : s.room - c->f->room;
        double less = n->before - n->after;
        put_leak(&s, room + (isfinite(less) ? less : 0));
        if (isnan(s.room))
            buf_puts(&s.text, " The device's memory is not known: give capacity.");
        if (of_batch(change) && !s.by_law)
            buf_puts(&s.text,
                     " The shape never varies, so this takes all that a step adds to what stays allocated "
                     "to go with the batch.");
    }
    out.text = arena_strndup(c->arena, s.text.n ? s.text.p + 1 : "", s.text.n ? s.text.n - 1 : 0);
    buf_release(&s.text);
    return out;
}

struct what_if_answer *what_if_run(struct run_ctx *c, const struct what_if_change *changes, size_t n)
{
    struct what_if_answer *all = arena_alloc(c->arena, (n + 1) * sizeof *all);
    for (size_t i = 0; i < n; i++)
        all[i] = answer(c, &changes[i]);
    return all;
}

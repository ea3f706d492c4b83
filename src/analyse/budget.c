#include "analyse/budget.h"

#include "analyse/say.h"
#include "analyse/stats.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

/* The largest L with base + a B L + b B L^2 <= room. */
static double longest(double base, double a, double b, double batch, double room)
{
    double spare = (room - base) / batch;
    if (!(spare > 0))
        return 0;
    if (b <= 0)
        return a > 0 ? spare / a : NAN;
    return (-a + sqrt(a * a + 4 * b * spare)) / (2 * b);
}

/* A sampler with a token budget makes batches smaller where samples are longer. */
static bool token_budget(const struct frame *f)
{
    const double *b = f->train.v[F_BATCH_SIZE], *l = f->train.v[F_MAX_LEN];
    if (!b || !l || isfinite(frame_constant(f, F_BATCH_SIZE)))
        return false;
    double sx = 0, sy = 0, sxx = 0, syy = 0, sxy = 0, n = 0;
    size_t stride = f->train.n > 4096 ? f->train.n / 4096 : 1;
    for (size_t i = 0; i < f->train.n; i += stride) {
        if (!(b[i] > 0 && l[i] > 0))
            continue;
        double x = log(l[i]), y = log(b[i]);
        sx += x, sy += y, sxx += x * x, syy += y * y, sxy += x * y, n++;
    }
    double cov = sxy - sx * sy / n, vx = sxx - sx * sx / n, vy = syy - sy * sy / n;
    return n > 8 && vx > 0 && vy > 0 && cov / sqrt(vx * vy) < -0.7;
}

static double batch_at(const struct frame *f, double len)
{
    const double *b = f->train.v[F_BATCH_SIZE], *l = f->train.v[F_MAX_LEN];
    if (!b)
        return 1;
    double typical = stats_quantile_of(b, f->train.n, 0.5);
    if (!l || !token_budget(f))
        return typical;
    double *t = mem_alloc((f->train.n + 1) * sizeof *t);
    for (size_t i = 0; i < f->train.n; i++)
        t[i] = b[i] * l[i];
    double budget = stats_quantile_of(t, f->train.n, 0.95);
    free(t);
    return fmax(1, floor(budget / len));
}

/* Chance that one of the next `n` batches needs more than room: the tail above the 90 % quantile of predicted
 * needs as an exponential (peaks over threshold with shape 0; Pickands, 1975). */
static double tail_risk(const struct run_ctx *c, const struct shape_model *m, double envelope, double n)
{
    const struct frame *f = c->f;
    size_t rows = f->train.n, got = 0, stride = rows > 8192 ? rows / 8192 : 1;
    double *v = mem_alloc((rows / stride + 2) * sizeof *v);
    for (size_t i = 0; i < rows; i += stride) {
        double x[FIT_TERMS];
        for (size_t k = 0; k < m->terms; k++)
            x[k] = m->x[k][i];
        double need = fit_at(&c->peak.fit, x) + 0.5 * envelope;
        if (isfinite(need))
            v[got++] = need;
    }
    double p = NAN;
    if (got >= 20) {
        double q = stats_quantile(v, got, 0.9), sum = 0, above = 0;
        for (size_t i = 0; i < got; i++)
            if (v[i] > q) {
                sum += v[i] - q;
                above++;
            }
        double mean = above > 0 ? sum / above : 0;
        double one = mean > 0 ? 0.1 * exp(-(f->room - q) / mean) : (q > f->room ? 1 : 0);
        p = 1 - pow(1 - fmin(fmax(one, 0), 1), n);
    }
    free(v);
    return p;
}

static void safe_sizes(struct run_ctx *c, const struct shape_model *m, double margin)
{
    struct frame *f = c->f;
    struct peak_figures *o = &c->out->peak;
    const struct fit *fit = &c->peak.fit;
    /* a batch that failed is not safe, whatever the law says of it */
    double ceiling = f->fail && c->peak.percentile >= 95 && c->peak.alone > fit->base
                         ? fmin(f->room, c->peak.alone)
                         : f->room;
    double room = ceiling - margin, a = fit->c[0], b = fit->c[1];
    o->safe_margin = margin / f->room;
    o->safe_probability = 0.99;
    double batch =
        f->train.v[F_BATCH_SIZE] ? stats_quantile_of(f->train.v[F_BATCH_SIZE], f->train.n, 0.5) : 1;
    if (m->kind == SHAPE_BATCH) {
        o->safe_batch_size = a > 0 ? fmax(0, floor((room - fit->base) / a)) : NAN;
        return;
    }
    if ((m->kind != SHAPE_PADDED && m->kind != SHAPE_TOKENS) || m->extra)
        return;
    const double *len = f->train.v[F_MAX_LEN];
    double seen = len ? stats_max(len, f->train.n, NULL) : NAN;
    double corpus = series_meta(f->s, F_CORPUS_MAX_LEN),
           fail = f->fail ? record_number(&f->fail->rec, F_MAX_LEN) : NAN;
    double at = isfinite(corpus) ? corpus : fmax(isfinite(seen) ? seen : 0, isfinite(fail) ? fail : 0);
    if (m->kind == SHAPE_TOKENS && !len) {
        double t = longest(fit->base, a, b, 1, room);
        o->safe_tokens = isfinite(t) ? floor(t) : NAN;
        return;
    }
    if (!(at > 0))
        return;
    double per_sample = a * at + b * at * at;
    o->safe_at_len = at;
    o->safe_room_bytes = room;
    if (per_sample > 0) {
        double n = floor((room - fit->base) / per_sample);
        o->safe_batch_size = fmax(0, n);
    }
    if (a + b * at > 0)
        o->safe_tokens = fmax(0, floor((room - fit->base) / (a + b * at)));
    double l = longest(fit->base, a, b, batch, room);
    o->safe_max_len = isfinite(l) ? floor(l) : NAN;
}

void budget_fill(struct run_ctx *c, const struct shape_model *m)
{
    struct frame *f = c->f;
    struct peak_figures *o = &c->out->peak;
    struct found_peak *p = &c->peak;
    if (isnan(f->room))
        return;
    double envelope = isfinite(o->law.envelope_bytes) ? o->law.envelope_bytes : 0;
    double margin = fmax(envelope, 0.02 * f->room);
    if (c->leak.p < 0.5) /* no size is safe while memory grows */
        safe_sizes(c, m, margin);
    double n = f->per_epoch > 0 ? f->per_epoch : (double)f->train.n * f->stride;
    o->p_oom_next_epoch = tail_risk(c, m, envelope, fmin(n, 1e6));
    if (f->fail || c->leak.p >= 0.5)
        o->p_oom_next_epoch = NAN; /* it has happened, or does by growth */
    double corpus = series_meta(f->s, F_CORPUS_MAX_LEN);
    const double *len = f->train.v[F_MAX_LEN];
    double seen = len ? stats_max(len, f->train.n, NULL) : NAN;
    if (!(corpus > 0) || !len || m->extra || (m->kind != SHAPE_PADDED && m->kind != SHAPE_TOKENS))
        return;
    double v[FIT_TERMS] = {0};
    shape_of_batch(v, m, batch_at(f, corpus), corpus);
    o->corpus_max_predicted_bytes = fit_at(&p->fit, v);
    if (seen < corpus)
        p->risk_len = corpus;
    /* every sample comes once an epoch, the longest too */
    double z = (o->corpus_max_predicted_bytes - 0.97 * f->room) / fmax(fmax(p->fit.sd, 0.015 * f->room), 1);
    double meets = 1 / (1 + exp(-1.7 * z));
    if (seen < corpus && !f->fail)
        o->p_oom_next_epoch = meets;
    else if (isfinite(o->p_oom_next_epoch))
        o->p_oom_next_epoch = fmin(o->p_oom_next_epoch, 0.05);
    p->p_risk = seen < corpus ? meets : 0;
}

#include "analyse/shapes.h"

#include "analyse/stats.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SAMPLE = 2048,
    CANDIDATES = 4 + FRAME_SIZES
};

static bool varies(const double *v, size_t n)
{
    return v && stats_max(v, n, NULL) > stats_min(v, n, NULL);
}

static bool any(const double *v)
{
    return v != NULL;
}

size_t shape_candidates(struct shape_model *out, size_t most, const struct frame *f, const struct track *t)
{
    const double *b = t->v[F_BATCH_SIZE], *l = t->v[F_MAX_LEN], *k = t->v[F_TOKENS], *h = t->v[F_HEIGHT],
                 *w = t->v[F_WIDTH];
    size_t n = 0;
    if (any(l) && (varies(l, t->n) || varies(b, t->n)) && n < most)
        out[n++] = (struct shape_model){.kind = SHAPE_PADDED, .terms = 2};
    if (varies(k, t->n) && n < most)
        out[n++] = (struct shape_model){.kind = SHAPE_TOKENS, .terms = 2};
    if (any(h) && any(w) && (varies(h, t->n) || varies(w, t->n)) && n < most)
        out[n++] = (struct shape_model){.kind = SHAPE_PIXELS, .terms = 2};
    if (varies(b, t->n) && n < most)
        out[n++] = (struct shape_model){.kind = SHAPE_BATCH, .terms = 1};
    for (size_t i = 0; i < f->n_sizes && n < most; i++)
        if (varies(t->size[i], t->n))
            out[n++] = (struct shape_model){.kind = SHAPE_SIZE, .k = i, .terms = 2};
    return n;
}

/* Linear and quadratic term from the raw shape. */
static void terms_of(double *out, enum shape_kind kind, double batch, double len, double tokens,
                     double pixels, double size)
{
    switch (kind) {
    case SHAPE_PADDED:
        out[0] = batch * len;
        out[1] = batch * len * len;
        break;
    case SHAPE_TOKENS:
        out[0] = tokens;
        out[1] = tokens * (isnan(len) ? tokens : len);
        break;
    case SHAPE_PIXELS:
        out[0] = batch * pixels;
        out[1] = batch * pixels * pixels;
        break;
    case SHAPE_BATCH:
        out[0] = batch;
        break;
    default:
        out[0] = size;
        out[1] = size * size;
    }
}

static double at(const double *v, size_t i, double missing)
{
    return v && isfinite(v[i]) ? v[i] : missing;
}

bool shape_fill(struct shape_model *m, const struct frame *f, const struct track *t)
{
    (void)f;
    bool len_logged = t->v[F_MAX_LEN] != NULL, batch_logged = t->v[F_BATCH_SIZE] != NULL;
    for (size_t k = 0; k < m->terms; k++)
        m->x[k] = mem_alloc((t->n + 1) * sizeof *m->x[k]);
    for (size_t i = 0; i < t->n; i++) {
        double out[FIT_TERMS] = {0};
        double batch = batch_logged ? at(t->v[F_BATCH_SIZE], i, NAN) : 1;
        double len = len_logged ? at(t->v[F_MAX_LEN], i, NAN) : NAN;
        double pixels = at(t->v[F_HEIGHT], i, NAN) * at(t->v[F_WIDTH], i, NAN);
        double size = m->kind == SHAPE_SIZE ? at(t->size[m->k], i, NAN) : NAN;
        terms_of(out, m->kind, batch, len, at(t->v[F_TOKENS], i, NAN), pixels, size);
        if (m->extra) {
            double e = at(t->size[m->extra_k], i, NAN);
            out[m->terms - 2] = e;
            out[m->terms - 1] = e * e;
        }
        for (size_t k = 0; k < m->terms; k++)
            m->x[k][i] = out[k];
    }
    return true;
}

void shape_release(struct shape_model *m)
{
    for (size_t k = 0; k < FIT_TERMS; k++) {
        free(m->x[k]);
        m->x[k] = NULL;
    }
}

bool shape_of_failure(double *values, const struct shape_model *m, const struct frame *f)
{
    if (!f->fail || m->kind == SHAPE_NONE)
        return false;
    double batch = frame_fail_shape(f, F_BATCH_SIZE), len = frame_fail_shape(f, F_MAX_LEN);
    if (!f->train.v[F_BATCH_SIZE] && isnan(batch))
        batch = 1;
    double tokens = frame_fail_shape(f, F_TOKENS);
    if (m->kind == SHAPE_TOKENS && isnan(tokens))
        tokens = NAN;
    double pixels = frame_fail_shape(f, F_HEIGHT) * frame_fail_shape(f, F_WIDTH);
    terms_of(values, m->kind, batch, len, tokens, pixels,
             m->kind == SHAPE_SIZE ? frame_fail_size(f, m->k) : NAN);
    if (m->extra) {
        double e = frame_fail_size(f, m->extra_k);
        values[m->terms - 2] = e;
        values[m->terms - 1] = e * e;
    }
    for (size_t k = 0; k < m->terms; k++)
        if (!isfinite(values[k]))
            return false;
    return true;
}

void shape_of_batch(double *values, const struct shape_model *m, double batch, double len)
{
    terms_of(values, m->kind, batch, len, batch * len, len, len);
    if (m->extra)
        values[m->terms - 2] = values[m->terms - 1] = NAN;
}

/* Rows to fit on: of each of SAMPLE/2 stretches the first row and the row with the largest first term, so
 * that the sample spans the range of sizes without choosing by y. */
static size_t sample_rows(size_t *rows, const struct shape_model *m, const double *y, size_t from, size_t n)
{
    size_t got = 0, m_rows = n - from;
    if (m_rows <= SAMPLE) {
        for (size_t i = from; i < n; i++)
            rows[got++] = i;
    } else
        for (size_t b = 0; b < SAMPLE / 2; b++) {
            size_t lo = from + (size_t)((double)b * (double)m_rows / (SAMPLE / 2));
            size_t hi = from + (size_t)((double)(b + 1) * (double)m_rows / (SAMPLE / 2));
            size_t big = lo;
            for (size_t i = lo + 1; i < hi; i++)
                if (m->x[0][i] > m->x[0][big])
                    big = i;
            rows[got++] = lo;
            if (big != lo)
                rows[got++] = big;
        }
    size_t kept = 0;
    for (size_t i = 0; i < got; i++) {
        bool ok = isfinite(y[rows[i]]);
        for (size_t k = 0; k < m->terms; k++)
            ok = ok && isfinite(m->x[k][rows[i]]);
        if (ok)
            rows[kept++] = rows[i];
    }
    return kept;
}

/* Fits y on the model's terms. */
static bool fit_model(struct fit *fit, const struct shape_model *m, const double *y, size_t warm, size_t n)
{
    size_t *rows = mem_alloc((SAMPLE + 1) * sizeof *rows);
    size_t got = sample_rows(rows, m, y, warm, n);
    double *space = mem_alloc((got + 1) * (FIT_TERMS + 1) * sizeof *space), *values = space + FIT_TERMS * got;
    const double *x[FIT_TERMS];
    for (size_t k = 0; k < m->terms; k++) {
        double *v = space + k * got;
        for (size_t i = 0; i < got; i++)
            v[i] = m->x[k][rows[i]];
        x[k] = v;
    }
    for (size_t i = 0; i < got; i++)
        values[i] = y[rows[i]];
    bool ok = got >= 8 && fit_huber(fit, x, values, got, m->terms, 0);
    free(rows), free(space);
    return ok;
}

void shape_best(struct shape_model *best, struct fit *fit, const struct frame *f, const struct track *t,
                const double *y, size_t warm)
{
    struct shape_model all[CANDIDATES];
    size_t n = shape_candidates(all, CANDIDATES, f, t);
    *best = (struct shape_model){.kind = SHAPE_NONE};
    *fit = (struct fit){0};
    for (size_t i = 0; i < n; i++) {
        struct fit got;
        shape_fill(&all[i], f, t);
        bool ok = fit_model(&got, &all[i], y, warm, t->n);
        bool moves = got.c[0] > 0 || got.c[1] > 0;
        double lead = all[i].kind == SHAPE_TOKENS || all[i].kind == SHAPE_BATCH ? 0.01 : 0.002;
        if (ok && moves && got.r2 > (best->kind == SHAPE_NONE ? 0.02 : fit->r2 + lead)) {
            shape_release(best);
            *best = all[i];
            *fit = got;
        } else
            shape_release(&all[i]);
    }
    for (size_t k = 0; best->kind != SHAPE_NONE && k < f->n_sizes; k++) {
        if ((best->kind == SHAPE_SIZE && best->k == k) || !varies(t->size[k], t->n))
            continue;
        struct shape_model with = {
            .kind = best->kind, .k = best->k, .extra = true, .extra_k = k, .terms = best->terms + 2};
        struct fit got;
        if (with.terms > FIT_TERMS)
            continue;
        shape_fill(&with, f, t);
        if (fit_model(&got, &with, y, warm, t->n) && got.r2 > fit->r2 + 0.02 &&
            1 - got.r2 < 0.6 * (1 - fit->r2)) {
            shape_release(best);
            *best = with;
            *fit = got;
            break;
        }
        shape_release(&with);
    }
}

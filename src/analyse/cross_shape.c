#include "analyse/cross_shape.h"
#include "analyse/cross_null.h"
#include "base/mem.h"
#include <math.h>

enum {
    SHAPE_ROWS = 10 /* batches a run must have logged */
};

struct measure {
    const char *name;
    enum field f[3]; /* product of these; F_COUNT: none */
};

static const struct measure MEASURES[SHAPE_MEASURES] = {
    {"tokens", {F_TOKENS, F_COUNT, F_COUNT}},
    {"batch x max_len", {F_BATCH_SIZE, F_MAX_LEN, F_COUNT}},
    {"batch x pixels", {F_BATCH_SIZE, F_HEIGHT, F_WIDTH}},
    {"max_len", {F_MAX_LEN, F_COUNT, F_COUNT}},
    {"pixels", {F_HEIGHT, F_WIDTH, F_COUNT}},
    {"batch_size", {F_BATCH_SIZE, F_COUNT, F_COUNT}},
};

static double failing_value(const struct failure *f, enum field field)
{
    switch (field) {
    case F_TOKENS:
        return f->tokens;
    case F_MAX_LEN:
        return f->max_len;
    case F_HEIGHT:
        return f->height;
    case F_WIDTH:
        return f->width;
    case F_BATCH_SIZE:
        return f->batch_size;
    default:
        return NAN;
    }
}

static double failing_size(const struct run_report *r, const struct measure *m)
{
    double v = r->has_failure ? 1 : NAN;
    for (size_t k = 0; k < 3 && m->f[k] != F_COUNT; k++)
        v *= failing_value(&r->failure, m->f[k]);
    return v;
}

static void standing_add(struct standing *g, double v, double size, double *least, double *most)
{
    g->n++;
    g->as_large += v >= size;
    g->records += v > *most;
    *least = fmin(*least, v);
    *most = fmax(*most, v);
}

static struct standing stand(const struct run_report *r, const struct measure *m)
{
    const struct series *s = r->series;
    struct standing g = {0};
    double size = failing_size(r, m), block[COLUMN_BLOCK], part[COLUMN_BLOCK], phase[COLUMN_BLOCK];
    double least = INFINITY, most = -INFINITY;
    int code = r->has_failure && r->failure.phase && s ? series_phase_find(s, str_of(r->failure.phase))
                                                       : PHASE_TRAIN;
    if (isnan(size) || !s)
        return g;
    for (size_t row = 0; row < s->rows; row += COLUMN_BLOCK) {
        size_t len = s->rows - row < COLUMN_BLOCK ? s->rows - row : COLUMN_BLOCK;
        series_read(s, F_PHASE, row, len, phase);
        series_read(s, m->f[0], row, len, block);
        for (size_t k = 1; k < 3 && m->f[k] != F_COUNT; k++) {
            series_read(s, m->f[k], row, len, part);
            for (size_t i = 0; i < len; i++)
                block[i] *= part[i];
        }
        for (size_t i = 0; i < len; i++)
            if (!isnan(block[i]) && (int)phase[i] == code)
                standing_add(&g, block[i], size, &least, &most);
    }
    g.varies = fmin(least, size) < fmax(most, size);
    return g;
}

void shape_stand(struct run_report *r)
{
    for (size_t m = 0; m < SHAPE_MEASURES; m++)
        r->traits.standing[m] = stand(r, &MEASURES[m]);
}

/* Batches in a random order set about ln n + 0.58 records; three times as many are an order of size. */
static bool told(const struct standing *g)
{
    return g->n >= SHAPE_ROWS && g->varies && g->records <= 3 * (log(g->n) + 0.58);
}

bool shape_compare(struct content *out, const struct failed_run *runs, size_t n, bool step_repeats)
{
    for (size_t m = 0; m < sizeof MEASURES / sizeof MEASURES[0]; m++) {
        double worst = 0;
        for (size_t i = 0; i < n && !isnan(worst); i++) {
            struct standing g = runs[i].r->traits.standing[m];
            worst = told(&g) ? fmax(worst, (g.as_large + 1) / (g.n + 1)) : NAN;
        }
        if (isnan(worst))
            continue;
        out->tested = true;
        out->rank = worst;
        out->shape = MEASURES[m].name;
        out->p = null_large((double)n, worst);
        out->repeated = out->p < 0.01 && worst <= (step_repeats ? 0.02 : 0.1);
        out->agree = out->repeated ? (double)n : 0;
        return true;
    }
    return false;
}

double shape_largest_chance(const struct failed_run *runs, const bool *which, size_t n)
{
    double best = 1, tried = 0;
    for (size_t m = 0; m < sizeof MEASURES / sizeof MEASURES[0]; m++) {
        double p = 1, k = 0;
        bool all = true;
        for (size_t i = 0; i < n && all; i++) {
            if (!which[i])
                continue;
            struct standing g = runs[i].r->traits.standing[m];
            all = told(&g);
            p *= g.as_large > 0 ? 1 : 1 / (g.n + 1);
            k++;
        }
        tried += all && k > 0;
        best = all && k > 0 ? fmin(best, null_choices(k, (double)n) * p) : best;
    }
    return fmin(1, best * fmax(1, tried));
}

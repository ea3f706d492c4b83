#include "analyse/carrier.h"

#include "analyse/stats.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void add(struct boundaries *b, size_t at)
{
    if (b->n < CARRIER_BOUNDARIES && at > 0 && (b->n == 0 || b->at[b->n - 1] < at))
        b->at[b->n++] = at;
}

void boundaries_of_epochs(struct boundaries *b, const struct frame *f)
{
    const double *e = f->train.v[F_EPOCH];
    b->n = 0;
    if (e) {
        for (size_t i = 1; i < f->train.n; i++)
            if (floor(e[i]) > floor(e[i - 1]) && !f->train.restart[i])
                add(b, i);
        return;
    }
    if (f->per_epoch >= 2 && f->axis == AXIS_STEP)
        boundaries_of_cadence(b, f, f->per_epoch);
}

void boundaries_of_eval(struct boundaries *b, const struct frame *f)
{
    const struct series *s = f->s;
    b->n = 0;
    size_t e = 0, k = 0;
    for (size_t i = 1; i < f->train.n; i++) {
        bool hit = false;
        while (e < f->eval.n && f->eval.row[e] < f->train.row[i]) {
            hit = hit || f->eval.row[e] > f->train.row[i - 1];
            e++;
        }
        while (k < s->n_events && s->events[k].row <= f->train.row[i]) {
            hit = hit || (s->events[k].kind == EVENT_EVAL_END && s->events[k].row > f->train.row[i - 1]);
            k++;
        }
        if (hit && !f->train.restart[i])
            add(b, i);
    }
}

void boundaries_of_cadence(struct boundaries *b, const struct frame *f, double period)
{
    b->n = 0;
    if (f->axis != AXIS_STEP || !(period >= 1))
        return;
    for (size_t i = 1; i < f->train.n; i++) {
        double before = f->train.x[i - 1] - f->offset, now = f->train.x[i] - f->offset;
        if (floor(now / period) > floor(before / period) && !f->train.restart[i])
            add(b, i);
    }
}

static double median_of(const double *y, size_t from, size_t to)
{
    return stats_quantile_of(y + from, to - from, 0.5);
}

struct carried carrier_share(const struct boundaries *b, const double *y, size_t from, size_t n)
{
    struct carried c = {.jump = NAN};
    if (n < from + 4)
        return c;
    size_t edge = (n - from) / 12 + 1;
    double total = median_of(y, n - edge, n) - median_of(y, from, from + edge);
    double *jumps = mem_alloc((b->n + 1) * sizeof *jumps), sum = 0, rows = 0;
    for (size_t i = 0; i < b->n; i++) {
        size_t at = b->at[i], left = i > 0 ? b->at[i - 1] : 0, right = i + 1 < b->n ? b->at[i + 1] : n;
        if (at <= from || at >= n)
            continue;
        if (left < from)
            left = from;
        size_t w = at - left < right - at ? at - left : right - at;
        w = w > 24 ? 12 : (w + 1) / 2;
        double j = median_of(y, at, at + w) - median_of(y, at - w, at);
        if (!isfinite(j))
            continue;
        jumps[c.jumps++] = j;
        sum += j;
        rows += (double)w;
    }
    if (c.jumps > 0 && total > 0) {
        double rest = (double)(n - from) - rows;
        double slope = rest > 0 ? fmax(0, (total - sum) / rest) : 0;
        c.share = fmin(1.2, (sum - slope * rows) / total);
        c.last_rises = jumps[c.jumps - 1] > 0.3 * total / (double)c.jumps;
        double up = 0;
        for (size_t i = 0; i < c.jumps; i++)
            up += jumps[i] > 0.3 * sum / (double)c.jumps;
        c.rising = up / (double)c.jumps;
        c.jump = stats_median(jumps, c.jumps);
    }
    free(jumps);
    return c;
}

double carrier_batch(const struct frame *f, const double *y, size_t from)
{
    const struct track *t = &f->train;
    const double *size = t->v[F_TOKENS], *batch = t->v[F_BATCH_SIZE], *len = t->v[F_MAX_LEN];
    if (isfinite(frame_constant(f, F_TOKENS)))
        size = NULL;
    size_t n = t->n;
    if (n < from + 30 || !(size || batch || len))
        return 0;
    double *sum = mem_alloc((n + 1) * sizeof *sum), run = 0;
    for (size_t i = 0; i < n; i++) {
        double v = size ? size[i] : (batch ? batch[i] : 1) * (len ? len[i] : 1);
        run += isfinite(v) ? v : 0;
        sum[i] = run;
    }
    /* both about their straight lines over time: what is left of the one must follow the other */
    struct stats_sums sy = {0}, ss = {0};
    double y0 = y[from], s0 = sum[from];
    for (size_t i = from; i < n; i++)
        if (isfinite(y[i])) {
            stats_sums_add(&sy, (double)(i - from), y[i] - y0);
            stats_sums_add(&ss, (double)(i - from), sum[i] - s0);
        }
    double by, bs, syy = stats_sums_line(sy, &by), sss = stats_sums_line(ss, &bs), cross = 0;
    double my = (sy.y - by * sy.x) / sy.n, ms = (ss.y - bs * ss.x) / ss.n;
    for (size_t i = from; i < n; i++)
        if (isfinite(y[i]))
            cross +=
                (y[i] - y0 - my - by * (double)(i - from)) * (sum[i] - s0 - ms - bs * (double)(i - from));
    free(sum);
    double spread = bs > 0 ? sqrt(sss / ss.n) / bs : 0; /* of the walk, in mean batches */
    if (!(sss > 0) || !(syy > 0) || spread < 0.05 || by <= 0)
        return 0;
    double per_unit = cross / sss, share = per_unit * bs / by, r2 = cross * cross / (sss * syy);
    return r2 > 0.25 && share > 0.55 && share < 1.6 ? fmin(1, share) : 0;
}

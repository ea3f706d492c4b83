#include "analyse/records.h"

#include "analyse/shapes.h"
#include "analyse/stats.h"

#include <math.h>

/* The shape that a record is set against: the first candidate's linear term, or the quadratic one. */
static void against_size(struct records *out, const struct frame *f, const double *y)
{
    struct shape_model m;
    if (f->stride > 1 || shape_candidates(&m, 1, f, &f->train) == 0)
        return;
    shape_fill(&m, f, &f->train);
    const double *size = m.x[m.terms - 1];
    double high = -INFINITY, record = -INFINITY;
    out->sized = true;
    for (size_t i = 0; i < f->train.n; i++) {
        bool rises = y[i] > record * 1.0005;
        if (i >= f->warm && rises && isfinite(size[i]) && size[i] < 0.93 * high)
            out->without_size++;
        if (isfinite(size[i]))
            high = fmax(high, size[i]);
        if (isfinite(y[i]))
            record = fmax(record, y[i]);
    }
    shape_release(&m);
}

void records_count(struct records *out, const struct frame *f, const double *y, double effect)
{
    size_t n = f->train.n, from = f->warm, last = 0;
    while (n > from + 1 && !isfinite(y[n - 1])) /* cut at the ceiling */
        n--;
    size_t half = from + (n - from) / 2;
    double record = NAN, start = NAN, apart = (double)(n - from) / 40;
    *out = (struct records){0};
    for (size_t i = from; i < n; i++) {
        if (!isfinite(y[i]))
            continue;
        if (i >= half && isnan(start))
            start = isnan(record) ? y[i] : record;
        bool rises = y[i] > record;
        out->rows++;
        if (rises && !isnan(record)) {
            out->rises++;
            if (i >= half && (out->late == 0 || (double)(i - last) >= apart)) {
                out->late++;
                last = i;
            }
        }
        record = isnan(record) || rises ? y[i] : record;
    }
    out->late_rise = record - start;
    against_size(out, f, y);
    if (!(out->late_rise > 0.5 * effect)) {
        out->p = 0.03;
        return;
    }
    out->p = out->late >= 8 ? 0.88 : out->late >= 5 ? 0.7 : out->late >= 4 ? 0.45 : 0.1;
    if (out->sized) {
        double share = out->rises ? (double)out->without_size / (double)out->rises : 0;
        out->p = out->without_size >= 4 && share >= 0.35   ? fmax(out->p, 0.88)
                 : out->without_size >= 2 && share >= 0.25 ? fmax(out->p, 0.5)
                                                           : fmin(out->p, 0.25);
    }
    /* batches cannot outgrow all before them row by row */
    if (out->rises * 10 >= out->rows * 8)
        out->p = fmax(out->p, 0.9);
}

#include "analyse/records.h"

#include "analyse/shapes.h"
#include "analyse/stats.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

/* Sizes that were the largest so far, and what the counter showed then. */
struct largest {
    size_t n;
    double *size, *shown;
};

/* What the counter showed at the first row with a batch of at least this size; NAN when there was none. */
static double shown_at(const struct largest *l, double size)
{
    size_t lo = 0, hi = l->n;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (l->size[mid] < size)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < l->n ? l->shown[lo] : NAN;
}

/* Sets the records against the first shape candidate's linear term, or its quadratic one. A batch at least as
 * large went by and the counter showed no more than s; what a later record stands above s is none of the
 * batch's doing. Noise alone makes that rise thin out like records do. */
static void against_size(struct records *out, const struct frame *f, const double *y)
{
    struct shape_model m;
    if (f->stride > 1 || shape_candidates(&m, 1, f, &f->train) == 0)
        return;
    shape_fill(&m, f, &f->train);
    size_t n = f->train.n, half = f->warm + (n - f->warm) / 2;
    const double *size = m.x[m.terms - 1];
    struct largest l = {.size = mem_alloc((n + 1) * sizeof *l.size),
                        .shown = mem_alloc((n + 1) * sizeof *l.shown)};
    double high = -INFINITY, record = -INFINITY;
    out->sized = true;
    for (size_t i = 0; i < n; i++) {
        bool rises = y[i] > record * 1.0005, sized = isfinite(size[i]);
        if (i >= f->warm && rises && sized && size[i] < 0.93 * high)
            out->without_size++;
        double unexplained = rises && sized && i >= f->warm ? y[i] - shown_at(&l, size[i]) : NAN;
        if (unexplained > out->unexplained) {
            out->unexplained = unexplained;
            out->unexplained_half = i < half ? unexplained : out->unexplained_half;
            out->unexplained_late += i >= half;
        }
        if (isfinite(y[i]))
            record = fmax(record, y[i]);
        if (sized && size[i] > high && isfinite(y[i])) {
            high = size[i];
            l.size[l.n] = high;
            l.shown[l.n++] = y[i];
        }
    }
    free(l.size), free(l.shown);
    shape_release(&m);
}

/* 0..1: the rise that no batch explains counts, and goes on as it began. */
static double beside_size(const struct records *r, double effect)
{
    if (!(r->unexplained > effect) || r->unexplained_late < 4)
        return 0;
    double late = (r->unexplained - r->unexplained_half) / r->unexplained;
    return fmin(fmax((late - 0.2) / 0.1, 0), 1);
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
        out->p = fmax(out->p, 0.9 * beside_size(out, effect));
    }
    /* batches cannot outgrow all before them row by row */
    if (out->rises * 10 >= out->rows * 8)
        out->p = fmax(out->p, 0.9);
}

#include "analyse/frame_rows.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    CHUNK = COLUMN_BLOCK,
    GROUPS = 64,
    NEAR = 16
};

static void mark(unsigned char *keep, size_t rows, size_t from, size_t to)
{
    if (to > rows)
        to = rows;
    if (from < to)
        memset(keep + from, 1, to - from);
}

/* Counts the phases, and marks evaluation rows while there is room for them. */
static void count_phases(struct frame_rows *r, const struct series *s, unsigned char *keep)
{
    double phase[CHUNK];
    for (size_t from = 0; from < s->rows; from += CHUNK) {
        size_t n = s->rows - from < CHUNK ? s->rows - from : CHUNK;
        column_read(s->phase, from, n, phase);
        for (size_t i = 0; i < n; i++) {
            bool eval = phase[i] == PHASE_EVAL;
            r->train_all += !(phase[i] > 0);
            if (eval && ++r->eval_all <= FRAME_ROWS / 4 && keep)
                keep[from + i] = 1;
        }
    }
}

/* The row with the largest peak of each of GROUPS parts of the run. */
static void mark_largest(const struct series *s, unsigned char *keep)
{
    static const enum field order[] = {F_PEAK, F_PEAK_RESERVED, F_RESERVED, F_DEVICE_USED, F_ALLOCATED};
    const struct column *c = NULL;
    for (size_t k = 0; k < sizeof order / sizeof *order && !c; k++)
        c = s->col[order[k]];
    if (!c)
        return;
    double v[CHUNK], best = NAN;
    size_t at = 0, group = 0;
    for (size_t from = 0; from < s->rows; from += CHUNK) {
        size_t n = s->rows - from < CHUNK ? s->rows - from : CHUNK;
        column_read(c, from, n, v);
        for (size_t i = 0; i < n; i++)
            if (v[i] > best || (isnan(best) && !isnan(v[i]))) {
                best = v[i];
                at = from + i;
            }
        size_t now = (size_t)((double)(from + n) * GROUPS / (double)s->rows);
        if (now > group && !isnan(best)) {
            keep[at] = 1;
            best = NAN;
            group = now;
        }
    }
}

static void mark_stretches(const struct series *s, unsigned char *keep)
{
    size_t chunks = s->rows / CHUNK + 1, len = FRAME_ROWS * 3 / 4 / chunks;
    if (len < 16)
        len = 16;
    for (size_t k = 0; k < chunks; k++) {
        size_t from = k * CHUNK + k * 997 % (CHUNK - len); /* no beat with cadences */
        mark(keep, s->rows, from, from + len);
    }
    mark(keep, s->rows, 0, CHUNK);
    mark(keep, s->rows, s->rows - CHUNK, s->rows);
    size_t near_events = s->n_events < 256 ? s->n_events : 256;
    for (size_t i = 0; i < near_events; i++) {
        size_t row = s->events[s->n_events - 1 - i].row;
        mark(keep, s->rows, row > NEAR ? row - NEAR : 0, row + NEAR);
    }
}

static void collect_runs(struct frame_rows *r, const unsigned char *keep, size_t rows)
{
    size_t cap = 0;
    for (size_t i = 0; i < rows;) {
        const unsigned char *next = memchr(keep + i, 1, rows - i);
        if (!next)
            break;
        size_t from = (size_t)(next - keep);
        const unsigned char *end = memchr(next, 0, rows - from);
        size_t to = end ? (size_t)(end - keep) : rows;
        if (r->n_runs == cap) {
            cap = cap ? 2 * cap : 64;
            r->runs = mem_grow(r->runs, cap, sizeof *r->runs);
        }
        r->runs[r->n_runs++] = (struct row_run){from, to - from};
        r->n += to - from;
        i = to;
    }
}

static double *codes(const struct frame_rows *r, const struct column *c)
{
    double *v = mem_alloc((r->n + 1) * sizeof *v);
    frame_rows_read(r, c, v);
    for (size_t i = 0; i < r->n; i++)
        if (!isfinite(v[i]))
            v[i] = 0;
    return v;
}

void frame_rows_init(struct frame_rows *r, const struct series *s)
{
    memset(r, 0, sizeof *r);
    if (s->rows <= FRAME_ROWS) {
        count_phases(r, s, NULL);
        r->runs = mem_alloc(sizeof *r->runs);
        r->runs[0] = (struct row_run){0, s->rows};
        r->n_runs = s->rows > 0;
        r->n = s->rows;
    } else {
        unsigned char *keep = mem_zero(s->rows, 1);
        count_phases(r, s, keep);
        mark_largest(s, keep);
        mark_stretches(s, keep);
        collect_runs(r, keep, s->rows);
        free(keep);
    }
    r->phase = codes(r, s->phase);
    r->segment = codes(r, s->segment);
}

void frame_rows_release(struct frame_rows *r)
{
    free(r->runs);
    free(r->phase);
    free(r->segment);
}

void frame_rows_read(const struct frame_rows *r, const struct column *c, double *out)
{
    for (size_t k = 0; k < r->n_runs; k++) {
        if (c)
            column_read(c, r->runs[k].from, r->runs[k].len, out);
        else
            for (size_t i = 0; i < r->runs[k].len; i++)
                out[i] = NAN;
        out += r->runs[k].len;
    }
}

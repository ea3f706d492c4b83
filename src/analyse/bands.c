#include "analyse/bands.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

struct fill {
    struct bands *out;
    struct study *s;
    int64_t *highest; /* [B] of each site */
    uint8_t *band_of; /* each site's band + 1; 0: others */
    int64_t now[BANDS_MAX + 1], level, held;
    size_t column;
    int64_t top; /* highest level in the column; INT64_MIN: nothing there yet */
};

/* What an event does to the sites: calls change(f, site, bytes) for each. */
static void apply(struct fill *f, const struct trace_op *op, void (*change)(struct fill *, size_t, int64_t))
{
    const struct study *s = f->s;
    const struct trace_class *k = s->d->classes;
    switch (op->kind) {
    case OP_REPLACE:
        change(f, s->site_of_class[op->was], -(int64_t)k[op->was].size);
        change(f, s->site_of_class[op->class], (int64_t)k[op->class].size);
        break;
    case OP_ALLOC:
        change(f, s->site_of_class[op->class], (int64_t)k[op->class].size);
        break;
    case OP_FREE:
        change(f, s->site_of_class[op->class], -(int64_t)k[op->class].size);
        break;
    case OP_UNKNOWN_FREE:
        change(f, s->null_site, -(int64_t)op->size);
        break;
    default:
        break;
    }
}

/* --- a line that others were called from --------------------------------------------- */

static bool passes(const struct trace_names *names, uint32_t stack, uint32_t frame)
{
    const unsigned char *p = trace_stack_begin(names, stack);
    for (uint32_t i = 0; i < names->stacks[stack].n; i++)
        if (trace_stack_next(&p) == frame)
            return true;
    return false;
}

/* Where the line is no site itself, all that was allocated below it becomes one. */
static void gather(struct study *s, uint32_t frame, bool below)
{
    const struct trace_names *names = &s->t->names;
    size_t site = 0;
    while (site < s->n_sites && s->sites[site].frame != frame)
        site++;
    if (site < s->n_sites && !below)
        return;
    if (site == s->n_sites) {
        s->sites = mem_grow(s->sites, s->n_sites + 1, sizeof *s->sites);
        s->sites[s->n_sites] = (struct study_site){.frame = frame};
        s->cap_sites = ++s->n_sites;
    }
    uint8_t *known = mem_zero(names->n_stacks + 1, 1);
    for (size_t i = 0; i < s->d->n_classes; i++) {
        uint8_t *k = &known[s->d->classes[i].stack];
        if (!*k)
            *k = passes(names, s->d->classes[i].stack, frame) ? 2 : 1;
        if (*k == 2)
            s->site_of_class[i] = (uint32_t)site;
    }
    free(known);
}

/* --- the largest -------------------------------------------------------------------- */

static void note_highest(struct fill *f, size_t site, int64_t bytes)
{
    int64_t now = f->s->sites[site].bytes += bytes;
    f->highest[site] = now > f->highest[site] ? now : f->highest[site];
}

struct ranked {
    int64_t highest;
    size_t site;
    bool first;
};

static int by_rank(const void *x, const void *y)
{
    const struct ranked *a = x, *b = y;
    if (a->first != b->first)
        return a->first ? -1 : 1;
    if (a->highest != b->highest)
        return a->highest < b->highest ? 1 : -1;
    return a->site < b->site ? -1 : 1;
}

static void choose(struct fill *f, struct arena *a, uint32_t first)
{
    struct study *s = f->s;
    struct bands *out = f->out;
    struct ranked *r = mem_alloc((s->n_sites + 1) * sizeof *r);
    size_t n = 0;
    for (size_t i = 0; i < s->n_sites; i++)
        if (f->highest[i] > 0)
            r[n++] = (struct ranked){f->highest[i], i, first != TRACE_NONE && s->sites[i].frame == first};
    if (n)
        qsort(r, n, sizeof *r, by_rank);
    f->band_of = mem_zero(s->n_sites + 1, 1);
    for (out->n = 0; out->n < n && out->n < BANDS_MAX; out->n++) {
        struct ranked *k = &r[out->n];
        f->band_of[k->site] = (uint8_t)(out->n + 1);
        out->band[out->n] = (struct band){.site = site_text(&s->t->names, s->sites[k->site].frame, a),
                                          .frame = s->sites[k->site].frame,
                                          .highest = (double)k->highest};
    }
    out->n_others = n - out->n;
    free(r);
}

/* --- columns ------------------------------------------------------------------------ */

static void note_band(struct fill *f, size_t site, int64_t bytes)
{
    f->now[f->band_of[site] ? f->band_of[site] - 1u : BANDS_MAX] += bytes;
}

static double shown(int64_t bytes)
{
    return bytes > 0 ? (double)bytes : 0;
}

static void put_column(struct fill *f, size_t column)
{
    struct bands *out = f->out;
    for (size_t i = 0; i < out->n; i++)
        out->band[i].bytes[column] = shown(f->now[i]);
    out->others[column] = shown(f->now[BANDS_MAX]);
    out->level[column] = shown(f->level);
}

/* Columns without events of their own have what the event before left. */
static void go_to(struct fill *f, size_t column)
{
    while (f->column < column) {
        f->column++;
        put_column(f, f->column);
        f->out->reserved[f->column] = shown(f->held);
        f->top = INT64_MIN;
    }
}

static void fill(struct fill *f)
{
    const struct trace_device *d = f->s->d;
    struct bands *out = f->out;
    struct trace_cursor c;
    struct trace_op op;
    f->level = d->totals.base;
    f->held = d->totals.reserved_base;
    f->top = f->level;
    put_column(f, 0);
    out->reserved[0] = shown(f->held);
    trace_cursor_init(&c, d);
    while (trace_next(&c, &op)) {
        go_to(f, (size_t)((double)c.index / (double)d->n * (double)out->n_columns));
        f->held += op.kind == OP_SEGMENT_ADD    ? (int64_t)op.size
                   : op.kind == OP_SEGMENT_TAKE ? -(int64_t)op.size
                                                : 0;
        out->reserved[f->column] = fmax(out->reserved[f->column], shown(f->held));
        apply(f, &op, note_band);
        f->level += trace_op_delta(d, &op);
        if (f->level > f->top) {
            f->top = f->level;
            put_column(f, f->column);
        }
    }
    go_to(f, out->n_columns - 1);
}

bool bands_make(struct bands *out, struct arena *a, const struct trace_file *t, const struct trace_device *d,
                size_t n_columns, uint32_t first, bool below)
{
    struct study s;
    struct trace_cursor c;
    struct trace_op op;
    *out = (struct bands){.n_columns = n_columns};
    if (!d->n)
        return false;
    study_sites(&s, t, d);
    if (first != TRACE_NONE)
        gather(&s, first, below);
    struct fill f = {.out = out, .s = &s};
    f.highest = mem_alloc((s.n_sites + 1) * sizeof *f.highest);
    int64_t *begin = mem_alloc((s.n_sites + 1) * sizeof *begin);
    for (size_t i = 0; i < s.n_sites; i++)
        f.highest[i] = begin[i] = s.sites[i].bytes;
    trace_cursor_init(&c, d);
    while (trace_next(&c, &op))
        apply(&f, &op, note_highest);
    choose(&f, a, first);
    for (size_t i = 0; i < out->n; i++)
        out->band[i].bytes = arena_alloc(a, n_columns * sizeof(double));
    out->others = arena_alloc(a, n_columns * sizeof(double));
    out->level = arena_alloc(a, n_columns * sizeof(double));
    out->reserved = arena_alloc(a, n_columns * sizeof(double));
    for (size_t i = 0; i < s.n_sites; i++)
        note_band(&f, i, begin[i]);
    fill(&f);
    free(begin);
    free(f.highest);
    free(f.band_of);
    study_release(&s);
    return true;
}

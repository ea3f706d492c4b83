/* The memory of the leading run along its steps, with everything that happened to it. */
#include "draw/timeline.h"
#include "base/num.h"
#include <math.h>
#include <stdlib.h>

enum {
    MANY_RANKS = 16,
    LEADERS = 26, /* [px] between the area and the labels */
    EPOCH_TICKS = 200
};

/* --- other runs ---------------------------------------------------------------------- */

struct others {
    const struct run_report *seeds[TIMELINE_OTHERS]; /* n_seeds: other runs, the same rank */
    double *line[TIMELINE_OTHERS];                   /* greatest value of each column [B] */
    size_t n_seeds, left_out;
    const struct run_report **ranks; /* n_ranks: other ranks of the leading run, when there are many */
    double *low, *median, *high;     /* over those, of each column [B] */
    size_t n_ranks;
    double max_bytes;
};

static bool same_run(const struct run_report *a, const struct run_report *b)
{
    return a->run && b->run ? strcmp(a->run, b->run) == 0 : a->run == b->run;
}

/* The greatest value of each column of another run, on the leading run's axis. */
static double *other_line(const struct timeline *t, const struct run_report *r, enum field field)
{
    struct reduced d;
    struct arena scratch = {0}; /* of thousands of ranks nothing but the line is kept */
    struct reduce_spec spec = {.x = t->x_kind,
                               .lo = t->frame.x.scale.lo,
                               .hi = t->frame.x.scale.hi,
                               .n_columns = t->data.n_columns,
                               .fields = &field,
                               .n_fields = 1,
                               .phase = -1};
    reduce(&d, &scratch, r->series, &spec);
    double *v = arena_alloc(t->frame.c->arena, d.n_columns * sizeof *v);
    memcpy(v, d.segments[0].field[0].max, d.n_columns * sizeof *v);
    for (size_t s = 1; s < d.n_segments; s++)
        for (size_t i = 0; i < d.n_columns; i++)
            v[i] = fmax(v[i], d.segments[s].field[0].max[i]);
    arena_release(&scratch);
    reduce_join(v, t->data.n_columns);
    return v;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void band_of_ranks(struct others *o, const struct timeline *t, enum field field)
{
    size_t n = t->data.n_columns;
    struct arena *arena = t->frame.c->arena;
    double **lines = arena_alloc(arena, o->n_ranks * sizeof *lines);
    double *sorted = arena_alloc(arena, o->n_ranks * sizeof *sorted);
    for (size_t k = 0; k < o->n_ranks; k++)
        lines[k] = other_line(t, o->ranks[k], field);
    o->low = arena_alloc(arena, 3 * n * sizeof(double));
    o->median = o->low + n;
    o->high = o->median + n;
    for (size_t i = 0; i < n; i++) {
        size_t known = 0;
        for (size_t k = 0; k < o->n_ranks; k++)
            if (!isnan(lines[k][i]))
                sorted[known++] = lines[k][i];
        qsort(sorted, known, sizeof *sorted, by_value);
        o->low[i] = known ? sorted[0] : NAN;
        o->median[i] = known ? sorted[known / 2] : NAN;
        o->high[i] = known ? sorted[known - 1] : NAN;
        o->max_bytes = fmax(o->max_bytes, o->high[i]);
    }
}

static void find_others(struct others *o, const struct timeline *t, const struct analysis *a)
{
    *o = (struct others){0};
    /* What the finding is about: the growing level, or the peaks. */
    bool level = t->run->verdict.cause == CAUSE_LEAK || t->n_lines < 2 || t->lines[1].field != F_PEAK;
    enum field field = level ? t->lines[0].field : F_PEAK;
    o->ranks = arena_alloc(t->frame.c->arena, a->n_runs * sizeof *o->ranks);
    for (size_t i = 0; i < a->n_runs; i++) {
        const struct run_report *r = &a->runs[i];
        if (r == t->run || !r->series || !series_has(r->series, field) ||
            reduce_x_kind(r->series) != t->x_kind)
            continue;
        if (same_run(r, t->run)) {
            o->ranks[o->n_ranks++] = r;
        } else if (num_same(r->rank, t->run->rank)) {
            if (o->n_seeds == TIMELINE_OTHERS)
                o->left_out++;
            else
                o->seeds[o->n_seeds++] = r;
        }
    }
    if (o->n_ranks + 1 < MANY_RANKS)
        o->n_ranks = 0;
    else
        band_of_ranks(o, t, field);
    for (size_t k = 0; k < o->n_seeds; k++) {
        o->line[k] = other_line(t, o->seeds[k], field);
        for (size_t i = 0; i < t->data.n_columns; i++)
            o->max_bytes = fmax(o->max_bytes, o->line[k][i]);
    }
}

static double last_value(const double *v, size_t n, size_t *at)
{
    for (size_t i = n; i-- > 0;)
        if (!isnan(v[i])) {
            *at = i;
            return v[i];
        }
    return NAN;
}

static void draw_others(const struct others *o, const struct timeline *t, struct labels *labels)
{
    const struct frame *f = &t->frame;
    size_t n = t->data.n_columns, at = 0;
    if (o->n_ranks) {
        double y = scale_px_clamped(&f->y.scale, last_value(o->median, n, &at));
        const char *what = arena_printf(f->c->arena, "%zu other ranks:", o->n_ranks);
        frame_y_px(f, o->low, 3 * n);
        canvas_columns(f->c, f->left, n, o->high, o->low, INK_MUTED, 0.25);
        canvas_trace(f->c, f->left, n, o->median, INK_MUTED, 1, DASH_NONE);
        labels_add(labels, y, INK_MUTED, what, "range and median", NULL);
    }
    for (size_t k = 0; k < o->n_seeds; k++) {
        double y = scale_px_clamped(&f->y.scale, last_value(o->line[k], n, &at));
        if (isnan(y))
            continue;
        frame_y_px(f, o->line[k], n);
        canvas_trace(f->c, f->left, n, o->line[k], INK_MUTED, 1, DASH_NONE);
        f->c->items[f->c->n - 1].alpha = 0.45;
        canvas_mark(f->c, MARK_DOT, f->left + (double)at / CANVAS_SCALE, y, 5, INK_MUTED);
        const struct run_report *r = o->seeds[k];
        /* Below the leading run's labels, which they would push aside where all ends lie together. */
        labels_add(
            labels, y + 30, INK_MUTED,
            arena_printf(f->c->arena, r->has_failure ? "%s: OOM at %s" : "%s: to %s",
                         plot_say_run(f->c, r, false),
                         plot_say_number(f->c->arena, r->has_failure ? r->failure.step : r->last_step)),
            NULL, NULL);
    }
}

/* --- what happened -------------------------------------------------------------------------- */

/* Bands of evaluation; returns the middle of the first that is not much narrower than another,
 * or NAN when none was drawn. */
static double draw_eval(const struct timeline *t)
{
    const struct frame *f = &t->frame;
    double widest = 0, where = NAN, end = -INFINITY, covered = 0;
    if (t->x_kind != X_STEP || t->run->n_eval_spans == 0)
        return NAN;
    size_t first = f->c->n;
    for (size_t i = 0; i < t->run->n_eval_spans; i++) {
        double x = scale_px_clamped(&f->x.scale, t->run->eval_spans[i].from);
        double x2 = scale_px_clamped(&f->x.scale, t->run->eval_spans[i].to);
        x2 = fmin(fmax(x2, x + 2), f->right);
        x = fmax(x, end);
        if (!(x2 > x))
            continue;
        canvas_rect(f->c, x, f->top, x2, f->bottom, INK_BAND, 1);
        covered += x2 - x;
        end = x2;
        if (x2 - x > 1.5 * widest) {
            widest = x2 - x;
            where = (x + x2) / 2;
        }
    }
    if (covered <= 0.6 * (f->right - f->left))
        return where;
    f->c->n = first; /* a grey picture says nothing */
    return NAN;
}

/* The least and greatest [px] of all lines between two x [px]. */
static void lines_within(const struct timeline *t, double x, double x2, double *top, double *bottom)
{
    const struct frame *f = &t->frame;
    *top = f->bottom;
    *bottom = f->top;
    for (size_t i = 0; i < t->data.n_columns; i++) {
        double at = f->left + (double)i / CANVAS_SCALE;
        if (at < x - 8 || at > x2 + 8)
            continue;
        for (size_t s = 0; s < t->data.n_segments; s++)
            for (size_t k = 0; k < t->n_lines; k++) {
                const struct reduced_field *r = &t->data.segments[s].field[k];
                *top = fmin(*top, scale_px_clamped(&f->y.scale, r->max[i]));
                *bottom = fmax(*bottom, scale_px_clamped(&f->y.scale, r->min[i]));
            }
    }
    if (t->show_capacity) {
        *top = fmin(*top, timeline_end_y(t));
        *bottom = fmax(*bottom, timeline_end_y(t));
    }
}

static void label_eval(const struct timeline *t, double x, struct labels *labels)
{
    const struct frame *f = &t->frame;
    double half = canvas_text_width(f->c, 12, "eval") / 2, top, bottom;
    if (isnan(x))
        return;
    x = fmin(fmax(x, f->left + half + 4), f->right - half - 4);
    lines_within(t, x - half, x + half, &top, &bottom);
    if (bottom < f->bottom - 28)
        canvas_text(f->c, x, f->bottom - 10, ANCHOR_MIDDLE, 12, INK_EVAL, 0, "eval");
    else if (top > f->top + 26)
        canvas_text(f->c, x, f->top + 16, ANCHOR_MIDDLE, 12, INK_EVAL, 0, "eval");
    else
        labels_add(labels, f->bottom - 24, INK_EVAL, "shaded: eval", NULL, NULL);
}

static void draw_epochs(const struct timeline *t)
{
    const struct frame *f = &t->frame;
    const struct run_report *r = t->run;
    if (t->x_kind != X_STEP || r->n_epochs_at == 0)
        return;
    double free_from = f->left - 4;
    bool any = false;
    for (size_t i = 0; i < r->n_epochs_at; i++) {
        double x = scale_px(&f->x.scale, r->epochs_at[i].from);
        if (!(x >= f->left - 0.5 && x <= f->right + 0.5))
            continue;
        const char *number = plot_say_number(f->c->arena, r->epochs_at[i].to);
        double half = canvas_text_width(f->c, 11, number) / 2;
        bool labelled = x - half >= free_from;
        if (!labelled && r->n_epochs_at > EPOCH_TICKS)
            continue;
        canvas_rect(f->c, x - 0.5, f->top - 6, x + 0.5, f->top, INK_MUTED, 1);
        if (!labelled)
            continue;
        canvas_text(f->c, x, f->top - 10, ANCHOR_MIDDLE, 11, INK_MUTED, 0, number);
        free_from = x + half + 14;
        any = true;
    }
    if (any)
        canvas_text(f->c, f->left - 12, f->top - 10, ANCHOR_RIGHT, 11, INK_MUTED, f->left - 12, "epoch");
}

static bool survived(const struct timeline *t, const struct event *e)
{
    if (e->kind != EVENT_OOM)
        return false;
    if (record_has(&e->rec, F_RECOVERED))
        return record_number(&e->rec, F_RECOVERED) != 0;
    return e->row < t->run->series->rows && timeline_event_x(t, e) < t->end_x;
}

static void draw_events(const struct timeline *t, struct labels *labels)
{
    const struct frame *f = &t->frame;
    const struct series *s = t->run->series;
    double last_save = -INFINITY, last_oom = -INFINITY, oom_y = timeline_end_y(t);
    size_t saves = 0, ooms = 0;
    for (size_t i = 0; i < s->n_events; i++) {
        const struct event *e = &s->events[i];
        double x = scale_px(&f->x.scale, timeline_event_x(t, e));
        if (!(x >= f->left && x <= f->right))
            continue;
        if (e->kind == EVENT_SAVE) {
            saves++;
            if (x - last_save >= 5)
                canvas_mark(f->c, MARK_DIAMOND, last_save = x, f->bottom, 9, INK_TEXT);
        } else if (survived(t, e)) {
            ooms++;
            if (x - last_oom >= 8)
                canvas_mark(f->c, MARK_X_HOLLOW, last_oom = x, oom_y, 12, INK_OOM);
        }
    }
    if (saves)
        labels_add(labels, f->bottom, INK_TEXT, saves == 1 ? "diamond: saved" : "diamonds: saved", NULL,
                   NULL);
    if (ooms)
        labels_add(labels, oom_y + 1, INK_OOM,
                   arena_printf(f->c->arena, "hollow X: %zu OOM%s", ooms, ooms == 1 ? "" : "s"),
                   "caught, went on", NULL);
}

static void draw_restarts(const struct timeline *t, struct labels *labels)
{
    const struct frame *f = &t->frame;
    size_t drawn = 0;
    for (size_t s = 1; s < t->data.n_segments; s++) {
        const double *v = t->data.segments[s].field[0].mean;
        for (size_t i = 0; i < t->data.n_columns; i++) {
            if (isnan(v[i]))
                continue;
            double x = f->left + (double)i / CANVAS_SCALE;
            canvas_line(f->c, x, f->top, x, f->bottom, INK_MUTED, 1, DASH_DOTTED);
            drawn++;
            break;
        }
    }
    if (drawn)
        labels_add(labels, f->bottom - 16, INK_MUTED, "dotted upright:", "restart", NULL);
}

static void label_lines(const struct timeline *t, struct labels *labels)
{
    struct arena *arena = t->frame.c->arena;
    const struct run_report *r = t->run;
    for (size_t k = 0; k < t->n_lines; k++) {
        const char *name = plot_field_name(t->lines[k].field);
        double y = scale_px_clamped(&t->frame.y.scale, timeline_last(t, k));
        labels_add(labels, y, t->lines[k].ink, name, NULL, NULL);
    }
    if (t->show_capacity)
        labels_add(labels, timeline_end_y(t), INK_TEXT,
                   arena_printf(arena, "capacity %s", plot_say_bytes(arena, t->capacity_bytes)), NULL, NULL);
    else if (t->capacity_bytes > 0)
        labels_add(labels, t->frame.top, INK_TEXT,
                   "capacity, above:", plot_say_bytes(arena, t->capacity_bytes), NULL);
    if (isnan(t->end_x))
        return;
    double asked = r->has_failure ? r->failure.requested_bytes : NAN,
           left = r->has_failure ? r->failure.free_bytes : NAN;
    enum byte_unit unit = num_byte_unit(fmax(asked, left));
    const char *line2 =
        isnan(asked) ? NULL : arena_printf(arena, "asked %s", plot_say_bytes_in(arena, asked, unit));
    const char *line3 =
        isnan(left) ? NULL : arena_printf(arena, "free %s", plot_say_bytes_in(arena, left, unit));
    labels_add(labels, timeline_end_y(t) - 1, INK_OOM, plot_say_end(arena, r), line2 ? line2 : line3,
               line2 ? line3 : NULL);
}

/* The greatest value where it stands out of the line that shows it. */
static void mark_highest(const struct timeline *t)
{
    size_t k = t->n_lines > 1 && t->lines[1].field == F_PEAK ? 1 : 0, best = 0;
    const struct frame *f = &t->frame;
    double max = timeline_max(t, k);
    for (size_t s = 0; s < t->data.n_segments; s++)
        for (size_t i = 0; i < t->data.n_columns; i++)
            if (t->data.segments[s].field[k].max[i] == max)
                best = i;
    double x = f->left + (double)best / CANVAS_SCALE, y = scale_px_clamped(&f->y.scale, max);
    if (max > 0 && y < f->bottom - 4)
        canvas_mark(f->c, MARK_TRIANGLE, x, y - 5, 8, t->lines[k].ink);
}

/* --- the picture ---------------------------------------------------------------------------- */

static void describe(struct canvas *c, const struct timeline *t, const struct others *o, struct picture *p)
{
    struct arena *arena = c->arena;
    p->title = timeline_title(arena, t);
    p->alt = timeline_alt(c, t);
    const char *grey = "";
    if (o->n_ranks)
        grey = arena_printf(arena, "; grey: range and median of %zu other ranks", o->n_ranks);
    else if (o->n_seeds)
        grey = arena_printf(arena, "; grey: %zu other run%s%s", o->n_seeds, o->n_seeds == 1 ? "" : "s",
                            o->left_out ? arena_printf(arena, ", %zu more are not drawn", o->left_out) : "");
    p->caption =
        arena_printf(arena, "%s: %zu rows reduced to least, mean and greatest value in %zu columns%s",
                     plot_say_source(c, t->run), t->run->series->rows, t->data.n_columns, grey);
}

bool plot_timeline(struct canvas *c, const struct analysis *a, struct picture *p)
{
    const struct run_report *run = plot_lead(a);
    struct frame area;
    struct timeline t;
    struct others others;
    struct labels labels = {.n = 0};
    plot_frame_init(&area, c);
    if (!run || !timeline_init(&t, &area, run))
        return false;
    find_others(&others, &t, a);
    timeline_set_y(&t, others.max_bytes);
    describe(c, &t, &others, p);
    frame_title(&t.frame, p->title,
                arena_printf(c->arena, "%s; envelope = min to max within one pixel column; GiB = 2^30 bytes",
                             plot_say_source(c, run)));
    double eval_x = draw_eval(&t);
    frame_grid(&t.frame);
    label_lines(&t, &labels);
    draw_others(&others, &t, &labels);
    draw_restarts(&t, &labels);
    timeline_draw_lines(&t);
    mark_highest(&t);
    timeline_draw_end(&t);
    frame_axes(&t.frame);
    draw_events(&t, &labels);
    draw_epochs(&t);
    label_eval(&t, eval_x, &labels);
    /* All that ends near the limit has its label there: leaders that had no room would run into one line. */
    labels_place(&labels, t.frame.top - 18, t.frame.bottom + 10);
    labels_draw(&labels, c, t.frame.right + 7, t.frame.right + LEADERS,
                c->width - t.frame.right - LEADERS - 4);
    return true;
}

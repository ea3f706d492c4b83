#include "draw/timeline.h"
#include <math.h>

static void add_line(struct timeline *t, enum field field, enum ink ink, enum dash dash, bool envelope)
{
    if (t->n_lines < TIMELINE_LINES && series_has(t->run->series, field))
        t->lines[t->n_lines++] = (struct timeline_line){field, ink, dash, envelope};
}

static void choose_lines(struct timeline *t)
{
    const struct series *s = t->run->series;
    bool host = t->run->verdict.subtype == SUB_HOST && series_has(s, F_HOST_RSS);
    enum field main = host ? F_HOST_RSS : plot_main_field(s);
    if (main == F_COUNT)
        return;
    add_line(t, main, INK_ALLOCATED, DASH_NONE, true);
    if (main == F_ALLOCATED)
        add_line(t, F_PEAK, INK_PEAK, DASH_NONE, false);
    if (main == F_HOST_RSS || main == F_RESERVED || main == F_PEAK_RESERVED)
        return;
    if (series_has(s, F_RESERVED))
        add_line(t, F_RESERVED, INK_RESERVED, DASH_DASHED, false);
    else
        add_line(t, F_PEAK_RESERVED, INK_RESERVED, DASH_DASHED, false);
    if (main != F_DEVICE_USED)
        add_line(t, F_DEVICE_USED, INK_OTHER, DASH_MIXED, false);
}

double timeline_event_x(const struct timeline *t, const struct event *e)
{
    enum field f = t->x_kind == X_STEP ? F_STEP : F_TIME;
    if (t->x_kind != X_ROW && record_has(&e->rec, f))
        return record_number(&e->rec, f);
    return e->row > 0 ? reduce_x_at(t->run->series, t->x_kind, e->row - 1) : NAN;
}

static double find_end(const struct timeline *t)
{
    const struct run_report *r = t->run;
    if (!r->has_failure && r->outcome != OUTCOME_OOM && r->outcome != OUTCOME_KILLED)
        return NAN;
    if (t->x_kind == X_STEP && r->has_failure && isfinite(r->failure.step))
        return r->failure.step;
    for (size_t i = r->series->n_events; i-- > 0;)
        if (r->series->events[i].kind == EVENT_OOM || r->series->events[i].kind == EVENT_KILL)
            return timeline_event_x(t, &r->series->events[i]);
    return NAN;
}

double timeline_max(const struct timeline *t, size_t k)
{
    double max = NAN;
    for (size_t s = 0; s < t->data.n_segments; s++)
        for (size_t i = 0; i < t->data.n_columns; i++)
            max = fmax(max, t->data.segments[s].field[k].max[i]);
    return max;
}

double timeline_last(const struct timeline *t, size_t k)
{
    for (size_t s = t->data.n_segments; s-- > 0;) {
        const struct reduced_field *f = &t->data.segments[s].field[k];
        const double *v = t->lines[k].envelope ? f->mean : f->max;
        for (size_t i = t->data.n_columns; i-- > 0;)
            if (!isnan(v[i]))
                return v[i];
    }
    return NAN;
}

static bool two_points(const struct timeline *t)
{
    double points = 0;
    for (size_t s = 0; s < t->data.n_segments; s++)
        for (size_t i = 0; i < t->data.n_columns; i++)
            points += t->data.segments[s].field[0].count[i];
    return points >= 2;
}

bool timeline_init(struct timeline *t, const struct frame *f, const struct run_report *run)
{
    *t = (struct timeline){.run = run, .end_x = NAN, .frame = *f};
    double lo, hi;
    if (!run->series || run->series->rows < 2)
        return false;
    choose_lines(t);
    t->x_kind = reduce_x_kind(run->series);
    if (t->n_lines == 0 || !reduce_x_range(run->series, t->x_kind, &lo, &hi))
        return false;
    t->end_x = find_end(t);
    hi = fmax(hi, isfinite(t->end_x) ? t->end_x : hi);
    frame_x(&t->frame, t->x_kind, lo, hi);
    enum field fields[TIMELINE_LINES];
    for (size_t k = 0; k < t->n_lines; k++)
        fields[k] = t->lines[k].field;
    struct reduce_spec spec = {.x = t->x_kind,
                               .lo = t->frame.x.scale.lo,
                               .hi = t->frame.x.scale.hi,
                               .n_columns = frame_columns(&t->frame),
                               .fields = fields,
                               .n_fields = t->n_lines,
                               .phase = -1};
    reduce(&t->data, f->c->arena, run->series, &spec);
    if (!two_points(t))
        return false;
    for (size_t k = 0; k < t->n_lines; k++)
        t->max_bytes = fmax(t->max_bytes, timeline_max(t, k));
    bool host = t->lines[0].field == F_HOST_RSS;
    double capacity = t->capacity_bytes =
        host ? series_meta(run->series, F_HOST_CAPACITY) : run->capacity_bytes;
    t->show_capacity = capacity > 0 && (t->max_bytes >= capacity / 4 || !isnan(t->end_x));
    return true;
}

void timeline_set_y(struct timeline *t, double also_bytes)
{
    double top = fmax(t->max_bytes, also_bytes);
    if (t->show_capacity)
        top = fmax(top, t->capacity_bytes);
    frame_y_bytes(&t->frame, 0, top > 0 ? top * 1.04 : 1);
}

/* Values of one segment in pixels, gaps between rows bridged. */
static double *in_px(const struct timeline *t, const double *v)
{
    size_t n = t->data.n_columns;
    double *px = arena_alloc(t->frame.c->arena, n * sizeof *px);
    memcpy(px, v, n * sizeof *px);
    reduce_join(px, n);
    frame_y_px(&t->frame, px, n);
    return px;
}

static void widen_envelope(double *top, double *bottom, size_t n)
{
    /* A spike of one column would be half a CSS pixel wide: it takes in its neighbours. */
    double above = NAN, below = NAN;
    for (size_t i = 0; i < n; i++) {
        double t = top[i], b = bottom[i];
        top[i] = fmin(fmin(t, above), i + 1 < n ? top[i + 1] : t);
        bottom[i] = fmax(fmax(b, below), i + 1 < n ? bottom[i + 1] : b);
        above = t;
        below = b;
    }
}

/* A line that goes up and down at nearly every column would be one solid mass if it were thick. */
static bool is_rough(const double *y, size_t n)
{
    double way = 0;
    for (size_t i = 1; i < n; i++)
        way += isnan(y[i]) || isnan(y[i - 1]) ? 0 : fabs(y[i] - y[i - 1]);
    return way > 6 * (double)n;
}

static void draw_segment(const struct timeline *t, const struct reduced_segment *segment, size_t k)
{
    const struct timeline_line *line = &t->lines[k];
    const struct reduced_field *f = &segment->field[k];
    struct canvas *c = t->frame.c;
    size_t n = t->data.n_columns;
    if (line->envelope) {
        double *top = in_px(t, f->max), *bottom = in_px(t, f->min);
        widen_envelope(top, bottom, n);
        canvas_columns(c, t->frame.left, n, top, bottom, line->ink, 0.30);
    }
    const double *y = in_px(t, line->envelope ? f->mean : f->max);
    canvas_trace(c, t->frame.left, n, y, line->ink, is_rough(y, n) ? 1 : 1.6, line->dash);
}

void timeline_draw_lines(const struct timeline *t)
{
    /* The main line last: it lies on top. */
    for (size_t k = t->n_lines; k-- > 0;)
        for (size_t s = 0; s < t->data.n_segments; s++)
            draw_segment(t, &t->data.segments[s], k);
}

double timeline_end_y(const struct timeline *t)
{
    if (t->show_capacity)
        return scale_px_clamped(&t->frame.y.scale, t->capacity_bytes);
    return scale_px_clamped(&t->frame.y.scale, fmax(t->max_bytes, 0));
}

void timeline_draw_end(const struct timeline *t)
{
    const struct frame *f = &t->frame;
    if (t->show_capacity) {
        double y = scale_px(&f->y.scale, t->capacity_bytes);
        canvas_line(f->c, f->left, y, f->right, y, INK_TEXT, 1.5, DASH_DOTTED);
    }
    if (isnan(t->end_x))
        return;
    double x = scale_px_clamped(&f->x.scale, t->end_x);
    canvas_rect(f->c, x - 1, f->top, x + 1, f->bottom, INK_OOM, 1);
    canvas_mark(f->c, MARK_X, x, timeline_end_y(t), 12, INK_OOM);
}

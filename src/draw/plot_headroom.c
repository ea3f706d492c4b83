/* How much of the device was left at each step: what decides when nothing grows. */
#include "draw/plot.h"
#include <math.h>

enum {
    POINTS_MIN = 8 /* fewer are told better in words */
};

struct headroom {
    const struct run_report *run;
    enum field field;
    enum x_kind x_kind;
    struct frame frame;
    double *least, *most; /* n columns [B] */
    size_t n;
    double lowest, highest, lowest_x; /* [B], [B], x */
    double asked, end_x;
    bool from_zero;
};

static bool read_data(struct headroom *h)
{
    struct reduced d;
    struct reduce_spec spec = {.x = h->x_kind,
                               .lo = h->frame.x.scale.lo,
                               .hi = h->frame.x.scale.hi,
                               .n_columns = h->n,
                               .fields = &h->field,
                               .n_fields = 1,
                               .phase = -1};
    size_t points = 0;
    reduce(&d, h->frame.c->arena, h->run->series, &spec);
    h->least = arena_alloc(h->frame.c->arena, 2 * h->n * sizeof *h->least);
    h->most = h->least + h->n;
    h->lowest = h->highest = h->lowest_x = NAN;
    for (size_t i = 0; i < h->n; i++) {
        double high = NAN, low = NAN;
        for (size_t s = 0; s < d.n_segments; s++) {
            high = fmax(high, d.segments[s].field[0].max[i]);
            low = fmin(low, d.segments[s].field[0].min[i]);
        }
        h->least[i] = h->run->capacity_bytes - high;
        h->most[i] = h->run->capacity_bytes - low;
        points += !isnan(high);
        if (!isnan(high) && !(h->least[i] >= h->lowest)) {
            h->lowest = h->least[i];
            h->lowest_x = h->frame.x.scale.lo +
                          (h->frame.x.scale.hi - h->frame.x.scale.lo) * ((double)i + 0.5) / (double)h->n;
        }
        h->highest = fmax(h->highest, h->most[i]);
    }
    return points >= POINTS_MIN;
}

static bool headroom_init(struct headroom *h, struct canvas *c, const struct run_report *run)
{
    double lo, hi;
    *h = (struct headroom){.run = run, .asked = NAN, .end_x = NAN};
    enum cause cause = run->verdict.cause;
    if ((cause != CAUSE_PEAK && cause != CAUSE_CAPACITY) || !run->series || !(run->capacity_bytes > 0))
        return false;
    h->field = series_has(run->series, F_PEAK) ? F_PEAK : plot_main_field(run->series);
    h->x_kind = reduce_x_kind(run->series);
    if (h->field == F_COUNT || h->field == F_HOST_RSS || !reduce_x_range(run->series, h->x_kind, &lo, &hi))
        return false;
    if (run->has_failure) {
        h->asked = run->failure.requested_bytes;
        h->end_x = h->x_kind == X_STEP ? run->failure.step : NAN;
    }
    plot_frame_init(&h->frame, c);
    frame_x(&h->frame, h->x_kind, lo, fmax(hi, h->end_x));
    h->n = frame_columns(&h->frame);
    if (!read_data(h))
        return false;
    h->from_zero = h->lowest < 0.6 * h->highest;
    double room = fmax(h->highest - h->lowest, 0.05 * h->highest);
    double top = h->asked > h->highest ? fmin(h->asked, 2 * h->highest) : h->highest;
    frame_y_bytes(&h->frame, h->from_zero ? fmin(h->lowest, 0) : h->lowest - 0.1 * room, top * 1.04 + 1);
    return true;
}

static void describe(const struct headroom *h, struct picture *p)
{
    struct arena *arena = h->frame.c->arena;
    const char *least = plot_say_bytes(arena, h->lowest),
               *capacity = plot_say_bytes(arena, h->run->capacity_bytes);
    const char *which = h->run->has_failure ? " of the steps that were logged" : "";
    p->title =
        arena_printf(arena, "Headroom: the %s%s left at least %s of %s free%s%s", plot_field_name(h->field),
                     which, least, capacity, h->run->has_failure ? "; the one that ran out needed more" : "",
                     h->from_zero ? "" : " (the axis does not start at 0)");
    if (h->lowest < 0)
        p->title = arena_printf(arena, "Headroom: the %s is up to %s above the capacity of %s",
                                plot_field_name(h->field), plot_say_bytes(arena, -h->lowest), capacity);
    p->alt = arena_printf(arena, "Capacity minus %s of %s: between %s and %s%s.", plot_field_name(h->field),
                          plot_say_run(h->frame.c, h->run, true), least, plot_say_bytes(arena, h->highest),
                          isnan(h->asked) ? ""
                                          : arena_printf(arena, "; the failing allocation asked for %s",
                                                         plot_say_bytes(arena, h->asked)));
    p->caption = arena_printf(arena, "%s: capacity (%s) minus %s, least within one pixel column",
                              plot_say_source(h->frame.c, h->run), capacity, plot_field_name(h->field));
}

static void label(const struct headroom *h)
{
    const struct frame *f = &h->frame;
    struct arena *arena = f->c->arena;
    struct labels labels = {.n = 0};
    size_t last = 0;
    for (size_t i = 0; i < h->n; i++)
        last = isnan(h->least[i]) ? last : i;
    labels_add(&labels, h->least[last], INK_PEAK, "capacity minus", plot_field_name(h->field), NULL);
    if (h->asked <= f->y.scale.hi && h->asked >= f->y.scale.lo)
        labels_add(&labels, scale_px(&f->y.scale, h->asked), INK_OOM,
                   arena_printf(arena, "asked %s", plot_say_bytes(arena, h->asked)), NULL, NULL);
    if (!isnan(h->end_x))
        labels_add(&labels, f->top, INK_OOM, plot_say_end(arena, h->run), NULL, NULL);
    labels_place(&labels, f->top - 6, f->bottom + 8);
    labels_draw(&labels, f->c, f->right + 7, f->right + 16, f->c->width - f->right - 20);
}

bool plot_headroom(struct canvas *c, const struct analysis *a, struct picture *p)
{
    struct headroom h;
    const struct run_report *run = plot_lead(a);
    if (!run || !headroom_init(&h, c, run))
        return false;
    struct frame *f = &h.frame;
    describe(&h, p);
    frame_title(f, p->title,
                arena_printf(c->arena,
                             "%s; capacity minus %s: least within one pixel column; GiB = 2^30 bytes",
                             plot_say_source(c, run), plot_field_name(h.field)));
    frame_grid(f);
    reduce_join(h.least, h.n);
    reduce_join(h.most, h.n);
    double lowest = scale_px_clamped(&f->y.scale, h.lowest);
    frame_y_px(f, h.least, 2 * h.n);
    canvas_columns(c, f->left, h.n, h.most, h.least, INK_PEAK, 0.25);
    canvas_trace(c, f->left, h.n, h.least, INK_PEAK, 1.6, DASH_NONE);
    if (h.asked <= f->y.scale.hi && h.asked >= f->y.scale.lo) {
        double y = scale_px(&f->y.scale, h.asked);
        canvas_line(c, f->left, y, f->right, y, INK_OOM, 1.5, DASH_DASHED);
    }
    if (lowest + 8 < f->bottom)
        canvas_mark(c, MARK_TRIANGLE, scale_px(&f->x.scale, h.lowest_x), lowest + 6, 8, INK_PEAK);
    if (!isnan(h.end_x)) {
        double x = scale_px_clamped(&f->x.scale, h.end_x);
        canvas_rect(c, x - 1, f->top, x + 1, f->bottom, INK_OOM, 1);
        canvas_mark(c, MARK_X, x, f->top, 12, INK_OOM);
    }
    frame_axes(f);
    label(&h);
    return true;
}

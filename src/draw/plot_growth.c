/* How the floor of the memory grows: against the level where the growth began. */
#include "draw/plot.h"
#include <math.h>

enum {
    BIN = 3,         /* [px] wide: the floor is the least value in it */
    NOISE = 32 << 20 /* [B] a range below this would only magnify what the allocator does anyway */
};

struct growth {
    const struct run_report *run;
    const struct leak_figures *leak;
    enum x_kind x_kind;
    struct frame frame;
    double *floor; /* n columns of pixels [B] above level; NAN: below the axis or no data */
    size_t n;
    double onset, level; /* [step], [B]: growth is counted from the floor here */
    double line_top;     /* [B] the fitted line is drawn up to here */
    double top_bytes;    /* greatest growth of floor and fit [B] */
    double end_x;
};

static double fit_at(const struct growth *g, double slope, double step)
{
    double at_onset = g->leak->fit_bytes0 + g->leak->slope_bytes_per_step * (g->onset - g->leak->fit_step0);
    return at_onset + slope * (step - g->onset) - g->level;
}

/* The least value of each bin, at the bin's middle, joined. */
static bool read_floor(struct growth *g)
{
    struct reduced d;
    size_t bins = g->n / (BIN * CANVAS_SCALE), points = 0;
    enum field field = g->leak->column;
    struct reduce_spec spec = {.x = g->x_kind,
                               .lo = g->frame.x.scale.lo,
                               .hi = g->frame.x.scale.hi,
                               .n_columns = bins,
                               .fields = &field,
                               .n_fields = 1,
                               .phase = PHASE_TRAIN};
    reduce(&d, g->frame.c->arena, g->run->series, &spec);
    g->floor = arena_alloc(g->frame.c->arena, g->n * sizeof *g->floor);
    for (size_t i = 0; i < g->n; i++)
        g->floor[i] = NAN;
    for (size_t i = 0; i < bins; i++) {
        double least = NAN;
        for (size_t s = 0; s < d.n_segments; s++)
            least = fmin(least, d.segments[s].field[0].min[i]);
        g->floor[i * g->n / bins + BIN * CANVAS_SCALE / 2] = least;
        points += !isnan(least);
    }
    reduce_join(g->floor, g->n);
    return points >= 2;
}

/* A floor that stays would only be magnified: there is nothing to be seen in it. */
static bool grows(const struct run_report *run)
{
    return run->verdict.cause == CAUSE_LEAK ||
           (run->leak.slope_low > 0 &&
            !(run->leak.slope_bytes_per_step < run->leak.minimum_detectable_bytes_per_step));
}

/* What 0 on the axis stands for: the floor where the growth began. */
static double level_at_onset(const struct growth *g)
{
    size_t from = (size_t)(scale_px(&g->frame.x.scale, g->onset) - g->frame.left) * CANVAS_SCALE;
    for (size_t i = from; i < g->n; i++)
        if (!isnan(g->floor[i]))
            return g->floor[i];
    for (size_t i = g->n; i-- > 0;)
        if (!isnan(g->floor[i]))
            return g->floor[i];
    return 0;
}

/* Where something else was found, its own figure is shown instead. */
static bool is_about_growth(const struct verdict *v)
{
    return v->cause == CAUSE_LEAK || v->cause == CAUSE_UNKNOWN || v->cause == CAUSE_NONE ||
           (v->has_runner_up && v->runner_up == CAUSE_LEAK);
}

static bool growth_init(struct growth *g, struct canvas *c, const struct run_report *run)
{
    double lo, hi;
    *g = (struct growth){.run = run, .leak = &run->leak, .end_x = NAN};
    if (!is_about_growth(&run->verdict) || !grows(run) ||
        (run->verdict.subtype == SUB_HOST && run->leak.column != F_HOST_RSS) || !run->has_leak ||
        !run->series || !isfinite(run->leak.slope_bytes_per_step) || !isfinite(run->leak.fit_step0) ||
        !isfinite(run->leak.fit_bytes0) || (unsigned)run->leak.column >= F_COUNT ||
        !series_has(run->series, run->leak.column))
        return false;
    g->x_kind = series_has(run->series, F_STEP) ? X_STEP : X_ROW;
    if (!reduce_x_range(run->series, g->x_kind, &lo, &hi))
        return false;
    if (run->has_failure && isfinite(run->failure.step) && g->x_kind == X_STEP)
        g->end_x = run->failure.step;
    plot_frame_init(&g->frame, c);
    frame_x(&g->frame, g->x_kind, lo, fmax(hi, g->end_x));
    g->n = frame_columns(&g->frame);
    g->onset = isfinite(run->leak.onset_step) ? fmin(fmax(run->leak.onset_step, lo), hi) : lo;
    if (!read_floor(g))
        return false;
    g->level = level_at_onset(g);
    return true;
}

static void set_y(struct growth *g)
{
    double end = isnan(g->end_x) ? g->frame.x.scale.hi : g->end_x;
    double fit = fit_at(g, g->leak->slope_bytes_per_step, end), top = 0, low = 0;
    for (size_t i = 0; i < g->n; i++) {
        g->floor[i] -= g->level;
        top = fmax(top, g->floor[i]);
        low = fmin(low, g->floor[i]);
    }
    /* A floor that falls back now and then has its slope between the falls: the line leaves it. */
    g->line_top = fit > 1.15 * top ? 1.02 * top : INFINITY;
    top = fmax(top, fmin(fit, g->line_top));
    g->top_bytes = top;
    /* What lies far below is the run before it had its memory, not growth. */
    if (!g->run->has_snapshot) /* whose levels are exact */
        top = fmax(top, fmax(NOISE, 0.003 * g->level));
    double least = -0.08 * top;
    for (size_t i = 0; i < g->n; i++)
        if (g->floor[i] < least)
            g->floor[i] = NAN;
    frame_y_bytes(&g->frame, fmax(low, least), top * 1.06);
}

static void draw_fit(const struct growth *g)
{
    const struct frame *f = &g->frame;
    const struct leak_figures *l = g->leak;
    double *fit = arena_alloc(f->c->arena, 3 * g->n * sizeof *fit), *low = fit + g->n, *high = low + g->n;
    for (size_t i = 0; i < g->n; i++) {
        double x = f->x.scale.lo + (double)i / (double)g->n * (f->x.scale.hi - f->x.scale.lo);
        double at = fit_at(g, l->slope_bytes_per_step, x);
        bool within = x >= g->onset && !(x > g->end_x) && at >= f->y.scale.lo && at <= g->line_top;
        fit[i] = within ? at : NAN;
        low[i] = within ? fit_at(g, l->slope_low, x) : NAN;
        high[i] = within ? fit_at(g, l->slope_high, x) : NAN;
    }
    frame_y_px(f, fit, 3 * g->n);
    canvas_columns(f->c, f->left, g->n, high, low, INK_PEAK, 0.25);
    canvas_trace(f->c, f->left, g->n, fit, INK_PEAK, 1.6, DASH_DASHED);
}

static void draw_onset(const struct growth *g)
{
    const struct frame *f = &g->frame;
    double x = scale_px_clamped(&f->x.scale, g->onset);
    const char *text =
        arena_printf(f->c->arena, "growth from step %s", plot_say_number(f->c->arena, round(g->onset)));
    double width = canvas_text_width(f->c, 12, text);
    canvas_line(f->c, x, f->top, x, f->bottom, INK_MUTED, 1, DASH_DOTTED);
    /* Above the area, where no line runs. */
    x = fmin(fmax(x, f->left + width / 2), f->right - width / 2);
    canvas_text(f->c, x, f->top - 8, ANCHOR_MIDDLE, 12, INK_MUTED, 0, text);
}

static void label(const struct growth *g)
{
    const struct frame *f = &g->frame;
    struct arena *arena = f->c->arena;
    struct labels labels = {.n = 0};
    double last = NAN, x_end = isnan(g->end_x) ? f->x.scale.hi : g->end_x;
    for (size_t i = 0; i < g->n; i++)
        last = isnan(g->floor[i]) ? last : g->floor[i];
    double low = g->leak->slope_low, high = g->leak->slope_high;
    enum byte_unit unit = num_byte_unit(fmax(fabs(low), fabs(high)));
    bool interval = isfinite(low) && isfinite(high) &&
                    strcmp(plot_say_bytes_in(arena, low, unit), plot_say_bytes_in(arena, high, unit)) != 0;
    labels_add(&labels, scale_px_clamped(&f->y.scale, fit_at(g, g->leak->slope_bytes_per_step, x_end)),
               INK_PEAK, arena_printf(arena, "fit %s", plot_say_rate(arena, g->leak->slope_bytes_per_step)),
               interval ? arena_printf(arena, "95 %%: %s to", plot_say_bytes_in(arena, low, unit)) : NULL,
               interval ? arena_printf(arena, "%s/step", plot_say_bytes_in(arena, high, unit)) : NULL);
    labels_add(&labels, scale_px_clamped(&f->y.scale, last), INK_ALLOCATED, "floor", NULL, NULL);
    if (!isnan(g->end_x))
        labels_add(&labels, f->top, INK_OOM, plot_say_end(arena, g->run), NULL, NULL);
    labels_place(&labels, f->top - 6, f->bottom + 8);
    labels_draw(&labels, f->c, f->right + 7, f->right + 16, f->c->width - f->right - 20);
}

static void describe(const struct growth *g, struct picture *p)
{
    struct arena *arena = g->frame.c->arena;
    const struct leak_figures *l = g->leak;
    const char *name = plot_field_name(l->column);
    const char *what = l->column == F_HOST_RSS ? name : arena_printf(arena, "%s memory", name);
    const char *rate = plot_say_rate(arena, l->slope_bytes_per_step);
    const char *from = plot_say_number(arena, round(g->onset));
    p->title =
        arena_printf(arena, "The floor of %s grows %s from step %s on; 0 on the axis is its level there, %s",
                     what, rate, from, plot_say_bytes(arena, g->level));
    p->alt = arena_printf(arena,
                          "Floor of %s of %s: grows %s from step %s on (95 %% interval %s to %s), "
                          "%s above the level of %s at the end%s.",
                          what, plot_say_run(g->frame.c, g->run, true), rate, from,
                          plot_say_bytes(arena, l->slope_low), plot_say_rate(arena, l->slope_high),
                          plot_say_bytes(arena, g->top_bytes), plot_say_bytes(arena, g->level),
                          plot_say_end_tail(arena, "; ", g->run));
    p->caption =
        arena_printf(arena,
                     "%s: least value of the training steps in each %d pixels, minus the level where the "
                     "growth began; robust slope with its 95 %% interval%s",
                     plot_say_source(g->frame.c, g->run), BIN,
                     isfinite(g->line_top) ? ", of the climb between falls" : "");
}

bool plot_growth(struct canvas *c, const struct analysis *a, struct picture *p)
{
    struct growth g;
    const struct run_report *run = plot_lead(a);
    if (!run || !growth_init(&g, c, run))
        return false;
    set_y(&g);
    describe(&g, p);
    frame_title(&g.frame, p->title,
                arena_printf(c->arena,
                             "%s; floor = least value within %d pixels, training steps; GiB = 2^30 bytes",
                             plot_say_source(c, run), BIN));
    frame_grid(&g.frame);
    draw_onset(&g);
    double *floor_px = arena_alloc(c->arena, g.n * sizeof *floor_px);
    memcpy(floor_px, g.floor, g.n * sizeof *floor_px);
    frame_y_px(&g.frame, floor_px, g.n);
    canvas_trace(c, g.frame.left, g.n, floor_px, INK_ALLOCATED, 1.6, DASH_NONE);
    draw_fit(&g);
    if (!isnan(g.end_x)) {
        double x = scale_px_clamped(&g.frame.x.scale, g.end_x);
        canvas_rect(c, x - 1, g.frame.top, x + 1, g.frame.bottom, INK_OOM, 1);
        canvas_mark(c, MARK_X, x, g.frame.top, 12, INK_OOM);
    }
    frame_axes(&g.frame);
    label(&g);
    return true;
}

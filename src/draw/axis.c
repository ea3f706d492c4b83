#include "draw/axis.h"
#include <math.h>
#include <stdio.h>

enum {
    TICK_SIZE = 12,
    TITLE_SIZE = 15,
    MARGIN = 16
};

void plot_frame_init(struct frame *f, struct canvas *c)
{
    *f = (struct frame){.c = c,
                        .left = PLOT_LEFT,
                        .top = PLOT_TOP,
                        .right = c->width - PLOT_RIGHT,
                        .bottom = c->height - PLOT_BOTTOM};
}

size_t frame_columns(const struct frame *f)
{
    double n = (f->right - f->left) * CANVAS_SCALE;
    return n < 1 ? 1 : n > REDUCE_COLUMNS ? REDUCE_COLUMNS : (size_t)n;
}

static void widen(double *lo, double *hi)
{
    double least = fmax(fabs(*lo), fabs(*hi)) * 1e-9;
    if (*hi - *lo > least)
        return;
    *hi += fmax(1, least);
    if (*lo > 0)
        *lo = fmax(0, *lo - fmax(1, least));
}

static void set_x_scale(struct frame *f, double lo, double hi)
{
    f->x.scale = (struct scale){lo, hi, f->left, f->right};
}

void frame_x(struct frame *f, enum x_kind kind, double lo, double hi)
{
    widen(&lo, &hi);
    f->x = (struct axis){.unit = 1, .suffix = "", .identifiers = true};
    if (kind == X_TIME) {
        double range = hi - lo;
        f->x.origin = lo;
        f->x.unit = range >= 2 * 3600 ? 3600 : range >= 3 * 60 ? 60 : 1;
        f->x.suffix = f->x.unit == 3600 ? "h" : f->x.unit == 60 ? "min" : "s";
        f->x.title = "time since the first record";
        f->x.identifiers = false;
    } else {
        f->x.title = kind == X_STEP ? "optimizer step" : "row of the log";
        if (lo > 0 && lo < 0.1 * hi)
            lo = 0;
    }
    double from = (lo - f->x.origin) / f->x.unit, to = (hi - f->x.origin) / f->x.unit;
    f->x.ticks = ticks_choose(from, to, kind != X_TIME);
    /* A little room at the right may give a tick that is missing. */
    double next = tick_at(&f->x.ticks, f->x.ticks.n);
    if (f->x.ticks.n < TICKS_MIN && next <= to + 0.08 * (to - from)) {
        hi = next * f->x.unit + f->x.origin;
        f->x.ticks.n++;
    }
    set_x_scale(f, lo, hi);
}

void frame_x_size(struct frame *f, double lo, double hi, const char *title)
{
    widen(&lo, &hi);
    f->x = (struct axis){.unit = 1, .suffix = "", .title = title, .identifiers = true};
    if (hi >= 1e6) {
        f->x.unit = 1e6;
        f->x.title = arena_printf(f->c->arena, "%s, in millions", title);
    }
    double to = hi / f->x.unit;
    f->x.ticks = ticks_round_up(lo / f->x.unit, &to, hi >= 1e7 || f->x.unit == 1);
    set_x_scale(f, lo, to * f->x.unit);
}

void frame_y_bytes(struct frame *f, double lo, double hi)
{
    enum byte_unit u = num_byte_unit(fmax(fabs(lo), fabs(hi)));
    f->y = (struct axis){.unit = num_byte_unit_size(u), .suffix = num_byte_unit_name(u)};
    widen(&lo, &hi);
    double from = lo / f->y.unit, to = hi / f->y.unit;
    if (to - from < 1e-6)
        to = from + 1e-6;
    f->y.ticks = ticks_round_up(from, &to, false);
    f->y.scale = (struct scale){from * f->y.unit, to * f->y.unit, f->bottom, f->top};
}

void frame_title(const struct frame *f, const char *title, const char *subtitle)
{
    double room = f->c->width - 2 * MARGIN;
    canvas_text(f->c, MARGIN, 25, ANCHOR_LEFT, TITLE_SIZE, INK_TEXT, room, title);
    if (subtitle)
        canvas_text(f->c, MARGIN, 45, ANCHOR_LEFT, TICK_SIZE, INK_MUTED, room, subtitle);
}

/* [px] of the i-th tick. */
static double tick_px(const struct axis *a, int i)
{
    return scale_px(&a->scale, tick_at(&a->ticks, i) * a->unit + a->origin);
}

/* The tick that bears the unit: 0 where there is one, else the first. */
static int unit_tick(const struct axis *a)
{
    for (int i = 0; i < a->ticks.n; i++)
        if (tick_at(&a->ticks, i) == 0)
            return i;
    return 0;
}

static void tick_text(char *out, size_t cap, const struct axis *a, int i)
{
    double v = tick_at(&a->ticks, i);
    const char *gap = *a->suffix && i == unit_tick(a) ? " " : "";
    const char *suffix = *gap ? a->suffix : "";
    if (v == 0) {
        snprintf(out, cap, "0%s%s", gap, suffix);
        return;
    }
    /* Figures too long for the margin; what they stand for is no plausible memory size any more. */
    if (!a->identifiers && fabs(v) >= 1e6)
        snprintf(out, cap, "%.3g%s%s", v, gap, suffix);
    else
        snprintf(out, cap, "%.*f%s%s", a->ticks.decimals, v, gap, suffix);
}

void frame_grid(const struct frame *f)
{
    for (int i = 0; i < f->y.ticks.n; i++) {
        double y = tick_px(&f->y, i);
        canvas_rect(f->c, f->left, y - 0.5, f->right, y + 0.5, INK_GRID, 1);
    }
}

static void x_labels(const struct frame *f)
{
    char text[64];
    double widest = 0;
    for (int i = 0; i < f->x.ticks.n; i++) {
        tick_text(text, sizeof text, &f->x, i);
        widest = fmax(widest, canvas_text_width(f->c, TICK_SIZE, text));
    }
    int every = 1;
    while (f->x.ticks.n > 1 && every < f->x.ticks.n &&
           (tick_px(&f->x, every) - tick_px(&f->x, 0)) < widest + 12)
        every++;
    for (int i = 0; i < f->x.ticks.n; i++) {
        double x = tick_px(&f->x, i);
        canvas_rect(f->c, x - 0.5, f->bottom, x + 0.5, f->bottom + 5, INK_MUTED, 1);
        if (i % every)
            continue;
        tick_text(text, sizeof text, &f->x, i);
        double half = canvas_text_width(f->c, TICK_SIZE, text) / 2;
        x = fmin(fmax(x, half + 4), f->c->width - half - 4);
        canvas_text(f->c, x, f->bottom + 19, ANCHOR_MIDDLE, TICK_SIZE, INK_MUTED, 0, text);
    }
}

void frame_axes(const struct frame *f)
{
    char text[64];
    for (int i = 0; i < f->y.ticks.n; i++) {
        tick_text(text, sizeof text, &f->y, i);
        canvas_text(f->c, f->left - 8, tick_px(&f->y, i) + 4, ANCHOR_RIGHT, TICK_SIZE, INK_MUTED,
                    f->left - 12, text);
    }
    canvas_rect(f->c, f->left, f->bottom - 0.5, f->right, f->bottom + 0.5, INK_MUTED, 1);
    x_labels(f);
    if (f->x.title)
        canvas_text(f->c, (f->left + f->right) / 2, f->bottom + 38, ANCHOR_MIDDLE, TICK_SIZE, INK_MUTED,
                    f->right - f->left, f->x.title);
}

void frame_y_px(const struct frame *f, double *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        v[i] = scale_px_clamped(&f->y.scale, v[i]);
}

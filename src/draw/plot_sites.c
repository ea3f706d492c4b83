/* Live memory over a trace, stacked by the lines that asked for it. */
#include "analyse/bands.h"
#include "draw/site_words.h"
#include <math.h>

enum {
    HEIGHT = 480,
    RIGHT = 250, /* [px] for the labels */
    SWATCH_GAP = 14,
    EDGE_MIN = 3 /* [px] high: thinner parts have no edge */
};

struct stacked {
    const struct run_report *run;
    const struct trace_device *d;
    struct bands bands;
    struct frame frame;
    bool blamed; /* the first band is the one to look at */
    size_t parts;
    const double *part[BANDS_MAX + 1]; /* parts, from below */
    struct fill_ink ink[BANDS_MAX + 1];
    const char *name[BANDS_MAX + 1];
    double highest[BANDS_MAX + 1];
};

/* The line holds much less itself than it is blamed for: the rest was asked for below it. */
static bool blamed_for_calls(const struct run_report *r)
{
    double own = 0;
    for (size_t i = 0; r->has_blame && i < r->n_holders; i++)
        if (r->holders[i].frame == r->blame.frame)
            own = fmax(own, r->holders[i].bytes);
    return r->has_blame && r->blame.bytes > 2 * own;
}

static bool stacked_init(struct stacked *k, struct canvas *c, const struct run_report *run)
{
    const struct trace_device *d = site_trace(run);
    if (!d || d->n < 2)
        return false;
    *k = (struct stacked){.run = run, .d = d};
    c->height = HEIGHT;
    plot_frame_init(&k->frame, c);
    k->frame.right = c->width - RIGHT;
    uint32_t first = site_blamed(run);
    if (!bands_make(&k->bands, c->arena, run->series->trace, d, frame_columns(&k->frame), first,
                    blamed_for_calls(run)) ||
        !k->bands.n)
        return false;
    const struct bands *b = &k->bands;
    k->blamed = first != TRACE_NONE && b->band[0].frame == first;
    for (size_t i = 0; i < b->n; i++) {
        k->ink[i] = site_ink(i - k->blamed, i == 0 && k->blamed);
        k->part[i] = b->band[i].bytes;
        k->highest[i] = b->band[i].highest;
        k->name[i] = site_short(b->band[i].site);
    }
    k->parts = b->n;
    if (b->n_others) {
        k->ink[b->n] = (struct fill_ink){INK_MUTED, .35};
        k->part[b->n] = b->others;
        k->name[b->n] = arena_printf(c->arena, "%zu other line%s", b->n_others, b->n_others == 1 ? "" : "s");
        for (size_t i = 0; i < b->n_columns; i++)
            k->highest[b->n] = fmax(k->highest[b->n], b->others[i]);
        k->parts++;
    }
    return true;
}

static void set_axes(struct stacked *k)
{
    const struct trace_device *d = k->d;
    struct frame *f = &k->frame;
    double top = 1;
    for (size_t i = 0; i < k->bands.n_columns; i++)
        top = fmax(top, fmax(k->bands.level[i], k->bands.reserved[i]));
    frame_x(f, X_ROW, (double)d->first, (double)(d->first + d->n));
    f->x.title = d->n_steps
                     ? arena_printf(f->c->arena, "event of the allocator's trace; short ticks: its %zu steps",
                                    d->n_steps)
                     : "event of the allocator's trace";
    frame_y_bytes(f, 0, top * 1.04);
}

/* From below, each with a thin edge of the page's colour above it. */
static void draw_parts(const struct stacked *k)
{
    const struct frame *f = &k->frame;
    size_t n = k->bands.n_columns;
    double *sum = arena_alloc(f->c->arena, 3 * n * sizeof *sum), *top = sum + n, *bottom = top + n;
    for (size_t i = 0; i < n; i++) {
        sum[i] = 0;
        bottom[i] = f->bottom;
    }
    for (size_t p = 0; p < k->parts; p++) {
        for (size_t i = 0; i < n; i++) {
            sum[i] += k->part[p][i];
            top[i] = scale_px_clamped(&f->y.scale, sum[i]);
        }
        canvas_columns(f->c, f->left, n, top, bottom, k->ink[p].ink, k->ink[p].alpha);
        memcpy(bottom, top, n * sizeof *top);
    }
    for (size_t i = 0; i < n; i++)
        sum[i] = 0;
    for (size_t p = 0; p + 1 < k->parts; p++) {
        for (size_t i = 0; i < n; i++) {
            double below = scale_px_clamped(&f->y.scale, sum[i]);
            sum[i] += k->part[p][i];
            top[i] = scale_px_clamped(&f->y.scale, sum[i]);
            if (below - top[i] < EDGE_MIN)
                top[i] = NAN;
        }
        canvas_trace(f->c, f->left, n, top, INK_PAGE, 0.8, DASH_NONE);
    }
}

static void draw_steps(const struct stacked *k)
{
    const struct frame *f = &k->frame;
    double last = -INFINITY;
    for (size_t i = 0; i < k->d->n_steps; i++) {
        double x = scale_px(&f->x.scale, (double)(k->d->first + k->d->steps[i].begin));
        if (x < last + 3)
            continue;
        canvas_rect(f->c, x - 0.5, f->bottom, x + 0.5, f->bottom + 3, INK_TEXT, 1);
        last = x;
    }
}

/* Marks above the area, where nothing else stands: the peak, and each failed request. */
static void draw_marks(const struct stacked *k)
{
    const struct frame *f = &k->frame;
    const struct trace_totals *sum = &k->d->totals;
    struct arena *a = f->c->arena;
    double at = (double)(k->d->first + (sum->peak_event == TRACE_BEFORE ? 0 : sum->peak_event));
    double x = scale_px_clamped(&f->x.scale, at), y = scale_px_clamped(&f->y.scale, (double)sum->peak);
    for (size_t i = 0; i < k->d->n_ooms && i < 32; i++) {
        double ox = scale_px_clamped(&f->x.scale, (double)(k->d->first + k->d->ooms[i].event));
        canvas_rect(f->c, ox - 1, f->top, ox + 1, f->bottom, INK_OOM, 1);
        canvas_mark(f->c, MARK_X, ox, f->top, 12, INK_OOM);
    }
    const char *text = arena_printf(a, "peak %s at event %.0f", plot_say_bytes(a, (double)sum->peak), at);
    double half = canvas_text_width(f->c, 12, text) / 2;
    canvas_line(f->c, x, f->top - 4, x, y, INK_TEXT, 1, DASH_DOTTED);
    canvas_mark(f->c, MARK_TRIANGLE, x, y, 8, INK_TEXT);
    canvas_text(f->c, fmin(fmax(x, f->left + half), f->right - half), f->top - 10, ANCHOR_MIDDLE, 12,
                INK_TEXT, 0, text);
}

static const char *growth_of(const struct stacked *k, size_t part)
{
    const struct run_report *r = k->run;
    double growth = part == 0 && k->blamed ? r->blame.growth_bytes_per_step : NAN;
    return growth > 0 ? arena_printf(k->frame.c->arena, ", +%s", plot_say_rate(k->frame.c->arena, growth))
                      : "";
}

static void label(const struct stacked *k)
{
    const struct frame *f = &k->frame;
    struct arena *a = f->c->arena;
    struct labels labels = {.n = 0};
    size_t end = k->bands.n_columns - 1;
    double below = 0, x = f->right + 24;
    if (k->d->n_ooms) {
        const struct trace_oom *o = &k->d->ooms[k->d->n_ooms - 1];
        labels_add(&labels, f->top, INK_OOM,
                   arena_printf(a, "OOM: asked %s", plot_say_bytes(a, (double)o->requested)), NULL, NULL);
    }
    for (size_t p = 0; p < k->parts; p++) {
        double middle = below + k->part[p][end] / 2;
        below += k->part[p][end];
        labels_add(&labels, scale_px_clamped(&f->y.scale, middle), k->ink[p].ink, k->name[p],
                   arena_printf(a, "up to %s%s", plot_say_bytes(a, k->highest[p]), growth_of(k, p)), NULL);
    }
    labels_place(&labels, f->top - 20, f->bottom + 40);
    for (size_t i = 0; i < labels.n; i++)
        for (size_t p = 0; p < k->parts; p++)
            if (labels.items[i].lines[0] == k->name[p]) {
                site_swatch(f->c, x, labels.items[i].at, k->ink[p]);
                if (scale_px(&f->y.scale, 0) - scale_px(&f->y.scale, k->part[p][end]) >= 2)
                    canvas_line(f->c, f->right + 2, labels.items[i].y, x - 3, labels.items[i].at, INK_MUTED,
                                0.8, DASH_NONE);
            }
    for (size_t i = 0; i < labels.n; i++)
        labels.items[i].y = labels.items[i].at; /* joined already */
    labels_draw(&labels, f->c, x, x + SWATCH_GAP, f->c->width - x - SWATCH_GAP - 8);
}

/* Part that holds most in a column. */
static size_t largest(const struct stacked *k, size_t column)
{
    size_t best = 0;
    for (size_t p = 1; p < k->bands.n; p++)
        if (k->part[p][column] > k->part[best][column])
            best = p;
    return best;
}

static void describe(const struct stacked *k, struct picture *p)
{
    struct arena *a = k->frame.c->arena;
    const struct run_report *r = k->run;
    double peak = (double)k->d->totals.peak;
    size_t column = 0;
    for (size_t i = 0; i < k->bands.n_columns; i++)
        column = k->bands.level[i] > k->bands.level[column] ? i : column;
    size_t most = largest(k, column);
    const char *end = r->snapshot.has_oom
                          ? arena_printf(a, "; a request of %s failed at event %.0f with %s live",
                                         plot_say_bytes(a, r->snapshot.oom_requested_bytes),
                                         r->snapshot.oom_event, plot_say_bytes(a, r->snapshot.oom_live_bytes))
                          : "";
    if (k->blamed && r->blame.growth_bytes_per_step > 0)
        p->title = arena_printf(a, "%s holds more and more: %s a step, up to %s of %s live", k->name[0],
                                plot_say_bytes(a, r->blame.growth_bytes_per_step),
                                plot_say_bytes(a, k->highest[0]), plot_say_bytes(a, peak));
    else
        p->title = arena_printf(a, "%s live at the peak, %s of it from %s", plot_say_bytes(a, peak),
                                plot_say_bytes(a, k->part[most][column]), k->name[most]);
    p->alt = arena_printf(a,
                          "Live memory of %s over %llu allocator events, stacked by line of code: peak %s, "
                          "most of it from %s (%s)%s%s.",
                          plot_say_source(k->frame.c, r), (unsigned long long)k->d->n,
                          plot_say_bytes(a, peak), k->name[most], plot_say_bytes(a, k->part[most][column]),
                          k->blamed ? arena_printf(a, "; to look at first: %s, up to %s", k->name[0],
                                                   plot_say_bytes(a, k->highest[0]))
                                    : "",
                          end);
    p->caption = arena_printf(
        a,
        "%s: requested bytes that were live, by the innermost line of your own code%s; each "
        "column of pixels shows the moment of its highest level",
        plot_say_source(k->frame.c, r),
        k->blamed ? ", the one to look at first at the bottom with all that was asked for below it" : "");
}

static void draw_reserved(const struct stacked *k)
{
    const struct frame *f = &k->frame;
    size_t n = k->bands.n_columns;
    double *y = arena_alloc(f->c->arena, n * sizeof *y), greatest = 0;
    for (size_t i = 0; i < n; i++)
        greatest = fmax(greatest, y[i] = k->bands.reserved[i]);
    if (!(greatest > 0))
        return;
    frame_y_px(f, y, n);
    canvas_trace(f->c, f->left, n, y, INK_RESERVED, 1.6, DASH_DASHED);
}

bool plot_sites(struct canvas *c, const struct analysis *a, struct picture *p)
{
    struct stacked k;
    const struct run_report *run = plot_lead(a);
    if (!run || !stacked_init(&k, c, run))
        return false;
    set_axes(&k);
    describe(&k, p);
    frame_title(&k.frame, p->title,
                arena_printf(c->arena, "%s; live requested bytes by line of code%s; GiB = 2^30 bytes",
                             plot_say_source(c, run), k.d->totals.reserved_peak ? ", dashed: reserved" : ""));
    frame_grid(&k.frame);
    draw_parts(&k);
    draw_reserved(&k);
    draw_marks(&k);
    frame_axes(&k.frame);
    draw_steps(&k);
    label(&k);
    return true;
}

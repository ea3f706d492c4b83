/* The peak of a step against the shape of its batch, with the fitted law and the ceiling. */
#include "draw/plot.h"
#include <math.h>

enum {
    CELL = 4 /* [px] */,
    SHAPE_FIELDS = 3
};

/* What is multiplied to the shape that the law is fitted on. */
struct shape {
    const struct column *column[SHAPE_FIELDS]; /* n; rows' values */
    size_t n;
};

struct law_plot {
    const struct run_report *run;
    const struct law *law;
    struct shape shape;
    const struct column *peak;
    struct frame frame;
    double x_max, y_max;   /* of the rows [size], [B] */
    double typical_batch;  /* samples in a batch */
    double fail_x, fail_y; /* NAN unknown */
    double safe_x;         /* NAN unknown */
    bool show_capacity;
    double rows;
};

static void shape_add(struct shape *sh, const struct series *s, enum field f)
{
    if (s->col[f])
        sh->column[sh->n++] = s->col[f];
}

static bool shape_init(struct shape *sh, const struct series *s, const struct law *law)
{
    *sh = (struct shape){.n = 0};
    switch (law->size_field) {
    case F_MAX_LEN:
        shape_add(sh, s, F_MAX_LEN);
        break;
    case F_WIDTH:
        shape_add(sh, s, F_HEIGHT);
        shape_add(sh, s, F_WIDTH);
        break;
    case F_COUNT:
        for (size_t i = 0; i < s->n_sizes; i++)
            if (law->size_name && str_is(s->sizes[i].name, law->size_name))
                sh->column[sh->n++] = s->sizes[i].column;
        return sh->n == 1;
    default:
        if ((unsigned)law->size_field < F_COUNT)
            shape_add(sh, s, law->size_field);
        return sh->n == 1;
    }
    if (sh->n == 0)
        return false;
    shape_add(sh, s, F_BATCH_SIZE);
    return true;
}

struct block {
    double size[COLUMN_BLOCK], peak[COLUMN_BLOCK], factor[COLUMN_BLOCK];
};

/* Rows first .. first+n-1: their sizes and peaks; NAN where one is missing or it is no training step. */
static size_t read_rows(const struct law_plot *p, size_t first, struct block *b)
{
    const struct series *s = p->run->series;
    size_t n = s->rows - first < COLUMN_BLOCK ? s->rows - first : COLUMN_BLOCK;
    column_read(p->peak, first, n, b->peak);
    column_read(p->shape.column[0], first, n, b->size);
    for (size_t k = 1; k < p->shape.n; k++) {
        column_read(p->shape.column[k], first, n, b->factor);
        for (size_t i = 0; i < n; i++)
            b->size[i] *= b->factor[i];
    }
    if (s->phase) {
        column_read(s->phase, first, n, b->factor);
        for (size_t i = 0; i < n; i++)
            if (b->factor[i] != PHASE_TRAIN)
                b->size[i] = NAN;
    }
    return n;
}

static void find_extent(struct law_plot *p)
{
    struct block *b = arena_alloc(p->frame.c->arena, sizeof *b);
    for (size_t first = 0; first < p->run->series->rows; first += COLUMN_BLOCK) {
        size_t n = read_rows(p, first, b);
        for (size_t i = 0; i < n; i++) {
            if (!isfinite(b->size[i]) || !isfinite(b->peak[i]))
                continue;
            p->x_max = fmax(p->x_max, b->size[i]);
            p->y_max = fmax(p->y_max, b->peak[i]);
            p->rows++;
        }
    }
}

static double failing_size(const struct run_report *r, const struct law *law)
{
    const struct failure *f = &r->failure;
    double batch = isnan(f->batch_size) ? 1 : f->batch_size;
    if (!r->has_failure)
        return NAN;
    switch (law->size_field) {
    case F_TOKENS:
        return f->tokens;
    case F_MAX_LEN:
        return f->max_len * batch;
    case F_WIDTH:
        return f->height * f->width * batch;
    case F_BATCH_SIZE:
        return f->batch_size;
    default:
        return NAN;
    }
}

static double safe_size(const struct law_plot *p)
{
    const struct peak_figures *k = &p->run->peak;
    switch (p->law->size_field) {
    case F_TOKENS:
        return k->safe_tokens;
    case F_BATCH_SIZE:
        return k->safe_batch_size;
    case F_MAX_LEN:
        return !isnan(k->safe_max_len) ? k->safe_max_len * p->typical_batch
                                       : k->safe_batch_size * k->safe_at_len;
    default:
        return NAN;
    }
}

static double typical_batch(const struct run_report *r, const struct law *law)
{
    const struct column *c = r->series->col[F_BATCH_SIZE];
    if (law->size_field != F_MAX_LEN || !c)
        return 1;
    if (r->has_failure && r->failure.batch_size >= 1)
        return r->failure.batch_size;
    for (size_t i = r->series->rows; i-- > 0;) {
        double v = column_at(c, i);
        if (v >= 1)
            return v;
        if (r->series->rows - i > 64)
            break;
    }
    return 1;
}

static double law_at(const struct law_plot *p, double x)
{
    double quadratic = isnan(p->law->per_batch_len2_bytes) ? 0 : p->law->per_batch_len2_bytes;
    double linear = isnan(p->law->per_token_bytes) ? 0 : p->law->per_token_bytes;
    return p->law->base_bytes + linear * x + quadratic * x * x / p->typical_batch;
}

static bool law_init(struct law_plot *p, struct canvas *c, const struct run_report *run)
{
    *p = (struct law_plot){.run = run, .law = &run->peak.law};
    if (!run->has_peak || !run->peak.has_law || !run->series || !isfinite(p->law->base_bytes) ||
        !shape_init(&p->shape, run->series, p->law))
        return false;
    p->peak = run->series->col[F_PEAK] ? run->series->col[F_PEAK] : run->series->col[F_ALLOCATED];
    if (!p->peak)
        return false;
    plot_frame_init(&p->frame, c);
    find_extent(p);
    if (p->rows < 2 || !(p->x_max > 0) || !(p->y_max > 0))
        return false;
    p->typical_batch = typical_batch(run, p->law);
    p->fail_x = failing_size(run, p->law);
    p->fail_y =
        isnan(run->peak.failing_predicted_bytes) ? law_at(p, p->fail_x) : run->peak.failing_predicted_bytes;
    p->safe_x = safe_size(p);
    /* What failed for another reason must not squeeze the rows into a corner. */
    double reach = run->verdict.cause == CAUSE_PEAK ? 8 : 1.5, x_hi = p->x_max;
    if (p->fail_x <= reach * p->x_max)
        x_hi = fmax(x_hi, p->fail_x);
    else
        p->fail_x = p->fail_y = NAN;
    if (p->safe_x <= 2 * x_hi)
        x_hi = fmax(x_hi, p->safe_x);
    frame_x_size(&p->frame, 0, x_hi * 1.04, p->law->size_name ? p->law->size_name : "size of the batch");
    p->show_capacity = run->capacity_bytes > 0 && p->y_max >= run->capacity_bytes / 4;
    double y_hi = p->show_capacity ? fmax(p->y_max, run->capacity_bytes) : p->y_max;
    if (p->fail_y > y_hi)
        y_hi = fmin(p->fail_y, 2 * y_hi);
    frame_y_bytes(&p->frame, 0, y_hi * 1.05);
    return true;
}

/* All rows as counts in cells, shown in steps of powers: one row is visible beside thousands. */
static void draw_rows(const struct law_plot *p)
{
    const struct frame *f = &p->frame;
    size_t across = (size_t)((f->right - f->left) / CELL), down = (size_t)((f->bottom - f->top) / CELL);
    struct arena *arena = f->c->arena;
    unsigned *count = arena_alloc(arena, across * down * sizeof *count), most = 1;
    unsigned char *level = arena_alloc(arena, across * down);
    struct block *b = arena_alloc(arena, sizeof *b);
    for (size_t first = 0; first < p->run->series->rows; first += COLUMN_BLOCK) {
        size_t n = read_rows(p, first, b);
        for (size_t i = 0; i < n; i++) {
            double x = (scale_px(&f->x.scale, b->size[i]) - f->left) / CELL;
            double y = (scale_px(&f->y.scale, b->peak[i]) - f->top) / CELL;
            if (!(x >= 0 && x < (double)across && y >= 0 && y < (double)down))
                continue;
            unsigned *at = &count[(size_t)y * across + (size_t)x];
            if (++*at > most)
                most = *at;
        }
    }
    for (size_t i = 0; i < across * down; i++) {
        double share = most > 1 ? log(count[i]) / log(most) : 0.6;
        level[i] = count[i] ? (unsigned char)(3 + share * (CELL_LEVELS - 3)) : 0;
    }
    canvas_cells(f->c, f->left, f->top, CELL, across, across * down, level, INK_ALLOCATED);
}

static void draw_law(const struct law_plot *p, struct labels *labels)
{
    const struct frame *f = &p->frame;
    size_t n = frame_columns(f);
    double *law = arena_alloc(f->c->arena, 2 * n * sizeof *law), *above = law + n;
    for (size_t i = 0; i < n; i++) {
        double x = f->x.scale.lo + (f->x.scale.hi - f->x.scale.lo) * (double)i / (double)n;
        double y = law_at(p, x);
        law[i] = y <= f->y.scale.hi ? y : NAN;
        above[i] = y + p->law->envelope_bytes <= f->y.scale.hi ? y + p->law->envelope_bytes : NAN;
    }
    frame_y_px(f, law, 2 * n);
    /* A line of its own only where it can be told from the law's. */
    bool grows = p->run->triage[Q_GROWS].answer == ANSWER_YES;
    bool envelope = !grows && scale_px(&f->y.scale, 0) - scale_px(&f->y.scale, p->law->envelope_bytes) >= 3;
    if (envelope)
        canvas_trace(f->c, f->left, n, above, INK_PEAK, 1.2, DASH_DASHED);
    canvas_trace(f->c, f->left, n, law, INK_PEAK, 1.6, DASH_NONE);
    double end = scale_px_clamped(&f->y.scale, law_at(p, f->x.scale.hi));
    labels_add(labels, end, INK_PEAK, "fitted law", grows ? "without growth" : NULL, NULL);
    if (envelope)
        labels_add(labels, scale_px_clamped(&f->y.scale, law_at(p, f->x.scale.hi) + p->law->envelope_bytes),
                   INK_PEAK, "dashed: 99 % of", "steps lie below", NULL);
}

/* A size with its unit: "9000 tokens", "11.1 million pixels". */
static const char *say_size(const struct law_plot *p, double x)
{
    static const struct {
        enum field field;
        const char *unit;
    } units[] = {
        {F_TOKENS, " tokens"}, {F_MAX_LEN, " tokens"}, {F_WIDTH, " pixels"}, {F_BATCH_SIZE, " samples"}};
    struct arena *arena = p->frame.c->arena;
    const char *unit = "";
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (p->law->size_field == units[i].field)
            unit = units[i].unit;
    return x >= 1e6 ? arena_printf(arena, "%.3g million%s", x / 1e6, unit)
                    : arena_printf(arena, "%s%s", plot_say_number(arena, x), unit);
}

static void draw_limits(const struct law_plot *p, struct labels *labels)
{
    const struct frame *f = &p->frame;
    struct arena *arena = f->c->arena;
    if (p->show_capacity) {
        double y = scale_px(&f->y.scale, p->run->capacity_bytes);
        canvas_line(f->c, f->left, y, f->right, y, INK_TEXT, 1.5, DASH_DOTTED);
        labels_add(labels, y, INK_TEXT,
                   arena_printf(arena, "capacity %s", plot_say_bytes(arena, p->run->capacity_bytes)), NULL,
                   NULL);
    }
    if (p->safe_x >= 0 && p->safe_x <= f->x.scale.hi) {
        double x = scale_px(&f->x.scale, p->safe_x);
        const char *text = arena_printf(arena, "safe up to %s", say_size(p, floor(p->safe_x)));
        double half = canvas_text_width(f->c, 12, text) / 2;
        canvas_line(f->c, x, f->top, x, f->bottom, INK_EVAL, 1.5, DASH_DASHED);
        canvas_text(f->c, fmin(fmax(x, f->left + half), f->right - half), f->top - 8, ANCHOR_MIDDLE, 12,
                    INK_EVAL, 0, text);
    }
    if (p->fail_x >= 0 && isfinite(p->fail_y)) {
        double x = scale_px_clamped(&f->x.scale, p->fail_x), y = scale_px_clamped(&f->y.scale, p->fail_y);
        canvas_mark(f->c, MARK_X, x, y, 12, INK_OOM);
        labels_add(labels, y, INK_OOM, "X: failing batch,",
                   arena_printf(arena, "needs %s", plot_say_bytes(arena, p->fail_y)),
                   p->run->verdict.cause == CAUSE_LEAK ? "with what leaked" : "by the law");
    }
}

/* What the law's slope is for. */
static const char *unit_of(const struct law *law)
{
    switch (law->size_field) {
    case F_TOKENS:
    case F_MAX_LEN:
        return "per token";
    case F_WIDTH:
        return "per pixel";
    case F_BATCH_SIZE:
        return "per sample";
    default:
        return "for each";
    }
}

static void describe(const struct law_plot *p, struct picture *out)
{
    struct canvas *c = p->frame.c;
    struct arena *arena = c->arena;
    const char *size = canvas_visible(c, str_of(p->frame.x.title), 15, 160);
    const char *rate =
        p->law->per_token_bytes > 0
            ? arena_printf(arena, ", %s %s", plot_say_bytes(arena, p->law->per_token_bytes), unit_of(p->law))
            : "";
    if (p->run->verdict.cause == CAUSE_PEAK && p->fail_x >= 0 && isfinite(p->fail_y) &&
        p->run->capacity_bytes > 0)
        out->title = arena_printf(arena, "The peak follows %s: the failing batch (%s) needs %s, capacity %s",
                                  size, say_size(p, p->fail_x), plot_say_bytes(arena, p->fail_y),
                                  plot_say_bytes(arena, p->run->capacity_bytes));
    else
        out->title = arena_printf(arena, "The peak follows %s%s%s", size, rate,
                                  p->run->verdict.cause == CAUSE_LEAK ? "; what leaked lies on top" : "");
    out->alt = arena_printf(
        arena, "Peak against %s of %s steps of %s: %s%s, r\xC2\xB2 %.3g%s.", size,
        plot_say_number(arena, p->rows), plot_say_run(c, p->run, true),
        arena_printf(arena, "%s fixed", plot_say_bytes(arena, p->law->base_bytes)), rate, p->law->r2,
        p->safe_x >= 0 ? arena_printf(arena, "; safe up to %s", say_size(p, floor(p->safe_x))) : "");
    out->caption = arena_printf(
        arena,
        "%s: %s training steps as density in %d pixel cells; law fitted on %s of them%s "
        "(r\xC2\xB2 %.3g)",
        plot_say_source(c, p->run), plot_say_number(arena, p->rows), CELL, plot_say_number(arena, p->law->n),
        p->run->triage[Q_GROWS].answer == ANSWER_YES
            ? ", after the growth was taken out of each: the steps lie above it by what had been "
              "retained"
            : "",
        p->law->r2);
}

bool plot_law(struct canvas *c, const struct analysis *a, struct picture *out)
{
    struct law_plot p;
    struct labels labels = {.n = 0};
    const struct run_report *run = plot_lead(a);
    if (!run || !law_init(&p, c, run))
        return false;
    describe(&p, out);
    frame_title(&p.frame, out->title,
                arena_printf(c->arena, "%s; each cell = training steps, darker = more; GiB = 2^30 bytes",
                             plot_say_source(c, run)));
    frame_grid(&p.frame);
    draw_law(&p, &labels);
    draw_rows(&p);
    draw_limits(&p, &labels);
    frame_axes(&p.frame);
    labels_place(&labels, p.frame.top - 6, p.frame.bottom + 8);
    labels_draw(&labels, c, p.frame.right + 7, p.frame.right + 16, c->width - p.frame.right - 20);
    return true;
}

/* Ranks against steps: how full each device was, so that the one out of line is seen. */
#include "analyse/ranks.h"
#include "draw/plot.h"

#include <math.h>
#include <stdlib.h>

enum {
    BUCKETS_MAX = 240,
    CELL = 3,      /* [px] side of a cell; a rank is several of them high */
    ROWS_MAX = 64, /* more ranks share rows */
    ROW_MAX = 24,  /* [px] */
    NODE = 8,      /* rows between two separators: the devices of a usual node */
    MARKS_MAX = 8,
    CLASSES = 8
};

/* Lower limits of the classes, as shares of the capacity. */
static const double limits[CLASSES] = {0, 0.60, 0.70, 0.80, 0.85, 0.90, 0.95, 0.98};
static const char *const class_names[CLASSES] = {"below 60 %", "60-70", "70-80", "80-85",
                                                 "85-90",      "90-95", "95-98", "98 % and more"};

struct heat {
    struct frame frame;
    const struct analysis *analysis;
    const struct run_report **ranks; /* n, ascending */
    size_t n, rows, per_row, buckets;
    size_t row_cells; /* cells of a row downwards */
    enum x_kind x_kind;
    bool capacity;  /* shares of the capacity, else of the largest value */
    double most;    /* [B] the largest value of all */
    double *share;  /* rows * buckets; NAN: nothing logged */
    double largest; /* of share */
    bool gaps;
};

static int by_rank(const void *x, const void *y)
{
    double a = (*(const struct run_report *const *)x)->rank, b = (*(const struct run_report *const *)y)->rank;
    return (a > b) - (a < b);
}

static enum field field_of(const struct series *s)
{
    return series_has(s, F_PEAK) ? F_PEAK : plot_main_field(s);
}

/* The ranks of the lead's job that have figures, and what their axis holds. False: nothing to compare. */
static bool find_ranks(struct heat *h, struct arena *arena, double *lo, double *hi)
{
    const struct run_report *lead = plot_lead(h->analysis);
    size_t longest = 0;
    bool capacity = true;
    *lo = *hi = NAN;
    if (!lead || !lead->series || h->analysis->n_ranks < 2)
        return false;
    h->x_kind = reduce_x_kind(lead->series);
    h->ranks = arena_alloc(arena, h->analysis->n_runs * sizeof(struct run_report *));
    for (size_t i = 0; i < h->analysis->n_runs; i++) {
        const struct run_report *r = &h->analysis->runs[i];
        double from, to;
        if (!(r == lead || ranks_of_one_job(r, lead)) || !r->series || field_of(r->series) == F_COUNT ||
            reduce_x_kind(r->series) != h->x_kind || !reduce_x_range(r->series, h->x_kind, &from, &to))
            continue;
        *lo = fmin(*lo, from);
        *hi = fmax(*hi, to);
        longest = r->series->rows > longest ? r->series->rows : longest;
        capacity = capacity && r->capacity_bytes > 0;
        h->ranks[h->n++] = r;
    }
    h->capacity = capacity;
    h->buckets = longest < BUCKETS_MAX ? longest : BUCKETS_MAX;
    if (h->n < 2 || h->buckets < 2)
        return false;
    qsort(h->ranks, h->n, sizeof *h->ranks, by_rank);
    h->per_row = (h->n + ROWS_MAX - 1) / ROWS_MAX;
    h->rows = (h->n + h->per_row - 1) / h->per_row;
    return true;
}

/* The greatest value of each bucket; a bucket that no row fell into has that of the one before. */
static void read_rank(struct heat *h, size_t i)
{
    struct arena arena = {0};
    struct reduced d;
    enum field field = field_of(h->ranks[i]->series);
    struct reduce_spec spec = {.x = h->x_kind,
                               .lo = h->frame.x.scale.lo,
                               .hi = h->frame.x.scale.hi,
                               .n_columns = h->buckets,
                               .fields = &field,
                               .n_fields = 1,
                               .phase = -1};
    reduce(&d, &arena, h->ranks[i]->series, &spec);
    double *row = &h->share[i / h->per_row * h->buckets], last = NAN, waiting = 0;
    double unit = h->capacity ? h->ranks[i]->capacity_bytes : 1;
    for (size_t b = 0; b < h->buckets; b++) {
        double v = NAN;
        for (size_t s = 0; s < d.n_segments; s++)
            v = fmax(v, d.segments[s].field[0].max[b]);
        if (isnan(v)) {
            waiting++;
            continue;
        }
        h->most = fmax(h->most, v);
        for (size_t k = b - (size_t)(isnan(last) ? 0 : waiting); k < b; k++)
            row[k] = fmax(row[k], last / unit);
        row[b] = fmax(row[b], v / unit);
        last = v;
        waiting = 0;
    }
    arena_release(&arena);
}

static void read_all(struct heat *h, struct arena *arena)
{
    size_t n = h->rows * h->buckets;
    h->share = arena_alloc(arena, n * sizeof *h->share);
    for (size_t i = 0; i < n; i++)
        h->share[i] = NAN;
    for (size_t i = 0; i < h->n; i++)
        read_rank(h, i);
    h->largest = NAN;
    for (size_t i = 0; i < n; i++) {
        if (!h->capacity)
            h->share[i] /= h->most;
        h->largest = fmax(h->largest, h->share[i]);
        h->gaps = h->gaps || isnan(h->share[i]);
    }
}

static unsigned char class_of(double share)
{
    unsigned char c = 1;
    while (c < CLASSES && share >= limits[c])
        c++;
    return c;
}

/* A light card in both themes: the ramp is made for light. What is missing is hatched. */
static void draw_cells(const struct heat *h)
{
    const struct frame *f = &h->frame;
    size_t across = (size_t)((f->right - f->left) / CELL), down = h->rows * h->row_cells;
    unsigned char *level = arena_alloc(f->c->arena, across * down),
                  *hatch = arena_alloc(f->c->arena, across * down);
    for (size_t y = 0; y < down; y++)
        for (size_t x = 0; x < across; x++) {
            double share = h->share[y / h->row_cells * h->buckets + x * h->buckets / across];
            level[y * across + x] = isnan(share) ? 0 : class_of(share);
            hatch[y * across + x] = isnan(share) && (x + y) % 4 == 0 ? CELL_LEVELS : 0;
        }
    canvas_rect(f->c, f->left - 2, f->top - 2, f->right + 2, f->bottom + 2, INK_CARD, 1);
    canvas_cells(f->c, f->left, f->top, CELL, across, across * down, level, INK_HEAT0);
    if (h->gaps)
        canvas_cells(f->c, f->left, f->top, CELL, across, across * down, hatch, INK_HATCH);
}

static double row_px(const struct heat *h, double row)
{
    return h->frame.top + row * (double)h->row_cells * CELL;
}

static void draw_rows(const struct heat *h)
{
    const struct frame *f = &h->frame;
    double free_from = -INFINITY;
    for (size_t i = NODE; i < h->rows; i += NODE)
        canvas_rect(f->c, f->left - 2, row_px(h, (double)i) - 0.5, f->right + 2, row_px(h, (double)i) + 0.5,
                    INK_CARD, 1);
    for (size_t i = 0; i < h->rows; i++) {
        double y = row_px(h, (double)i + 0.5);
        if (y < free_from || (h->rows > NODE && i % (NODE / 2) != 0))
            continue;
        canvas_text(f->c, f->left - 8, y + 4, ANCHOR_RIGHT, 12, INK_MUTED, f->left - 12,
                    plot_say_number(f->c->arena, h->ranks[i * h->per_row]->rank));
        free_from = y + 14;
    }
    canvas_text(f->c, f->left - 8, f->top - 10, ANCHOR_RIGHT, 12, INK_MUTED, f->left - 12, "rank");
}

/* Failures as X on a light ring, which all classes let see; the first ones are named at the right. */
static void draw_failures(const struct heat *h)
{
    const struct frame *f = &h->frame;
    size_t marks = 0;
    double below = -INFINITY;
    for (size_t i = 0; i < h->n && marks < MARKS_MAX; i++) {
        const struct run_report *r = h->ranks[i];
        if (!r->has_failure || (r->outcome != OUTCOME_OOM && r->outcome != OUTCOME_KILLED))
            continue;
        double step = isnan(r->failure.step) || h->x_kind != X_STEP
                          ? reduce_x_at(r->series, h->x_kind, r->series->rows ? r->series->rows - 1 : 0)
                          : r->failure.step;
        double x = scale_px_clamped(&f->x.scale, step), y = row_px(h, (double)(i / h->per_row) + 0.5);
        canvas_mark(f->c, MARK_DOT, x, y, 17, INK_CARD);
        canvas_mark(f->c, MARK_X, x, y, 11, INK_FAILED);
        marks++;
        if (y < below)
            continue;
        double room = f->c->width - f->right - 14;
        canvas_text(f->c, f->right + 10, y - 2, ANCHOR_LEFT, 12, INK_OOM, room,
                    arena_printf(f->c->arena, "rank %s:", plot_say_number(f->c->arena, r->rank)));
        canvas_text(f->c, f->right + 10, y + 12, ANCHOR_LEFT, 12, INK_OOM, room,
                    plot_say_end(f->c->arena, r));
        below = y + 30;
    }
}

/* The classes below the axis, in one line. */
static void draw_legend(const struct heat *h)
{
    struct canvas *c = h->frame.c;
    double x = h->frame.left, y = c->height - 14;
    for (size_t i = 0; i < CLASSES + (h->gaps ? 1u : 0u); i++) {
        const char *name = i < CLASSES ? class_names[i] : "not logged";
        canvas_rect(c, x - 1, y - 11, x + 13, y + 3, INK_HATCH, 1);
        canvas_rect(c, x, y - 10, x + 12, y + 2, INK_CARD, 1);
        if (i < CLASSES)
            canvas_rect(c, x, y - 10, x + 12, y + 2, (enum ink)(INK_HEAT0 + i), 1);
        else
            for (int k = 0; k < 3; k++)
                canvas_rect(c, x + 4 * k, y - 2 - 4 * k, x + 4 * k + 3, y + 1 - 4 * k, INK_HATCH, 1);
        x += 18 + canvas_text(c, x + 18, y, ANCHOR_LEFT, 12, INK_TEXT, 0, name) + 16;
    }
}

static const struct run_report *fullest(const struct heat *h)
{
    const struct analysis *a = h->analysis;
    const struct run_report *best = NULL;
    double most = -INFINITY;
    for (size_t i = 0; i < a->n_ranks; i++) {
        const struct run_report *r = &a->runs[i];
        double share = h->capacity ? a->ranks[i].peak_bytes / r->capacity_bytes : a->ranks[i].peak_bytes;
        if (share > most && ranks_of_one_job(r, plot_lead(a))) {
            most = share;
            best = r;
        }
    }
    return best ? best : h->ranks[0];
}

static void describe(const struct heat *h, struct picture *p)
{
    struct arena *arena = h->frame.c->arena;
    const struct run_report *full = fullest(h);
    const char *share = arena_printf(arena, "%.0f %%", 100 * fmin(h->largest, 9.99));
    const char *said = h->analysis->ranks_text;
    p->title = said ? arena_printf(arena, "%c%s", said[0] >= 'a' && said[0] <= 'z' ? said[0] - 32 : said[0],
                                   said + 1)
               : h->capacity ? arena_printf(arena, "No rank is out of line; the fullest reaches %s", share)
                             : "No rank is out of line";
    p->alt =
        arena_printf(arena, "Heat map of %zu ranks over the steps: the fullest is rank %s%s; %s.", h->n,
                     plot_say_number(arena, full->rank),
                     h->capacity ? arena_printf(arena, ", with %s of its capacity", share) : "", p->title);
    p->caption = arena_printf(
        arena, "The greatest %s in each of %zu buckets of steps, as share of %s%s%s",
        plot_field_name(field_of(h->ranks[0]->series)), h->buckets,
        h->capacity ? "the device's capacity" : "the largest of all (no capacity is known)",
        h->per_row > 1 ? arena_printf(arena, "; %zu ranks share a line, which shows the fullest", h->per_row)
                       : "",
        h->rows > NODE ? "; light lines every 8 rows" : "");
}

bool plot_ranks(struct canvas *c, const struct analysis *a, struct picture *p)
{
    struct heat h = {.analysis = a};
    double lo, hi;
    if (!find_ranks(&h, c->arena, &lo, &hi))
        return false;
    h.row_cells = h.rows * ROW_MAX <= 384 ? ROW_MAX / CELL : 384 / CELL / h.rows;
    c->height = PLOT_TOP + (double)(h.rows * h.row_cells * CELL) + PLOT_BOTTOM + 26;
    plot_frame_init(&h.frame, c);
    h.frame.right = h.frame.left + floor((h.frame.right - h.frame.left) / CELL) * CELL;
    h.frame.bottom = h.frame.top + (double)(h.rows * h.row_cells * CELL);
    frame_x(&h.frame, h.x_kind, lo, hi);
    read_all(&h, c->arena);
    describe(&h, p);
    frame_title(&h.frame, p->title,
                arena_printf(c->arena,
                             "colour = greatest %s of each bucket of steps, as share of %s; X = failed",
                             plot_field_name(field_of(h.ranks[0]->series)),
                             h.capacity ? "the capacity" : "the largest value"));
    draw_cells(&h);
    draw_rows(&h);
    draw_failures(&h);
    frame_axes(&h.frame);
    draw_legend(&h);
    return true;
}

/* The device's segments at the end of the trace, one behind the other, with their free blocks: a
 * map of what a large request finds. */
#include "draw/site_words.h"
#include "model/trace.h"
#include <math.h>
#include <stdlib.h>

enum {
    ROWS_MAX = 14,
    ROWS_FEW = 4, /* for as many segments */
    ROW_HEIGHT = 18,
    ROW_GAP = 6,
    LEFT = 16,
    RIGHT = 250,
    TOP = 66,
    SWATCH_GAP = 14
};

enum fill {
    FILL_USED,
    FILL_PENDING,
    FILL_FREE,
    FILL_LARGEST,
    FILLS
};

struct map {
    struct canvas *c;
    const struct run_report *run;
    const struct trace_file *t;
    const struct trace_segment **order; /* n segments of the device, by address */
    size_t n;
    double total;              /* [B] */
    double bytes[FILLS];       /* [B] */
    size_t pieces[FILLS];      /* blocks */
    size_t fitting;            /* free blocks that the request would fit into */
    uint64_t request, largest; /* [B]; request 0: none failed */
    size_t rows, per_row;      /* columns of pixels in a row */
    double *used;              /* FILLS x columns: [B] in each */
    size_t columns;
};

static int by_address(const void *x, const void *y)
{
    const struct trace_segment *const *a = x, *const *b = y;
    return (*a)->address < (*b)->address ? -1 : (*a)->address > (*b)->address;
}

static enum fill fill_of(const struct trace_block *b, const struct trace_block *largest)
{
    return b == largest                 ? FILL_LARGEST
           : b->state == BLOCK_INACTIVE ? FILL_FREE
           : b->state == BLOCK_PENDING  ? FILL_PENDING
                                        : FILL_USED;
}

static const struct trace_block *largest_free(const struct map *m)
{
    const struct trace_block *best = NULL;
    for (size_t i = 0; i < m->n; i++)
        for (size_t k = 0; k < m->order[i]->n; k++) {
            const struct trace_block *b = &m->t->blocks[m->order[i]->first + k];
            if (b->state == BLOCK_INACTIVE && (!best || b->size > best->size))
                best = b;
        }
    return best;
}

static bool collect(struct map *m, const struct trace_device *d)
{
    const struct trace_file *t = m->t;
    m->order = arena_alloc(m->c->arena, (t->n_segments + 1) * sizeof *m->order);
    for (size_t i = 0; i < t->n_segments; i++)
        if (t->segments[i].device == d->index && t->segments[i].n) {
            m->order[m->n++] = &t->segments[i];
            for (size_t k = 0; k < t->segments[i].n; k++)
                m->total += (double)t->blocks[t->segments[i].first + k].size;
        }
    if (!m->n || !(m->total > 0))
        return false;
    qsort(m->order, m->n, sizeof *m->order, by_address);
    m->request = d->n_ooms ? d->ooms[d->n_ooms - 1].requested : 0;
    m->rows = m->n < ROWS_FEW ? ROWS_FEW : ROWS_MAX;
    m->per_row = (size_t)(m->c->width - LEFT - RIGHT) * CANVAS_SCALE;
    m->columns = m->rows * m->per_row;
    m->used = arena_alloc(m->c->arena, FILLS * m->columns * sizeof *m->used);
    for (size_t i = 0; i < FILLS * m->columns; i++)
        m->used[i] = 0;
    return true;
}

/* Bytes of [from, to) into the columns that they lie in. */
static void spread(struct map *m, enum fill fill, double from, double to)
{
    double per = m->total / (double)m->columns;
    for (size_t c = (size_t)(from / per); c < m->columns && (double)c * per < to; c++) {
        double part = fmin(to, (double)(c + 1) * per) - fmax(from, (double)c * per);
        m->used[fill * m->columns + c] += fmax(0, part);
    }
}

static void fill_map(struct map *m)
{
    const struct trace_block *largest = largest_free(m);
    double at = 0;
    m->largest = largest ? largest->size : 0;
    for (size_t i = 0; i < m->n; i++)
        for (size_t k = 0; k < m->order[i]->n; k++) {
            const struct trace_block *b = &m->t->blocks[m->order[i]->first + k];
            enum fill fill = fill_of(b, largest);
            m->bytes[fill] += (double)b->size;
            m->pieces[fill]++;
            m->fitting += b->state == BLOCK_INACTIVE && m->request && b->size >= m->request;
            spread(m, fill, at, at + (double)b->size);
            at += (double)b->size;
        }
}

static struct fill_ink ink_of(enum fill fill)
{
    static const struct fill_ink inks[FILLS] = {[FILL_USED] = {INK_ALLOCATED, .85},
                                                [FILL_PENDING] = {INK_RESERVED, .85},
                                                [FILL_FREE] = {INK_MUTED, .3},
                                                [FILL_LARGEST] = {INK_PEAK, .95}};
    return inks[fill];
}

static double row_y(size_t row)
{
    return TOP + (double)row * (ROW_HEIGHT + ROW_GAP);
}

/* A column of pixels that several blocks share is divided as they are. */
static void draw_row(const struct map *m, size_t row)
{
    size_t n = m->per_row;
    double *top = arena_alloc(m->c->arena, 2 * n * sizeof *top), *bottom = top + n;
    double per = m->total / (double)m->columns;
    for (size_t i = 0; i < n; i++)
        bottom[i] = row_y(row) + ROW_HEIGHT;
    for (int fill = 0; fill < FILLS; fill++) {
        const double *used = m->used + (size_t)fill * m->columns + row * n;
        bool any = false;
        for (size_t i = 0; i < n; i++) {
            any |= used[i] > 0;
            top[i] = used[i] > 0 ? bottom[i] - used[i] / per * ROW_HEIGHT : NAN;
        }
        struct fill_ink ink = ink_of((enum fill)fill);
        if (any)
            canvas_columns(m->c, LEFT, n, top, bottom, ink.ink, ink.alpha);
        for (size_t i = 0; i < n; i++)
            bottom[i] = isnan(top[i]) ? bottom[i] : top[i];
    }
}

/* A line under each segment, as far as there is room for a gap between two. */
static void draw_segments(const struct map *m)
{
    double row_bytes = m->total / (double)m->rows, width = (double)m->per_row / CANVAS_SCALE, at = 0;
    for (size_t i = 0; i < m->n; i++) {
        double size = 0;
        for (size_t k = 0; k < m->order[i]->n; k++)
            size += (double)m->t->blocks[m->order[i]->first + k].size;
        double end = fmin(at + size, m->total);
        for (size_t row = (size_t)(at / row_bytes); row < m->rows && (double)row * row_bytes < end; row++) {
            double from = fmax(at, (double)row * row_bytes), to = fmin(end, (double)(row + 1) * row_bytes);
            double x = LEFT + (from / row_bytes - (double)row) * width;
            double x2 = LEFT + (to / row_bytes - (double)row) * width;
            if (x2 - x >= 3)
                canvas_rect(m->c, x + 0.5, row_y(row) + ROW_HEIGHT + 1, x2 - 1, row_y(row) + ROW_HEIGHT + 2.5,
                            INK_MUTED, 1);
        }
        at += size;
    }
}

static void label(const struct map *m)
{
    static const char *const names[FILLS] = {"in use", "freed, another stream has it", "free",
                                             "largest free block"};
    struct arena *a = m->c->arena;
    double x = m->c->width - RIGHT + 24, y = TOP + 10, room = RIGHT - 24 - SWATCH_GAP - 8;
    for (int fill = 0; fill < FILLS; fill++) {
        if (!m->pieces[fill])
            continue;
        site_swatch(m->c, x, y - 4, ink_of((enum fill)fill));
        canvas_text(m->c, x + SWATCH_GAP, y, ANCHOR_LEFT, 12, INK_TEXT, room, names[fill]);
        const char *size = plot_say_bytes(a, m->bytes[fill]);
        canvas_text(m->c, x + SWATCH_GAP, y + 15, ANCHOR_LEFT, 12, INK_MUTED, room,
                    fill == FILL_LARGEST ? size
                                         : arena_printf(a, "%s in %zu block%s", size, m->pieces[fill],
                                                        m->pieces[fill] == 1 ? "" : "s"));
        y += 40;
    }
    if (!m->request)
        return;
    canvas_text(m->c, x + SWATCH_GAP, y, ANCHOR_LEFT, 12, INK_OOM, room,
                arena_printf(a, "the request: %s", plot_say_bytes(a, (double)m->request)));
    canvas_text(m->c, x + SWATCH_GAP, y + 15, ANCHOR_LEFT, 12, INK_OOM, room,
                m->fitting ? arena_printf(a, "%zu free block%s that large", m->fitting,
                                          m->fitting == 1 ? " is" : "s are")
                           : "no free block is that large");
}

static void describe(const struct map *m, struct picture *p)
{
    struct arena *a = m->c->arena;
    double free_bytes = m->bytes[FILL_FREE] + m->bytes[FILL_LARGEST];
    size_t pieces = m->pieces[FILL_FREE] + m->pieces[FILL_LARGEST];
    const char *request =
        m->request ? arena_printf(a, "; the request was %s", plot_say_bytes(a, (double)m->request)) : "";
    if (pieces)
        p->title = arena_printf(a, "%s of %s reserved are free, in %zu piece%s of at most %s%s",
                                plot_say_bytes(a, free_bytes), plot_say_bytes(a, m->total), pieces,
                                pieces == 1 ? "" : "s", plot_say_bytes(a, (double)m->largest), request);
    else
        p->title = arena_printf(a, "All of %s reserved is in use%s", plot_say_bytes(a, m->total), request);
    p->alt = arena_printf(a, "Map of %zu segments at the end of the trace: %s.", m->n, p->title);
    p->caption = arena_printf(
        a,
        "%s: the %zu segments at the end of the trace, by address, one behind the other, and the blocks "
        "in them; a request fits only into one free block",
        plot_say_source(m->c, m->run), m->n);
}

bool plot_segments(struct canvas *c, const struct analysis *a, struct picture *p)
{
    const struct run_report *run = plot_lead(a);
    const struct trace_device *d = site_trace(run);
    struct frame f = {.c = c};
    struct map m = {.c = c, .run = run};
    if (!d)
        return false;
    m.t = run->series->trace;
    if (!collect(&m, d))
        return false;
    fill_map(&m);
    c->height = fmax(row_y(m.rows) + 8, TOP + 40 * FILLS + 60);
    describe(&m, p);
    frame_title(&f, p->title,
                arena_printf(c->arena, "%s; a row is %s, a line below it one segment; GiB = 2^30 bytes",
                             plot_say_source(c, run), plot_say_bytes(c->arena, m.total / (double)m.rows)));
    for (size_t row = 0; row < m.rows; row++)
        draw_row(&m, row);
    draw_segments(&m);
    label(&m);
    return true;
}

/* Where each run failed: a strip of dots, so that a step or a batch that comes back is seen. */
#include "analyse/ranks.h"
#include "draw/plot.h"
#include <math.h>

enum {
    ROWS_MAX = 40,
    ROW_HEIGHT = 28,
    ROW_HEIGHT_MIN = 15,
    LEFT = 150,
    RIGHT = 250,
    GUIDES_MAX = 4
};

struct strip {
    const struct run_report *rows[ROWS_MAX]; /* n: of each run the rank that failed first, else its first */
    size_t n, left_out, failed, total;
    double first, last; /* [step] */
    struct frame frame;
    double row_height; /* [px] */
};

static double end_step(const struct run_report *r)
{
    return r->has_failure && isfinite(r->failure.step) ? r->failure.step : r->last_step;
}

static void add_row(struct strip *st, const struct run_report *r)
{
    st->total++;
    st->failed += r->has_failure;
    st->first = fmin(st->first, r->first_step);
    st->last = fmax(st->last, end_step(r));
    if (st->n < ROWS_MAX)
        st->rows[st->n++] = r;
    else
        st->left_out++;
}

static bool strip_init(struct strip *st, struct arena *arena, const struct analysis *a)
{
    struct job *jobs;
    size_t n = jobs_find(&jobs, arena, a);
    *st = (struct strip){.first = NAN, .last = NAN};
    for (size_t k = 0; k < n; k++) {
        const struct run_report *r =
            &a->runs[jobs[k].failed != JOB_NONE ? (size_t)jobs[k].failed : jobs[k].first];
        if (isfinite(end_step(r)))
            add_row(st, r);
    }
    return st->n >= 2 && st->failed > 0 && isfinite(st->first) && isfinite(st->last);
}

static void lay_out(struct strip *st, struct canvas *c)
{
    st->row_height =
        st->n * ROW_HEIGHT <= 270 ? ROW_HEIGHT : fmax(ROW_HEIGHT_MIN, floor(270.0 / (double)st->n));
    c->height = PLOT_TOP + (double)st->n * st->row_height + 14 + PLOT_BOTTOM;
    plot_frame_init(&st->frame, c);
    st->frame.left = LEFT;
    st->frame.right = c->width - RIGHT;
    frame_x(&st->frame, X_STEP, st->first, st->last);
}

static double row_y(const struct strip *st, size_t i)
{
    return st->frame.top + 7 + st->row_height * ((double)i + 0.5);
}

static bool is_shared(const struct cross_run *x, struct str id)
{
    for (size_t i = 0; i < x->n_shared_ids; i++)
        if (str_is(id, x->shared_ids[i]))
            return true;
    return false;
}

/* Of a batch's ids one that other failing batches have too, else the first; and how many more there are. */
static const char *ids_text(struct canvas *c, const char *ids, const struct cross_run *x)
{
    struct str shown = {NULL, 0}, rest = str_of(ids);
    bool shared = false;
    size_t n = 0;
    for (bool more = true; more; n++) {
        size_t semicolon = str_find(rest, STR_LIT(";"));
        more = semicolon != (size_t)-1;
        struct str id = {rest.p, more ? semicolon : rest.n};
        if (n == 0 || (!shared && is_shared(x, id))) {
            shown = id;
            shared = is_shared(x, id);
        }
        if (more)
            rest = (struct str){rest.p + semicolon + 1, rest.n - semicolon - 1};
    }
    const char *id = canvas_visible(c, shown, 12, n > 1 ? 70 : 120);
    return n > 1 ? arena_printf(c->arena, "batch %s +%zu more", id, n - 1)
                 : arena_printf(c->arena, "batch %s", id);
}

/* The ids or the shape of the failing batch; NULL when the log says neither. */
static const char *batch_text(struct canvas *c, const struct run_report *r, const struct cross_run *x)
{
    const struct failure *f = &r->failure;
    if (f->batch_ids && *f->batch_ids && !f->ids_hidden)
        return ids_text(c, f->batch_ids, x);
    if (f->batch_hash && *f->batch_hash && !f->ids_hidden)
        return arena_printf(c->arena, "batch %s", canvas_visible(c, str_of(f->batch_hash), 12, 110));
    if (!isnan(f->batch_size) && !isnan(f->max_len))
        return arena_printf(c->arena, "%s x %s", plot_say_number(c->arena, f->batch_size),
                            plot_say_number(c->arena, f->max_len));
    if (!isnan(f->tokens))
        return arena_printf(c->arena, "%s tokens", plot_say_number(c->arena, f->tokens));
    if (!isnan(f->height) && !isnan(f->width))
        return arena_printf(c->arena, "%s x %s px", plot_say_number(c->arena, f->height),
                            plot_say_number(c->arena, f->width));
    return NULL;
}

static bool has_shared_id(const struct cross_run *x, const char *ids)
{
    struct str all = str_of(ids);
    for (size_t i = 0; ids && i < x->n_shared_ids; i++) {
        struct str id = str_of(x->shared_ids[i]);
        for (size_t at = 0; id.n && at + id.n <= all.n;) {
            size_t found = str_find((struct str){all.p + at, all.n - at}, id);
            if (found == (size_t)-1)
                break;
            at += found;
            if ((at == 0 || all.p[at - 1] == ';') && (at + id.n == all.n || all.p[at + id.n] == ';'))
                return true;
            at += id.n;
        }
    }
    return false;
}

static void draw_row(const struct strip *st, size_t i, const struct analysis *a)
{
    const struct frame *f = &st->frame;
    const struct run_report *r = st->rows[i];
    struct canvas *c = f->c;
    double y = row_y(st, i), x = scale_px_clamped(&f->x.scale, end_step(r));
    double from = scale_px_clamped(&f->x.scale, r->first_step);
    canvas_rect(c, from, y - 0.5, x, y + 0.5, INK_MUTED, 0.6);
    canvas_mark(c, r->has_failure ? MARK_X : MARK_RING, x, y, 10, r->has_failure ? INK_OOM : INK_TEXT);
    canvas_text(c, f->left - 14, y + 4, ANCHOR_RIGHT, 12, INK_TEXT, f->left - 24,
                plot_say_run(c, r, a->n_ranks > 0));
    const char *batch = r->has_failure ? batch_text(c, r, &a->cross) : NULL;
    bool shared = r->has_failure && a->has_cross && has_shared_id(&a->cross, r->failure.batch_ids);
    const char *end = r->has_failure
                          ? arena_printf(c->arena, "step %s", plot_say_number(c->arena, r->failure.step))
                          : outcome_name(r->outcome);
    const char *text = arena_printf(c->arena, "%s%s%s", end, batch ? ", " : "", batch ? batch : "");
    canvas_text(c, f->right + 14, y + 4, ANCHOR_LEFT, 12, shared ? INK_OOM : INK_TEXT, RIGHT - 22, text);
}

/* Upright lines at steps where two runs or more failed. */
static void draw_guides(const struct strip *st)
{
    const struct frame *f = &st->frame;
    double free_from = -INFINITY;
    size_t guides = 0;
    for (size_t i = 0; i < st->n && guides < GUIDES_MAX; i++) {
        size_t same = 0, before = 0;
        double step = end_step(st->rows[i]);
        for (size_t k = 0; k < st->n && st->rows[i]->has_failure; k++) {
            bool equal = st->rows[k]->has_failure && end_step(st->rows[k]) == step;
            same += equal;
            before += equal && k < i;
        }
        if (same < 2 || before > 0)
            continue;
        guides++;
        double x = scale_px_clamped(&f->x.scale, step);
        canvas_line(f->c, x, f->top, x, f->bottom, INK_OOM, 1.5, DASH_DOTTED);
        const char *text = arena_printf(f->c->arena, "step %s: %zu of %zu",
                                        plot_say_number(f->c->arena, step), same, st->total);
        double half = canvas_text_width(f->c, 12, text) / 2;
        if (x - half < free_from)
            continue;
        canvas_text(f->c, x, f->top - 8, ANCHOR_MIDDLE, 12, INK_OOM, 0, text);
        free_from = x + half + 14;
    }
}

static void failing_steps(const struct strip *st, double *first, double *last)
{
    *first = *last = NAN;
    for (size_t i = 0; i < st->n; i++) {
        if (!st->rows[i]->has_failure)
            continue;
        *first = fmin(*first, end_step(st->rows[i]));
        *last = fmax(*last, end_step(st->rows[i]));
    }
}

static const char *title_of(const struct strip *st, const struct analysis *a)
{
    struct arena *arena = st->frame.c->arena;
    const char *count = arena_printf(arena, "%zu of %zu runs failed", st->failed, st->total);
    double first, last;
    failing_steps(st, &first, &last);
    const char *step = first == last ? "at the same step" : "at nearly the same step";
    if (st->failed > 1 && a->has_cross)
        switch (a->cross.says) {
        case CROSS_DATA:
            return arena_printf(arena, "%s: on the same batch, at different steps", count);
        case CROSS_SCHEDULE:
            return arena_printf(arena, "%s: %s, on different batches", count, step);
        case CROSS_DETERMINISTIC:
            return arena_printf(arena, "%s: %s, on the same batch", count, step);
        case CROSS_NEITHER:
            return arena_printf(arena, "%s: neither the step nor the batch comes back", count);
        case CROSS_NOT_TESTABLE:
            break;
        }
    return count;
}

static void describe(const struct strip *st, const struct analysis *a, struct picture *p)
{
    struct canvas *c = st->frame.c;
    struct arena *arena = c->arena;
    double low, high;
    failing_steps(st, &low, &high);

    p->title = title_of(st, a);
    p->alt = arena_printf(arena, "%s; the failures lie at steps %s to %s.", p->title,
                          plot_say_number(arena, low), plot_say_number(arena, high));
    p->caption =
        arena_printf(arena, "Each line is one run, of several ranks the one that failed first%s",
                     st->left_out ? arena_printf(arena, "; %zu more runs are not drawn", st->left_out) : "");
}

bool plot_seeds(struct canvas *c, const struct analysis *a, struct picture *p)
{
    struct strip st;
    if (!strip_init(&st, c->arena, a))
        return false;
    lay_out(&st, c);
    describe(&st, a, p);
    frame_title(&st.frame, p->title,
                st.failed < st.total ? "X = OOM, ring = ended without one; right: the failing batch"
                                     : "X = OOM; right: the failing batch");
    draw_guides(&st);
    for (size_t i = 0; i < st.n; i++)
        draw_row(&st, i, a);
    frame_axes(&st.frame);
    return true;
}

/* The card for chats and tickets: verdict, evidence, first step, four facts, a small timeline. */
#include "draw/timeline.h"
#include <math.h>

enum {
    MARGIN = 48,
    FACT_GAP = 16
};

struct fact {
    const char *name, *value;
};

static const char *headline(struct arena *arena, const struct verdict *v)
{
    static const char *const causes[] = {
        [CAUSE_LEAK] = "Leak",
        [CAUSE_PEAK] = "Peak: one batch too big",
        [CAUSE_EVAL] = "Evaluation",
        [CAUSE_CAPACITY] = "Capacity: too tight",
        [CAUSE_NONE] = "No cause for an OOM",
        [CAUSE_UNKNOWN] = "Unknown cause",
    };
    const char *cause = causes[v->cause];
    if (v->cause == CAUSE_CAPACITY && v->subtype == SUB_FRAGMENTATION)
        cause = "Fragmentation";
    if (v->cause == CAUSE_CAPACITY && v->subtype == SUB_EXTERNAL)
        cause = "Another process";
    if (v->cause == CAUSE_UNKNOWN)
        return "Cause: cannot tell";
    return arena_printf(arena, "%s, %s", cause, certainty_name(v->certainty));
}

static double peak_of(const struct run_report *r)
{
    double peak = r->has_peak ? r->peak.max_bytes : NAN;
    for (size_t i = 0; i < r->n_phases; i++)
        peak = fmax(peak, r->phases[i].peak_bytes);
    return peak;
}

/* "139.1 of 139.8 GiB" in one unit. */
static const char *pair(struct arena *arena, double a, double b, const char *between)
{
    if (isnan(a) && isnan(b))
        return "not logged";
    if (isnan(b))
        return plot_say_bytes(arena, a);
    if (isnan(a))
        return arena_printf(arena, "? %s %s", between, plot_say_bytes(arena, b));
    struct buf text = {0};
    enum byte_unit u = num_byte_unit(fmax(a, b));
    num_put_bytes_in(&text, a, u);
    buf_printf(&text, " %s ", between);
    num_put_bytes_in(&text, b, u);
    buf_printf(&text, " %s", num_byte_unit_name(u));
    const char *copy = arena_strndup(arena, text.p, text.n);
    buf_release(&text);
    return copy;
}

static void find_facts(struct fact facts[4], struct canvas *c, const struct analysis *a,
                       const struct run_report *r)
{
    struct arena *arena = c->arena;
    const struct failure *f = &r->failure;
    bool impossible = peak_of(r) > 1.005 * r->capacity_bytes;
    facts[0] = (struct fact){impossible ? "Peak / capacity: check the unit" : "Peak / capacity",
                             pair(arena, peak_of(r), r->capacity_bytes, impossible ? "of only" : "/")};
    if (r->has_failure) {
        const char *phase =
            f->phase ? arena_printf(arena, ", %s", canvas_visible(c, str_of(f->phase), 20, 100)) : "";
        facts[1] = (struct fact){
            "Failed at",
            isfinite(f->step) ? arena_printf(arena, "step %s%s", plot_say_number(arena, f->step), phase)
            : isfinite(r->last_step)
                ? arena_printf(arena, "after step %s%s", plot_say_number(arena, r->last_step), phase)
                : arena_printf(arena, "row %s%s", plot_say_number(arena, r->steps), phase)};
        facts[2] = (struct fact){"Asked / free", pair(arena, f->requested_bytes, f->free_bytes, "/")};
    } else {
        facts[1] = (struct fact){"Ended", outcome_name(r->outcome)};
        facts[2] = (struct fact){"Steps", plot_say_number(arena, r->steps)};
    }
    if (a->has_cross)
        facts[3] = (struct fact){"Failed runs",
                                 arena_printf(arena, "%s of %s", plot_say_number(arena, a->cross.runs_failed),
                                              plot_say_number(arena, a->cross.runs_total))};
    else
        facts[3] = (struct fact){"Repeatability", "1 run: not tested"};
}

static void draw_facts(struct canvas *c, const struct fact facts[4], double y)
{
    double width = (c->width - 2 * MARGIN - 3 * FACT_GAP) / 4;
    for (int i = 0; i < 4; i++) {
        double x = MARGIN + i * (width + FACT_GAP);
        canvas_rect(c, x, y, x + width, y + 1, INK_GRID, 1);
        canvas_text(c, x, y + 26, ANCHOR_LEFT, 16, INK_MUTED, width, facts[i].name);
        canvas_text(c, x, y + 54, ANCHOR_LEFT, 21, INK_TEXT, width, facts[i].value);
    }
}

static void draw_small_timeline(struct canvas *c, const struct run_report *run, double top)
{
    struct frame f = {
        .c = c, .left = MARGIN + 60, .top = top, .right = c->width - MARGIN - 170, .bottom = c->height - 46};
    struct timeline t;
    struct labels labels = {.n = 0};
    if (f.bottom - f.top < 90 || !timeline_init(&t, &f, run))
        return;
    timeline_set_y(&t, 0);
    frame_grid(&t.frame);
    timeline_draw_lines(&t);
    timeline_draw_end(&t);
    t.frame.x.title = NULL;
    frame_axes(&t.frame);
    for (size_t k = 0; k < t.n_lines; k++)
        labels_add(&labels, scale_px_clamped(&t.frame.y.scale, timeline_last(&t, k)), t.lines[k].ink,
                   plot_field_name(t.lines[k].field), NULL, NULL);
    if (t.show_capacity)
        labels_add(&labels, timeline_end_y(&t), INK_TEXT,
                   arena_printf(c->arena, "capacity %s", plot_say_bytes(c->arena, t.capacity_bytes)), NULL,
                   NULL);
    labels_place(&labels, f.top - 6, f.bottom + 6);
    labels_draw(&labels, c, f.right + 7, f.right + 16, 200);
}

void card_draw(struct canvas *c, const struct analysis *a, struct picture *p)
{
    const struct verdict *v = &a->verdict;
    const struct run_report *run = plot_lead(a);
    double room = c->width - 2 * MARGIN, y = 148;
    p->title = headline(c->arena, v);
    p->alt = arena_printf(c->arena, "%s. %s", p->title,
                          v->summary ? canvas_visible(c, str_of(v->summary), 12, 0) : "");
    p->caption = "";
    canvas_rect(c, 0, 0, 12, c->height, v->status == STATUS_FAILED ? INK_OOM : INK_EVAL, 1);
    if (run)
        canvas_text(c, MARGIN, 46, ANCHOR_LEFT, 17, INK_MUTED, room,
                    arena_printf(c->arena, "oomreport \xC2\xB7 %s", plot_say_source(c, run)));
    canvas_text(c, MARGIN, 98, ANCHOR_LEFT, 42, INK_TEXT, room, p->title);
    if (v->summary)
        y += 30 * (double)canvas_paragraph(c, MARGIN, y, 22, 30, INK_TEXT, room, 3, v->summary);
    if (v->fix) {
        y += 8;
        double indent = canvas_text(c, MARGIN, y, ANCHOR_LEFT, 20, INK_MUTED, room, "Try first") + 16;
        y += 28 * (double)canvas_paragraph(c, MARGIN + indent, y, 20, 28, INK_TEXT, room - indent, 3, v->fix);
    }
    if (!run)
        return;
    struct fact facts[4];
    find_facts(facts, c, a, run);
    draw_facts(c, facts, y);
    draw_small_timeline(c, run, y + 88);
}

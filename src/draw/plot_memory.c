/* What holds the memory at one moment of a snapshot: one bar, numbered parts, their names below. */
#include "draw/plot.h"

#include <math.h>

enum {
    SITES = 4, /* named; others are one part */
    PARTS = SITES + 4,
    BAR = 44, /* [px] */
    LINE = 22 /* [px] */
};

struct part {
    const char *name;
    double bytes;
    enum ink ink;
    double alpha;
};

struct holding {
    const char *moment;
    double live;              /* [B] */
    struct part parts[PARTS]; /* n */
    size_t n;
    double total; /* [B] of the parts */
};

static void add(struct holding *h, const char *name, double bytes, enum ink ink, double alpha)
{
    if (!(bytes >= 1))
        return;
    h->parts[h->n++] = (struct part){name, bytes, ink, alpha};
    h->total += bytes;
}

/* The failure, else the peak, else the end; as the table below the picture. */
static enum holder_at moment_of(const struct run_report *r)
{
    enum holder_at best = HOLDER_AT_END;
    for (size_t i = 0; i < r->n_holders; i++) {
        if (r->holders[i].at == HOLDER_AT_OOM)
            return HOLDER_AT_OOM;
        if (r->holders[i].at == HOLDER_AT_PEAK)
            best = HOLDER_AT_PEAK;
    }
    return best;
}

static void add_sites(struct holding *h, struct canvas *c, const struct run_report *r, enum holder_at at)
{
    static const double strength[SITES] = {1, 0.8, 0.62, 0.46};
    size_t k = 0;
    double named = 0;
    for (size_t i = 0; i < r->n_holders; i++) {
        const struct holder *from = &r->holders[i];
        if (from->at != at)
            continue;
        if (k == 0)
            h->live = from->share > 0 ? from->bytes / from->share : from->bytes;
        if (k < SITES) {
            const char *site =
                from->site ? canvas_visible(c, str_of(from->site), 12, 560) : "blocks without a stack";
            add(h, site, from->bytes, INK_ALLOCATED, strength[k++]);
            named += from->bytes;
        }
    }
    if (h->live - named >= 0.0005 * h->live)
        add(h, "other lines", h->live - named, INK_ALLOCATED, 0.3);
}

/* What is not live: the allocator's own, others', free. Only the failure says all three. */
static void add_rest(struct holding *h, const struct run_report *r, enum holder_at at)
{
    const struct snapshot_figures *s = &r->snapshot;
    double reserved =
        at == HOLDER_AT_OOM && s->oom_reserved_bytes > 0 ? s->oom_reserved_bytes : s->reserved_bytes;
    double free_bytes = at == HOLDER_AT_OOM ? s->oom_device_free_bytes : NAN;
    if (!(reserved >= h->live))
        return;
    add(h,
        at == HOLDER_AT_OOM ? "reserved by the allocator, not live"
                            : "reserved by the allocator (in the end), not live",
        reserved - h->live, INK_RESERVED, 0.6);
    if (r->capacity_bytes > reserved && free_bytes >= 0)
        add(h, "outside PyTorch's allocator", r->capacity_bytes - reserved - free_bytes, INK_OTHER, 0.7);
    add(h, "free on the device", free_bytes, INK_GRID, 1);
}

static void draw_bar(struct canvas *c, const struct holding *h, enum byte_unit unit)
{
    const double left = 16, right = c->width - 16, top = 66;
    double x = left;
    for (size_t i = 0; i < h->n; i++) {
        const struct part *p = &h->parts[i];
        double x2 = i + 1 == h->n ? right : x + p->bytes / h->total * (right - left);
        double y = top + BAR + 30 + LINE * (double)i;
        const char *number = arena_printf(c->arena, "%zu", i + 1);
        canvas_rect(c, x, top, fmax(x2 - 2, x + 1), top + BAR, p->ink, p->alpha);
        if (x2 - x >= 20)
            canvas_text(c, (x + x2) / 2 - 1, top + BAR + 14, ANCHOR_MIDDLE, 12, INK_TEXT, 0, number);
        canvas_rect(c, left, y - 10, left + 12, y + 2, p->ink, p->alpha);
        canvas_text(c, left + 36, y, ANCHOR_RIGHT, 12, INK_MUTED, 0, number);
        canvas_text(c, left + 48, y, ANCHOR_LEFT, 12, INK_TEXT, 600, p->name);
        canvas_text(c, right - 70, y, ANCHOR_RIGHT, 12, INK_TEXT, 0,
                    plot_say_bytes_in(c->arena, p->bytes, unit));
        canvas_text(c, right, y, ANCHOR_RIGHT, 12, INK_MUTED, 0,
                    arena_printf(c->arena, "%.1f %%", 100 * p->bytes / h->total));
        x = x2;
    }
}

bool plot_memory(struct canvas *c, const struct analysis *a, struct picture *p)
{
    static const char *const moments[] = {"at the peak", "at the failure", "at the end"};
    const struct run_report *r = plot_lead(a);
    if (!r || !r->has_snapshot || r->n_holders == 0)
        return false;
    enum holder_at at = moment_of(r);
    struct holding h = {.moment = moments[at]};
    add_sites(&h, c, r, at);
    if (h.n == 0)
        return false;
    add_rest(&h, r, at);
    enum byte_unit unit = num_byte_unit(h.total);
    bool named = strchr(h.parts[0].name, ':') != NULL;
    p->title = arena_printf(c->arena, "%s %s of the %s live %s",
                            named ? arena_printf(c->arena, "%s holds", h.parts[0].name)
                                  : "Blocks without a stack hold",
                            plot_say_bytes_in(c->arena, h.parts[0].bytes, unit),
                            plot_say_bytes_in(c->arena, h.live, unit), h.moment);
    p->alt = arena_printf(c->arena, "Bar of the memory %s, %s in all: %s.", h.moment,
                          plot_say_bytes_in(c->arena, h.total, unit), p->title);
    p->caption = arena_printf(
        c->arena, "%s: live memory by the line that asked for it, then the rest; shares are of %s",
        plot_say_source(c, r), plot_say_bytes_in(c->arena, h.total, unit));
    c->height = 66 + BAR + 30 + LINE * (double)h.n;
    canvas_text(c, 16, 25, ANCHOR_LEFT, 15, INK_TEXT, c->width - 32, p->title);
    canvas_text(c, 16, 45, ANCHOR_LEFT, 12, INK_MUTED, c->width - 32,
                arena_printf(c->arena, "%s; the bar is %s long", plot_say_source(c, r),
                             plot_say_bytes_in(c->arena, h.total, unit)));
    draw_bar(c, &h, unit);
    return true;
}

#include "analyse/blame.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

/* Growth that is no rounding of counters and metrics: a share of what stays anyway, or this much. */
#define RISE_SHARE 1e-4
#define RISE_ENOUGH (256.0 * 1024)

enum {
    SAMPLES_MIN = 4,
    RISES_MIN = 3,
    WINDOW_GHOSTS = 4
};

/* --- which sites grow --------------------------------------------------------------- */

/* How one quantity of a site goes over the samples. */
struct climb {
    double rise, drawdown;
    size_t rises, falls, last_rise, largest_gap;
};

static void climb_of(struct climb *c, const int64_t *v, size_t stride, size_t n)
{
    *c = (struct climb){.rise = (double)(v[(n - 1) * stride] - v[0])};
    int64_t top = v[0];
    for (size_t k = 1; k < n; k++) {
        int64_t before = v[(k - 1) * stride], now = v[k * stride];
        c->falls += now < before;
        if (now > before) {
            size_t gap = k - c->last_rise;
            c->rises++;
            c->largest_gap = gap > c->largest_gap ? gap : c->largest_gap;
            c->last_rise = k;
        }
        top = now > top ? now : top;
        c->drawdown = fmax(c->drawdown, (double)(top - now));
    }
}

/* What leaks rises until the end and keeps what it has; a buffer that fills up stops. */
static bool goes_on(const struct climb *c, size_t n)
{
    return c->rises >= RISES_MIN && c->drawdown <= 0.3 * c->rise &&
           (double)(n - 1 - c->last_rise) <= 1.5 * (double)c->largest_gap + 1;
}

static bool site_leaks(const struct study *s, size_t site, double least)
{
    struct climb bytes, count;
    climb_of(&bytes, s->bytes + site, s->n_sites, s->n_samples);
    climb_of(&count, s->count + site, s->n_sites, s->n_samples);
    if (site == s->null_site || bytes.rise < least || !goes_on(&bytes, s->n_samples))
        return false;
    /* more and more blocks; or as many as ever, replaced by larger ones each time */
    return count.rises ? goes_on(&count, s->n_samples) : bytes.falls == 0;
}

static double least_rise(const struct study *s)
{
    double live = (double)s->total[HOLDER_AT_END];
    return fmin(RISE_ENOUGH, RISE_SHARE * live) + 1;
}

static void sum_growth(struct growing *g, const struct study *s)
{
    double eval = 0, gained = 0;
    for (size_t i = 0; i < s->n_sites; i++) {
        const struct study_site *site = &s->sites[i];
        if (!site->leaks)
            continue;
        g->rise += site->rise;
        g->growth += site->growth;
        g->sites++;
    }
    for (size_t i = 0; i < s->d->n_classes; i++) {
        const struct trace_class *c = &s->d->classes[i];
        double more = ((double)s->class_last[i] - (double)s->class_first[i]) * (double)c->size;
        if (!s->sites[s->site_of_class[i]].leaks || more <= 0)
            continue;
        gained += more;
        eval += s->t->names.stacks[c->stack].flags & STACK_EVAL ? more : 0;
    }
    g->any = g->sites > 0;
    g->eval_share = gained > 0 ? eval / gained : 0;
}

static void by_steps(struct growing *g, struct study *s)
{
    double steps = (double)(s->step[s->n_samples - 1] - s->step[0]), least = least_rise(s);
    for (size_t i = 0; i < s->n_sites; i++) {
        struct study_site *site = &s->sites[i];
        site->rise = (double)(s->bytes[(s->n_samples - 1) * s->n_sites + i] - s->bytes[i]);
        site->growth = site->rise / steps;
        /* a part of a leak counts as soon as the whole does */
        site->leaks = site_leaks(s, i, 0.05 * least);
    }
    sum_growth(g, s);
    for (size_t k = 1; k < s->n_samples; k++) {
        double now = 0;
        for (size_t i = 0; i < s->n_sites; i++)
            if (s->sites[i].leaks)
                now += (double)(s->bytes[k * s->n_sites + i] - s->bytes[(k - 1) * s->n_sites + i]);
        g->events += now > 0;
    }
    g->each_step = g->events * 10 >= (s->n_samples - 1) * 8;
    if (g->rise >= least)
        return;
    for (size_t i = 0; i < s->n_sites; i++)
        s->sites[i].leaks = false;
    *g = (struct growing){0};
}

/* A window of a step or two: a line that allocated in it, freed nothing, and holds blocks of earlier steps
 * too. */
static void by_window(struct growing *g, struct study *s)
{
    double least = least_rise(s);
    if (!s->d->truncated || s->d->n < 100)
        return;
    for (size_t i = 0; i < s->n_sites; i++) {
        struct study_site *site = &s->sites[i];
        double held = (double)site->at[HOLDER_AT_END].bytes;
        if (i == s->null_site || !site->allocs || site->frees || site->ghosts < WINDOW_GHOSTS ||
            held < least || site->ghosts < 2 * site->allocs)
            continue;
        double steps = (double)(s->d->n_steps ? s->d->n_steps : 1);
        site->rise = held;
        site->growth = held / (double)site->at[HOLDER_AT_END].count * (double)site->allocs / steps;
        site->leaks = true;
    }
    sum_growth(g, s);
    g->by_window = g->any;
    g->each_step = true;
}

void blame_growth(struct growing *out, struct study *s)
{
    *out = (struct growing){0};
    if (s->n_samples >= SAMPLES_MIN)
        by_steps(out, s);
    else
        by_window(out, s);
}

/* --- the frame that they share ------------------------------------------------------ */

struct weights {
    double *of;      /* by frame */
    double *through; /* [B] allocated through each frame, kept or not; NULL: not looked at */
    uint32_t *seen, serial;
    double all;
    uint32_t best_stack; /* with the most bytes */
    double best;
};

/* A frame that comes twice in a stack (recursion) counts once. */
static void add_frames(struct weights *w, double *of, const struct study *s, uint32_t stack, double bytes)
{
    const unsigned char *p = trace_stack_begin(&s->t->names, stack);
    w->serial++;
    for (uint32_t i = 0; i < s->t->names.stacks[stack].n; i++) {
        uint32_t frame = trace_stack_next(&p);
        if (w->seen[frame] != w->serial)
            of[frame] += bytes;
        w->seen[frame] = w->serial;
    }
}

static void add_stack(struct weights *w, const struct study *s, uint32_t stack, double bytes)
{
    w->all += bytes;
    if (bytes > w->best) {
        w->best = bytes;
        w->best_stack = stack;
    }
    add_frames(w, w->of, s, stack, bytes);
}

/* In the heaviest stack, from the inside, the first user frame that enough bytes share; rather one that keeps
 * most of what is allocated through it: a model's forward() serves training too, which keeps nothing. */
static uint32_t shared_frame(const struct weights *w, const struct study *s)
{
    uint32_t frames[TRACE_DEPTH_MAX];
    const struct trace_names *names = &s->t->names;
    size_t n = w->all > 0 ? trace_stack_frames(names, w->best_stack, frames) : 0;
    uint32_t first = TRACE_NONE;
    for (size_t i = 0; i < n; i++) {
        if (w->of[frames[i]] < BLAME_SHARE * w->all || s->kinds[frames[i]] != FRAME_USER)
            continue;
        if (!w->through || w->of[frames[i]] >= 0.5 * w->through[frames[i]])
            return frames[i];
        first = first == TRACE_NONE ? frames[i] : first;
    }
    return first;
}

static void weights_init(struct weights *w, const struct study *s)
{
    *w = (struct weights){.of = mem_zero(s->t->names.n_frames + 1, sizeof *w->of),
                          .seen = mem_zero(s->t->names.n_frames + 1, sizeof *w->seen)};
}

static void weights_release(struct weights *w)
{
    free(w->of);
    free(w->seen);
    free(w->through);
}

static bool name_it(struct blame *out, const struct weights *w, const struct study *s, double growth,
                    struct arena *a)
{
    uint32_t frame = shared_frame(w, s);
    *out = (struct blame){.site = site_text(&s->t->names, frame, a),
                          .frame = frame,
                          .bytes = w->all,
                          .share = NAN,
                          .growth_bytes_per_step = growth};
    if (frame == TRACE_NONE)
        return false;
    out->bytes = w->of[frame];
    out->share = w->of[frame] / w->all;
    return true;
}

bool blame_leak(struct blame *out, const struct study *s, const struct growing *g, struct arena *a)
{
    struct weights w;
    weights_init(&w, s);
    for (size_t i = 0; i < s->d->n_classes; i++) {
        const struct study_site *site = &s->sites[s->site_of_class[i]];
        double gained =
            ((double)s->class_last[i] - (double)s->class_first[i]) * (double)s->d->classes[i].size;
        if (site->leaks && gained > 0 && !g->by_window)
            add_stack(&w, s, s->d->classes[i].stack, gained);
    }
    w.through = g->by_window ? NULL : mem_zero(s->t->names.n_frames + 1, sizeof *w.through);
    for (size_t i = 0; i < s->d->n_classes && w.through; i++)
        if (s->class_allocs[i])
            add_frames(&w, w.through, s, s->d->classes[i].stack,
                       (double)s->class_allocs[i] * (double)s->d->classes[i].size);
    for (size_t i = 0; g->by_window && i < s->n_sites; i++)
        if (s->sites[i].leaks)
            add_stack(&w, s, s->sites[i].at[HOLDER_AT_END].stack, s->sites[i].rise);
    bool found = name_it(out, &w, s, g->growth, a);
    if (found) { /* what it holds at the end, of what grew */
        double all = fmax(s->floor_rise, g->rise);
        out->share = g->by_window ? 1 : fmin(1, out->bytes / all);
        out->growth_bytes_per_step = g->growth * fmin(1, out->bytes / w.all);
    }
    weights_release(&w);
    return found;
}

/* --- what pins free memory ---------------------------------------------------------- */

/* Young enough not to be part of the model, old enough to have outlived its step. */
static bool outlives(const struct study *s, const struct trace_block *b)
{
    const struct trace_device *d = s->d;
    if (b->state != BLOCK_ALLOCATED || !b->traced || d->n_steps < 2)
        return false;
    uint64_t last = d->steps[d->n_steps - 1].end;
    return b->born >= d->steps[0].end && b->born < (s->fail_from < last ? s->fail_from : last);
}

bool blame_pins(struct blame *out, struct study *s, struct arena *a)
{
    struct weights w;
    weights_init(&w, s);
    for (size_t g = 0; g < s->t->n_segments; g++) {
        const struct trace_segment *seg = &s->t->segments[g];
        if (seg->device != s->d->index || !seg->n)
            continue;
        const struct trace_block *b = s->t->blocks + seg->first;
        uint64_t free_bytes = 0, pinned = 0;
        for (size_t i = 0; i < seg->n; i++) {
            free_bytes += b[i].state == BLOCK_INACTIVE ? b[i].size : 0;
            pinned += outlives(s, &b[i]) && b[i].size >= 4096 ? b[i].size : 0;
        }
        for (size_t i = 0; i < seg->n && free_bytes; i++)
            if (outlives(s, &b[i]) && b[i].size >= 4096)
                add_stack(&w, s, b[i].stack, (double)free_bytes * (double)b[i].size / (double)pinned);
    }
    bool found = name_it(out, &w, s, NAN, a);
    weights_release(&w);
    return found;
}

/* --- what the peak adds ------------------------------------------------------------- */

bool blame_peak(struct blame *out, const struct study *s, struct arena *a)
{
    struct weights w;
    weights_init(&w, s);
    enum holder_at at = s->has[HOLDER_AT_OOM] ? HOLDER_AT_OOM : HOLDER_AT_PEAK;
    size_t last = s->n_samples ? (s->n_samples - 1) * s->n_sites : 0;
    for (size_t i = 0; i < s->n_sites; i++) {
        double stays = s->n_samples ? (double)s->bytes[last + i] : 0;
        double added = (double)s->sites[i].at[at].bytes - stays;
        if (i != s->null_site && added > 0)
            add_stack(&w, s, s->sites[i].at[at].stack, added);
    }
    bool found = name_it(out, &w, s, NAN, a);
    weights_release(&w);
    return found;
}

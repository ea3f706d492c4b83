#include "analyse/together.h"

#include "analyse/say.h"
#include "analyse/sites.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

enum {
    GROWN_MAX = 32
};
#define SAME_PROCESS 0.3 /* of the live bytes at the same addresses */

/* --- a log and a snapshot ------------------------------------------------------------- */

static struct str stem(const char *name)
{
    const char *slash = name ? strrchr(name, '/') : NULL;
    name = slash ? slash + 1 : name ? name : "";
    return (struct str){name, strcspn(name, ".")};
}

static bool ranks_differ(const struct run_report *x, const struct run_report *y)
{
    return isfinite(x->rank) && isfinite(y->rank) && x->rank != y->rank;
}

/* The log of a snapshot's job; n_runs: there is none, or more than one could be. */
static size_t log_of(const struct analysis *a, const struct run_report *s)
{
    size_t only = 0, named = 0, n = 0, n_named = 0;
    for (size_t i = 0; i < a->n_runs; i++) {
        const struct run_report *r = &a->runs[i];
        if (r->has_snapshot || ranks_differ(r, s))
            continue;
        only = i;
        n++;
        if (str_eq(stem(r->run), stem(s->run))) {
            named = i;
            n_named++;
        }
    }
    return n_named == 1 ? named : n == 1 ? only : a->n_runs;
}

static const char *say_joined(struct arena *a, const struct joined *j)
{
    if (j->log_growth > 0 && j->sites_growth > 0)
        return arena_printf(
            a,
            "The log grows by %s a step; in the snapshot the lines that keep memory grow by %s a step, "
            "%.0f %% of it%s.",
            say_bytes(a, j->log_growth), say_bytes(a, j->sites_growth), 100 * j->share,
            j->site ? arena_printf(a, ": %s by %s", j->site, say_bytes(a, j->site_growth)) : "");
    if (j->log_growth > 0)
        return arena_printf(
            a,
            "The log grows by %s a step, and no line of code grows in the snapshot: what grows lies "
            "outside its events or outside PyTorch's allocator.",
            say_bytes(a, j->log_growth));
    if (j->sites_growth > 0)
        return arena_printf(a, "In the snapshot %s grows by %s a step; the log does not show it.",
                            j->site ? j->site : "what stays", say_bytes(a, j->sites_growth));
    return "Neither the log nor the lines of code in the snapshot grow.";
}

static void join(struct analysis *a, size_t log, size_t snapshot)
{
    struct run_report *l = &a->runs[log], *s = &a->runs[snapshot];
    struct joined *j = &a->joined;
    a->has_joined = true;
    *j = (struct joined){
        .log = log,
        .snapshot = snapshot,
        .log_growth = l->has_leak && l->verdict.cause == CAUSE_LEAK ? l->leak.slope_bytes_per_step : NAN,
        .sites_growth = s->snapshot.growth_bytes_per_step,
        .share = NAN,
        .site = s->has_blame ? s->blame.site : NULL,
        .site_growth = s->has_blame ? s->blame.growth_bytes_per_step : NAN};
    if (j->log_growth > 0 && isfinite(j->sites_growth))
        j->share = j->sites_growth / j->log_growth;
    j->text = say_joined(&a->arena, j);
    bool snapshot_knows = s->verdict.cause < CAUSE_NONE, log_knows = l->verdict.cause < CAUSE_NONE;
    (snapshot_knows || !log_knows ? l : s)->beside = true;
}

/* --- two snapshots -------------------------------------------------------------------- */

static const struct trace_device *device_of(const struct run_report *r)
{
    const struct series *s = r->series;
    return r->has_snapshot && s && s->trace && s->trace_device < s->trace->n_devices
               ? s->trace->devices[s->trace_device]
               : NULL;
}

/* Calls each(ctx, block) for the live blocks of the device. */
static void live_blocks(const struct run_report *r, void (*each)(void *, const struct trace_block *),
                        void *ctx)
{
    const struct trace_file *t = r->series->trace;
    for (size_t g = 0; g < t->n_segments; g++)
        for (size_t i = 0; i < t->segments[g].n && t->segments[g].device == r->series->trace_device; i++)
            if (t->blocks[t->segments[g].first + i].state == BLOCK_ALLOCATED)
                each(ctx, &t->blocks[t->segments[g].first + i]);
}

struct places {
    const struct trace_block **at; /* n, by address */
    size_t n, cap;
    uint64_t bytes, same; /* [B] */
};

static void add_place(void *ctx, const struct trace_block *b)
{
    struct places *p = ctx;
    if (p->n == p->cap) {
        p->cap = p->cap ? p->cap * 2 : 256;
        p->at = mem_grow(p->at, p->cap, sizeof *p->at);
    }
    p->at[p->n++] = b;
    p->bytes += b->requested;
}

static int by_address(const void *x, const void *y)
{
    const struct trace_block *const *a = x, *const *b = y;
    return (*a)->address < (*b)->address ? -1 : (*a)->address > (*b)->address;
}

static void look_up(void *ctx, const struct trace_block *b)
{
    struct places *p = ctx;
    const struct trace_block **found = p->n ? bsearch(&b, p->at, p->n, sizeof *p->at, by_address) : NULL;
    if (found && (*found)->requested == b->requested)
        p->same += b->requested;
}

static bool same_process(const struct run_report *x, const struct run_report *y)
{
    struct places p = {0};
    live_blocks(x, add_place, &p);
    if (p.n)
        qsort(p.at, p.n, sizeof *p.at, by_address);
    live_blocks(y, look_up, &p);
    free(p.at);
    double least = fmin(x->snapshot.live_bytes_at_end, y->snapshot.live_bytes_at_end);
    return p.same > 0 && (double)p.same >= SAME_PROCESS * least;
}

/* Live bytes of each site by frame; the last is for blocks without a stack. */
struct by_frame {
    const struct trace_names *names;
    uint8_t *kinds;
    double *bytes; /* [B] n_frames + 1 */
};

static void add_site(void *ctx, const struct trace_block *b)
{
    struct by_frame *f = ctx;
    uint32_t frame = site_of_stack(f->names, f->kinds, b->stack);
    f->bytes[frame == TRACE_NONE ? f->names->n_frames : frame] += (double)b->requested;
}

struct entry {
    const char *site; /* NULL: no stack */
    double before, after;
};

static size_t add_entries(struct entry *out, const struct run_report *r, bool later, struct arena *a)
{
    struct by_frame f = {.names = &r->series->trace->names};
    size_t n = 0, all = f.names->n_frames + 1;
    f.kinds = site_frame_kinds(f.names);
    f.bytes = mem_zero(all, sizeof *f.bytes);
    live_blocks(r, add_site, &f);
    for (size_t i = 0; i < all; i++) {
        if (!(f.bytes[i] > 0))
            continue;
        if (out)
            out[n] = (struct entry){i + 1 < all ? site_text(f.names, (uint32_t)i, a) : NULL,
                                    later ? 0 : f.bytes[i], later ? f.bytes[i] : 0};
        n++;
    }
    free(f.kinds);
    free(f.bytes);
    return n;
}

static int by_site(const void *x, const void *y)
{
    const struct entry *a = x, *b = y;
    return strcmp(a->site ? a->site : "", b->site ? b->site : "");
}

static int by_growth(const void *x, const void *y)
{
    const struct entry *a = x, *b = y;
    double p = a->after - a->before, q = b->after - b->before;
    return p != q ? (p < q ? 1 : -1) : by_site(x, y);
}

static size_t merge(struct entry *e, size_t n)
{
    size_t kept = 0;
    if (n)
        qsort(e, n, sizeof *e, by_site);
    for (size_t i = 0; i < n; i++) {
        if (kept && by_site(&e[kept - 1], &e[i]) == 0) {
            e[kept - 1].before += e[i].before;
            e[kept - 1].after += e[i].after;
        } else {
            e[kept++] = e[i];
        }
    }
    if (kept)
        qsort(e, kept, sizeof *e, by_growth);
    return kept;
}

static void compare(struct analysis *a, size_t before, size_t after)
{
    struct run_report *x = &a->runs[before], *y = &a->runs[after];
    struct grown *g = &a->grown;
    size_t n = add_entries(NULL, x, false, NULL) + add_entries(NULL, y, true, NULL);
    struct entry *e = mem_alloc((n + 1) * sizeof *e);
    size_t first = add_entries(e, x, false, &a->arena);
    n = merge(e, first + add_entries(e + first, y, true, &a->arena));
    a->has_grown = true;
    *g = (struct grown){.before = before,
                        .after = after,
                        .before_bytes = x->snapshot.live_bytes_at_end,
                        .after_bytes = y->snapshot.live_bytes_at_end};
    g->sites = arena_alloc(&a->arena, (n < GROWN_MAX ? n : GROWN_MAX) * sizeof *g->sites + 1);
    for (size_t i = 0; i < n && g->n_sites < GROWN_MAX && e[i].after > e[i].before; i++)
        g->sites[g->n_sites++] = (struct grown_site){e[i].site, e[i].before, e[i].after};
    double rise = g->after_bytes - g->before_bytes;
    struct grown_site *top = g->n_sites ? &g->sites[0] : NULL;
    g->text =
        top ? arena_printf(&a->arena,
                           "Between the two snapshots live memory went from %s to %s; %s grew most, by %s%s.",
                           say_bytes(&a->arena, g->before_bytes), say_bytes(&a->arena, g->after_bytes),
                           top->site ? top->site : "what has no stack",
                           say_bytes(&a->arena, top->after_bytes - top->before_bytes),
                           rise > 0 ? arena_printf(&a->arena, " (%.0f %% of the rise)",
                                                   100 * (top->after_bytes - top->before_bytes) / rise)
                                    : "")
            : "No line of code holds more in the later snapshot.";
    x->beside = true;
    free(e);
}

/* The earlier and the later of the snapshots that are of one process with the first that has company. */
static void find_pair(struct analysis *a)
{
    for (size_t i = 0; i < a->n_runs; i++) {
        const struct trace_device *d = device_of(&a->runs[i]);
        size_t first = i, last = i;
        for (size_t k = i + 1; d && k < a->n_runs; k++) {
            const struct trace_device *e = device_of(&a->runs[k]);
            if (!e || e->index != d->index || !same_process(&a->runs[i], &a->runs[k]))
                continue;
            bool timed = e->timed && device_of(&a->runs[first])->timed && device_of(&a->runs[last])->timed;
            if (timed && e->last_time < device_of(&a->runs[first])->last_time)
                first = k;
            else if (!timed || e->last_time >= device_of(&a->runs[last])->last_time)
                last = k;
        }
        if (first != last) {
            compare(a, first, last);
            return;
        }
    }
}

void together_find(struct analysis *a)
{
    find_pair(a);
    for (size_t i = 0; i < a->n_runs; i++) {
        size_t log = a->runs[i].has_snapshot && !a->runs[i].beside ? log_of(a, &a->runs[i]) : a->n_runs;
        if (log < a->n_runs) {
            join(a, log, i);
            return;
        }
    }
}

void together_say(struct analysis *a)
{
    struct verdict *v = &a->verdict;
    const struct joined *j = &a->joined;
    if (!a->has_joined || (a->lead != j->log && a->lead != j->snapshot) || v->cause != CAUSE_LEAK)
        return;
    const char *more =
        isfinite(j->share)
            ? arena_printf(&a->arena, "The log grows by %s a step; the snapshot explains %.0f %% of it.",
                           say_bytes(&a->arena, j->log_growth), 100 * j->share)
            : j->text;
    v->summary = arena_printf(&a->arena, "%s %s", v->summary, more);
}

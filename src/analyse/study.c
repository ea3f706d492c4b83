#include "analyse/study.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

/* --- sites -------------------------------------------------------------------------- */

static uint32_t site_of_frame(struct study *s, uint32_t frame)
{
    uint32_t *known = &s->site_of_frame[frame == TRACE_NONE ? s->t->names.n_frames : frame];
    if (*known)
        return *known - 1;
    if (s->n_sites == s->cap_sites) {
        s->cap_sites = s->cap_sites ? s->cap_sites * 2 : 64;
        s->sites = mem_grow(s->sites, s->cap_sites, sizeof *s->sites);
    }
    s->sites[s->n_sites] = (struct study_site){.frame = frame};
    *known = (uint32_t)++s->n_sites;
    return *known - 1;
}

static uint32_t site_of(struct study *s, uint32_t stack)
{
    uint32_t *known = &s->site_of_stack[stack];
    if (!*known) {
        *known = site_of_frame(s, site_of_stack(&s->t->names, s->kinds, stack)) + 1;
        s->sites[*known - 1].flags |= s->t->names.stacks[stack].flags;
    }
    return *known - 1;
}

static void find_sites(struct study *s)
{
    const struct trace_file *t = s->t;
    s->kinds = site_frame_kinds(&t->names);
    s->site_of_frame = mem_zero(t->names.n_frames + 1, sizeof *s->site_of_frame);
    s->site_of_stack = mem_zero(t->names.n_stacks + 1, sizeof *s->site_of_stack);
    s->site_of_class = mem_alloc((s->d->n_classes + 1) * sizeof *s->site_of_class);
    s->null_site = site_of_frame(s, TRACE_NONE);
    for (size_t i = 0; i < s->d->n_classes; i++)
        s->site_of_class[i] = site_of(s, s->d->classes[i].stack);
}

/* --- blocks that were there all the time -------------------------------------------- */

static bool mine(const struct study *s, const struct trace_segment *g)
{
    return g->device == s->d->index;
}

static void add_moment(struct study_moment *m, uint64_t bytes, uint64_t count, uint32_t stack)
{
    m->bytes += bytes;
    m->count += count;
    if (bytes > m->stack_bytes) {
        m->stack_bytes = bytes;
        m->stack = stack;
    }
}

/* Live at the end and not allocated in the trace: they were there at every moment. */
static void add_ghosts(struct study *s)
{
    uint64_t early = s->d->n_steps ? s->d->steps[0].end : 0;
    uint64_t sum = 0;
    for (size_t g = 0; g < s->t->n_segments; g++) {
        if (!mine(s, &s->t->segments[g]) || !s->t->segments[g].n)
            continue;
        const struct trace_block *b = s->t->blocks + s->t->segments[g].first;
        for (size_t i = 0; i < s->t->segments[g].n; i++, b++) {
            if (b->state != BLOCK_ALLOCATED || b->later)
                continue;
            struct study_site *site = &s->sites[site_of(s, b->stack)];
            site = &s->sites[site_of(s, b->stack)]; /* the first call may move them */
            site->born_early += !b->traced || b->born < early;
            if (b->traced)
                continue;
            site->ghosts++;
            site->bytes += (int64_t)b->requested;
            site->count++;
            sum += b->requested;
            for (int k = 0; k < STUDY_MOMENTS; k++)
                add_moment(&site->at[k], b->requested, 1, b->stack);
        }
    }
    /* freed within the trace, allocated before it */
    s->sites[s->null_site].bytes += s->d->totals.base - (int64_t)sum;
    s->sites[s->null_site].count += (int64_t)s->d->unmatched;
}

/* --- replay ------------------------------------------------------------------------- */

struct replay {
    struct study *s;
    uint32_t *live;                 /* allocations of each class */
    int64_t null_bytes, null_count; /* of before the trace, as far as not freed yet */
    int64_t level;
    size_t sample;
};

/* Classes that are live now make up the moment. */
static void take_moment(struct replay *r, enum holder_at at)
{
    struct study *s = r->s;
    for (size_t i = 0; i < s->d->n_classes; i++)
        if (r->live[i])
            add_moment(&s->sites[s->site_of_class[i]].at[at], r->live[i] * s->d->classes[i].size, r->live[i],
                       s->d->classes[i].stack);
    struct study_moment *null = &s->sites[s->null_site].at[at];
    if (r->null_bytes > 0)
        null->bytes += (uint64_t)r->null_bytes;
    if (r->null_count > 0)
        null->count += (uint64_t)r->null_count;
    s->has[at] = true;
    s->total[at] = r->level > 0 ? (uint64_t)r->level : 0;
}

static void take_sample(struct replay *r)
{
    struct study *s = r->s;
    size_t row = r->sample * s->n_sites;
    for (size_t i = 0; i < s->n_sites; i++) {
        s->bytes[row + i] = s->sites[i].bytes;
        s->count[row + i] = s->sites[i].count;
    }
    if (r->sample == 0 || r->sample + 1 == s->n_samples)
        for (size_t i = 0; i < s->d->n_classes; i++)
            (r->sample ? s->class_last : s->class_first)[i] = (int32_t)r->live[i];
    r->sample++;
}

static void alloc(struct replay *r, uint32_t class, uint64_t index)
{
    struct study *s = r->s;
    struct study_site *site = &s->sites[s->site_of_class[class]];
    uint64_t size = s->d->classes[class].size;
    r->live[class]++;
    s->class_allocs[class] += r->sample > 0 && r->sample < s->n_samples;
    site->bytes += (int64_t)size;
    site->count++;
    site->allocs++;
    uint64_t *largest = index >= s->fail_from ? &site->largest_failing : &site->largest_before;
    *largest = size > *largest ? size : *largest;
}

static void release(struct replay *r, uint32_t class)
{
    struct study_site *site = &r->s->sites[r->s->site_of_class[class]];
    r->live[class]--;
    site->bytes -= (int64_t)r->s->d->classes[class].size;
    site->count--;
    site->frees++;
}

static void apply(struct replay *r, const struct trace_op *op, uint64_t index)
{
    struct study_site *null = &r->s->sites[r->s->null_site];
    switch (op->kind) {
    case OP_REPLACE:
        release(r, op->was);
        alloc(r, op->class, index);
        break;
    case OP_ALLOC:
        alloc(r, op->class, index);
        break;
    case OP_FREE:
        release(r, op->class);
        break;
    case OP_UNKNOWN_FREE:
        r->null_bytes -= (int64_t)op->size;
        r->null_count--;
        null->bytes -= (int64_t)op->size;
        null->count--;
        break;
    default:
        break;
    }
}

static void replay(struct study *s)
{
    const struct trace_device *d = s->d;
    struct replay r = {.s = s, .level = d->totals.base};
    struct trace_cursor c;
    struct trace_op op;
    uint64_t oom = d->n_ooms ? d->ooms[d->n_ooms - 1].event : TRACE_BEFORE;
    r.live = mem_zero(d->n_classes + 1, sizeof *r.live);
    r.null_bytes = s->sites[s->null_site].bytes;
    r.null_count = s->sites[s->null_site].count;
    for (size_t i = 0; i < s->t->n_segments; i++) /* the null site's own ghosts are counted already */
        if (mine(s, &s->t->segments[i]))
            for (size_t k = 0; k < s->t->segments[i].n; k++) {
                const struct trace_block *b = &s->t->blocks[s->t->segments[i].first + k];
                if (b->state == BLOCK_ALLOCATED && !b->traced && !b->later &&
                    s->site_of_stack[b->stack] == s->null_site + 1) {
                    r.null_bytes -= (int64_t)b->requested;
                    r.null_count--;
                }
            }
    if (d->totals.peak_event == TRACE_BEFORE)
        take_moment(&r, HOLDER_AT_PEAK);
    trace_cursor_init(&c, d);
    while (trace_next(&c, &op)) {
        apply(&r, &op, c.index);
        r.level += trace_op_delta(d, &op);
        if (c.index == d->totals.peak_event)
            take_moment(&r, HOLDER_AT_PEAK);
        if (c.index == oom)
            take_moment(&r, HOLDER_AT_OOM);
        if (r.sample < s->n_samples && d->steps[s->step[r.sample]].floor_event == c.index)
            take_sample(&r);
    }
    take_moment(&r, HOLDER_AT_END);
    s->n_samples = r.sample;
    free(r.live);
}

/* Floors of at most STUDY_SAMPLES steps, the first one (where weights and optimiser state are made) left out.
 */
static void choose_samples(struct study *s)
{
    const struct trace_device *d = s->d;
    size_t first = d->truncated ? 0 : 1, n = d->n_steps;
    while (n && d->steps[n - 1].floor == UINT64_MAX)
        n--;
    size_t room = ((size_t)1 << 24) / (s->n_sites * 2 * sizeof *s->bytes + 1), most = STUDY_SAMPLES;
    most = room < 8 ? 8 : room < most ? room : most;
    size_t have = n > first ? n - first : 0;
    s->n_samples = have < most ? have : most;
    for (size_t k = 0; k < s->n_samples; k++)
        s->step[k] = s->n_samples == have ? first + k : first + (have - 1) * k / (s->n_samples - 1);
    s->bytes = mem_zero(s->n_samples * s->n_sites + 1, sizeof *s->bytes);
    s->count = mem_zero(s->n_samples * s->n_sites + 1, sizeof *s->count);
    s->class_first = mem_zero(d->n_classes + 1, sizeof *s->class_first);
    s->class_last = mem_zero(d->n_classes + 1, sizeof *s->class_last);
    s->class_allocs = mem_zero(d->n_classes + 1, sizeof *s->class_allocs);
    if (s->n_samples > 1)
        s->floor_rise =
            (double)d->steps[s->step[s->n_samples - 1]].floor - (double)d->steps[s->step[0]].floor;
}

void study_sites(struct study *s, const struct trace_file *t, const struct trace_device *d)
{
    *s = (struct study){.t = t, .d = d, .fail_from = d->n};
    find_sites(s);
    add_ghosts(s);
}

void study_init(struct study *s, const struct trace_file *t, const struct trace_device *d)
{
    study_sites(s, t, d);
    if (d->n_ooms) {
        uint64_t oom = d->ooms[d->n_ooms - 1].event;
        s->fail_from = 0;
        for (size_t i = 0; i < d->n_steps && d->steps[i].end <= oom; i++)
            s->fail_from = d->steps[i].end;
    }
    choose_samples(s);
    replay(s);
}

void study_release(struct study *s)
{
    free(s->sites);
    free(s->kinds);
    free(s->site_of_frame);
    free(s->site_of_stack);
    free(s->site_of_class);
    free(s->bytes);
    free(s->count);
    free(s->class_first);
    free(s->class_last);
    free(s->class_allocs);
}

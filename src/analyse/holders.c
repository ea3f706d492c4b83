#include "analyse/holders.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

enum {
    HOLDERS_MAX = 32, /* of each moment */
    STACK_SHOWN = 64  /* frames of a holder's stack */
};

void holders_figures(struct run_report *out, const struct trace_file *t, const struct trace_device *d,
                     struct arena *a)
{
    const struct trace_totals *sum = &d->totals;
    struct snapshot_figures *s = &out->snapshot;
    out->has_snapshot = true;
    struct str conf =
        t->settings.conf == TRACE_NONE ? (struct str){NULL, 0} : trace_string_at(&t->names, t->settings.conf);
    *s = (struct snapshot_figures){
        .device = d->index,
        .events = (double)(d->first + d->n + d->after),
        .unmatched_frees = (double)d->unmatched,
        .truncated = d->truncated,
        .steps_found = (double)d->n_steps,
        .steps_by = (enum steps_by)d->steps_by,
        .peak_bytes = (double)sum->peak,
        .peak_event = sum->peak_event == TRACE_BEFORE ? NAN : (double)(d->first + sum->peak_event),
        .live_bytes_at_end = (double)sum->live_end,
        .allocated_bytes = (double)sum->allocated,
        .reserved_bytes = (double)sum->reserved,
        .reserved_at_peak_bytes = (double)sum->reserved_at_peak,
        .inactive_split_bytes = (double)sum->inactive_split,
        .largest_free_block_bytes = (double)sum->largest_free,
        .has_oom = d->n_ooms > 0,
        .expandable_segments = t->settings.expandable_segments,
        .max_split_size_bytes = t->settings.max_split_size,
        .alloc_conf = conf.n ? arena_strndup(a, conf.p, conf.n) : NULL,
    };
    if (d->n_ooms) {
        const struct trace_oom *o = &d->ooms[d->n_ooms - 1];
        s->oom_event = (double)(d->first + o->event);
        s->oom_requested_bytes = (double)o->requested;
        s->oom_device_free_bytes = (double)o->device_free;
        s->oom_live_bytes = (double)o->live;
        s->oom_reserved_bytes = (double)o->reserved;
    }
}

/* --- categories --------------------------------------------------------------------- */

/* Words in the names of a stack's functions and files that tell what the memory is for. */
struct hints {
    bool moves_model, input, forward, backward;
};

static void hints_of(struct hints *h, const struct trace_names *names, uint32_t stack)
{
    static const char *const MODEL[] = {"convert",         "_apply",          "reset_parameters",
                                        "from_pretrained", "load_state_dict", "_load_from",
                                        "empty_parameter"};
    static const char *const INPUT[] = {"to_device", "collate",   "dataloader", "pin_memory",
                                        "prefetch",  "get_batch", "next_batch", "load_batch"};
    uint32_t frames[TRACE_DEPTH_MAX];
    size_t n = trace_stack_frames(names, stack, frames);
    *h = (struct hints){0};
    for (size_t i = 0; i < n; i++) {
        struct str name = trace_string_at(names, names->frames[frames[i]].name);
        struct str file = trace_string_at(names, names->frames[frames[i]].file);
        for (size_t k = 0; k < sizeof MODEL / sizeof *MODEL; k++)
            h->moves_model |= str_is(name, MODEL[k]);
        for (size_t k = 0; k < sizeof INPUT / sizeof *INPUT; k++)
            h->input |= str_has(name, INPUT[k]);
        h->input |= str_has(file, "dataloader") || (i < 2 && str_has(file, "/data.py"));
        h->forward |= str_has(name, "forward") || str_is(name, "_call_impl");
        h->backward |= str_has(name, "backward");
    }
}

static enum category category_of(const struct study *s, const struct study_site *site)
{
    struct hints h;
    uint32_t stack = 0;
    for (int k = 0; k < STUDY_MOMENTS && !stack; k++)
        stack = site->at[k].stack;
    bool stays = site->born_early > 0 && !site->leaks;
    if (site->flags & STACK_OPTIMIZER)
        return site->at[HOLDER_AT_END].count && stays ? CATEGORY_OPTIMIZER_STATE : CATEGORY_TEMPORARY;
    hints_of(&h, &s->t->names, stack);
    if (h.moves_model && stays)
        return CATEGORY_PARAMETER;
    if (h.input)
        return CATEGORY_INPUT;
    if (!(site->flags & STACK_PYTHON)) /* the autograd thread has no Python frames */
        return s->d->n_steps && site->allocs > site->ghosts ? CATEGORY_GRADIENT : CATEGORY_UNKNOWN;
    if (h.backward && !h.forward)
        return CATEGORY_GRADIENT;
    if (h.forward)
        return CATEGORY_ACTIVATION;
    if (stays && site->allocs == site->at[HOLDER_AT_END].count && !site->frees)
        return site->born_early == site->at[HOLDER_AT_END].count ? CATEGORY_PARAMETER : CATEGORY_UNKNOWN;
    return site->frees * 10 >= site->allocs * 9 && site->allocs ? CATEGORY_ACTIVATION : CATEGORY_UNKNOWN;
}

/* --- holders ------------------------------------------------------------------------ */

struct ranked {
    uint64_t bytes;
    size_t site;
};

static int by_bytes(const void *x, const void *y)
{
    const struct ranked *a = x, *b = y;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? 1 : -1;
    return a->site < b->site ? -1 : 1;
}

static void put_stack(struct holder *h, const struct study *s, uint32_t stack, struct arena *a)
{
    uint32_t frames[TRACE_DEPTH_MAX];
    size_t n = trace_stack_frames(&s->t->names, stack, frames);
    h->n_stack = n < STACK_SHOWN ? n : STACK_SHOWN;
    h->stack = arena_alloc(a, (h->n_stack + 1) * sizeof *h->stack);
    for (size_t i = 0; i < h->n_stack; i++)
        h->stack[i] = site_text(&s->t->names, frames[i], a);
}

static void put_moment(struct run_report *out, const struct study *s, enum holder_at at, struct ranked *r,
                       struct arena *a)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n_sites; i++)
        if (s->sites[i].at[at].bytes)
            r[n++] = (struct ranked){s->sites[i].at[at].bytes, i};
    if (n)
        qsort(r, n, sizeof *r, by_bytes);
    for (size_t i = 0; i < n && i < HOLDERS_MAX; i++) {
        const struct study_site *site = &s->sites[r[i].site];
        struct holder *h = &out->holders[out->n_holders++];
        *h = (struct holder){.at = at,
                             .site = site_text(&s->t->names, site->frame, a),
                             .frame = site->frame,
                             .bytes = (double)site->at[at].bytes,
                             .count = (double)site->at[at].count,
                             .share = s->total[at] ? (double)site->at[at].bytes / (double)s->total[at] : NAN,
                             .growth_bytes_per_step = s->n_samples > 1 || site->leaks ? site->growth : NAN,
                             .category = site->category};
        put_stack(h, s, site->at[at].stack, a);
    }
}

void holders_fill(struct run_report *out, struct study *s, struct arena *a)
{
    struct ranked *r = mem_alloc((s->n_sites + 1) * sizeof *r);
    for (size_t i = 0; i < s->n_sites; i++)
        s->sites[i].category = category_of(s, &s->sites[i]);
    out->holders = arena_alloc(a, (size_t)STUDY_MOMENTS * HOLDERS_MAX * sizeof *out->holders);
    out->n_holders = 0;
    for (int k = 0; k < STUDY_MOMENTS; k++)
        if (s->has[k])
            put_moment(out, s, (enum holder_at)k, r, a);
    free(r);
}

/* The packed log of a device: a number of one to nine bytes an event, op in the low
 * four bits and class above; sizes that no class has follow as numbers of their own. */
#include "base/mem.h"
#include "model/trace.h"
#include "model/trace_live.h"
#include <stdlib.h>

#define SIZE_IMPOSSIBLE ((uint64_t)1 << 50)   /* [B] of one request: no device has that */
#define VOLUME_IMPOSSIBLE ((uint64_t)1 << 62) /* [B] of all: sums stay within 63 bits */

static unsigned char *put(unsigned char *p, uint64_t v)
{
    while (v >= 0x80) {
        *p++ = (unsigned char)(v | 0x80);
        v >>= 7;
    }
    *p++ = (unsigned char)v;
    return p;
}

static const unsigned char *get(const unsigned char *p, uint64_t *v)
{
    uint64_t x = *p & 0x7f;
    unsigned shift = 7;
    while (*p++ & 0x80) {
        x |= (uint64_t)(*p & 0x7f) << shift;
        shift += 7;
    }
    *v = x;
    return p;
}

/* --- classes ------------------------------------------------------------------------ */

/* As in trace_names: four bits of the hash stand above a slot's number. */
#define SLOT_NUMBER (((uint32_t)1 << 28) - 1)

static uint32_t class_hash(uint32_t stack, uint64_t size)
{
    uint64_t h = (size * 0x9e3779b97f4a7c15u ^ stack) * 0xbf58476d1ce4e5b9u;
    return (uint32_t)(h >> 32);
}

static void class_slot(struct trace_device *d, uint32_t class)
{
    uint32_t hash = class_hash(d->classes[class].stack, d->classes[class].size);
    size_t i = hash & d->class_mask;
    while (d->class_slots[i])
        i = (i + 1) & d->class_mask;
    d->class_slots[i] = (class + 1) | (hash & ~SLOT_NUMBER);
}

static uint32_t class_of(struct trace_device *d, uint32_t stack, uint64_t size)
{
    if (d->n_classes * 3 >= d->class_mask * 2) {
        free(d->class_slots);
        d->class_mask = d->class_mask ? d->class_mask * 2 + 1 : 255;
        d->class_slots = mem_zero(d->class_mask + 1, sizeof *d->class_slots);
        for (size_t k = 0; k < d->n_classes; k++)
            class_slot(d, (uint32_t)k);
    }
    uint32_t hash = class_hash(stack, size);
    for (size_t i = hash & d->class_mask; d->class_slots[i]; i = (i + 1) & d->class_mask) {
        uint32_t slot = d->class_slots[i], class = (slot & SLOT_NUMBER) - 1;
        if (((slot ^ hash) & ~SLOT_NUMBER) == 0 && d->classes[class].size == size &&
            d->classes[class].stack == stack)
            return class;
    }
    if (d->n_classes == d->cap_classes) {
        d->cap_classes = d->cap_classes ? d->cap_classes + d->cap_classes / 2 : 64;
        d->classes = mem_grow(d->classes, d->cap_classes, sizeof *d->classes);
    }
    uint32_t id = (uint32_t)d->n_classes++;
    d->classes[id] = (struct trace_class){size, stack};
    class_slot(d, id);
    return id;
}

/* --- writing ------------------------------------------------------------------------ */

static unsigned char *put_op(unsigned char *p, enum trace_op_kind kind, uint64_t class)
{
    return put(p, class << 4 | (unsigned)kind);
}

static unsigned char *add_alloc(struct trace_device *d, unsigned char *p, const struct trace_event *e)
{
    if (d->n_classes >= SLOT_NUMBER - 1) /* more than a file of many gigabytes can have */
        return put_op(p, OP_NOTHING, 0);
    uint32_t class = class_of(d, e->stack, e->size);
    struct trace_live_slot *s = trace_live_find(d->live, e->addr);
    if (!s) {
        trace_live_put(d->live, e->addr, class, d->n);
        return put_op(p, OP_ALLOC, class);
    }
    uint32_t was = s->class;
    bool open = s->state == LIVE_OPEN;
    s->class = class;
    s->born = d->n > LIVE_BORN_MAX ? LIVE_BORN_MAX : (uint32_t)d->n;
    s->state = LIVE_OPEN;
    if (!open)
        return put_op(p, OP_ALLOC, class);
    d->replaced++;
    return put(put_op(p, OP_REPLACE, class), was);
}

static unsigned char *add_free(struct trace_device *d, unsigned char *p, const struct trace_event *e)
{
    struct trace_live_slot *s = trace_live_find(d->live, e->addr);
    bool completed = e->action == TRACE_FREE_COMPLETED;
    if (s && s->state == LIVE_OPEN) {
        uint32_t class = s->class;
        if (completed)
            trace_live_drop(d->live, s);
        else
            s->state = LIVE_REQUESTED;
        return put_op(p, OP_FREE, class);
    }
    if (s && completed) {
        trace_live_drop(d->live, s);
        return put_op(p, OP_COMPLETED, 0);
    }
    if (completed) {
        d->orphans++;
        d->orphan_bytes += e->size;
        return put(put_op(p, OP_ORPHAN, 0), e->size);
    }
    d->unmatched++;
    d->unmatched_bytes += e->size;
    if (!s) { /* its completion follows */
        trace_live_put(d->live, e->addr, 0, d->n);
        trace_live_find(d->live, e->addr)->state = LIVE_REQUESTED;
    }
    return put(put_op(p, OP_UNKNOWN_FREE, 0), e->size);
}

static unsigned char *add_oom(struct trace_device *d, unsigned char *p, const struct trace_event *e)
{
    if (d->n_ooms == d->cap_ooms) {
        d->cap_ooms = d->cap_ooms ? d->cap_ooms * 2 : 4;
        d->ooms = mem_grow(d->ooms, d->cap_ooms, sizeof *d->ooms);
    }
    d->ooms[d->n_ooms++] = (struct trace_oom){.event = d->n,
                                              .requested = e->size,
                                              .device_free = e->addr,
                                              .time_us = e->time_us,
                                              .stack = e->stack};
    return put_op(p, OP_OOM, 0);
}

static void add_run(struct trace_runs *r, uint64_t event, bool inside, bool alloc)
{
    if (!inside) {
        r->open = false;
        return;
    }
    if (!r->open) {
        if (r->n == r->cap) {
            r->cap = r->cap ? r->cap * 2 : 16;
            r->at = mem_grow(r->at, r->cap, sizeof *r->at);
        }
        r->at[r->n++] = (struct trace_run){event, event, 0};
        r->open = true;
    }
    r->at[r->n - 1].last = event;
    r->at[r->n - 1].allocs += alloc;
}

/* Only events with a Python stack begin or end a run: others happen in between in any phase. */
static void add_runs(struct trace_device *d, const struct trace_names *names, const struct trace_event *e)
{
    uint32_t flags = e->stack < names->n_stacks ? names->stacks[e->stack].flags : 0;
    if (!(flags & STACK_PYTHON) || e->action == TRACE_OOM)
        return;
    bool alloc = e->action == TRACE_ALLOC;
    bool optimizer = flags & STACK_OPTIMIZER;
    if (optimizer || alloc || (flags & STACK_ZERO_GRAD))
        add_run(&d->runs[TRACE_OPTIMIZER], d->n, optimizer, alloc);
    if ((flags & STACK_EVAL) || alloc)
        add_run(&d->runs[TRACE_EVALUATION], d->n, flags & STACK_EVAL, alloc);
}

static void add_time(struct trace_device *d, const struct trace_event *e)
{
    if (!d->timed) {
        if (!e->has_time)
            return;
        d->timed = true;
        d->first_time = d->last_time = e->time_us;
        memset(buf_room(&d->times, d->n), 0, d->n); /* what came before had none */
        d->times.n += d->n;
    }
    uint64_t time = e->has_time ? e->time_us : d->last_time;
    int64_t delta = (int64_t)(time - d->last_time);
    d->last_time = time;
    uint64_t zigzag = (uint64_t)delta << 1 ^ (delta < 0 ? UINT64_MAX : 0);
    unsigned char *begin = (unsigned char *)buf_room(&d->times, 12);
    d->times.n += (size_t)(put(begin, zigzag) - begin);
}

/* --- behind the window --------------------------------------------------------------- */

static void later_alloc(struct trace_device *d, const struct trace_event *e)
{
    struct trace_live_slot *s = trace_live_find(d->live, e->addr);
    d->net_after += (int64_t)e->size - (s && s->state == LIVE_OPEN ? (int64_t)d->classes[s->class].size : 0);
    if (s)
        s->state = LIVE_OPEN;
    else
        trace_live_put(d->live, e->addr, 0, 0);
    trace_live_find(d->live, e->addr)->state = LIVE_LATER;
}

static void later_free(struct trace_device *d, const struct trace_event *e)
{
    struct trace_live_slot *s = trace_live_find(d->live, e->addr);
    bool completed = e->action == TRACE_FREE_COMPLETED;
    if (!s && completed && d->count[TRACE_FREE_REQUESTED])
        return;
    if (!s || s->state != LIVE_REQUESTED)
        d->net_after -= s && s->state == LIVE_OPEN ? (int64_t)d->classes[s->class].size : (int64_t)e->size;
    if (s && completed) {
        trace_live_drop(d->live, s);
        return;
    }
    if (!s && !completed)
        trace_live_put(d->live, e->addr, 0, 0);
    if (!completed)
        trace_live_find(d->live, e->addr)->state = LIVE_REQUESTED;
}

/* Not kept; but the blocks of the end must be known from those that were live when the window closed. */
static void add_later(struct trace_device *d, const struct trace_event *e)
{
    enum trace_action action = e->action;
    d->after++;
    d->count[action]++;
    if (action >= TRACE_SNAPSHOT || !e->has_size || e->size >= SIZE_IMPOSSIBLE ||
        d->volume + e->size > VOLUME_IMPOSSIBLE)
        return;
    d->volume += e->size;
    if (action == TRACE_SEGMENT_ALLOC || action == TRACE_SEGMENT_MAP)
        d->held_after += (int64_t)e->size;
    else if (action == TRACE_SEGMENT_FREE || action == TRACE_SEGMENT_UNMAP)
        d->held_after -= (int64_t)e->size;
    else if (e->has_addr && action == TRACE_ALLOC)
        later_alloc(d, e);
    else if (e->has_addr)
        later_free(d, e);
}

void trace_device_add(struct trace_device *d, const struct trace_names *names, const struct trace_event *e)
{
    if (d->first < d->window.from) {
        d->first++;
        return;
    }
    if (!d->live)
        d->live = trace_live_new();
    if (d->window.n && d->n == d->window.n) {
        add_later(d, e);
        return;
    }
    unsigned char *begin = (unsigned char *)buf_room(&d->log, 32), *p = begin;
    enum trace_action action = e->action;
    bool sized = action < TRACE_SNAPSHOT;
    if (sized && (!e->has_size || e->size >= SIZE_IMPOSSIBLE || d->volume + e->size > VOLUME_IMPOSSIBLE)) {
        d->impossible++;
        action = TRACE_OTHER;
    }
    d->volume += sized && action != TRACE_OTHER ? e->size : 0;
    if ((action == TRACE_ALLOC || action == TRACE_FREE_REQUESTED || action == TRACE_FREE_COMPLETED) &&
        !e->has_addr)
        action = TRACE_OTHER;
    switch (action) {
    case TRACE_ALLOC:
        p = add_alloc(d, p, e);
        break;
    case TRACE_FREE_REQUESTED:
    case TRACE_FREE_COMPLETED:
        p = add_free(d, p, e);
        break;
    case TRACE_SEGMENT_ALLOC:
    case TRACE_SEGMENT_MAP:
        p = put(put_op(p, OP_SEGMENT_ADD, 0), e->size);
        break;
    case TRACE_SEGMENT_FREE:
    case TRACE_SEGMENT_UNMAP:
        p = put(put_op(p, OP_SEGMENT_TAKE, 0), e->size);
        break;
    case TRACE_OOM:
        p = add_oom(d, p, e);
        break;
    default:
        p = put_op(p, OP_NOTHING, 0);
        break;
    }
    d->log.n += (size_t)(p - begin);
    add_time(d, e);
    if (e->stack)
        add_runs(d, names, e);
    d->count[action]++;
    d->n++;
}

/* --- reading ------------------------------------------------------------------------ */

void trace_cursor_init(struct trace_cursor *c, const struct trace_device *d)
{
    *c = (struct trace_cursor){.d = d,
                               .index = (uint64_t)-1,
                               .time_us = d->first_time,
                               .orphans_free = !d->count[TRACE_FREE_REQUESTED]};
    if (d->log.n) {
        c->p = (const unsigned char *)d->log.p;
        c->end = c->p + d->log.n;
    }
    if (d->times.n) {
        c->t = (const unsigned char *)d->times.p;
        c->t_end = c->t + d->times.n;
    }
}

bool trace_next(struct trace_cursor *c, struct trace_op *op)
{
    if (c->p >= c->end)
        return false;
    uint64_t v;
    c->p = get(c->p, &v);
    c->index++;
    op->kind = (enum trace_op_kind)(v & 15);
    op->class = (uint32_t)(v >> 4);
    switch (op->kind) {
    case OP_ALLOC:
    case OP_FREE:
        op->size = c->d->classes[op->class].size;
        break;
    case OP_REPLACE:
        op->size = c->d->classes[op->class].size;
        c->p = get(c->p, &v);
        op->was = (uint32_t)v;
        break;
    case OP_UNKNOWN_FREE:
    case OP_SEGMENT_ADD:
    case OP_SEGMENT_TAKE:
        c->p = get(c->p, &op->size);
        break;
    case OP_ORPHAN:
        c->p = get(c->p, &op->size);
        if (c->orphans_free)
            op->kind = OP_UNKNOWN_FREE;
        break;
    default:
        op->size = 0;
        break;
    }
    if (c->t < c->t_end) {
        c->t = get(c->t, &v);
        c->time_us += (v >> 1) ^ (0 - (v & 1));
    }
    return true;
}

int64_t trace_op_delta(const struct trace_device *d, const struct trace_op *op)
{
    switch (op->kind) {
    case OP_ALLOC:
        return (int64_t)op->size;
    case OP_FREE:
    case OP_UNKNOWN_FREE:
        return -(int64_t)op->size;
    case OP_REPLACE:
        return (int64_t)op->size - (int64_t)d->classes[op->was].size;
    default:
        return 0;
    }
}

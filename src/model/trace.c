#include "model/trace.h"
#include "base/mem.h"
#include "model/trace_live.h"
#include <math.h>
#include <stdlib.h>

struct trace_file *trace_file_new(void)
{
    struct trace_file *t = mem_zero(1, sizeof *t);
    t->references = 1;
    trace_names_init(&t->names);
    t->settings.conf = TRACE_NONE;
    t->settings.max_split_size = NAN;
    return t;
}

struct trace_file *trace_file_share(struct trace_file *t)
{
    t->references++;
    return t;
}

void trace_file_free(struct trace_file *t)
{
    if (!t || --t->references)
        return;
    for (size_t i = 0; i < t->n_devices; i++)
        trace_device_free(t->devices[i]);
    free(t->devices);
    free(t->segments);
    free(t->blocks);
    free(t->marks);
    trace_names_release(&t->names);
    free(t);
}

struct trace_device *trace_device_new(void)
{
    struct trace_device *d = mem_zero(1, sizeof *d);
    return d;
}

void trace_device_free(struct trace_device *d)
{
    if (!d)
        return;
    buf_release(&d->log);
    buf_release(&d->times);
    free(d->classes);
    free(d->class_slots);
    trace_live_free(d->live);
    free(d->ooms);
    for (int k = 0; k < TRACE_PHASES; k++)
        free(d->runs[k].at);
    free(d->steps);
    free(d);
}

struct trace_device *trace_file_device(struct trace_file *t, uint32_t index)
{
    if (index >= TRACE_DEVICES_MAX)
        return NULL;
    while (t->n_devices <= index) {
        if (t->n_devices == t->cap_devices) {
            t->cap_devices = t->cap_devices ? t->cap_devices * 2 : 8;
            t->devices = mem_grow(t->devices, t->cap_devices, sizeof *t->devices);
        }
        t->devices[t->n_devices] = trace_device_new();
        t->devices[t->n_devices]->window = t->window;
        t->devices[t->n_devices]->index = (uint32_t)t->n_devices;
        t->n_devices++;
    }
    return t->devices[index];
}

/* --- the end ------------------------------------------------------------------------ */

/* Blocks against the trace: which of them does it know, and what it left open. */
static void pair_blocks(struct trace_file *t, struct trace_device *d)
{
    struct trace_totals *sum = &d->totals;
    for (size_t s = 0; s < t->n_segments; s++) {
        const struct trace_segment *g = &t->segments[s];
        if (g->device != d->index)
            continue;
        sum->reserved += g->total;
        for (size_t i = g->first; i < (size_t)g->first + g->n; i++) {
            struct trace_block *b = &t->blocks[i];
            if (b->state == BLOCK_INACTIVE) {
                sum->inactive += b->size;
                sum->inactive_split += g->n > 1 ? b->size : 0;
                sum->private_pools += g->pool[0] || g->pool[1] ? b->size : 0;
                if (b->size > sum->largest_free)
                    sum->largest_free = b->size;
                continue;
            }
            if (b->state == BLOCK_PENDING) {
                sum->pending += b->size;
                continue;
            }
            const struct trace_live_slot *slot = trace_live_find(d->live, b->address);
            b->later = slot && slot->state == LIVE_LATER;
            sum->live_end += b->requested;
            sum->allocated += b->size;
            sum->blocks++;
            uint32_t born = TRACE_NONE, class = trace_live_take(d->live, b->address, &born);
            b->traced = class != TRACE_NONE && d->classes[class].size == b->requested;
            b->born = b->traced ? born : TRACE_NONE;
            d->untraced += !b->traced && !b->later;
            if (b->traced && !b->stack)
                b->stack = d->classes[class].stack;
        }
    }
}

static bool has_segments(const struct trace_file *t, const struct trace_device *d)
{
    for (size_t s = 0; s < t->n_segments; s++)
        if (t->segments[s].device == d->index)
            return true;
    return false;
}

/* Prefix sums over the trace: the rise to the peak, the net, and the same of the reserved memory. */
static void sum_up(struct trace_file *t, struct trace_device *d)
{
    struct trace_totals *sum = &d->totals;
    struct trace_cursor c;
    struct trace_op op;
    int64_t now = 0, top = 0, low = 0, held = 0, held_top = 0, held_low = 0, held_then = 0;
    size_t oom = 0;
    sum->peak_event = TRACE_BEFORE;
    trace_cursor_init(&c, d);
    while (trace_next(&c, &op)) {
        if (op.kind == OP_SEGMENT_ADD || op.kind == OP_SEGMENT_TAKE) {
            held += op.kind == OP_SEGMENT_ADD ? (int64_t)op.size : -(int64_t)op.size;
            held_top = held > held_top ? held : held_top;
            held_low = held < held_low ? held : held_low;
        } else if (op.kind == OP_OOM && oom < d->n_ooms) {
            d->ooms[oom].live = (uint64_t)now;
            d->ooms[oom++].reserved = (uint64_t)held;
        } else {
            now += trace_op_delta(d, &op);
            low = now < low ? now : low;
            if (now > top) {
                top = now;
                sum->peak_event = c.index;
                held_then = held;
            }
        }
    }
    if (has_segments(t, d)) {
        sum->base = (int64_t)sum->live_end - d->net_after - now;
        sum->reserved_base = (int64_t)sum->reserved - d->held_after - held;
    } else { /* at least what was freed unseen */
        sum->base = -low;
        sum->live_end = (uint64_t)(now - low);
        sum->reserved_base = -held_low;
        sum->reserved = (uint64_t)(held - held_low);
    }
    sum->peak = (uint64_t)(sum->base + top);
    sum->reserved_peak = (uint64_t)(sum->reserved_base + held_top);
    sum->reserved_at_peak = (uint64_t)(sum->reserved_base + held_then);
    for (size_t i = 0; i < d->n_ooms; i++) {
        d->ooms[i].live += (uint64_t)sum->base;
        d->ooms[i].reserved += (uint64_t)sum->reserved_base;
    }
}

void trace_file_finish(struct trace_file *t)
{
    for (size_t s = 0; s < t->n_segments; s++)
        trace_file_device(t, t->segments[s].device);
    for (size_t i = 0; i < t->n_devices; i++) {
        struct trace_device *d = t->devices[i];
        pair_blocks(t, d);
        d->lost = trace_live_bytes(d->live, d);
        if (!d->count[TRACE_FREE_REQUESTED])
            d->unmatched += d->orphans;
        sum_up(t, d);
        /* one entry is the ring that keeps no history, not the end of a longer trace */
        d->truncated = d->n > 1 && (d->unmatched || d->untraced || d->first || t->settings.overflowed);
        trace_live_free(d->live);
        free(d->class_slots);
        d->live = NULL;
        d->class_slots = NULL;
    }
}

/* Lists of a snapshot: what their items are decides what they become. */
#include "base/mem.h"
#include "read/snapshot_record.h"
#include <stdlib.h>

#define SIZE_IMPOSSIBLE ((uint64_t)1 << 50) /* [B] of a block */
#define VOLUME_IMPOSSIBLE ((uint64_t)1 << 60)

static void list_push(struct snap_list *l, uint32_t v)
{
    if (l->n == l->cap) {
        l->cap = l->cap ? l->cap * 2 : 64;
        l->items = mem_grow(l->items, l->cap, sizeof *l->items);
    }
    l->items[l->n++] = v;
}

struct trace_device *snap_list_trace(struct snap_build *b, struct snap_list *l)
{
    if (l->kind == SNAP_EVENT)
        return b->traces[l->trace];
    if (l->kind != SNAP_OPAQUE)
        return NULL;
    if (b->n_traces == b->cap_traces) {
        b->cap_traces = b->cap_traces ? b->cap_traces * 2 : 8;
        b->traces = mem_grow(b->traces, b->cap_traces, sizeof *b->traces);
    }
    l->kind = SNAP_EVENT;
    l->trace = (uint32_t)b->n_traces;
    struct trace_device *d = b->traces[b->n_traces++] = trace_device_new();
    d->window = b->file->window;
    return d;
}

static void add_block(struct snap_build *b, struct snap_list *l, const struct trace_block *k)
{
    struct trace_file *t = b->file;
    if (l->n == 0)
        l->first = t->n_blocks;
    if (k->size >= SIZE_IMPOSSIBLE || k->requested >= SIZE_IMPOSSIBLE || l->first + l->n != t->n_blocks ||
        b->volume + k->size + k->requested > VOLUME_IMPOSSIBLE || t->n_blocks > UINT32_MAX - 2) {
        b->strange_blocks++;
        return;
    }
    b->volume += k->size + k->requested;
    if (t->n_blocks == t->cap_blocks) {
        t->cap_blocks = t->cap_blocks ? t->cap_blocks + t->cap_blocks / 2 : 64;
        t->blocks = mem_grow(t->blocks, t->cap_blocks, sizeof *t->blocks);
    }
    t->blocks[t->n_blocks++] = *k;
    l->n++;
}

static void add_segment(struct snap_build *b, struct snap_list *l, const struct trace_segment *s)
{
    struct trace_file *t = b->file;
    if (l->n == 0)
        l->first = t->n_segments;
    if (l->first + l->n != t->n_segments || s->device >= TRACE_DEVICES_MAX || s->total >= SIZE_IMPOSSIBLE ||
        b->volume + s->total > VOLUME_IMPOSSIBLE) {
        b->strange_blocks++;
        return;
    }
    b->volume += s->total;
    if (t->n_segments == t->cap_segments) {
        t->cap_segments = t->cap_segments ? t->cap_segments + t->cap_segments / 2 : 64;
        t->segments = mem_grow(t->segments, t->cap_segments, sizeof *t->segments);
    }
    t->segments[t->n_segments++] = *s;
    l->n++;
}

static void add_mark(struct snap_build *b, struct snap_list *l, const struct trace_mark *m)
{
    struct trace_file *t = b->file;
    if (t->n_marks == t->cap_marks) {
        t->cap_marks = t->cap_marks ? t->cap_marks + t->cap_marks / 2 : 64;
        t->marks = mem_grow(t->marks, t->cap_marks, sizeof *t->marks);
    }
    t->marks[t->n_marks++] = *m;
    l->n++;
}

static bool is_trace(const struct snap_value *v)
{
    return v->tag == SNAP_TRACE || v->tag == SNAP_LIST_EMPTY || (v->tag == SNAP_STACK && v->v == 0);
}

/* One item whose kind is the list's. */
static void list_add(struct snap_build *b, struct snap_list *l, const struct snap_value *v)
{
    const struct snap_record *r = snap_is_record(v) ? snap_record_of(b, v, v->tag) : NULL;
    if (v->tag == SNAP_FRAME)
        list_push(l, (uint32_t)v->v);
    else if (is_trace(v))
        list_push(l, v->tag == SNAP_TRACE ? (uint32_t)v->v : TRACE_NONE);
    else if (v->tag == SNAP_EVENT && r)
        trace_device_add(b->traces[l->trace], &b->file->names, &r->u.event);
    else if (v->tag == SNAP_BLOCK && r)
        add_block(b, l, &r->u.block);
    else if (v->tag == SNAP_SEGMENT && r)
        add_segment(b, l, &r->u.segment);
    else if (v->tag == SNAP_MARK && r)
        add_mark(b, l, &r->u.mark);
    else if (v->tag == SNAP_HISTORY && r && l->n == 0) { /* newest first */
        l->first = (size_t)r->u.block.requested;
        l->trace = r->u.block.stack;
        l->n = 1;
    }
}

void snap_list_add(struct snap_build *b, struct snap_list *l, const struct snap_value *items, size_t n)
{
    size_t lowest = b->n_records;
    for (size_t i = 0; i < n; i++) {
        const struct snap_value *v = &items[i];
        if (snap_is_record(v) && v->v < lowest)
            lowest = (size_t)v->v;
        uint32_t kind = is_trace(v) ? SNAP_TRACE : v->tag;
        bool known = kind == SNAP_FRAME || kind == SNAP_TRACE || snap_is_record(v);
        if (known && l->kind == SNAP_OPAQUE) {
            if (kind == SNAP_EVENT)
                snap_list_trace(b, l);
            l->kind = kind;
        }
        if (known && l->kind == kind)
            list_add(b, l, v);
        else if (l->kind == SNAP_EVENT) { /* it has an index in the trace all the same */
            struct trace_event none = {.action = TRACE_OTHER};
            trace_device_add(b->traces[l->trace], &b->file->names, &none);
            b->strange_items++;
        } else if (l->kind == SNAP_TRACE)
            list_push(l, TRACE_NONE);
        else
            b->strange_items++;
    }
    b->n_records = lowest;
}

static struct snap_value end_traces(struct snap_build *b, const struct snap_list *l)
{
    size_t first = b->n_trace_lists, n = l->n < TRACE_DEVICES_MAX ? l->n : TRACE_DEVICES_MAX;
    if (first + n > b->cap_trace_lists) {
        b->cap_trace_lists = (first + n) * 2;
        b->trace_lists = mem_grow(b->trace_lists, b->cap_trace_lists, sizeof *b->trace_lists);
    }
    memcpy(b->trace_lists + first, l->items, n * sizeof *l->items);
    b->n_trace_lists += n;
    return (struct snap_value){.tag = SNAP_TRACES, .v = (uint64_t)first << 32 | n};
}

struct snap_value snap_list_end(struct snap_build *b, struct snap_list *l)
{
    struct snap_value v = {.tag = SNAP_OPAQUE};
    uint64_t range = (uint64_t)l->first << 32 | (uint32_t)l->n;
    if (l->kind == SNAP_FRAME)
        v = (struct snap_value){.tag = SNAP_STACK, .v = trace_stack(&b->file->names, l->items, l->n)};
    else if (l->kind == SNAP_EVENT)
        v = (struct snap_value){.tag = SNAP_TRACE, .v = l->trace};
    else if (l->kind == SNAP_TRACE)
        v = end_traces(b, l);
    else if (l->kind == SNAP_BLOCK)
        v = (struct snap_value){.tag = SNAP_BLOCKS, .v = range};
    else if (l->kind == SNAP_SEGMENT)
        v = (struct snap_value){.tag = SNAP_SEGMENTS, .v = range};
    else if (l->kind == SNAP_MARK)
        v = (struct snap_value){.tag = SNAP_MARKS};
    else if (l->kind == SNAP_HISTORY) {
        struct snap_record r = {.kind = SNAP_HISTORY};
        r.u.block.requested = l->first;
        r.u.block.stack = l->trace;
        v = snap_put_record(b, &r);
    }
    l->kind = SNAP_OPAQUE;
    l->n = l->first = 0;
    l->trace = 0;
    return v;
}

void snap_list_release(struct snap_list *l)
{
    free(l->items);
    *l = (struct snap_list){0};
}

#include "read/snapshot_build.h"
#include "base/mem.h"
#include "read/snapshot_record.h"
#include <math.h>
#include <stdlib.h>

/* The values of a dictionary by key. */
struct fields {
    uint64_t have;
    struct snap_value v[KEY_COUNT];
};
_Static_assert(KEY_COUNT <= 64, "fields.have has 64 bits");

static const struct {
    const char *name;
    enum snap_key key;
} KEYS[] = {{"action", KEY_ACTION},
            {"addr", KEY_ADDR},
            {"size", KEY_SIZE},
            {"stream", KEY_STREAM},
            {"time_us", KEY_TIME_US},
            {"frames", KEY_FRAMES},
            {"device_free", KEY_DEVICE_FREE},
            {"compile_context", KEY_COMPILE_CONTEXT},
            {"user_metadata", KEY_USER_METADATA},
            {"pool_id", KEY_POOL_ID},
            {"name", KEY_NAME},
            {"filename", KEY_FILENAME},
            {"line", KEY_LINE},
            {"address", KEY_ADDRESS},
            {"requested_size", KEY_REQUESTED_SIZE},
            {"state", KEY_STATE},
            {"history", KEY_HISTORY},
            {"real_size", KEY_REAL_SIZE},
            {"device", KEY_DEVICE},
            {"total_size", KEY_TOTAL_SIZE},
            {"segment_type", KEY_SEGMENT_TYPE},
            {"segment_pool_id", KEY_SEGMENT_POOL_ID},
            {"is_expandable", KEY_IS_EXPANDABLE},
            {"blocks", KEY_BLOCKS},
            {"stage", KEY_STAGE},
            {"segments", KEY_SEGMENTS},
            {"device_traces", KEY_DEVICE_TRACES},
            {"allocator_settings", KEY_ALLOCATOR_SETTINGS},
            {"external_annotations", KEY_EXTERNAL_ANNOTATIONS},
            {"PYTORCH_CUDA_ALLOC_CONF", KEY_CONF},
            {"PYTORCH_ALLOC_CONF", KEY_CONF},
            {"max_split_size", KEY_MAX_SPLIT_SIZE},
            {"expandable_segments", KEY_EXPANDABLE_SEGMENTS},
            {"trace_alloc_overflowed", KEY_OVERFLOWED}};

static const char *const ACTIONS[] = {"alloc",         "free_requested", "free_completed",
                                      "segment_alloc", "segment_free",   "segment_map",
                                      "segment_unmap", "snapshot",       "oom"};
static const struct {
    const char *name;
    enum trace_state state;
} STATES[] = {{"active_allocated", BLOCK_ALLOCATED},
              {"active_pending_free", BLOCK_PENDING},
              {"active_awaiting_free", BLOCK_PENDING},
              {"inactive", BLOCK_INACTIVE}};
enum {
    STATE_CODE = 64 /* + state + 1 in action_of */
};

void snap_build_init(struct snap_build *b, struct trace_file *file)
{
    *b = (struct snap_build){.file = file};
}

void snap_build_release(struct snap_build *b)
{
    free(b->key_of);
    free(b->action_of);
    free(b->records);
    for (size_t i = 0; i < b->n_traces; i++)
        trace_device_free(b->traces[i]);
    free(b->traces);
    free(b->trace_lists);
}

/* --- strings ------------------------------------------------------------------------ */

static void know(struct snap_build *b, uint32_t id, struct str s)
{
    if (id >= b->n_keys) {
        size_t n = b->n_keys ? b->n_keys : 256;
        while (n <= id)
            n *= 2;
        b->key_of = mem_grow(b->key_of, n, 1);
        b->action_of = mem_grow(b->action_of, n, 1);
        memset(b->key_of + b->n_keys, 0, n - b->n_keys);
        memset(b->action_of + b->n_keys, 0, n - b->n_keys);
        b->n_keys = n;
    }
    if (s.n > 24)
        return;
    for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS; i++)
        if (str_is(s, KEYS[i].name))
            b->key_of[id] = (uint8_t)KEYS[i].key;
    for (size_t i = 0; i < sizeof ACTIONS / sizeof *ACTIONS; i++)
        if (str_is(s, ACTIONS[i]))
            b->action_of[id] = (uint8_t)(i + 1);
    for (size_t i = 0; i < sizeof STATES / sizeof *STATES; i++)
        if (str_is(s, STATES[i].name))
            b->action_of[id] = (uint8_t)(STATE_CODE + 1 + (int)STATES[i].state);
}

struct snap_value snap_string(struct snap_build *b, struct str s)
{
    size_t before = b->file->names.n_strings;
    uint32_t id = trace_string(&b->file->names, s);
    if (id >= b->n_keys || b->file->names.n_strings != before)
        know(b, id, s);
    return (struct snap_value){.tag = SNAP_STR, .v = id};
}

enum trace_action snap_action(struct snap_build *b, uint32_t string)
{
    uint8_t code = string < b->n_keys ? b->action_of[string] : 0;
    if (code && code < STATE_CODE)
        return (enum trace_action)(code - 1);
    b->unknown_actions++;
    if (!b->has_unknown_action)
        b->unknown_action = string;
    b->has_unknown_action = true;
    return TRACE_OTHER;
}

/* --- records ------------------------------------------------------------------------ */

struct snap_value snap_put_record(struct snap_build *b, const struct snap_record *r)
{
    if (b->n_records == b->cap_records) {
        b->cap_records = b->cap_records ? b->cap_records * 2 : 64;
        b->records = mem_grow(b->records, b->cap_records, sizeof *b->records);
    }
    b->records[b->n_records] = *r;
    return (struct snap_value){.tag = r->kind, .v = b->n_records++};
}

bool snap_is_record(const struct snap_value *v)
{
    return v->tag >= SNAP_EVENT && v->tag <= SNAP_SETTINGS;
}

const struct snap_record *snap_record_of(const struct snap_build *b, const struct snap_value *v,
                                         uint32_t kind)
{
    if (v->tag != kind || v->v >= b->n_records || b->records[v->v].kind != kind)
        return NULL;
    return &b->records[v->v];
}

void snap_drop(struct snap_build *b, const struct snap_value *v)
{
    if (snap_is_record(v) && v->v < b->n_records)
        b->n_records = (size_t)v->v;
}

/* --- dictionaries ------------------------------------------------------------------- */

static bool has(const struct fields *f, enum snap_key k)
{
    return f->have >> k & 1;
}

static bool whole(const struct fields *f, enum snap_key k, uint64_t *out)
{
    if (!has(f, k))
        return false;
    const struct snap_value *v = &f->v[k];
    if (v->tag == SNAP_INT || v->tag == SNAP_BOOL) {
        *out = v->v;
        return true;
    }
    double d;
    memcpy(&d, &v->v, sizeof d);
    if (v->tag != SNAP_FLOAT || !(d >= 0 && d < 18446744073709551616.0))
        return false;
    *out = (uint64_t)d;
    return true;
}

static uint64_t whole_or(const struct fields *f, enum snap_key k, uint64_t other)
{
    uint64_t v;
    return whole(f, k, &v) ? v : other;
}

static uint32_t string_or(const struct fields *f, enum snap_key k, uint32_t other)
{
    return has(f, k) && f->v[k].tag == SNAP_STR ? (uint32_t)f->v[k].v : other;
}

static uint32_t stack_of(const struct fields *f)
{
    return has(f, KEY_FRAMES) && f->v[KEY_FRAMES].tag == SNAP_STACK ? (uint32_t)f->v[KEY_FRAMES].v : 0;
}

static bool truth(const struct fields *f, enum snap_key k)
{
    if (!has(f, k))
        return false;
    uint32_t tag = f->v[k].tag;
    if (tag == SNAP_INT || tag == SNAP_BOOL)
        return f->v[k].v != 0;
    return false;
}

static struct snap_value dict_event(struct snap_build *b, const struct fields *f)
{
    struct snap_record r = {.kind = SNAP_EVENT};
    struct trace_event *e = &r.u.event;
    *e = (struct trace_event){.stack = stack_of(f), .action = TRACE_OTHER};
    if (f->v[KEY_ACTION].tag == SNAP_STR)
        e->action = snap_action(b, (uint32_t)f->v[KEY_ACTION].v);
    e->has_size = whole(f, KEY_SIZE, &e->size);
    e->has_addr =
        whole(f, e->action == TRACE_OOM && has(f, KEY_DEVICE_FREE) ? KEY_DEVICE_FREE : KEY_ADDR, &e->addr);
    e->has_time = whole(f, KEY_TIME_US, &e->time_us);
    return snap_put_record(b, &r);
}

static struct snap_value dict_block(struct snap_build *b, const struct fields *f, uint64_t history_size,
                                    uint32_t history_stack)
{
    struct snap_record r = {.kind = SNAP_BLOCK};
    struct trace_block *k = &r.u.block;
    uint32_t state = string_or(f, KEY_STATE, 0);
    uint8_t code = state < b->n_keys ? b->action_of[state] : 0;
    if (code <= STATE_CODE)
        b->strange_blocks++;
    k->state = code > STATE_CODE ? (uint8_t)(code - STATE_CODE - 1) : BLOCK_INACTIVE;
    k->size = whole_or(f, KEY_SIZE, 0);
    k->address = whole_or(f, KEY_ADDRESS, 0);
    k->requested = whole_or(f, KEY_REQUESTED_SIZE, history_size ? history_size : k->size);
    k->stack = stack_of(f);
    if (!k->stack)
        k->stack = history_stack;
    k->traced = has(f, KEY_ADDRESS); /* until the segment is known: it has its address */
    if (k->state == BLOCK_INACTIVE) {
        k->requested = 0;
        k->stack = 0;
    }
    return snap_put_record(b, &r);
}

static struct snap_value dict_segment(struct snap_build *b, const struct fields *f)
{
    struct snap_record r = {.kind = SNAP_SEGMENT};
    struct trace_segment *s = &r.u.segment;
    s->device = (uint32_t)whole_or(f, KEY_DEVICE, 0);
    s->address = whole_or(f, KEY_ADDRESS, 0);
    s->stack = stack_of(f);
    s->expandable = truth(f, KEY_IS_EXPANDABLE);
    s->large = has(f, KEY_SEGMENT_TYPE) && f->v[KEY_SEGMENT_TYPE].tag == SNAP_STR &&
               str_is(trace_string_at(&b->file->names, (uint32_t)f->v[KEY_SEGMENT_TYPE].v), "large");
    if (has(f, KEY_SEGMENT_POOL_ID) && f->v[KEY_SEGMENT_POOL_ID].tag == SNAP_PAIR) {
        s->pool[0] = f->v[KEY_SEGMENT_POOL_ID].v;
        s->pool[1] = f->v[KEY_SEGMENT_POOL_ID].aux;
    }
    uint64_t at = s->address, sum = 0;
    if (has(f, KEY_BLOCKS) && f->v[KEY_BLOCKS].tag == SNAP_BLOCKS) {
        s->first = (uint32_t)(f->v[KEY_BLOCKS].v >> 32);
        s->n = (uint32_t)f->v[KEY_BLOCKS].v;
        for (size_t i = s->first; i < (size_t)s->first + s->n && i < b->file->n_blocks; i++) {
            struct trace_block *k = &b->file->blocks[i];
            if (!k->traced)
                k->address = at;
            k->traced = false;
            at += k->size;
            sum += k->size;
        }
    }
    s->total = whole_or(f, KEY_TOTAL_SIZE, sum);
    return snap_put_record(b, &r);
}

static struct snap_value dict_mark(struct snap_build *b, const struct fields *f)
{
    struct snap_record r = {.kind = SNAP_MARK};
    struct trace_mark *m = &r.u.mark;
    m->name = string_or(f, KEY_NAME, 0);
    m->start = str_is(trace_string_at(&b->file->names, string_or(f, KEY_STAGE, 0)), "START");
    m->device = (uint32_t)whole_or(f, KEY_DEVICE, 0);
    m->time_us = whole_or(f, KEY_TIME_US, 0);
    return snap_put_record(b, &r);
}

static struct snap_value dict_settings(struct snap_build *b, const struct fields *f)
{
    struct snap_record r = {.kind = SNAP_SETTINGS};
    struct trace_settings *s = &r.u.settings;
    uint64_t split = whole_or(f, KEY_MAX_SPLIT_SIZE, UINT64_MAX);
    *s = (struct trace_settings){.known = true,
                                 .conf = string_or(f, KEY_CONF, TRACE_NONE),
                                 .expandable_segments = truth(f, KEY_EXPANDABLE_SEGMENTS),
                                 .max_split_size = split >> 62 ? NAN : (double)split,
                                 .overflowed = truth(f, KEY_OVERFLOWED)};
    return snap_put_record(b, &r);
}

static void take_traces(struct snap_build *b, const struct snap_value *v)
{
    size_t first = (size_t)(v->v >> 32), n = (size_t)(v->v & 0xffffffff);
    for (size_t i = 0; i < n && first + i < b->n_trace_lists && i < TRACE_DEVICES_MAX; i++) {
        uint32_t k = b->trace_lists[first + i];
        struct trace_device *d = trace_file_device(b->file, (uint32_t)i);
        if (k >= b->n_traces || !b->traces[k] || d->n || d->first)
            continue;
        trace_device_free(d);
        b->file->devices[i] = b->traces[k];
        b->file->devices[i]->index = (uint32_t)i;
        b->traces[k] = NULL;
    }
    b->has_traces = true;
}

/* Of the segments only those that the top list names count. */
static void take_segments(struct snap_build *b, const struct snap_value *v)
{
    size_t first = (size_t)(v->v >> 32), n = (size_t)(v->v & 0xffffffff);
    struct trace_file *t = b->file;
    if (b->has_segments || first > t->n_segments || n > t->n_segments - first)
        return;
    if (n)
        memmove(t->segments, t->segments + first, n * sizeof *t->segments);
    t->n_segments = n;
    b->has_segments = true;
}

static struct snap_value dict_top(struct snap_build *b, const struct fields *f)
{
    if (has(f, KEY_SEGMENTS) && f->v[KEY_SEGMENTS].tag == SNAP_SEGMENTS)
        take_segments(b, &f->v[KEY_SEGMENTS]);
    if (has(f, KEY_DEVICE_TRACES) && f->v[KEY_DEVICE_TRACES].tag == SNAP_TRACES)
        take_traces(b, &f->v[KEY_DEVICE_TRACES]);
    const struct snap_record *r = has(f, KEY_ALLOCATOR_SETTINGS)
                                      ? snap_record_of(b, &f->v[KEY_ALLOCATOR_SETTINGS], SNAP_SETTINGS)
                                      : NULL;
    if (r)
        b->file->settings = r->u.settings;
    b->has_top = true;
    return (struct snap_value){.tag = SNAP_TOP};
}

static struct snap_value dict_frame(struct snap_build *b, const struct fields *f)
{
    uint32_t id = trace_frame(&b->file->names, string_or(f, KEY_NAME, 0), string_or(f, KEY_FILENAME, 0),
                              whole_or(f, KEY_LINE, 0));
    return (struct snap_value){.tag = SNAP_FRAME, .v = id};
}

/* What a dictionary is, told by its keys. */
static struct snap_value reduce(struct snap_build *b, const struct fields *f, size_t lowest)
{
    uint64_t history_size = 0;
    uint32_t history_stack = 0;
    if (has(f, KEY_SEGMENTS) || has(f, KEY_DEVICE_TRACES)) {
        struct snap_value v = dict_top(b, f);
        b->n_records = lowest;
        return v;
    }
    const struct snap_record *h =
        has(f, KEY_HISTORY) ? snap_record_of(b, &f->v[KEY_HISTORY], SNAP_HISTORY) : NULL;
    if (h) {
        history_size = h->u.block.requested;
        history_stack = h->u.block.stack;
    }
    b->n_records = lowest;
    if (has(f, KEY_ACTION))
        return dict_event(b, f);
    if (has(f, KEY_FILENAME))
        return dict_frame(b, f);
    if (has(f, KEY_BLOCKS) || has(f, KEY_TOTAL_SIZE))
        return dict_segment(b, f);
    if (has(f, KEY_STATE) && has(f, KEY_SIZE))
        return dict_block(b, f, history_size, history_stack);
    if (has(f, KEY_STAGE))
        return dict_mark(b, f);
    if (has(f, KEY_EXPANDABLE_SEGMENTS) || has(f, KEY_CONF) || has(f, KEY_OVERFLOWED))
        return dict_settings(b, f);
    if (has(f, KEY_REAL_SIZE)) {
        struct snap_record r = {.kind = SNAP_HISTORY};
        r.u.block.requested = whole_or(f, KEY_REAL_SIZE, 0);
        r.u.block.stack = stack_of(f);
        return snap_put_record(b, &r);
    }
    return (struct snap_value){.tag = SNAP_OPAQUE};
}

struct snap_value snap_dict(struct snap_build *b, const struct snap_pair *pairs, size_t n)
{
    struct fields f;
    f.have = 0;
    size_t lowest = b->n_records;
    uint64_t unknown = 0;
    uint32_t unknown_key = 0;
    for (size_t i = 0; i < n; i++) {
        const struct snap_pair *p = &pairs[i];
        if (snap_is_record(&p->value) && p->value.v < lowest)
            lowest = (size_t)p->value.v;
        if (p->key.tag != SNAP_STR || p->key.v >= b->n_keys)
            continue;
        enum snap_key k = (enum snap_key)b->key_of[p->key.v];
        if (k == KEY_UNKNOWN) {
            unknown_key = unknown++ ? unknown_key : (uint32_t)p->key.v;
            continue;
        }
        f.v[k] = p->value;
        f.have |= (uint64_t)1 << k;
    }
    struct snap_value v = reduce(b, &f, lowest);
    if (v.tag == SNAP_TOP && unknown) {
        b->unknown_keys += unknown;
        b->unknown_key = unknown_key;
    }
    return v;
}

/* --- the whole ---------------------------------------------------------------------- */

void snap_root(struct snap_build *b, const struct snap_value *v)
{
    if (v->tag == SNAP_SEGMENTS) /* what memory_snapshot() gives, and _snapshot() before 2.0 */
        take_segments(b, v);
}

bool snap_build_finish(struct snap_build *b)
{
    if (!b->has_segments)
        b->file->n_segments = 0;
    trace_file_finish(b->file);
    return b->has_top || b->has_segments || b->has_traces;
}

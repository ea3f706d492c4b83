/* A Chrome trace in JSON over a window: the outermost object and its lists are walked item by item; an item
 * is validated whole, and looked into only when it names something that is wanted. */
#include "read/profiler.h"
#include "base/mem.h"
#include "base/num.h"
#include "read/json_scan.h"
#include "read/raw.h"
#include "read/source.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum {
    ITEM_MAX = 64 * 1024 * 1024, /* of a value that is held whole [B] */
    CUDA = 1                     /* Device Type */
};
static const uint64_t BYTES_MAX = (uint64_t)1 << 50; /* no device has more */
static const double TIME_MAX = 1e18;                 /* [us] */

enum slot {
    SLOT_NAME,
    SLOT_CATEGORY,
    SLOT_TIME,
    SLOT_DURATION,
    SLOT_TYPE,
    SLOT_DEVICE,
    SLOT_BYTES,
    SLOT_ALLOCATED,
    SLOT_RESERVED,
    SLOT_RANK,
    SLOT_WORLD_SIZE,
    SLOT_ID,
    SLOT_CAPACITY,
    SLOTS
};
static const char *const KEYS[SLOTS] = {
    [SLOT_NAME] = "name",
    [SLOT_CATEGORY] = "cat",
    [SLOT_TIME] = "ts",
    [SLOT_DURATION] = "dur",
    [SLOT_TYPE] = "args.Device Type",
    [SLOT_DEVICE] = "args.Device Id",
    [SLOT_BYTES] = "args.Bytes",
    [SLOT_ALLOCATED] = "args.Total Allocated",
    [SLOT_RESERVED] = "args.Total Reserved",
    [SLOT_RANK] = "rank",
    [SLOT_WORLD_SIZE] = "world_size",
    [SLOT_ID] = "id",
    [SLOT_CAPACITY] = "totalGlobalMem",
};

struct reader {
    struct raw in;
    struct profiler_trace *t;
    struct json_scan scan;
    struct str value[SLOTS]; /* of the object looked into last; p NULL: absent */
    const char *why;
    bool cut;
};

bool profiler_detect(struct str head)
{
    static const char *const SIGNS[] = {"\"ph\"", "\"deviceProperties\"", "\"distributedInfo\"",
                                        "\"profile_memory\"", "\"displayTimeUnit\""};
    struct str text = str_trim(head);
    if (text.n == 0 || text.p[0] != '{' || !str_has(text, "\"traceEvents\""))
        return false;
    for (size_t i = 0; i < sizeof SIGNS / sizeof *SIGNS; i++)
        if (str_has(text, SIGNS[i]))
            return true;
    return false;
}

/* --- bytes -------------------------------------------------------------------------- */

static bool fail(struct reader *r, const char *why)
{
    if (!r->why)
        r->why = why;
    return false;
}

static bool cut(struct reader *r)
{
    r->cut = true;
    return fail(r, "the file ends within a value");
}

/* The next byte that is no white space, not used up; 0 at the end. */
static unsigned char peek(struct reader *r)
{
    struct raw *in = &r->in;
    for (;;) {
        while (in->at < in->end && (in->w[in->at] == ' ' || in->w[in->at] == '\n' || in->w[in->at] == '\r' ||
                                    in->w[in->at] == '\t'))
            in->at++;
        if (in->at < in->end)
            return in->w[in->at];
        if (!raw_fill(in))
            return 0;
    }
}

/* The value that comes next, whole and in the window; passed over. It stays in place until more is read. The
 * window doubles when a value is longer, so that what is scanned again is less than what is read. */
static bool next_value(struct reader *r, struct str *out)
{
    struct raw *in = &r->in;
    if (peek(r) == 0 && in->at == in->end)
        return cut(r);
    for (;;) {
        struct json_text t;
        const char *p = (const char *)in->w + in->at;
        size_t left = in->end - in->at;
        json_text_init(&t, (struct str){p, left});
        const char *end = json_skip(&t, p);
        size_t n = end ? (size_t)(end - p) : 0;
        if (end && (n < left || (n == left && in->eof))) {
            *out = (struct str){p, n};
            in->at += n;
            return true;
        }
        if (!end && !t.cut)
            return fail(r, t.what);
        if (left > ITEM_MAX)
            return fail(r, "a value is longer than 64 MiB");
        if (!raw_want(in, left + 1) && !end)
            return cut(r);
    }
}

/* Goes to the next item of a list or an object whose bracket is behind; false at its end and after errors. */
static bool next_item(struct reader *r, bool first, unsigned char close)
{
    unsigned char c = peek(r);
    if (c == 0 && r->in.at == r->in.end)
        return cut(r);
    if (c == close) {
        r->in.at++;
        return false;
    }
    if (first)
        return true;
    if (c != ',')
        return fail(r, close == ']' ? "expected ',' or ']'" : "expected ',' or '}'");
    r->in.at++;
    return true;
}

/* --- objects ------------------------------------------------------------------------ */

static int slot_of(void *ctx, struct str name)
{
    (void)ctx;
    for (int i = 0; i < SLOTS; i++)
        if (str_is(name, KEYS[i]))
            return i;
    return KEY_UNWANTED;
}

/* Looks into an object that next_value gave. */
static bool look_into(struct reader *r, struct str object)
{
    struct json_text t;
    memset(r->value, 0, sizeof r->value);
    if (object.p[0] != '{')
        return false;
    /* what follows in the window ends as the scanner wants it */
    const char *end = (const char *)r->in.w + r->in.end;
    json_text_init(&t, (struct str){object.p, (size_t)(end - object.p)});
    if (!json_scan_object(&r->scan, &t, object.p))
        return false;
    for (size_t i = 0; i < r->scan.n_cells; i++) {
        const struct cell *c = &r->scan.cells[i];
        if (c->kind == CELL_NUMBER || c->kind == CELL_STRING)
            r->value[c->slot] = c->text;
    }
    return true;
}

static bool whole_number(const struct reader *r, enum slot slot, uint64_t limit, uint64_t *out)
{
    return r->value[slot].p && num_parse_u64(r->value[slot], out) && *out <= limit;
}

static bool moment(const struct reader *r, enum slot slot, double *out)
{
    return r->value[slot].p && num_parse(r->value[slot], out) && fabs(*out) < TIME_MAX;
}

static void add_oom(struct profiler_trace *t, const struct profiler_oom *o)
{
    if (t->n_ooms == PROFILER_OOMS_MAX)
        return;
    if (t->n_ooms == t->cap_ooms) {
        t->cap_ooms = t->cap_ooms ? t->cap_ooms * 2 : 16;
        t->ooms = mem_grow(t->ooms, t->cap_ooms, sizeof *t->ooms);
    }
    t->ooms[t->n_ooms++] = *o;
}

/* "[memory]" or "[OutOfMemory]". */
static void memory_event(struct reader *r, bool oom)
{
    struct profiler_trace *t = r->t;
    uint64_t type, device, bytes = 0;
    struct profiler_sample s = {0};
    if (whole_number(r, SLOT_TYPE, UINT32_MAX, &type) && type != CUDA) {
        t->others += !oom;
        return;
    }
    if (!whole_number(r, SLOT_TYPE, CUDA, &type) ||
        !whole_number(r, SLOT_DEVICE, PROFILER_DEVICES_MAX - 1, &device) ||
        !moment(r, SLOT_TIME, &s.time_us) || !whole_number(r, SLOT_ALLOCATED, BYTES_MAX, &s.allocated) ||
        !whole_number(r, SLOT_RESERVED, BYTES_MAX, &s.reserved) ||
        (oom && !whole_number(r, SLOT_BYTES, BYTES_MAX, &bytes))) {
        t->strange++;
        return;
    }
    s.device = (uint32_t)device;
    if (oom) {
        add_oom(t, &(struct profiler_oom){s.time_us, bytes, s.allocated, s.reserved, s.device});
        return;
    }
    s.peak = s.allocated;
    s.order = t->events++;
    profiler_add(t, &s);
}

/* "ProfilerStep#12"; the same name among the kernels of a GPU says when they ran, not when memory was
 * asked for. */
static void step_event(struct reader *r, struct str number)
{
    struct profiler_trace *t = r->t;
    struct profiler_step s = {0};
    double duration;
    if (r->value[SLOT_CATEGORY].p && str_starts(r->value[SLOT_CATEGORY], STR_LIT("gpu")))
        return;
    if (!r->value[SLOT_DURATION].p) /* a flow arrow or a mark */
        return;
    if (!num_parse_u64(number, &s.number) || s.number >= (uint64_t)1 << 53 ||
        !moment(r, SLOT_TIME, &s.begin_us) || !moment(r, SLOT_DURATION, &duration) || duration < 0) {
        t->strange++;
        return;
    }
    if (t->n_steps == PROFILER_STEPS_MAX)
        return;
    s.end_us = s.begin_us + duration;
    if (t->n_steps == t->cap_steps) {
        t->cap_steps = t->cap_steps ? t->cap_steps * 2 : 64;
        t->steps = mem_grow(t->steps, t->cap_steps, sizeof *t->steps);
    }
    t->steps[t->n_steps++] = s;
}

static void trace_event(struct reader *r, struct str item)
{
    static const struct str STEP = {"ProfilerStep#", 13};
    if (!str_has(item, "\"[memory]\"") && str_find(item, STEP) == (size_t)-1 &&
        !str_has(item, "\"[OutOfMemory]\""))
        return;
    if (!look_into(r, item) || !r->value[SLOT_NAME].p)
        return;
    struct str name = r->value[SLOT_NAME];
    if (str_is(name, "[memory]"))
        memory_event(r, false);
    else if (str_is(name, "[OutOfMemory]"))
        memory_event(r, true);
    else if (str_starts(name, STEP))
        step_event(r, (struct str){name.p + STEP.n, name.n - STEP.n});
}

static void device_properties(struct reader *r, struct str item)
{
    struct profiler_trace *t = r->t;
    uint64_t device, bytes;
    if (t->n_capacities == PROFILER_DEVICES_MAX || !look_into(r, item) ||
        !whole_number(r, SLOT_ID, PROFILER_DEVICES_MAX - 1, &device) ||
        !whole_number(r, SLOT_CAPACITY, BYTES_MAX, &bytes) || bytes == 0)
        return;
    if (t->n_capacities == t->cap_capacities) {
        t->cap_capacities = t->cap_capacities ? t->cap_capacities * 2 : 8;
        t->capacities = mem_grow(t->capacities, t->cap_capacities, sizeof *t->capacities);
    }
    t->capacities[t->n_capacities++] = (struct profiler_capacity){bytes, (uint32_t)device};
}

/* --- the document ------------------------------------------------------------------- */

static void read_list(struct reader *r, void (*take)(struct reader *, struct str))
{
    struct str item;
    if (peek(r) != '[') { /* anything else in its place means nothing here */
        next_value(r, &item);
        return;
    }
    r->in.at++;
    for (bool first = true; next_item(r, first, ']') && next_value(r, &item); first = false)
        take(r, item);
}

static void other_value(struct reader *r, bool distributed, bool base)
{
    struct profiler_trace *t = r->t;
    struct str value;
    double v;
    if (!next_value(r, &value))
        return;
    if (distributed && look_into(r, value)) {
        t->has_rank = whole_number(r, SLOT_RANK, UINT32_MAX, &t->rank);
        t->has_world_size = whole_number(r, SLOT_WORLD_SIZE, UINT32_MAX, &t->world_size);
    } else if (base && num_parse(value, &v) && v >= 0 && v < TIME_MAX * 1e3) {
        t->base_s = v / 1e9;
    }
}

static void read_document(struct reader *r)
{
    struct str key;
    if (peek(r) != '{') {
        fail(r, "expected an object");
        return;
    }
    r->in.at++;
    for (bool first = true; next_item(r, first, '}'); first = false) {
        if (peek(r) != '"') {
            fail(r, "expected a key");
            return;
        }
        if (!next_value(r, &key))
            return;
        bool events = str_is(key, "\"traceEvents\""), devices = str_is(key, "\"deviceProperties\"");
        bool distributed = str_is(key, "\"distributedInfo\""), base = str_is(key, "\"baseTimeNanoseconds\"");
        if (peek(r) != ':') {
            if (r->in.at == r->in.end)
                cut(r);
            else
                fail(r, "expected ':'");
            return;
        }
        r->in.at++;
        if (events || devices)
            read_list(r, events ? trace_event : device_properties);
        else
            other_value(r, distributed, base);
        if (r->why)
            return;
    }
}

static size_t read_source(void *ctx, char *p, size_t n)
{
    return source_raw(ctx, p, n);
}

void profiler_read(struct profiler_trace *t, struct source *s, uint64_t *skipped, struct diag *d)
{
    struct reader *r = mem_zero(1, sizeof *r);
    struct place where = {source_name(s), 0, 0};
    *t = (struct profiler_trace){.limit = PROFILER_SAMPLES_MAX};
    r->t = t;
    raw_init(&r->in, read_source, s);
    json_scan_init(&r->scan, slot_of, NULL);
    read_document(r);
    uint64_t at = raw_offset(&r->in);
    if (r->cut)
        diag_add(d, DIAG_TRUNCATED, where,
                 "the trace ends at byte %" PRIu64 ", before the end of the document (the writer died or is "
                 "still writing); what was read is used",
                 at);
    else if (r->why)
        diag_add(d, DIAG_BAD_JSON, where, "%s at byte %" PRIu64 "; what was read before is used", r->why, at);
    else if (peek(r) != 0 || r->in.at < r->in.end)
        diag_add(d, DIAG_TRAILING_BYTES, where,
                 "text behind the end of the document (at byte %" PRIu64 ") was left out",
                 raw_offset(&r->in));
    while (r->in.at = r->in.end, raw_fill(&r->in))
        ;
    if (t->strange)
        diag_add(d, DIAG_SNAPSHOT_SKIPPED, where,
                 "%" PRIu64 " memory events or steps without a usable time, device or total were left out; "
                 "expected \"ts\", \"Device Id\", \"Total Allocated\" and \"Total Reserved\"",
                 t->strange);
    *skipped += t->strange;
    source_end(s, d);
    profiler_finish(t);
    json_scan_release(&r->scan);
    raw_release(&r->in);
    free(r);
}

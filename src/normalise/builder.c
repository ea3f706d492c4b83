/* Records of all inputs -> one series for each (run, rank).
 *
 * The run, seed and rank of a record are those it names itself, else those of the
 * header in force, else what the input's name says. Within an input a lane collects each
 * series; join.c then puts together what several inputs say of one series. */
#include "normalise/normalise.h"
#include "base/mem.h"
#include "base/num.h"
#include "normalise/join.h"
#include "normalise/lane.h"
#include "normalise/names.h"
#include "normalise/steps_from_trace.h"
#include <math.h>
#include <stdlib.h>

enum {
    LANES_MAX = 4096
};

/* Which series a record belongs to. */
struct lane_key {
    struct str run, device;
    double seed, rank;
    bool run_logged;
};

/* The first record of a lane, as far as it tells whether an earlier input's series goes on with it. */
struct start {
    struct lane_key key; /* texts in the builder's arena */
    uint64_t have;
    double step, resumed; /* [1] or NAN */
};

struct builder {
    struct arena arena, *absorbed; /* n_absorbed more, of builders that it took over */
    size_t n_absorbed;
    const char *pattern;
    struct lane **lanes; /* n_lanes, of all inputs */
    size_t n_lanes, cap_lanes;
    /* the input being read */
    size_t input, first_lane, last_lane;
    const char *input_name;
    struct run_name name;
    struct diag *d;
    struct held header;
    uint64_t header_seq;
    struct buf run;    /* of the record at hand: "name@host" */
    struct lane *bare; /* of the record before, when it said nothing of its run and rank; else NULL */
    bool told_lanes;
    struct start *starts; /* n_starts, of the lanes that the input being read opened */
    size_t n_starts, cap_starts;
};

struct builder *builder_new(const char *name_pattern)
{
    struct builder *b = mem_zero(1, sizeof *b);
    arena_init(&b->arena);
    if (name_pattern)
        b->pattern = arena_strndup(&b->arena, name_pattern, strlen(name_pattern));
    return b;
}

void builder_free(struct builder *b)
{
    if (!b)
        return;
    for (size_t i = 0; i < b->n_lanes; i++) {
        lane_flush(b->lanes[i]);
        series_free(b->lanes[i]->s);
        free(b->lanes[i]);
    }
    free(b->lanes);
    held_release(&b->header);
    buf_release(&b->run);
    free(b->starts);
    arena_release(&b->arena);
    for (size_t i = 0; i < b->n_absorbed; i++)
        arena_release(&b->absorbed[i]);
    free(b->absorbed);
    free(b);
}

/* The series of a snapshot's device keeps the trace. */
static void keep_trace(struct lane *l, struct trace_file *t)
{
    for (uint32_t i = 0; t && i < t->n_devices; i++) {
        if (!str_is(l->device, steps_device_name(i, &l->s->arena)))
            continue;
        l->s->trace = trace_file_share(t);
        l->s->trace_device = i;
        return;
    }
}

static double number_of(const struct builder *b, const struct record *r, enum field f, double from_name)
{
    if (record_has(r, f))
        return record_number(r, f);
    double v = record_number(&b->header.r, f);
    return isnan(v) ? from_name : v;
}

static struct str text_of(const struct builder *b, const struct record *r, enum field f)
{
    struct str s = record_text(r, f);
    return s.n ? s : record_text(&b->header.r, f);
}

static void find_key(struct lane_key *k, struct builder *b, const struct record *r)
{
    struct str run = text_of(b, r, F_RUN);
    k->run_logged = run.n && run.p[0] != '@';
    if (run.n && run.p[0] == '@') { /* a host: part of the run's name */
        buf_clear(&b->run);
        buf_str(&b->run, b->name.run);
        buf_str(&b->run, run);
        run = buf_view(&b->run);
    }
    k->run = run.n ? run : b->name.run;
    k->seed = number_of(b, r, F_SEED, b->name.seed);
    k->rank = number_of(b, r, F_RANK, b->name.rank);
    k->device = text_of(b, r, F_DEVICE);
}

static bool matches(const struct lane *l, const struct lane_key *k)
{
    return num_same(l->rank, k->rank) && num_same(l->seed, k->seed) && str_eq(l->run, k->run) &&
           (!k->device.n || !l->device.n || str_eq(l->device, k->device));
}

/* A file that goes on where an earlier one of the same run stopped: the same series, restarted. */
static bool goes_on(const struct lane *l, const struct start *start)
{
    if (!start->key.run_logged || !l->run_logged || !matches(l, &start->key) || start->have >> F_EVENT & 1 ||
        isnan(l->last_step))
        return false;
    uint64_t figures = start->have & lane_figure_mask();
    bool same_kind = false;
    for (uint64_t bits = figures; bits; bits &= bits - 1)
        same_kind |= series_has(l->s, (enum field)__builtin_ctzll(bits));
    return same_kind && (start->step > l->last_step || (start->resumed > 0 && start->step >= start->resumed &&
                                                        start->step > l->first_step));
}

static const struct start *note_start(struct builder *b, const struct lane_key *k, const struct record *r)
{
    if (b->n_starts == b->cap_starts) {
        b->cap_starts = b->cap_starts ? b->cap_starts * 2 : 4;
        b->starts = mem_grow(b->starts, b->cap_starts, sizeof *b->starts);
    }
    struct start *start = &b->starts[b->n_starts++];
    *start =
        (struct start){*k, r->have, record_number(r, F_STEP), record_number(&b->header.r, F_RESUMED_FROM)};
    start->key.run = arena_str(&b->arena, k->run);
    start->key.device = arena_str(&b->arena, k->device);
    return start;
}

static struct lane *new_lane(struct builder *b, const struct lane_key *k)
{
    struct lane *l = mem_zero(1, sizeof *l);
    const struct lane_key *own = &b->starts[b->n_starts - 1].key; /* with texts that last */
    l->s = series_new();
    l->run = own->run;
    l->device = own->device;
    l->seed = k->seed;
    l->rank = k->rank;
    l->run_logged = k->run_logged;
    l->last_step = l->first_step = NAN;
    l->input = b->input;
    l->input_name = b->input_name;
    if (b->n_lanes == b->cap_lanes) {
        b->cap_lanes = b->cap_lanes ? b->cap_lanes * 2 : 16;
        b->lanes = mem_grow(b->lanes, b->cap_lanes, sizeof *b->lanes);
    }
    b->lanes[b->n_lanes++] = l;
    return l;
}

static void merge_header(struct lane *l, const struct builder *b)
{
    struct series *s = l->s;
    for (uint64_t bits = b->header.r.have; bits; bits &= bits - 1) {
        enum field f = (enum field)__builtin_ctzll(bits);
        if (field_kind(f) != KIND_STR)
            record_set_u(&s->meta, f, b->header.r.v[f].u);
        else if (!record_same(&s->meta, &b->header.r, f))
            record_set_s(&s->meta, f, arena_str(&s->arena, b->header.r.v[f].s));
    }
    l->header_seq = b->header_seq;
}

/* Ranks take turns in most files with several, so the lane after the last one is tried first. */
static struct lane *find_lane(struct builder *b, const struct lane_key *k)
{
    size_t n = b->n_lanes - b->first_lane;
    for (size_t i = 0; i < n; i++) {
        size_t at = b->first_lane + (b->last_lane + i) % n;
        if (b->lanes[at]->input == b->input && matches(b->lanes[at], k)) {
            b->last_lane = at - b->first_lane;
            return b->lanes[at];
        }
    }
    return NULL;
}

static struct lane *open_lane(struct builder *b, const struct lane_key *k, const struct record *r,
                              bool *after_header)
{
    const struct start *start = note_start(b, k, r);
    for (size_t i = b->first_lane; i-- > 0;)
        if (goes_on(b->lanes[i], start)) {
            struct lane *l = b->lanes[i];
            /* moves among this input's lanes */
            b->first_lane--;
            memmove(b->lanes + i, b->lanes + i + 1, (b->first_lane - i) * sizeof *b->lanes);
            b->lanes[b->first_lane] = l;
            l->input = b->input;
            l->input_name = arena_printf(&b->arena, "%s, %s", l->input_name, b->input_name);
            *after_header = true;
            return l;
        }
    if (b->n_lanes - b->first_lane >= LANES_MAX) {
        if (!b->told_lanes)
            diag_add(b->d, DIAG_TOO_MANY_FIELDS, r->at,
                     "more than %d runs and ranks in one input; rows of further ones are left out",
                     LANES_MAX);
        b->told_lanes = true;
        return NULL;
    }
    return new_lane(b, k);
}

/* Fields that say whose record it is. */
static const uint64_t WHOSE =
    (uint64_t)1 << F_RUN | (uint64_t)1 << F_SEED | (uint64_t)1 << F_RANK | (uint64_t)1 << F_DEVICE;

enum {
    NAME_BYTES = 256, /* of a name or a label that are kept: it stands in a report many times */
    MESSAGE_BYTES = 16384
};

/* r, or `cut`, which is r with its long texts cut between characters. Ids stay. */
static const struct record *with_short_texts(const struct record *r, struct record *cut)
{
    const struct record *result = r;
    for (uint64_t bits = r->have & FIELDS_TEXT & ~((uint64_t)1 << F_BATCH_IDS); bits; bits &= bits - 1) {
        enum field f = (enum field)__builtin_ctzll(bits);
        size_t most = f == F_MESSAGE ? MESSAGE_BYTES : NAME_BYTES;
        if (r->v[f].s.n <= most)
            continue;
        if (result == r)
            *cut = *r;
        result = cut;
        cut->v[f].s.n = most;
        while (cut->v[f].s.n > most - 4 && ((unsigned char)r->v[f].s.p[cut->v[f].s.n] & 0xC0) == 0x80)
            cut->v[f].s.n--;
    }
    return result;
}

static void take(void *ctx, const struct record *given, const struct process_use *processes, size_t n)
{
    struct builder *b = ctx;
    struct lane_key key;
    struct record cut;
    const struct record *r = with_short_texts(given, &cut);
    if (record_has(r, F_OOMLOG)) {
        held_set(&b->header, r);
        b->header_seq++;
        return;
    }
    bool bare = !(r->have & WHOSE);
    if (bare && b->bare && b->bare->header_seq == b->header_seq) {
        lane_push(b->bare, r, false, processes, n);
        return;
    }
    find_key(&key, b, r);
    struct lane *l = find_lane(b, &key);
    bool after_header = l && l->header_seq != b->header_seq;
    bool fresh = !l;
    if (!l)
        l = open_lane(b, &key, r, &after_header);
    if (!l)
        return;
    l->d = b->d;
    l->place_name = b->input_name;
    if (!l->device.n && key.device.n)
        l->device = arena_str(&b->arena, key.device);
    if (fresh || after_header)
        merge_header(l, b);
    b->bare = bare ? l : NULL;
    lane_push(l, r, after_header, processes, n);
}

static bool take_rows(void *ctx, const struct step_rows *rows)
{
    struct builder *b = ctx;
    return b->bare && b->bare->header_seq == b->header_seq && lane_push_rows(b->bare, rows);
}

struct record_sink builder_sink(struct builder *b, const char *path, const char *name, struct diag *d)
{
    b->input++;
    b->first_lane = b->n_lanes;
    b->last_lane = 0;
    b->bare = NULL;
    b->input_name = arena_strndup(&b->arena, name, strlen(name));
    b->d = d;
    b->header.r.have = 0;
    b->header_seq = 1;
    b->told_lanes = false;
    b->n_starts = 0;
    run_name_find(&b->name, path, b->pattern, &b->arena);
    return (struct record_sink){b, take, take_rows};
}

/* Two writers on one file tear lines, which makes up devices that do not exist: a row or two beside
 * hundreds of the same run and rank. */
static bool is_torn(const struct builder *b, const struct lane *l)
{
    if (!l->device.n || l->s->rows > 2 || l->s->n_events)
        return false;
    for (size_t i = b->first_lane; i < b->n_lanes; i++) {
        const struct lane *other = b->lanes[i];
        if (other != l && other->s->rows >= 50 && str_eq(other->run, l->run) &&
            num_same(other->rank, l->rank) && !str_eq(other->device, l->device))
            return true;
    }
    return false;
}

static void drop_torn(struct builder *b)
{
    for (size_t i = b->first_lane; i < b->n_lanes; i++) {
        struct lane *l = b->lanes[i];
        if (!is_torn(b, l))
            continue;
        uint64_t line = l->s->rows ? (uint64_t)column_at(l->s->line, 0) : 0;
        diag_add(b->d, DIAG_RAGGED_ROW, (struct place){b->input_name, line, 0},
                 "the device \"%.*s\" comes in %zu of many rows: a torn line; left out",
                 (int)(l->device.n < 60 ? l->device.n : 60), l->device.p, l->s->rows);
        series_free(l->s);
        l->s = series_new();
    }
}

void builder_input_end(struct builder *b, const struct input_info *info)
{
    size_t kept = b->first_lane;
    for (size_t i = b->first_lane; i < b->n_lanes; i++)
        lane_flush(b->lanes[i]);
    drop_torn(b);
    for (size_t i = b->first_lane; i < b->n_lanes; i++) {
        struct lane *l = b->lanes[i];
        struct series *s = l->s;
        if (!s->rows && !s->n_events && !s->n_checkpoints) {
            series_free(s);
            free(l);
            continue;
        }
        s->source = arena_strndup(&s->arena, l->input_name, strlen(l->input_name));
        if (info->format)
            s->format = arena_strndup(&s->arena, info->format, strlen(info->format));
        s->peak_reset_declared = record_has(&s->meta, F_PEAK_RESET);
        keep_trace(l, info->trace);
        series_pack(s);
        l->d = NULL;
        b->lanes[kept++] = l;
    }
    b->n_lanes = kept;
    b->first_lane = kept;
    b->d = NULL;
}

bool builder_absorb(struct builder *b, struct builder *from)
{
    for (size_t k = 0; k < from->n_starts; k++)
        for (size_t i = 0; i < b->n_lanes; i++)
            if (goes_on(b->lanes[i], &from->starts[k]))
                return false;
    b->input++;
    b->lanes = mem_grow(b->lanes, b->n_lanes + from->n_lanes + 1, sizeof *b->lanes);
    b->cap_lanes = b->n_lanes + from->n_lanes + 1;
    for (size_t i = 0; i < from->n_lanes; i++) {
        from->lanes[i]->input = b->input;
        b->lanes[b->n_lanes++] = from->lanes[i];
    }
    b->first_lane = b->n_lanes;
    from->n_lanes = from->first_lane = 0;
    b->absorbed = mem_grow(b->absorbed, b->n_absorbed + 1, sizeof *b->absorbed);
    b->absorbed[b->n_absorbed++] = from->arena;
    from->arena = (struct arena){0};
    return true;
}

static int by_run_and_rank(const void *x, const void *y)
{
    const struct series *a = *(struct series *const *)x, *b = *(struct series *const *)y;
    int order = str_cmp_natural(record_text(&a->meta, F_RUN), record_text(&b->meta, F_RUN));
    if (order)
        return order;
    double ra = series_meta(a, F_RANK), rb = series_meta(b, F_RANK);
    ra = isnan(ra) ? -1 : ra;
    rb = isnan(rb) ? -1 : rb;
    if (ra != rb)
        return ra < rb ? -1 : 1;
    return strcmp(a->source, b->source);
}

void builder_finish(struct series_set *out, struct builder *b)
{
    *out = (struct series_set){0};
    b->n_lanes = join_lanes(b->lanes, b->n_lanes, &b->arena);
    out->items = mem_alloc((b->n_lanes + 1) * sizeof *out->items);
    out->cap = b->n_lanes + 1;
    for (size_t i = 0; i < b->n_lanes; i++) {
        struct lane *l = b->lanes[i];
        struct series *s = l->s;
        record_set_s(&s->meta, F_RUN, arena_str(&s->arena, l->run));
        if (!isnan(l->seed))
            record_set_u(&s->meta, F_SEED, (uint64_t)l->seed);
        if (!isnan(l->rank))
            record_set_u(&s->meta, F_RANK, (uint64_t)l->rank);
        series_seal(s);
        out->items[out->n++] = s;
        free(l);
    }
    if (out->n)
        qsort(out->items, out->n, sizeof *out->items, by_run_and_rank);
    b->n_lanes = b->first_lane = 0;
}

#include "normalise/join.h"
#include "base/mem.h"
#include "model/trace.h"
#include <math.h>
#include <stdlib.h>

enum {
    QUARTERS = 14 * 4,
    GROUP_MAX = 4096 /* series of one run and rank that are looked at together */
};
#define QUARTER_HOUR 900.0
#define EPOCH_TIME 1e8 /* [s] smaller times count from the start of the run */

static uint64_t kinds(const struct series *s)
{
    uint64_t mask = 0;
    for (int f = 0; f < F_COUNT; f++)
        if (s->col[f])
            mask |= (uint64_t)1 << f;
    return mask & lane_figure_mask();
}

static bool has_memory(const struct series *s)
{
    return kinds(s) & lane_memory_mask();
}

static bool same_or_unknown(double a, double b)
{
    return a == b || isnan(a) || isnan(b);
}

/* A log without a rank is the log of rank 0. */
static double rank_of(const struct lane *l)
{
    return isnan(l->rank) ? 0 : l->rank;
}

static bool same_series(const struct lane *a, const struct lane *b)
{
    return a->input != b->input && str_eq(a->run, b->run) && rank_of(a) == rank_of(b) &&
           same_or_unknown(a->seed, b->seed) &&
           (!a->device.n || !b->device.n || str_eq(a->device, b->device));
}

/* For each row of the one series a row of the other, or SIZE_MAX. */
static size_t *rows_by_step(const struct series *to, const struct series *from)
{
    size_t *at = mem_alloc((to->rows + 1) * sizeof *at), k = 0;
    for (size_t i = 0; i < to->rows; i++) {
        double step = to->col[F_STEP] ? column_at(to->col[F_STEP], i) : NAN;
        struct str phase = to->phases[(size_t)column_at(to->phase, i)];
        at[i] = (size_t)-1;
        /* both are in the order of their logs; a restart goes back in both */
        size_t tries = from->rows;
        while (tries-- && k < from->rows) {
            double other = column_at(from->col[F_STEP], k);
            if (other == step && str_eq(from->phases[(size_t)column_at(from->phase, k)], phase)) {
                at[i] = k++;
                break;
            }
            if (!(other < step) && !isnan(other)) /* a row without a step is passed over */
                break;
            k++;
        }
    }
    return at;
}

/* The row that was logged last at or before each row, at most `reach` earlier. Rows without a time are passed
 * over. */
static size_t *rows_by_time(const struct series *to, const struct series *from, double shift, double reach)
{
    size_t *at = mem_alloc((to->rows + 1) * sizeof *at), last = 0, next = 0;
    double there = NAN;
    for (size_t i = 0; i < to->rows; i++) {
        double time = column_at(to->col[F_TIME], i) + shift;
        for (; next < from->rows; next++) {
            double t = column_at(from->col[F_TIME], next);
            if (t > time || isnan(time))
                break;
            if (isnan(t))
                continue;
            last = next;
            there = t;
        }
        at[i] = there <= time && time - there <= reach ? last : (size_t)-1;
    }
    return at;
}

static struct column *taken_column(struct column_store *store, const struct column *from, const size_t *at,
                                   size_t rows)
{
    struct column *c = column_new(store);
    for (size_t i = 0; i < rows; i++) {
        double v = at[i] == (size_t)-1 ? NAN : column_at(from, at[i]);
        if (!isnan(v))
            column_set_next(c, i, v);
    }
    return c;
}

static void take_sizes(struct series *to, const struct series *from, const size_t *at)
{
    for (size_t k = 0; k < from->n_sizes && to->n_sizes < RECORD_EXTRA_MAX; k++) {
        size_t i = 0;
        while (i < to->n_sizes && !str_eq(to->sizes[i].name, from->sizes[k].name))
            i++;
        if (i < to->n_sizes)
            continue;
        to->sizes = mem_grow(to->sizes, to->n_sizes + 1, sizeof *to->sizes);
        to->sizes[to->n_sizes++] =
            (struct size_column){arena_str(&to->arena, from->sizes[k].name),
                                 taken_column(&to->store, from->sizes[k].column, at, to->rows)};
    }
}

static void take_events(struct series *to, const struct series *from)
{
    for (size_t i = 0; i < from->n_events; i++)
        if (!lane_same_oom(to, &from->events[i]))
            series_event(to, from->events[i].kind, &from->events[i].rec, from->events[i].processes,
                         from->events[i].n_processes);
}

static void take_meta(struct series *to, const struct series *from)
{
    for (uint64_t bits = from->meta.have & ~to->meta.have; bits; bits &= bits - 1) {
        enum field f = (enum field)__builtin_ctzll(bits);
        if (field_kind(f) == KIND_STR)
            record_set_s(&to->meta, f, arena_str(&to->arena, from->meta.v[f].s));
        else
            record_set_u(&to->meta, f, from->meta.v[f].u);
    }
}

static void take_columns(struct series *to, const struct series *from, const size_t *at)
{
    for (int f = 0; f < F_COUNT; f++)
        if (from->col[f] && !to->col[f])
            to->col[f] = taken_column(&to->store, from->col[f], at, to->rows);
    take_sizes(to, from, at);
    if (from->content && !to->content) {
        to->content = taken_column(&to->store, from->content, at, to->rows);
        to->has_ids |= from->has_ids;
        to->has_hash |= from->has_hash;
    }
}

static size_t count_found(const size_t *at, size_t n)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++)
        found += at[i] != (size_t)-1;
    return found;
}

static bool join_by_step(struct series *to, const struct series *from)
{
    if (!to->col[F_STEP] || !from->col[F_STEP])
        return false;
    size_t *at = rows_by_step(to, from);
    bool any = count_found(at, to->rows) > 0;
    if (any)
        take_columns(to, from, at);
    free(at);
    return any;
}

/* First and last time of a series that is on the clock; false when it is not. */
static bool clock_span(const struct series *s, double *from, double *to)
{
    if (!s->col[F_TIME] || !s->rows)
        return false;
    *from = column_at(s->col[F_TIME], 0);
    *to = column_at(s->col[F_TIME], s->rows - 1);
    return *from >= EPOCH_TIME && *to >= *from;
}

/* Stamps without a zone may be off by whole quarter hours: the smallest shift with the most overlap. */
static bool find_shift(double *shift, const struct series *to, const struct series *from)
{
    double a0, a1, b0, b1, best = 0;
    if (!clock_span(to, &a0, &a1) || !clock_span(from, &b0, &b1))
        return false;
    for (int q = 0; q <= 2 * QUARTERS; q++) {
        double s = (q % 2 ? -1 : 1) * ((q + 1) / 2) * QUARTER_HOUR;
        double overlap = fmin(a1 + s, b1) - fmax(a0 + s, b0);
        double score = overlap < 0 ? 0 : overlap + 1; /* a single row has no length */
        if (score > best * 1.001) {
            best = score;
            *shift = s;
        }
    }
    return best > 0;
}

static bool join_by_time(struct series *to, const struct series *from)
{
    double shift = 0, b0, b1;
    if (!find_shift(&shift, to, from) || !clock_span(from, &b0, &b1))
        return false;
    double interval = from->rows > 1 ? (b1 - b0) / (double)(from->rows - 1) : 0;
    size_t *at = rows_by_time(to, from, shift, 3 * interval + 1);
    bool any = count_found(at, to->rows) > 0;
    if (any)
        take_columns(to, from, at);
    if (any && shift != 0)
        to->source = arena_printf(&to->arena, "%s (clock moved by %+.2f h)", to->source, shift / 3600);
    free(at);
    return any;
}

static void take_trace(struct series *to, const struct series *from)
{
    if (to->trace || !from->trace)
        return;
    to->trace = trace_file_share(from->trace);
    to->trace_device = from->trace_device;
}

/* Joins `from` into `to`; false when they are not parts of one series. */
static bool join(struct lane *to, struct lane *from)
{
    struct series *s = to->s;
    bool events_only = from->s->rows == 0;
    if (!events_only && (kinds(s) & kinds(from->s)))
        return false;
    if (!events_only && !join_by_step(s, from->s) && !join_by_time(s, from->s))
        return false;
    take_meta(s, from->s);
    take_events(s, from->s);
    take_trace(s, from->s);
    s->source = arena_printf(&s->arena, "%s, %s", s->source, from->s->source);
    if (isnan(to->rank))
        to->rank = from->rank;
    if (isnan(to->seed))
        to->seed = from->seed;
    return true;
}

/* The part that others are joined into: its rows are those of the whole. Steps before times, then
 * memory of the process before that of the device. */
static int worth(const struct series *s)
{
    uint64_t process = (uint64_t)1 << F_ALLOCATED | (uint64_t)1 << F_PEAK | (uint64_t)1 << F_RESERVED |
                       (uint64_t)1 << F_PEAK_RESERVED;
    return (s->rows ? 1 : 0) + (has_memory(s) ? 4 : 0) + (s->col[F_STEP] ? 2 : 0) +
           (kinds(s) & process ? 8 : 0);
}

static void drop(struct lane *l)
{
    series_free(l->s);
    free(l);
}

/* A lane with its place among all, so that those of one run and rank can be looked at together. */
struct member {
    struct lane *lane;
    size_t at;
};

static int by_run_and_rank(const void *x, const void *y)
{
    const struct member *a = x, *b = y;
    int order = str_cmp(a->lane->run, b->lane->run);
    if (order)
        return order;
    double ra = rank_of(a->lane), rb = rank_of(b->lane);
    if (ra != rb)
        return ra < rb ? -1 : 1;
    return a->at < b->at ? -1 : a->at > b->at;
}

/* The n lanes by run and rank, in order within one. To be freed. */
static struct member *grouped(struct lane **lanes, size_t n)
{
    struct member *m = mem_alloc((n + 1) * sizeof *m);
    for (size_t i = 0; i < n; i++)
        m[i] = (struct member){lanes[i], i};
    if (n)
        qsort(m, n, sizeof *m, by_run_and_rank);
    return m;
}

/* How many of the n members are of the first one's run and rank; at most GROUP_MAX are looked at together. */
static size_t group_size(const struct member *m, size_t n)
{
    size_t size = 1;
    while (size < n && size < GROUP_MAX && str_eq(m[size].lane->run, m->lane->run) &&
           rank_of(m[size].lane) == rank_of(m->lane))
        size++;
    return size;
}

static void join_group(struct member *m, size_t n, struct lane **lanes)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = i + 1; m[i].lane && k < n; k++) {
            if (!m[k].lane || !same_series(m[i].lane, m[k].lane))
                continue;
            bool swap = worth(m[k].lane->s) > worth(m[i].lane->s);
            size_t to = swap ? k : i, from = swap ? i : k;
            if (join(m[to].lane, m[from].lane)) {
                drop(m[from].lane);
                m[from].lane = lanes[m[from].at] = NULL;
            }
        }
}

static size_t join_pairs(struct lane **lanes, size_t n)
{
    struct member *m = grouped(lanes, n);
    for (size_t i = 0, size; i < n; i += size) {
        size = group_size(m + i, n - i);
        join_group(m + i, size, lanes);
    }
    free(m);
    size_t left = 0;
    for (size_t i = 0; i < n; i++)
        if (lanes[i])
            lanes[left++] = lanes[i];
    return left;
}

/* A log that gave steps and shapes only, and found no partner, has nothing to report. */
static size_t drop_useless(struct lane **lanes, size_t n)
{
    size_t left = 0;
    for (size_t i = 0; i < n; i++) {
        bool failed = false;
        for (size_t k = 0; k < lanes[i]->s->n_events; k++)
            failed |= lanes[i]->s->events[k].kind == EVENT_OOM || lanes[i]->s->events[k].kind == EVENT_KILL;
        if (has_memory(lanes[i]->s) || failed || lanes[i]->s->n_checkpoints)
            lanes[left++] = lanes[i];
        else
            drop(lanes[i]);
    }
    return left;
}

static bool clash(const struct lane *a, const struct lane *b)
{
    return str_eq(a->run, b->run) && (a->rank == b->rank || (isnan(a->rank) && isnan(b->rank)));
}

/* The name of member i of a group, where others clash with it: with its seed, device or file behind it, else
 * a number; those that are still alike after that with the file, at last with the number. */
static struct str name_apart(const struct member *m, size_t n, size_t i, int round, struct arena *a)
{
    const struct lane *l = m[i].lane;
    bool seeds = false, devices = false, files = false, any = false;
    unsigned number = 1;
    for (size_t k = 0; k < n; k++) {
        const struct lane *other = m[k].lane;
        if (k == i || !clash(l, other))
            continue;
        any = true;
        seeds |= l->seed != other->seed && !isnan(l->seed);
        devices |= l->device.n && !str_eq(l->device, other->device);
        files |= l->input != other->input;
        number += k < i;
    }
    struct str run = l->run;
    if (!any)
        return run;
    if (seeds && round == 0)
        return str_of(arena_printf(a, "%.*s seed %.0f", (int)run.n, run.p, l->seed));
    if (devices && round == 0)
        return str_of(arena_printf(a, "%.*s (%.*s)", (int)run.n, run.p, (int)l->device.n, l->device.p));
    if (files && round <= 1)
        return str_of(arena_printf(a, "%.*s (%s)", (int)run.n, run.p, l->input_name));
    return str_of(arena_printf(a, "%.*s #%u", (int)run.n, run.p, number));
}

/* Series that stayed apart under one name get names of their own. */
static void tell_apart(struct lane **lanes, size_t n, struct arena *a)
{
    struct str *names = mem_alloc((n + 1) * sizeof *names);
    for (int round = 0; round < 3; round++) {
        struct member *m = grouped(lanes, n);
        for (size_t i = 0, size; i < n; i += size) {
            size = group_size(m + i, n - i);
            for (size_t k = 0; k < size; k++)
                names[m[i + k].at] = name_apart(m + i, size, k, round, a);
        }
        free(m);
        for (size_t i = 0; i < n; i++)
            lanes[i]->run = names[i];
    }
    free(names);
}

size_t join_lanes(struct lane **lanes, size_t n, struct arena *a)
{
    n = join_pairs(lanes, n);
    n = drop_useless(lanes, n);
    tell_apart(lanes, n, a);
    return n;
}

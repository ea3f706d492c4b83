#include "model/series.h"
#include "base/mem.h"
#include "base/num_scan.h"
#include "model/trace.h"
#include <math.h>
#include <stdlib.h>

/* Ids are kept for the rows with the largest figures and for the last rows; this many of each. */
enum {
    KEEP_LARGEST = 16,
    KEEP_LAST = 4
};

enum {
    PHASES_MAX = 256 /* names; rows of further ones are of the phase "other" */
};

static const char *const EVENT_NAMES[] = {"oom",        "end",      "resume", "epoch_end",
                                          "eval_begin", "eval_end", "save",   "kill"};

const char *event_name(enum event_kind kind)
{
    return EVENT_NAMES[kind];
}

bool event_find(enum event_kind *out, struct str name)
{
    for (size_t i = 0; i < sizeof EVENT_NAMES / sizeof *EVENT_NAMES; i++)
        if (str_is(name, EVENT_NAMES[i])) {
            *out = (enum event_kind)i;
            return true;
        }
    return false;
}

struct series *series_new(void)
{
    struct series *s = mem_zero(1, sizeof *s);
    s->n_phases = 2;
    s->phases = mem_zero(2, sizeof *s->phases);
    s->phases[PHASE_TRAIN] = STR_LIT("train");
    s->phases[PHASE_EVAL] = STR_LIT("eval");
    s->phase = column_new(&s->store);
    s->line = column_new(&s->store);
    s->segment = column_new(&s->store);
    s->source = "";
    s->format = "";
    return s;
}

void series_free(struct series *s)
{
    if (!s)
        return;
    for (int f = 0; f < F_COUNT; f++)
        column_free(s->col[f]);
    for (size_t i = 0; i < s->n_sizes; i++)
        column_free(s->sizes[i].column);
    column_free(s->phase);
    column_free(s->line);
    column_free(s->segment);
    column_free(s->content);
    for (size_t i = 0; i < s->n_kept; i++)
        free(s->kept[i].owned);
    free(s->keep_score);
    free(s->kept);
    free(s->sizes);
    free(s->phases);
    free(s->events);
    free(s->checkpoints);
    trace_file_free(s->trace);
    column_store_release(&s->store);
    arena_release(&s->arena);
    free(s);
}

static int phase_code(struct series *s, struct str name)
{
    int found = series_phase_find(s, name);
    if (found >= 0)
        return found;
    if (s->n_phases + 1 >= PHASES_MAX && !str_is(name, "other"))
        return phase_code(s, STR_LIT("other"));
    s->phases = mem_grow(s->phases, s->n_phases + 1, sizeof *s->phases);
    s->phases[s->n_phases] = arena_str(&s->arena, name);
    return (int)s->n_phases++;
}

/* The header fields of r become the series' own; texts are copied once per change. */
static void merge_meta(struct series *s, const struct record *r)
{
    for (uint64_t bits = r->have & FIELDS_HEADER; bits; bits &= bits - 1) {
        enum field f = (enum field)__builtin_ctzll(bits), id = f;
        if (field_kind(id) != KIND_STR)
            record_set_u(&s->meta, id, r->v[f].u);
        else if (!record_has(&s->meta, id) || !str_eq(s->meta.v[f].s, r->v[f].s))
            record_set_s(&s->meta, id, arena_str(&s->arena, r->v[f].s));
    }
}

static void set_size(struct series *s, size_t row, const struct extra *x)
{
    size_t i = 0;
    while (i < s->n_sizes && !str_eq(s->sizes[i].name, x->name))
        i++;
    if (i == s->n_sizes) {
        if (s->n_sizes == RECORD_EXTRA_MAX)
            return;
        s->sizes = mem_grow(s->sizes, s->n_sizes + 1, sizeof *s->sizes);
        s->sizes[s->n_sizes++] = (struct size_column){arena_str(&s->arena, x->name), column_new(&s->store)};
    }
    column_set_next(s->sizes[i].column, row, x->value);
}

/* Eight bytes at a time by the multiplication and shifts of MurmurHash3's finaliser. 48
 * bits: whole as a double, and any two of 10^6 batches agree by chance in 0.2 % of runs. */
double series_content_code(struct str ids)
{
    uint64_t h = 0x9e3779b97f4a7c15u ^ ids.n;
    size_t i = 0;
    for (; i + 8 <= ids.n; i += 8) {
        h = (h ^ num_load8(ids.p + i)) * 0xff51afd7ed558ccdu;
        h ^= h >> 32;
    }
    char last[8] = {0};
    if (i < ids.n)
        memcpy(last, ids.p + i, ids.n - i);
    h = (h ^ num_load8(last)) * 0xc4ceb9fe1a85ec53u;
    return (double)((h ^ h >> 33) & (((uint64_t)1 << 48) - 1));
}

static void keep_at(struct series *s, size_t slot, size_t row, double score, struct str ids)
{
    struct kept_ids *k = &s->kept[slot];
    if (!k->owned || k->cap < ids.n) {
        k->cap = ids.n + 32;
        k->owned = mem_grow(k->owned, k->cap, 1);
    }
    if (ids.n)
        memcpy(k->owned, ids.p, ids.n);
    k->row = row;
    k->ids = (struct str){k->owned, ids.n};
    s->keep_score[slot] = score;
}

static void keep_largest(struct series *s, size_t row, double score, struct str ids)
{
    size_t least = s->keep_least;
    if (s->kept[least].owned && !(score > s->keep_score[least]))
        return;
    keep_at(s, least, row, score, ids);
    least = 0;
    for (size_t i = 0; i < KEEP_LARGEST; i++) {
        if (!s->kept[i].owned) {
            least = i;
            break;
        }
        if (s->keep_score[i] < s->keep_score[least])
            least = i;
    }
    s->keep_least = least;
}

/* The last rows before `row` whose ids were not yet compared with the largest, in their order. */
static void keep_settle(struct series *s, size_t row)
{
    while (s->keep_settled < row) {
        size_t next = row, slot = 0;
        for (size_t i = KEEP_LARGEST; i < KEEP_LARGEST + KEEP_LAST; i++)
            if (s->kept[i].owned && s->kept[i].row >= s->keep_settled && s->kept[i].row < next) {
                next = s->kept[i].row;
                slot = i;
            }
        if (slot)
            keep_largest(s, next, s->keep_score[slot], s->kept[slot].ids);
        s->keep_settled = slot ? next + 1 : row;
    }
}

/* Slots 0..KEEP_LARGEST-1 hold the largest scores so far, the rest the last rows in turn. A row that may
 * still be taken back is among the last only. */
static void keep_ids(struct series *s, size_t row, double score, struct str ids)
{
    if (!s->kept) {
        s->kept = mem_zero(KEEP_LARGEST + KEEP_LAST, sizeof *s->kept);
        s->keep_score = mem_zero(KEEP_LARGEST + KEEP_LAST, sizeof *s->keep_score);
        s->n_kept = KEEP_LARGEST + KEEP_LAST;
    }
    if (row >= KEEP_LAST)
        keep_settle(s, row - KEEP_LAST + 1);
    keep_at(s, KEEP_LARGEST + row % KEEP_LAST, row, score, ids);
}

static const enum field SCORE[] = {F_PEAK, F_ALLOCATED, F_RESERVED, F_TOKENS, F_MAX_LEN};
enum {
    N_SCORE = sizeof SCORE / sizeof *SCORE
};

static void append_content(struct series *s, size_t row, const struct record *r)
{
    struct str ids = record_text(r, F_BATCH_IDS), hash = record_text(r, F_BATCH_HASH);
    if (!ids.n && !hash.n)
        return;
    s->has_ids |= ids.n > 0;
    s->has_hash |= hash.n > 0;
    if (!s->content)
        s->content = column_new(&s->store);
    column_set_next(s->content, row, series_content_code(ids.n ? ids : hash));
    if (ids.n) {
        double score = 0;
        for (size_t i = 0; i < N_SCORE; i++)
            if (record_has(r, SCORE[i])) {
                score = record_number(r, SCORE[i]);
                break;
            }
        keep_ids(s, row, score, ids);
    }
}

size_t series_append(struct series *s, const struct record *r)
{
    size_t row = s->rows++;
    merge_meta(s, r);
    for (uint64_t bits = r->have & FIELDS_STEP & ~FIELDS_TEXT; bits; bits &= bits - 1) {
        int f = __builtin_ctzll(bits);
        if (!s->col[f])
            s->col[f] = column_new(&s->store);
        column_set_next(s->col[f], row, FIELDS_REAL >> f & 1 ? r->v[f].d : (double)r->v[f].u);
    }
    for (unsigned i = 0; i < r->n_extra; i++)
        set_size(s, row, &r->extra[i]);
    struct str phase = record_text(r, F_PHASE);
    column_set_next(s->phase, row, phase.n ? phase_code(s, phase) : PHASE_TRAIN);
    column_set_next(s->line, row, (double)r->at.line);
    column_set_next(s->segment, row, (double)s->segment_now);
    append_content(s, row, r);
    return row;
}

bool series_knows(const struct series *s, const struct series_rows *rows)
{
    for (size_t i = 0; i < rows->n_fields; i++)
        if (!s->col[rows->field[i]])
            return false;
    return !rows->ids || s->has_ids;
}

/* The same value for n rows. */
static void append_same(struct column *c, size_t row, double v, size_t n)
{
    double run[64];
    for (size_t i = 0; i < 64 && i < n; i++)
        run[i] = v;
    for (size_t i = 0; i < n; i += 64)
        column_append(c, row + i, run, n - i < 64 ? n - i : 64);
}

static void append_lines(struct column *c, size_t row, uint64_t line, size_t n)
{
    double run[64];
    for (size_t i = 0; i < n; i += 64) {
        size_t take = n - i < 64 ? n - i : 64;
        for (size_t k = 0; k < take; k++)
            run[k] = (double)(line + i + k);
        column_append(c, row + i, run, take);
    }
}

void series_append_rows(struct series *s, const struct series_rows *rows)
{
    size_t row = s->rows, n = rows->n;
    const double *score = NULL;
    for (size_t i = 0; i < rows->n_fields; i++)
        column_append(s->col[rows->field[i]], row, rows->value[i], n);
    if (rows->phase)
        column_append(s->phase, row, rows->phase, n);
    else
        append_same(s->phase, row, PHASE_TRAIN, n);
    append_lines(s->line, row, rows->line, n);
    append_same(s->segment, row, (double)s->segment_now, n);
    s->rows += n;
    if (!rows->ids)
        return;
    for (size_t k = 0; k < N_SCORE && !score; k++)
        for (size_t i = 0; i < rows->n_fields; i++)
            if (rows->field[i] == SCORE[k])
                score = rows->value[i];
    for (size_t i = 0; i < n; i++) {
        column_set_next(s->content, row + i, series_content_code(rows->ids[i]));
        keep_ids(s, row + i, score ? score[i] : 0, rows->ids[i]);
    }
}

static void read_back(const struct series *s, size_t row, struct record *r)
{
    record_clear(r);
    for (int f = 0; f < F_COUNT; f++) {
        double v = s->col[f] ? column_at(s->col[f], row) : NAN;
        if (isnan(v))
            continue;
        if (FIELDS_REAL >> f & 1)
            record_set_d(r, (enum field)f, v);
        else
            record_set_u(r, (enum field)f, (uint64_t)v);
    }
    double phase = column_at(s->phase, row);
    if (phase > 0)
        record_set_s(r, F_PHASE, s->phases[(size_t)phase]);
    for (size_t i = KEEP_LARGEST; s->kept && i < KEEP_LARGEST + KEEP_LAST; i++)
        if (s->kept[i].owned && s->kept[i].row == row)
            record_set_s(r, F_BATCH_IDS, s->kept[i].ids);
    r->at.line = (uint64_t)column_at(s->line, row);
}

void series_take_back(struct series *s, size_t n, struct record *out)
{
    size_t rows = s->rows - n;
    for (size_t i = 0; i < n; i++)
        read_back(s, rows + i, &out[i]);
    for (int f = 0; f < F_COUNT; f++)
        if (s->col[f])
            column_cut(s->col[f], rows);
    column_cut(s->phase, rows);
    column_cut(s->line, rows);
    column_cut(s->segment, rows);
    if (s->content)
        column_cut(s->content, rows);
    s->rows = rows;
}

static void own_texts(struct series *s, struct record *r)
{
    for (int f = 0; f < F_COUNT; f++)
        if (field_kind((enum field)f) == KIND_STR && record_has(r, (enum field)f))
            r->v[f].s = arena_str(&s->arena, r->v[f].s);
    for (unsigned i = 0; i < r->n_extra; i++)
        r->extra[i].name = arena_str(&s->arena, r->extra[i].name);
    if (r->at.file)
        r->at.file = arena_strndup(&s->arena, r->at.file, strlen(r->at.file));
}

void series_event(struct series *s, enum event_kind kind, const struct record *r,
                  const struct process_use *processes, size_t n)
{
    merge_meta(s, r);
    if (s->n_events == SERIES_EVENTS_MAX)
        s->n_ooms_lost += s->events[--s->n_events].kind == EVENT_OOM;
    if (s->n_events == s->cap_events) {
        s->cap_events = s->cap_events ? s->cap_events * 2 : 4;
        s->events = mem_grow(s->events, s->cap_events, sizeof *s->events);
    }
    struct event *e = &s->events[s->n_events++];
    *e = (struct event){.kind = kind, .row = s->rows, .rec = *r, .n_processes = n};
    own_texts(s, &e->rec);
    if (n) {
        e->processes = arena_alloc(&s->arena, n * sizeof *processes);
        memcpy(e->processes, processes, n * sizeof *processes);
    }
}

void series_checkpoint(struct series *s, const struct record *r)
{
    merge_meta(s, r);
    if (s->n_checkpoints == s->cap_checkpoints) {
        s->cap_checkpoints = s->cap_checkpoints ? s->cap_checkpoints * 2 : 16;
        s->checkpoints = mem_grow(s->checkpoints, s->cap_checkpoints, sizeof *s->checkpoints);
    }
    struct str label = record_text(r, F_LABEL);
    struct checkpoint *c = &s->checkpoints[s->n_checkpoints];
    /* The same few labels come again and again: their text is shared. */
    struct str own = {NULL, 0};
    size_t back = s->n_checkpoints < 64 ? s->n_checkpoints : 64;
    for (size_t i = 1; i <= back && !own.p; i++)
        if (str_eq(c[-(ptrdiff_t)i].label, label))
            own = c[-(ptrdiff_t)i].label;
    *c = (struct checkpoint){own.p ? own : arena_str(&s->arena, label),
                             s->rows,
                             record_number(r, F_STEP),
                             record_number(r, F_ALLOCATED),
                             record_number(r, F_PEAK),
                             record_number(r, F_RESERVED)};
    s->n_checkpoints++;
}

void series_restart(struct series *s)
{
    s->segment_now++;
}

static int by_row(const void *a, const void *b)
{
    const struct kept_ids *x = a, *y = b;
    return x->row < y->row ? -1 : x->row > y->row;
}

/* Kept ids without the slots that were never filled and the rows kept twice, ascending by row. */
static void seal_ids(struct series *s)
{
    if (!s->keep_score)
        return;
    keep_settle(s, s->rows);
    free(s->keep_score);
    s->keep_score = NULL;
    size_t n = 0;
    for (size_t i = 0; i < s->n_kept; i++)
        if (s->kept[i].owned)
            s->kept[n++] = s->kept[i];
    qsort(s->kept, n, sizeof *s->kept, by_row);
    size_t out = 0;
    for (size_t i = 0; i < n; i++) {
        if (out && s->kept[out - 1].row == s->kept[i].row)
            free(s->kept[i].owned);
        else
            s->kept[out++] = s->kept[i];
    }
    s->n_kept = out;
}

void series_pack(struct series *s)
{
    for (int f = 0; f < F_COUNT; f++)
        if (s->col[f])
            column_seal(s->col[f]);
    for (size_t i = 0; i < s->n_sizes; i++)
        column_seal(s->sizes[i].column);
    column_seal(s->phase);
    column_seal(s->line);
    column_seal(s->segment);
    if (s->content)
        column_seal(s->content);
}

void series_seal(struct series *s)
{
    series_pack(s);
    seal_ids(s);
}

bool series_has(const struct series *s, enum field f)
{
    return f == F_PHASE ? s->rows > 0 : s->col[f] != NULL;
}

void series_read(const struct series *s, enum field f, size_t first, size_t n, double *out)
{
    const struct column *c = f == F_PHASE ? s->phase : s->col[f];
    if (c) {
        column_read(c, first, n, out);
        return;
    }
    for (size_t i = 0; i < n; i++)
        out[i] = NAN;
}

struct str series_ids(const struct series *s, size_t row)
{
    for (size_t i = 0; i < s->n_kept; i++)
        if (s->kept[i].row == row && s->kept[i].owned)
            return s->kept[i].ids;
    return (struct str){NULL, 0};
}

int series_phase_find(const struct series *s, struct str name)
{
    for (size_t i = 0; i < s->n_phases; i++)
        if (str_eq(s->phases[i], name))
            return (int)i;
    return -1;
}

struct place series_place(const struct series *s, size_t row)
{
    double line = column_at(s->line, row);
    return (struct place){s->source, line > 0 ? (uint64_t)line : 0, 0};
}

double series_meta(const struct series *s, enum field f)
{
    return record_number(&s->meta, f);
}

size_t series_bytes(const struct series *s)
{
    size_t n = column_bytes(s->phase) + column_bytes(s->line) + column_bytes(s->segment);
    for (int f = 0; f < F_COUNT; f++)
        if (s->col[f])
            n += column_bytes(s->col[f]);
    for (size_t i = 0; i < s->n_sizes; i++)
        n += column_bytes(s->sizes[i].column);
    return n + (s->content ? column_bytes(s->content) : 0);
}

void series_set_release(struct series_set *set)
{
    for (size_t i = 0; i < set->n; i++)
        series_free(set->items[i]);
    free(set->items);
    *set = (struct series_set){0};
}

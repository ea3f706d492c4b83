#include "normalise/lane.h"
#include "base/mem.h"
#include <math.h>
#include <stdlib.h>

uint64_t lane_memory_mask(void)
{
    return (uint64_t)1 << F_ALLOCATED | (uint64_t)1 << F_PEAK | (uint64_t)1 << F_RESERVED |
           (uint64_t)1 << F_PEAK_RESERVED | (uint64_t)1 << F_DEVICE_USED | (uint64_t)1 << F_HOST_RSS;
}

uint64_t lane_figure_mask(void)
{
    return lane_memory_mask() | (uint64_t)1 << F_BATCH_SIZE | (uint64_t)1 << F_MAX_LEN |
           (uint64_t)1 << F_TOKENS | (uint64_t)1 << F_HEIGHT | (uint64_t)1 << F_WIDTH;
}

static struct lane_slot *slot_at(const struct lane *l, unsigned i)
{
    return &l->slots[(l->first + i) % LANE_WINDOW];
}

static bool is_train(const struct record *r)
{
    struct str phase = record_text(r, F_PHASE);
    return !phase.n || str_eq(phase, STR_LIT("train"));
}

static bool same_phase(const struct record *a, const struct record *b)
{
    return (is_train(a) && is_train(b)) || str_eq(record_text(a, F_PHASE), record_text(b, F_PHASE));
}

static bool has_figures(const struct record *r)
{
    return (r->have & lane_figure_mask()) || r->n_extra;
}

/* Rows whose order tells restarts from second writers. */
static bool counts(const struct lane_slot *slot)
{
    return slot->kind == LANE_ROW && is_train(&slot->h.r) && record_has(&slot->h.r, F_STEP) &&
           has_figures(&slot->h.r);
}

static double step_of(const struct lane_slot *slot)
{
    return (double)slot->h.r.v[F_STEP].u;
}

/* True when no figure that both have differs by more than 2 %. */
static bool nearly_same(const struct record *a, const struct record *b)
{
    uint64_t both = a->have & b->have & lane_figure_mask();
    for (uint64_t bits = both; bits; bits &= bits - 1) {
        enum field f = (enum field)__builtin_ctzll(bits);
        double x = record_number(a, f), y = record_number(b, f);
        if (fabs(x - y) > 0.02 * fmax(fabs(x), fabs(y)))
            return false;
    }
    return both != 0;
}

/* How the steps of the window behave, seen from its oldest row, which does not advance. */
struct outlook {
    unsigned rows, back, twice, far_apart; /* far_apart: of the rows that come twice */
    bool advances;                         /* some row goes beyond the last step appended */
};

static struct outlook look_ahead(const struct lane *l)
{
    struct outlook o = {0};
    const struct lane_slot *before = NULL;
    for (unsigned i = 0; i < l->n; i++) {
        const struct lane_slot *slot = slot_at(l, i);
        if (!counts(slot))
            continue;
        double step = step_of(slot), last = before ? step_of(before) : l->last_step;
        o.rows++;
        o.back += step < last;
        if (step == last) {
            o.twice++;
            o.far_apart += before && !nearly_same(&before->h.r, &slot->h.r);
        }
        o.advances |= step > l->last_step;
        before = slot;
    }
    return o;
}

/* Two writers: every few rows go back and others go on, or nearly every step comes twice with nearly the same
 * figures. A restart goes back once and then advances. */
static bool are_two_writers(const struct outlook *o)
{
    if (o->rows < 6)
        return false;
    if (o->back >= 3 && o->back * 4 >= o->rows && o->advances)
        return true;
    return o->back * 8 <= o->rows && o->twice * 5 >= o->rows * 2 && o->far_apart * 10 <= o->twice;
}

static void say_two_writers(struct lane *l, const struct record *r)
{
    diag_add(
        l->d, DIAG_DOUBLE_WRITER, r->at,
        "steps come twice with nearly the same figures: several processes (or micro-batches) write here; the "
        "first row of each step is used, the others are left out. Let each rank log \"rank\", or to its own "
        "file");
}

enum decision {
    KEEP,
    DROP,
    RESTART
};

static enum decision decide(struct lane *l, const struct lane_slot *slot)
{
    if (!counts(slot))
        return KEEP;
    double step = step_of(slot);
    if (slot->after_header && !isnan(l->last_step))
        return RESTART;
    if (isnan(l->last_step) || step > l->last_step)
        return KEEP;
    struct outlook o = look_ahead(l);
    if (!l->two_writers && are_two_writers(&o)) {
        l->two_writers = true;
        say_two_writers(l, &slot->h.r);
    }
    if (l->two_writers)
        return o.advances || o.rows < LANE_WINDOW / 2 ? DROP : RESTART;
    return step < l->last_step ? RESTART : KEEP;
}

static void restart(struct lane *l, const struct record *r)
{
    series_restart(l->s);
    diag_add(l->d, DIAG_RESTART, r->at, "step %.0f comes after step %.0f: the run was started again here",
             record_number(r, F_STEP), l->last_step);
}

static void append_event(struct lane *l, const struct lane_slot *slot)
{
    struct series *s = l->s;
    const struct record *r = &slot->h.r;
    if (lane_event_again(s, slot))
        return;
    series_event(s, slot->event, r, slot->processes, slot->n_processes);
    if (l->place_name)
        s->events[s->n_events - 1].rec.at.file =
            arena_strndup(&s->arena, l->place_name, strlen(l->place_name));
    if (slot->event == EVENT_RESUME && s->rows) {
        series_restart(s);
        l->last_step = NAN;
    }
}

/* An evaluation that was logged without memory: when it was is worth knowing. */
static void append_bare_eval(struct lane *l, const struct record *r)
{
    struct series *s = l->s;
    const struct event *e = s->n_events ? &s->events[s->n_events - 1] : NULL;
    if (e && e->kind == EVENT_EVAL_END && e->row == s->rows &&
        record_number(&e->rec, F_STEP) == record_number(r, F_STEP))
        return;
    series_event(s, EVENT_EVAL_END, r, NULL, 0);
}

static void append_row(struct lane *l, const struct lane_slot *slot)
{
    const struct record *r = &slot->h.r;
    if (!has_figures(r)) {
        if (str_is(record_text(r, F_PHASE), "eval"))
            append_bare_eval(l, r);
        return;
    }
    enum decision what = decide(l, slot);
    if (what == DROP)
        return;
    if (what == RESTART)
        restart(l, r);
    series_append(l->s, r);
    if (counts(slot)) {
        l->last_step = step_of(slot);
        if (isnan(l->first_step))
            l->first_step = l->last_step;
    }
}

/* True when the oldest row goes on from the last one appended: what follows it is of no consequence. */
static bool is_clear(const struct lane *l)
{
    const struct lane_slot *slot = slot_at(l, 0);
    return !slot->after_header && (!counts(slot) || isnan(l->last_step) || step_of(slot) > l->last_step);
}

static void pop(struct lane *l)
{
    struct lane_slot *slot = slot_at(l, 0);
    if (slot->kind == LANE_EVENT)
        append_event(l, slot);
    else if (slot->kind == LANE_CHECKPOINT)
        series_checkpoint(l->s, &slot->h.r);
    else
        append_row(l, slot);
    l->first = (l->first + 1) % LANE_WINDOW;
    l->n--;
}

/* Rows of one step that share no figure are parts of one row. */
static bool join(struct lane *l, const struct record *r)
{
    if (!record_has(r, F_STEP))
        return false;
    for (unsigned back = 1; back <= l->n && back <= LANE_LOOK_BACK; back++) {
        struct lane_slot *slot = slot_at(l, l->n - back);
        struct record *held = &slot->h.r;
        if (slot->kind == LANE_EVENT)
            return false;
        if (slot->kind != LANE_ROW || !record_same(held, r, F_STEP) || !same_phase(held, r))
            continue;
        bool epochs_differ =
            record_has(held, F_EPOCH) && record_has(r, F_EPOCH) && !record_same(held, r, F_EPOCH);
        if (epochs_differ || (held->have & r->have & lane_figure_mask()) || (held->n_extra && r->n_extra))
            return false;
        held_add(&slot->h, r);
        slot->plain = false;
        return true;
    }
    return false;
}

static struct lane_slot *push(struct lane *l, enum lane_kind kind, const struct record *r)
{
    if (!l->slots)
        l->slots = mem_zero(LANE_WINDOW, sizeof *l->slots);
    if (l->n == LANE_WINDOW)
        pop(l);
    struct lane_slot *slot = slot_at(l, l->n++);
    held_set(&slot->h, r);
    slot->kind = kind;
    slot->after_header = slot->plain = false;
    slot->n_processes = 0;
    return slot;
}

/* Rows that later ones may join stay; beyond them only rows that need an outlook do. */
static void pop_clear(struct lane *l)
{
    while (l->n > LANE_LOOK_BACK && is_clear(l))
        pop(l);
}

/* The last rows of the series are held back again. */
static void take_back(struct lane *l)
{
    struct record back[SERIES_BACK_MAX];
    unsigned n = l->n_back;
    if (!n)
        return;
    series_take_back(l->s, n, back);
    l->last_step = l->back[n - 1].last_step;
    l->n_back = 0;
    for (unsigned i = 0; i < n; i++) {
        back[i].at.file = l->back_file;
        push(l, LANE_ROW, &back[i])->plain = true;
    }
}

void lane_push(struct lane *l, const struct record *r, bool after_header, const struct process_use *processes,
               size_t n)
{
    enum lane_kind kind = LANE_ROW;
    enum event_kind event = EVENT_OOM;
    take_back(l);
    if (record_has(r, F_EVENT) && event_find(&event, record_text(r, F_EVENT)))
        kind = LANE_EVENT;
    else if (record_has(r, F_LABEL))
        kind = LANE_CHECKPOINT;
    if (kind == LANE_ROW && !after_header && join(l, r))
        return;
    struct lane_slot *slot = push(l, kind, r);
    slot->event = event;
    slot->after_header = after_header;
    slot->n_processes = n < OOM_PROCESS_MAX ? n : OOM_PROCESS_MAX;
    if (slot->n_processes)
        memcpy(slot->processes, processes, slot->n_processes * sizeof *processes);
    pop_clear(l);
}

/* --- many rows at once ------------------------------------------------------------------ */

static uint64_t fields_of(const struct step_rows *rows)
{
    uint64_t have = 0;
    for (size_t i = 0; i < rows->values.n_fields; i++)
        have |= (uint64_t)1 << rows->values.field[i];
    return have;
}

static const double *steps_of(const struct step_rows *rows)
{
    for (size_t i = 0; i < rows->values.n_fields; i++)
        if (rows->values.field[i] == F_STEP)
            return rows->values.value[i];
    return NULL;
}

/* Row i as a record. */
static void record_of(struct record *r, const struct step_rows *rows, size_t i)
{
    const struct series_rows *v = &rows->values;
    record_clear(r);
    for (size_t k = 0; k < v->n_fields; k++) {
        if (FIELDS_REAL >> v->field[k] & 1)
            record_set_d(r, v->field[k], v->value[k][i]);
        else
            record_set_u(r, v->field[k], (uint64_t)v->value[k][i]);
    }
    if (rows->phase)
        record_set_s(r, F_PHASE, rows->phase[i]);
    if (v->ids)
        record_set_s(r, F_BATCH_IDS, v->ids[i]);
    r->at = (struct place){rows->file, v->line + i, 0};
}

/* From now on rows go straight to the series, if what is held back can be taken back from there. */
static bool go_straight(struct lane *l)
{
    if (l->n_back)
        return true;
    if (!l->n || l->n > LANE_LOOK_BACK)
        return false;
    double last = l->last_step;
    for (unsigned i = 0; i < l->n; i++) {
        const struct lane_slot *slot = slot_at(l, i);
        if (!slot->plain || !has_figures(&slot->h.r))
            return false;
        if (!counts(slot))
            continue;
        if (step_of(slot) <= last)
            return false;
        last = step_of(slot);
    }
    unsigned n = l->n;
    for (unsigned i = n; i-- > 0; pop(l))
        l->back[i] = (struct lane_back){slot_at(l, 0)->h.r.have, l->last_step};
    l->n_back = n;
    return true;
}

/* Codes of the phases of rows from `from` on; false when the series does not know one. *all_train: as it
 * says. */
static bool phase_codes(double *code, bool *all_train, const struct lane *l, const struct step_rows *rows,
                        size_t from)
{
    *all_train = true;
    for (size_t i = from; rows->phase && i < rows->values.n; i++) {
        if (i > from && str_eq(rows->phase[i], rows->phase[i - 1])) {
            code[i] = code[i - 1];
            continue;
        }
        int found = series_phase_find(l->s, rows->phase[i]);
        if (found < 0)
            return false;
        code[i] = found;
        *all_train &= found == PHASE_TRAIN;
    }
    return true;
}

/* Rows from `from` on go on where the series ends, and join none that is held back. before: the last
 * step of a train row before each of the n rows, and at n after all. */
static bool go_on(double *before, const struct lane *l, const struct step_rows *rows, size_t from,
                  const double *code, bool all_train)
{
    const double *step = steps_of(rows);
    uint64_t figures = fields_of(rows) & lane_figure_mask();
    double last = l->last_step;
    for (size_t i = from; i < rows->values.n; i++) {
        before[i] = last;
        if (!step || (!all_train && code[i] != PHASE_TRAIN))
            continue;
        if (step[i] <= last)
            return false;
        last = step[i];
    }
    before[rows->values.n] = last;
    if (all_train || !step)
        return true;
    for (unsigned i = 0; i < l->n_back; i++)
        if (!(l->back[i].have & figures))
            return false; /* parts of one row, if it is the same step */
    return true;
}

/* The last of the rows from `from` on are those that may be taken back. */
static void note_back(struct lane *l, const struct step_rows *rows, size_t from, const double *before)
{
    uint64_t have = fields_of(rows);
    size_t n = rows->values.n - from, fresh = n < LANE_LOOK_BACK ? n : LANE_LOOK_BACK;
    memmove(l->back + fresh, l->back, (LANE_LOOK_BACK - fresh) * sizeof *l->back);
    for (size_t i = 0; i < fresh; i++)
        l->back[i] = (struct lane_back){have, before[rows->values.n - 1 - i]};
    l->n_back = l->n_back + n < LANE_LOOK_BACK ? l->n_back + (unsigned)n : LANE_LOOK_BACK;
    l->back_file = rows->file;
}

bool lane_push_rows(struct lane *l, const struct step_rows *rows)
{
    double code[STEP_ROWS_MAX], before[STEP_ROWS_MAX + 1];
    bool all_train;
    size_t n = rows->values.n, from = 0;
    if (!(fields_of(rows) & lane_figure_mask()) || n > STEP_ROWS_MAX)
        return false;
    while (from < n && !(series_knows(l->s, &rows->values) && go_straight(l))) {
        struct record r;
        record_of(&r, rows, from++);
        take_back(l);
        if (join(l, &r))
            continue;
        push(l, LANE_ROW, &r)->plain = true;
        pop_clear(l);
    }
    if (from == n)
        return true;
    struct series_rows rest = rows->values;
    const double *value[F_COUNT];
    if (!phase_codes(code, &all_train, l, rows, from) || !go_on(before, l, rows, from, code, all_train)) {
        for (; from < n; from++) {
            struct record r;
            record_of(&r, rows, from);
            lane_push(l, &r, false, NULL, 0);
        }
        return true;
    }
    for (size_t k = 0; k < rest.n_fields; k++)
        value[k] = rest.value[k] + from;
    rest.value = value;
    rest.n -= from;
    rest.line += from;
    rest.ids = rest.ids ? rest.ids + from : NULL;
    rest.phase = all_train ? NULL : code + from;
    series_append_rows(l->s, &rest);
    note_back(l, rows, from, before);
    const double *step = steps_of(rows);
    for (size_t i = from; step && isnan(l->first_step) && i < n; i++)
        l->first_step = all_train || code[i] == PHASE_TRAIN ? step[i] : NAN;
    l->last_step = before[n];
    return true;
}

void lane_flush(struct lane *l)
{
    while (l->n)
        pop(l);
    for (unsigned i = 0; l->slots && i < LANE_WINDOW; i++)
        held_release(&l->slots[i].h);
    free(l->slots);
    l->slots = NULL;
    l->first = 0;
    l->n_back = 0;
}

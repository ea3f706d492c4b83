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

static bool same_event(const struct event *e, const struct record *r, size_t row)
{
    static const enum field figures[] = {F_STEP, F_REQUESTED, F_FREE, F_ALLOCATED, F_RESERVED, F_TOTAL};
    if (e->row != row)
        return false;
    /* two messages of a log without steps: the reader of the log has found that they are not the same */
    if (record_has(&e->rec, F_MESSAGE) && record_has(r, F_MESSAGE) && !record_has(&e->rec, F_STEP) &&
        !record_has(r, F_STEP))
        return false;
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        double x = record_number(&e->rec, figures[i]), y = record_number(r, figures[i]);
        if (!(x == y || isnan(x) || isnan(y)))
            return false;
    }
    return true;
}

/* The record of the failing step and the texts of the traceback and the launcher are about one event. */
static void add_to_event(struct series *s, struct event *e, const struct lane_slot *slot)
{
    const struct record *r = &slot->h.r;
    for (uint64_t bits = r->have & ~e->rec.have; bits; bits &= bits - 1) {
        int f = __builtin_ctzll(bits);
        e->rec.v[f] = r->v[f];
        if (field_kind((enum field)f) == KIND_STR)
            e->rec.v[f].s = arena_str(&s->arena, r->v[f].s);
        e->rec.have |= (uint64_t)1 << f;
    }
    if (!e->n_processes && slot->n_processes) {
        e->processes = arena_alloc(&s->arena, slot->n_processes * sizeof *e->processes);
        memcpy(e->processes, slot->processes, slot->n_processes * sizeof *e->processes);
        e->n_processes = slot->n_processes;
    }
}

static void append_event(struct lane *l, const struct lane_slot *slot)
{
    struct series *s = l->s;
    const struct record *r = &slot->h.r;
    if (slot->event == EVENT_OOM && s->n_events && s->events[s->n_events - 1].kind == EVENT_OOM &&
        same_event(&s->events[s->n_events - 1], r, s->rows) &&
        r->at.line != s->events[s->n_events - 1].rec.at.line && !record_has(r, F_RECOVERED)) {
        add_to_event(s, &s->events[s->n_events - 1], slot);
        return;
    }
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
        return true;
    }
    return false;
}

void lane_push(struct lane *l, const struct record *r, bool after_header, const struct process_use *processes,
               size_t n)
{
    enum lane_kind kind = LANE_ROW;
    enum event_kind event = EVENT_OOM;
    if (record_has(r, F_EVENT) && event_find(&event, record_text(r, F_EVENT)))
        kind = LANE_EVENT;
    else if (record_has(r, F_LABEL))
        kind = LANE_CHECKPOINT;
    if (!l->slots)
        l->slots = mem_zero(LANE_WINDOW, sizeof *l->slots);
    if (kind == LANE_ROW && !after_header && join(l, r))
        return;
    if (l->n == LANE_WINDOW)
        pop(l);
    struct lane_slot *slot = slot_at(l, l->n++);
    held_set(&slot->h, r);
    slot->kind = kind;
    slot->event = event;
    slot->after_header = after_header;
    slot->n_processes = n < OOM_PROCESS_MAX ? n : OOM_PROCESS_MAX;
    if (slot->n_processes)
        memcpy(slot->processes, processes, slot->n_processes * sizeof *processes);
    /* rows that later ones may join stay; beyond them only rows that need an outlook do */
    while (l->n > LANE_LOOK_BACK && is_clear(l))
        pop(l);
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
}

#include "normalise/lane.h"
#include <math.h>

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
static void add_to_event(struct series *s, struct event *e, const struct record *r,
                         const struct process_use *processes, size_t n)
{
    for (uint64_t bits = r->have & ~e->rec.have; bits; bits &= bits - 1) {
        int f = __builtin_ctzll(bits);
        e->rec.v[f] = r->v[f];
        if (field_kind((enum field)f) == KIND_STR)
            e->rec.v[f].s = arena_str(&s->arena, r->v[f].s);
        e->rec.have |= (uint64_t)1 << f;
    }
    if (!e->n_processes && n) {
        e->processes = arena_alloc(&s->arena, n * sizeof *e->processes);
        memcpy(e->processes, processes, n * sizeof *e->processes);
        e->n_processes = n;
    }
}

bool lane_same_oom(struct series *s, const struct event *from)
{
    struct event *last = s->n_events ? &s->events[s->n_events - 1] : NULL;
    if (!last || last->kind != EVENT_OOM || from->kind != EVENT_OOM || !same_event(last, &from->rec, s->rows))
        return false;
    add_to_event(s, last, &from->rec, from->processes, from->n_processes);
    return true;
}

bool lane_event_again(struct series *s, const struct lane_slot *slot)
{
    const struct record *r = &slot->h.r;
    struct event *last = s->n_events ? &s->events[s->n_events - 1] : NULL;
    if (slot->event != EVENT_OOM || !last || last->kind != EVENT_OOM || !same_event(last, r, s->rows) ||
        r->at.line == last->rec.at.line || record_has(r, F_RECOVERED))
        return false;
    add_to_event(s, last, r, slot->processes, slot->n_processes);
    return true;
}

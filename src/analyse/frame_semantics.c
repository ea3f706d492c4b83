#include "analyse/frame_semantics.h"

#include "analyse/stats.h"

#include <math.h>

#define GIB 1073741824.0

/* ---- peak counter ---- */

/* Sizes that never fall make per-step peaks look cumulative (sorted lengths). */
static bool size_never_falls(const struct frame *f)
{
    static const enum field fields[] = {F_TOKENS, F_MAX_LEN, F_HEIGHT, F_WIDTH, F_BATCH_SIZE};
    for (size_t k = 0; k < sizeof fields / sizeof *fields; k++) {
        const double *v = f->train.v[fields[k]];
        if (!v || isfinite(frame_constant(f, fields[k])))
            continue;
        size_t falls = 0, seen = 0;
        double before = NAN;
        for (size_t i = 0; i < f->train.n; i++) {
            if (!isfinite(v[i]))
                continue;
            falls += v[i] < before;
            before = v[i];
            seen++;
        }
        if (seen > 4 && falls * 50 <= seen)
            return true;
    }
    return false;
}

void frame_find_reset(struct frame *f)
{
    struct str word = record_text(&f->s->meta, F_PEAK_RESET);
    f->reset = PEAK_RESET_UNKNOWN;
    if (f->s->peak_reset_declared || word.n > 0) {
        f->reset_declared = true;
        if (str_is(word, "never"))
            f->reset = PEAK_RESET_NEVER;
        else if (str_is(word, "interval"))
            f->reset = PEAK_RESET_INTERVAL;
        else if (str_is(word, "step"))
            f->reset = PEAK_RESET_STEP;
        else
            f->reset_declared = false;
    }
    const double *p = f->train.v[F_PEAK];
    if (!p || f->train.n < 8)
        return;
    size_t falls = 0, equal = 0, seen = 0;
    double before = NAN;
    for (size_t i = 0; i < f->train.n; i++) {
        if (!isfinite(p[i]))
            continue;
        if (!isnan(before) && !f->train.restart[i]) {
            falls += p[i] < before;
            equal += p[i] == before;
        }
        before = p[i];
        seen++;
    }
    if (f->reset_declared) {
        /* a counter that falls was reset, whatever the header says */
        if (f->reset == PEAK_RESET_NEVER && falls * 20 > seen)
            f->reset = PEAK_RESET_STEP;
        return;
    }
    bool constant = stats_max(p, f->train.n, NULL) == stats_min(p, f->train.n, NULL);
    if (falls > 0)
        f->reset = f->stride > 1 ? PEAK_RESET_INTERVAL : PEAK_RESET_STEP;
    else if (!constant && !size_never_falls(f) && (equal * 3 >= seen || seen >= 40))
        f->reset = PEAK_RESET_NEVER;
}

/* ---- the end of the run ---- */

enum fail_phase frame_phase_of(struct str word)
{
    static const struct {
        const char *word;
        enum fail_phase phase;
    } words[] = {{"train", FAIL_TRAIN},
                 {"training", FAIL_TRAIN},
                 {"forward", FAIL_TRAIN},
                 {"backward", FAIL_TRAIN},
                 {"eval", FAIL_EVAL},
                 {"evaluation", FAIL_EVAL},
                 {"val", FAIL_EVAL},
                 {"valid", FAIL_EVAL},
                 {"validation", FAIL_EVAL},
                 {"test", FAIL_EVAL},
                 {"predict", FAIL_EVAL},
                 {"generate", FAIL_EVAL},
                 {"save", FAIL_SAVE},
                 {"checkpoint", FAIL_SAVE},
                 {"saving", FAIL_SAVE},
                 {"load", FAIL_LOAD},
                 {"resume", FAIL_LOAD},
                 {"restore", FAIL_LOAD},
                 {"optimizer", FAIL_OPTIMIZER},
                 {"optimiser", FAIL_OPTIMIZER},
                 {"optim", FAIL_OPTIMIZER},
                 {"update", FAIL_OPTIMIZER},
                 {"optimizer_step", FAIL_OPTIMIZER},
                 {"init", FAIL_OTHER}};
    if (word.n == 0)
        return FAIL_PHASE_UNKNOWN;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (str_eq_nocase(word, str_of(words[i].word)))
            return words[i].phase;
    return FAIL_OTHER;
}

static bool is_end_of_run(const struct event *e)
{
    return e->kind == EVENT_KILL || e->kind == EVENT_END ||
           (e->kind == EVENT_OOM && record_number(&e->rec, F_RECOVERED) != 1);
}

/* Rows after the event in the same process mean that the run went on. */
static bool went_on(const struct frame *f, const struct event *e)
{
    const struct series *s = f->s;
    if (e->row >= s->rows || e->row == 0)
        return e->row < s->rows && s->rows > 0 && !(s->segment && column_at(s->segment, s->rows - 1) > 0);
    if (!s->segment)
        return true;
    return column_at(s->segment, e->row) == column_at(s->segment, e->row - 1);
}

static bool inside_eval(const struct frame *f, const struct event *fail)
{
    bool inside = false;
    for (const struct event *e = f->s->events; e != fail; e++) {
        if (e->kind == EVENT_EVAL_BEGIN)
            inside = true;
        else if (e->kind == EVENT_EVAL_END || e->kind == EVENT_RESUME)
            inside = false;
    }
    return inside;
}

/* A save event at the failing step with no row since. */
static bool saving(const struct frame *f, const struct event *fail)
{
    const struct event *last = NULL;
    for (const struct event *e = f->s->events; e != fail; e++)
        last = e;
    if (!last || last->kind != EVENT_SAVE || last->row != fail->row)
        return false;
    double at = record_number(&last->rec, F_STEP), died = record_number(&fail->rec, F_STEP);
    return isnan(at) || isnan(died) || at == died;
}

static void read_moment(struct frame *f)
{
    struct moment *m = &f->at;
    const struct record *r = &f->fail->rec;
    m->requested = record_number(r, F_REQUESTED);
    m->free = record_number(r, F_FREE);
    m->total = record_number(r, F_TOTAL);
    m->allocated = record_number(r, F_ALLOCATED);
    m->reserved = record_number(r, F_RESERVED);
    m->this_process = record_number(r, F_THIS_PROCESS);
    m->other_process = record_number(r, F_OTHER_PROCESS);
    double named = 0;
    for (size_t i = 0; i < f->fail->n_processes; i++)
        named += (double)f->fail->processes[i].bytes;
    if (isnan(m->other_process) && named > 0)
        m->other_process = named;
    m->impossible = m->allocated > 1.005 * m->total || m->reserved > 1.005 * m->total;
    m->gap = m->reserved - m->allocated;
    if (m->gap < 0)
        m->gap = m->allocated <= m->reserved * 1.02 ? 0 : NAN;
    m->need = m->allocated + m->requested;
    m->missing = isnan(m->free) ? NAN : fmax(0, m->requested - m->free);
    m->outside = m->total - m->free - m->reserved;
    if (isnan(m->outside))
        m->outside = m->total - m->free - m->this_process;
    if (m->impossible || m->outside < 0)
        m->outside = m->impossible ? NAN : fmax(0, m->outside);
}

static void fail_phase(struct frame *f)
{
    struct str word = record_text(&f->fail->rec, F_PHASE);
    f->fail_phase = frame_phase_of(word);
    f->fail_phase_given = f->fail_phase != FAIL_PHASE_UNKNOWN;
    if (f->fail_phase_given && f->fail_phase != FAIL_TRAIN)
        return;
    if (!f->fail_phase_given && saving(f, f->fail)) {
        f->fail_phase = FAIL_SAVE;
        return;
    }
    if (inside_eval(f, f->fail)) {
        f->fail_phase = FAIL_EVAL;
        return;
    }
    /* an event without a phase right behind evaluation rows died in evaluation */
    if (!f->fail_phase_given && f->eval.n > 0 && f->fail->row > 0 &&
        f->eval.row[f->eval.n - 1] == f->fail->row - 1) {
        double last = column_at(f->s->col[F_STEP] ? f->s->col[F_STEP] : f->s->phase, f->fail->row - 1);
        double at = record_number(&f->fail->rec, F_STEP);
        if (isnan(at) || at <= last + 1)
            f->fail_phase = FAIL_EVAL;
    }
}

/* The event that ended the run, or NULL; counts the OOMs it went on after. */
static const struct event *find_end(struct frame *f)
{
    const struct series *s = f->s;
    const struct event *end = NULL;
    f->survived = s->n_ooms_lost;
    for (size_t i = 0; i < s->n_events; i++) {
        const struct event *e = &s->events[i];
        if (e->kind == EVENT_RESUME)
            f->resumed = true;
        bool ends = is_end_of_run(e);
        if (e->kind == EVENT_OOM && (!ends || went_on(f, e))) {
            f->survived++;
            f->last_survived = e;
            continue;
        }
        if (ends && e->kind == EVENT_END && went_on(f, e))
            continue;
        if (ends && !(e->kind == EVENT_END && end && end->row == e->row && end->kind != EVENT_END))
            end = e;
    }
    if (end && end->row < s->rows && end->kind != EVENT_END && s->segment &&
        column_at(s->segment, s->rows - 1) > column_at(s->segment, end->row ? end->row - 1 : 0))
        end = s->rows - end->row > 0 ? NULL : end; /* a later process went on from a checkpoint */
    return end;
}

/* Whether the row has a figure of memory. */
static bool measured(const struct series *s, size_t row)
{
    static const enum field figures[] = {F_ALLOCATED, F_PEAK, F_RESERVED, F_PEAK_RESERVED, F_DEVICE_USED};
    for (size_t k = 0; k < sizeof figures / sizeof *figures; k++)
        if (s->col[figures[k]] && isfinite(column_at(s->col[figures[k]], row)))
            return true;
    return false;
}

/* A step begun and not ended leaves a row with the batch and without memory: that is the failing batch. */
static void complete_failure(struct frame *f)
{
    static const enum field shape[] = {F_BATCH_SIZE, F_MAX_LEN, F_TOKENS, F_HEIGHT, F_WIDTH};
    const struct series *s = f->s;
    size_t row = f->fail->row;
    if (row < 2 || row > s->rows || measured(s, row - 1) || !measured(s, row - 2) ||
        isfinite(record_number(&f->fail->rec, F_STEP)))
        return;
    f->completed = *f->fail;
    for (size_t k = 0; k < sizeof shape / sizeof *shape; k++) {
        double v = s->col[shape[k]] ? column_at(s->col[shape[k]], row - 1) : NAN;
        if (v >= 0 && v < 0x1p63 && !record_has(&f->completed.rec, shape[k]))
            record_set_u(&f->completed.rec, shape[k], (uint64_t)v);
    }
    double step = s->col[F_STEP] ? column_at(s->col[F_STEP], row - 1) : NAN;
    if (step >= 0 && step < 0x1p63)
        record_set_u(&f->completed.rec, F_STEP, (uint64_t)step);
    f->fail = &f->completed;
}

void frame_find_end(struct frame *f)
{
    const struct series *s = f->s;
    f->at = (struct moment){.requested = NAN,
                            .free = NAN,
                            .total = NAN,
                            .allocated = NAN,
                            .reserved = NAN,
                            .this_process = NAN,
                            .other_process = NAN,
                            .outside = NAN,
                            .gap = NAN,
                            .need = NAN,
                            .missing = NAN};
    f->fail_step = f->fail_x = f->blind = NAN;
    f->outcome = OUTCOME_UNKNOWN;
    f->resumed = isfinite(series_meta(s, F_RESUMED_FROM));
    const struct event *end = find_end(f);
    size_t seg_rows = 0;
    for (size_t i = f->train.n; i-- > 0;) {
        seg_rows++;
        if (f->train.restart[i])
            break;
    }
    f->rows_since_start = seg_rows;
    if (!end)
        return;
    f->outcome = end->kind == EVENT_END    ? OUTCOME_COMPLETED
                 : end->kind == EVENT_KILL ? OUTCOME_KILLED
                                           : OUTCOME_OOM;
    if (end->kind == EVENT_END)
        return;
    f->fail = end;
    for (const struct event *e = s->events; e != end; e++)
        if (e->kind == EVENT_RESUME && e->row == end->row)
            f->rows_since_start = 0; /* resumed, and no row since */
    f->killed = end->kind == EVENT_KILL;
    read_moment(f);
    fail_phase(f); /* looks for the event among the series' own, so before it is completed */
    if (!f->killed)
        complete_failure(f);
    f->fail_step = record_number(&f->fail->rec, F_STEP);
    double last = f->train.n ? f->train.x[f->train.n - 1] : NAN;
    if (f->eval.n && !(f->eval.x[f->eval.n - 1] <= last))
        last = f->eval.x[f->eval.n - 1];
    if (f->axis == AXIS_STEP && isfinite(f->fail_step)) {
        f->fail_x = f->fail_step + f->offset;
        f->blind = f->fail_x - last;
    } else
        f->fail_x = last;
}

/* ---- capacity and room ---- */

static double event_total(const struct series *s)
{
    double total = NAN;
    for (size_t i = 0; i < s->n_events; i++) {
        double v = record_number(&s->events[i].rec, F_TOTAL);
        if (isfinite(v) && v > 0)
            total = v;
    }
    return total;
}

/* Steps had more than this capacity: many of them, or one by far more than a glitch. */
static bool steps_exceed(const struct frame *f, double capacity)
{
    size_t above = 0;
    if (f->peak_field == F_COUNT)
        return false;
    for (size_t i = 0; i < f->train.n; i++)
        above += f->train.v[f->peak_field][i] > 1.005 * capacity;
    return above * 50 > f->train.n || f->peak_max > 2 * capacity;
}

void frame_find_room(struct frame *f, double capacity_setting)
{
    double declared = series_meta(f->s, F_CAPACITY), total = event_total(f->s);
    f->capacity_declared = declared;
    f->capacity_set = capacity_setting;
    f->capacity = isfinite(total) ? total : isfinite(declared) ? declared : capacity_setting;
    f->capacity_refused = NAN;
    if (f->capacity < 0x1p20 || steps_exceed(f, f->capacity)) { /* no such device: the steps did fit */
        f->capacity_refused = f->capacity;
        f->capacity = NAN;
    }
    double outside = f->at.outside;
    f->room_measured = isfinite(outside);
    if (!f->room_measured && f->train.v[F_DEVICE_USED] && f->train.v[F_RESERVED]) {
        const double *u = f->train.v[F_DEVICE_USED], *r = f->train.v[F_RESERVED];
        double low = INFINITY;
        for (size_t i = 0; i < f->train.n; i++)
            if (isfinite(u[i]) && isfinite(r[i]) && u[i] >= r[i])
                low = fmin(low, u[i] - r[i]);
        outside = isfinite(low) ? low : NAN;
        f->room_measured = isfinite(low);
    }
    if (!f->room_measured)
        outside = fmin(0.6 * GIB, 0.025 * f->capacity);
    f->outside_usual = outside;
    f->room = f->capacity - outside;
    if (!f->room_measured && f->peak_known && f->peak_max > f->room && f->peak_max <= f->capacity * 1.001)
        f->room = f->peak_max; /* it fitted */
}

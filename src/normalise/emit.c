#include "normalise/rows.h"
#include "base/num.h"
#include <math.h>

static bool is_train(const struct record *rec)
{
    struct str phase = record_text(rec, F_PHASE);
    return !phase.n || str_is(phase, "train");
}

static void set_field(struct record *rec, const struct field_set *set)
{
    uint64_t u;
    double v;
    switch (field_kind(set->field)) {
    case KIND_STR:
        record_set_s(rec, set->field, set->text);
        break;
    case KIND_NUM:
        if (num_parse(set->text, &v))
            record_set_d(rec, set->field, v);
        break;
    default:
        if (num_parse_u64(set->text, &u))
            record_set_u(rec, set->field, u);
    }
}

/* --set wins over the file in header fields and fills in step fields. */
static void apply_sets(struct rows *r, struct record *rec, bool header, bool fill)
{
    for (size_t i = 0; i < r->settings->n_sets; i++) {
        const struct field_set *set = &r->settings->sets[i];
        if (field_part(set->field) == PART_HEADER ? header || record_has(rec, set->field)
                                                  : fill && !record_has(rec, set->field))
            set_field(rec, set);
    }
}

static void emit_header(struct rows *r, const struct record *rec)
{
    struct record h;
    record_part(&h, rec, r->header_mask, false);
    record_set_u(&h, F_OOMLOG, 1);
    if (r->syntax == SYNTAX_TEXT)
        record_unset(&h, F_RANK); /* each line says its own, or none */
    if (r->m->peak_reset.n && !record_has(&h, F_PEAK_RESET))
        record_set_s(&h, F_PEAK_RESET, r->m->peak_reset);
    if (r->m->framework.n && !record_has(&h, F_FRAMEWORK))
        record_set_s(&h, F_FRAMEWORK, r->m->framework);
    apply_sets(r, &h, true, false);
    held_set(&r->header, &h);
    r->has_header = true;
    r->sink.record(r->sink.ctx, &h, NULL, 0);
}

/* The first row's header fields are the file's, until it says otherwise. */
static void need_header(struct rows *r, const struct record *rec)
{
    if (r->has_header)
        return;
    bool any = (rec->have & r->header_mask) != 0;
    any |= r->m->peak_reset.n || r->m->framework.n;
    for (size_t i = 0; i < r->settings->n_sets; i++)
        any |= field_part(r->settings->sets[i].field) == PART_HEADER;
    if (any)
        emit_header(r, rec);
}

static void set_figure(struct record *rec, enum field f, double v)
{
    if (!record_has(rec, f) && v >= 0 && v < 9007199254740992.0)
        record_set_u(rec, f, (uint64_t)v);
}

static size_t set_figures(struct record *rec, const struct oom_message *msg, struct process_use *processes)
{
    double others = 0;
    set_figure(rec, F_REQUESTED, msg->requested);
    set_figure(rec, F_FREE, msg->free);
    set_figure(rec, F_TOTAL, msg->total);
    set_figure(rec, F_ALLOCATED, msg->allocated);
    set_figure(rec, F_RESERVED, msg->reserved);
    set_figure(rec, F_THIS_PROCESS, msg->this_process);
    size_t n = 0;
    for (size_t i = 0; i < msg->n_process; i++) {
        double bytes = msg->process[i].bytes;
        if (!(bytes >= 0 && bytes < 9007199254740992.0))
            continue;
        processes[n++] = (struct process_use){msg->process[i].pid, (uint64_t)bytes};
        others += bytes;
    }
    if (n)
        set_figure(rec, F_OTHER_PROCESS, others);
    return n;
}

static void send(struct rows *r, const struct record *rec, const struct process_use *processes, size_t n)
{
    /* checkpoints of a text log stand beside the records of another format, whose header counts */
    if (r->syntax != SYNTAX_TEXT || !record_has(rec, F_LABEL) || r->settings->n_sets)
        need_header(r, rec);
    r->has_memory |= (rec->have & r->memory_mask) != 0;
    r->records++;
    if (!record_has(rec, F_EVENT))
        r->has_last_oom = false;
    r->sink.record(r->sink.ctx, rec, processes, n);
}

static bool outside_steps(struct rows *r, const struct record *rec)
{
    double step = record_number(rec, F_STEP);
    r->first_step = fmin(r->first_step, step);
    r->last_step = fmax(r->last_step, step);
    return step < r->settings->step_from || step > r->settings->step_to;
}

/* The writer's step starts at 1 in each epoch: the length of the first whole epoch seen makes it one count.
 * The logs give no length, so the last step logged in that epoch stands for it. */
static void make_global_step(struct rows *r, struct record *rec)
{
    double epoch = record_number(rec, F_EPOCH), step = record_number(rec, F_STEP);
    if (isnan(epoch) || isnan(step) || !is_train(rec))
        return;
    if (isnan(r->epoch0))
        r->epoch0 = epoch;
    if (epoch > r->epoch_last && step <= r->iter_last && isnan(r->epoch_steps))
        r->epoch_steps = r->iter_last;
    r->epoch_last = epoch;
    r->iter_last = step;
    double epochs = epoch - r->epoch0, told = record_number(rec, F_STEPS_PER_EPOCH);
    double length = isnan(told) ? r->epoch_steps : told;
    if (epochs > 0 && !isnan(length))
        step += epochs * length;
    if (step < 9007199254740992.0)
        record_set_u(rec, F_STEP, (uint64_t)step);
}

static uint64_t gpu_ordinal(struct rows *r, struct str text)
{
    for (unsigned i = 0; i < r->n_gpus; i++)
        if (str_eq(r->gpus[i], text))
            return i;
    if (r->n_gpus == sizeof r->gpus / sizeof *r->gpus)
        return 0;
    r->gpus[r->n_gpus] = arena_str(r->a, text);
    return r->n_gpus++;
}

static void find_rank(struct rows *r, struct record *rec)
{
    if (record_has(rec, F_RANK))
        return;
    if (!isnan(r->line_rank)) {
        record_set_u(rec, F_RANK, (uint64_t)r->line_rank);
        return;
    }
    if (r->gpu_text.n) {
        uint64_t ordinal = gpu_ordinal(r, r->gpu_text);
        record_set_u(rec, F_RANK, ordinal);
    } else if (r->turns > 1 && record_has(rec, F_TIME)) {
        double at = rec->v[F_TIME].d;
        if (at - r->turn_start < r->turn_gap) {
            r->turn++;
        } else {
            r->turn = 0;
            r->turn_start = at;
        }
        record_set_u(rec, F_RANK, r->turn % r->turns);
    }
}

static void find_steps(struct rows *r, struct record *rec)
{
    if (r->m->step_in_epoch)
        make_global_step(r, rec);
    if (is_train(rec)) {
        if (record_has(rec, F_STEP))
            r->last_train_step = (double)rec->v[F_STEP].u;
    } else if (r->m->step_of_train && !record_has(rec, F_STEP) && !isnan(r->last_train_step)) {
        record_set_u(rec, F_STEP, (uint64_t)r->last_train_step);
    }
}

/* False when the record names an event that does not exist. */
static bool find_event(struct rows *r, struct record *rec, struct process_use *processes, size_t *n)
{
    enum event_kind kind;
    struct oom_message msg;
    if (r->oom && !record_has(rec, F_EVENT)) {
        record_set_s(rec, F_EVENT, STR_LIT("oom"));
        if (memchr(r->oom_text.p, ' ', r->oom_text.n) && !record_has(rec, F_MESSAGE))
            record_set_s(rec, F_MESSAGE, r->oom_text);
    }
    struct str event = record_text(rec, F_EVENT), message = record_text(rec, F_MESSAGE);
    bool known = event.n && event_find(&kind, event);
    if (event.n && !known) {
        diag_add(r->d, DIAG_UNKNOWN_EVENT, rec->at,
                 "unknown event \"%.*s\"; expected oom, end, resume, epoch_end, eval_begin, eval_end, save "
                 "or kill",
                 (int)(event.n < 60 ? event.n : 60), event.p);
        return false;
    }
    if (message.n && (!event.n || kind == EVENT_OOM) && oom_message_find(&msg, message, 0)) {
        *n = set_figures(rec, &msg, processes);
        if (!event.n)
            record_set_s(rec, F_EVENT, STR_LIT("oom"));
    }
    return true;
}

/* In the own format "oomlog" marks a header. A CSV may carry it as a constant column: then only a row
 * whose header fields changed, or that follows one without it, is a header too. */
static void split_header(struct rows *r, struct record *rec)
{
    bool marked = record_has(rec, F_OOMLOG), same = r->has_header && r->last_marked;
    uint64_t bits = rec->have & r->header_mask & ~((uint64_t)1 << F_OOMLOG);
    r->last_marked = marked;
    if (!marked)
        return;
    for (; bits && same; bits &= bits - 1)
        same = record_same(rec, &r->header.r, (enum field)__builtin_ctzll(bits));
    if (!same)
        emit_header(r, rec);
    record_unset(rec, F_OOMLOG);
}

static void finish(struct rows *r, struct record *rec)
{
    struct process_use processes[OOM_PROCESS_MAX];
    size_t n = 0;
    rec->at = (struct place){r->file, r->line, 0};
    if (!find_event(r, rec, processes, &n))
        return;
    if (!(rec->have & r->use_mask) && !rec->n_extra) {
        bool header = (rec->have & r->header_mask) != 0;
        bool marked = record_has(rec, F_OOMLOG);
        if (header && (marked || (!r->m->own && r->syntax != SYNTAX_CSV)))
            emit_header(r, rec);
        r->last_marked = false;
        return;
    }
    find_rank(r, rec);
    if (!isnan(r->line_time) && !record_has(rec, F_TIME))
        record_set_d(rec, F_TIME, r->line_time);
    if (r->defaults.r.have && is_train(rec) && !record_has(rec, F_EVENT)) {
        uint64_t missing = r->defaults.r.have & ~rec->have;
        for (uint64_t bits = missing; bits; bits &= bits - 1) {
            int f = __builtin_ctzll(bits);
            rec->v[f] = r->defaults.r.v[f];
        }
        rec->have |= missing;
    }
    find_steps(r, rec);
    if (outside_steps(r, rec))
        return;
    apply_sets(r, rec, false, true);
    split_header(r, rec);
    send(r, rec, processes, n);
}

static void add_sums(struct rows *r)
{
    for (size_t i = 0; i < r->m->n_sums; i++) {
        const struct map_sum *sum = &r->m->sums[i];
        double total = 0;
        for (size_t k = 0; k < sum->n_operands; k++) {
            double v = r->operands[i] >> k & 1 ? r->operand[i][k] : NAN;
            if (sum->operand[k].header != F_COUNT)
                v = record_number(&r->header.r, sum->operand[k].header);
            else
                v *= sum->unit.kind == UNIT_KIND_BYTES ? sum->unit.scale : 1;
            total += sum->operand[k].sign * v;
        }
        struct group *g = &r->groups[rows_group(r, sum->phase, sum->phase.n > 0, false, 0)];
        if (isnan(total) || total < 0 || total >= 9007199254740992.0 || record_has(&g->r, sum->field))
            continue;
        record_set_u(&g->r, sum->field, (uint64_t)round(total));
        g->touched = true;
    }
}

/* Scalars of the document around the rows: header fields, and shapes that hold for all of its train rows. */
static void emit_document(struct rows *r)
{
    struct record *base = &r->groups[0].r, part;
    record_part(&part, base,
                part_mask(PART_STEP) & ~((uint64_t)1 << F_STEP | (uint64_t)1 << F_EPOCH |
                                         (uint64_t)1 << F_TIME | (uint64_t)1 << F_PHASE),
                false);
    held_set(&r->defaults, &part);
    if (base->have & r->header_mask)
        emit_header(r, base);
}

static bool has_extra(const struct record *r, struct str name)
{
    for (unsigned i = 0; i < r->n_extra; i++)
        if (str_eq(r->extra[i].name, name))
            return true;
    return false;
}

static void compose(struct record *out, const struct rows *r, const struct group *g)
{
    const struct record *base = &r->groups[0].r;
    *out = g->r;
    for (uint64_t bits = base->have & ~out->have; bits; bits &= bits - 1) {
        int f = __builtin_ctzll(bits);
        out->v[f] = base->v[f];
    }
    out->have |= base->have;
    for (unsigned i = 0; i < base->n_extra && out->n_extra < RECORD_EXTRA_MAX; i++)
        if (!has_extra(&g->r, base->extra[i].name))
            out->extra[out->n_extra++] = base->extra[i];
    if (g->has_index && !record_has(out, F_RANK))
        record_set_u(out, F_RANK, g->index);
    if (g->has_phase)
        record_set_s(out, F_PHASE, g->phase);
    else if (r->phase.n)
        record_set_s(out, F_PHASE, r->phase);
}

void emit_row(struct rows *r, bool is_row)
{
    if (r->m->n_sums) {
        if (!r->has_header && r->settings->n_sets)
            need_header(r, &r->groups[0].r); /* sums may need a capacity that --set gave */
        add_sums(r);
    }
    if (!is_row) {
        emit_document(r);
        return;
    }
    bool any = false;
    struct record rec;
    for (unsigned i = 1; i < r->n_groups; i++)
        if (r->groups[i].touched) {
            compose(&rec, r, &r->groups[i]);
            finish(r, &rec);
            any = true;
        }
    if (any)
        return;
    if (r->phase.n)
        record_set_s(&r->groups[0].r, F_PHASE, r->phase);
    finish(r, &r->groups[0].r);
}

/* The same error is printed again by the traceback, the logger and the launcher. */
static bool told_already(const struct rows *r, const struct oom_message *msg)
{
    const struct oom_message *last = r->last_oom;
    return r->has_last_oom && num_same(last->requested, msg->requested) && num_same(last->free, msg->free) &&
           num_same(last->allocated, msg->allocated) && num_same(last->reserved, msg->reserved) &&
           num_same(last->device, msg->device);
}

void emit_oom(struct rows *r, const struct oom_message *msg, uint64_t line, double rank, bool recovered)
{
    struct record rec;
    struct process_use processes[OOM_PROCESS_MAX];
    record_clear(&rec);
    rec.at = (struct place){r->file, line, 0};
    record_set_s(&rec, F_EVENT, STR_LIT("oom"));
    if (msg->text.n)
        record_set_s(&rec, F_MESSAGE, msg->text);
    if (!isnan(rank))
        record_set_u(&rec, F_RANK, (uint64_t)rank);
    if (recovered)
        record_set_u(&rec, F_RECOVERED, 1);
    size_t n = set_figures(&rec, msg, processes);
    apply_sets(r, &rec, false, false);
    send(r, &rec, processes, n);
}

void emit_oom_text(struct rows *r, const struct oom_message *msg, uint64_t line)
{
    if (told_already(r, msg))
        return;
    emit_oom(r, msg, line, NAN, false);
    *r->last_oom = *msg;
    r->has_last_oom = true;
}

void emit_kill(struct rows *r, struct str text, uint64_t line, double rank)
{
    struct record rec;
    record_clear(&rec);
    rec.at = (struct place){r->file, line, 0};
    record_set_s(&rec, F_EVENT, STR_LIT("kill"));
    record_set_u(&rec, F_SIGNAL, 9);
    if (!isnan(rank))
        record_set_u(&rec, F_RANK, (uint64_t)rank);
    record_set_s(&rec, F_MESSAGE, text);
    apply_sets(r, &rec, false, false);
    send(r, &rec, NULL, 0);
}

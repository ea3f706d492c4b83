/* The usual rows of a log, many at once: number fields, a phase and batch ids, one rule for each, and
 * nothing else that a row could tell. They go to the sink column by column. Whatever is not like that is
 * left to rows_row, which makes the same records of the same rows. */
#include "normalise/rows.h"
#include "normalise/id_list.h"
#include "read/batch.h"
#include <math.h>

#define NO_ITEM ((size_t)-1)

static bool is_plan_of(const struct plan *p, const struct batch *b)
{
    if (p->n_items != b->n_items)
        return false;
    for (size_t i = 0; i < b->n_items; i++)
        if (p->slot[i] != b->items[i].slot || p->kind[i] != b->items[i].kind)
            return false;
    return true;
}

/* Adds item i to the plan; false when its slot has more to it. */
static bool plan_item(struct plan *p, const struct rows *r, const struct batch *b, size_t i)
{
    const struct slot *s = &r->slots[b->items[i].slot];
    const struct binding *rule = &s->b[0];
    enum cell_kind kind = b->items[i].kind;
    if (s->n != 1 || s->group || s->present >= 0 || s->absent || s->in_sum || rule->target != TARGET_FIELD ||
        rule->when.n)
        return false;
    if (rule->field == F_PHASE && kind == CELL_STRING && p->phase == NO_ITEM) {
        p->phase = i;
        return true;
    }
    bool list =
        kind == CELL_LIST || (kind == CELL_STRING && r->m->own && !(rule->rule && rule->rule->n_values));
    if (rule->field == F_BATCH_IDS && list && p->ids == NO_ITEM) {
        p->ids = i;
        return true;
    }
    if (kind != CELL_NUMBER || s->quick == QUICK_NONE || field_part(rule->field) != PART_STEP ||
        p->n_fields == FIELDS_MAX)
        return false;
    for (size_t k = 0; k < p->n_fields; k++)
        if (p->field[k] == rule->field)
            return false;
    if (rule->field == F_STEP)
        p->step = i;
    p->field[p->n_fields] = rule->field;
    p->item[p->n_fields++] = i;
    return true;
}

static void make_plan(struct plan *p, const struct rows *r, const struct batch *b)
{
    const struct mapping *m = r->m;
    *p = (struct plan){.n_items = b->n_items, .step = NO_ITEM, .phase = NO_ITEM, .ids = NO_ITEM};
    p->fits = r->sink.rows && !m->n_sums && !m->n_absent && !m->step_in_epoch && !r->settings->n_sets &&
              r->turns == 1 && isnan(r->settings->step_from) && isnan(r->settings->step_to);
    for (size_t i = 0; i < b->n_items; i++) {
        p->slot[i] = b->items[i].slot;
        p->kind[i] = b->items[i].kind;
        p->fits = p->fits && plan_item(p, r, b, i);
    }
    p->fits = p->fits && p->n_fields && (p->step != NO_ITEM || !m->step_of_train);
}

static const struct plan *find_plan(struct rows *r, const struct batch *b)
{
    if (b->n_items > FIELDS_MAX + 2)
        return NULL;
    for (unsigned i = 0; i < PLANS_MAX; i++)
        if (is_plan_of(&r->plans[i], b))
            return &r->plans[i];
    struct plan *p = &r->plans[r->next_plan++ % PLANS_MAX];
    make_plan(p, r, b);
    return p;
}

/* True when cells_quick would take all of them as they are. */
static bool in_range(enum field f, const double *v, size_t n)
{
    bool good = true;
    if (field_kind(f) == KIND_NUM) {
        for (size_t i = 0; i < n; i++)
            good &= v[i] >= 0 && v[i] < 1e15;
        return good;
    }
    for (size_t i = 0; i < n; i++)
        good &= v[i] >= 0 && v[i] < 9007199254740992.0 && (double)(int64_t)v[i] == v[i];
    return good;
}

/* The batch's ids in CSV form, which live until the next batch; false when one is no plain list. */
static bool find_ids(struct rows *r, const struct batch *b, size_t item, struct str *ids)
{
    const struct str *text = b->items[item].text;
    if (b->items[item].kind == CELL_STRING) {
        for (size_t i = 0; i < b->n; i++) {
            ids[i] = text[i];
            if (!text[i].n)
                return false;
        }
        return true;
    }
    size_t room = 0, from = 0;
    for (size_t i = 0; i < b->n; i++)
        room += text[i].n + 32;
    buf_clear(&r->many_ids);
    buf_room(&r->many_ids, room + 32); /* once for all: the texts must not move */
    for (size_t i = 0; i < b->n; i++, from = r->many_ids.n) {
        if (!id_list_plain(&r->many_ids, text[i]))
            return false;
        ids[i] = (struct str){r->many_ids.p + from, r->many_ids.n - from};
    }
    return true;
}

static bool find_phases(const struct rows *r, const struct batch *b, size_t item, struct str *phase)
{
    const struct batch_item *of = &b->items[item];
    for (size_t i = 0; i < b->n; i++) {
        if (i && str_eq(of->text[i], of->text[i - 1]))
            phase[i] = phase[i - 1];
        else
            phase[i] = cells_word(&r->slots[of->slot].b[0], of->text[i]);
        if (!phase[i].n)
            return false;
    }
    return true;
}

static bool is_train(const struct step_rows *s, size_t i)
{
    return !s->phase || str_is(s->phase[i], "train");
}

/* What rows_row and emit_row would have kept in mind. */
static void note(struct rows *r, const struct plan *p, const struct batch *b, const struct step_rows *s)
{
    r->line = b->line + b->n - 1;
    r->document = false;
    r->last_marked = false;
    r->has_last_oom = false;
    r->records += b->n;
    for (size_t k = 0; k < p->n_fields; k++)
        r->has_memory |= (r->memory_mask >> p->field[k] & 1) != 0;
    if (p->step == NO_ITEM)
        return;
    const double *step = b->items[p->step].value;
    for (size_t i = 0; i < b->n; i++) {
        r->first_step = fmin(r->first_step, step[i]);
        r->last_step = fmax(r->last_step, step[i]);
    }
    for (size_t i = b->n; i-- > 0;)
        if (is_train(s, i)) {
            r->last_train_step = step[i];
            break;
        }
}

enum batch_answer rows_batch(void *ctx, const struct batch *b)
{
    struct rows *r = ctx;
    const struct plan *p = find_plan(r, b);
    if (!p || !p->fits)
        return BATCH_NEVER;
    if (r->records == 0 || r->defaults.r.have) /* the header is not settled */
        return BATCH_LATER;
    const double *value[FIELDS_MAX];
    struct str phase[BATCH_ROWS], ids[BATCH_ROWS];
    for (size_t k = 0; k < p->n_fields; k++) {
        value[k] = b->items[p->item[k]].value;
        if (!in_range(p->field[k], value[k], b->n))
            return BATCH_LATER;
    }
    if ((p->phase != NO_ITEM && !find_phases(r, b, p->phase, phase)) ||
        (p->ids != NO_ITEM && !find_ids(r, b, p->ids, ids)))
        return BATCH_LATER;
    struct step_rows s = {.file = r->file,
                          .values = {.n = b->n,
                                     .line = b->line,
                                     .n_fields = p->n_fields,
                                     .field = p->field,
                                     .value = value,
                                     .ids = p->ids == NO_ITEM ? NULL : ids},
                          .phase = p->phase == NO_ITEM ? NULL : phase};
    if (!r->sink.rows(r->sink.ctx, &s))
        return BATCH_LATER;
    note(r, p, b, &s);
    return BATCH_TAKEN;
}

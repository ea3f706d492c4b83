#include "normalise/rows.h"
#include "base/num.h"
#include "base/num_scan.h"
#include "normalise/id_list.h"
#include "normalise/stamp.h"
#include <math.h>

/* Where a value may go: into the record of its group unless a rule of higher rank was there before. */
struct target {
    struct rows *r;
    struct group *g;
    struct slot *s;
    const struct binding *b;
    const struct cell *c;
};

static struct place place_of(const struct target *t)
{
    return (struct place){t->r->file, t->r->line, t->c->col};
}

static int shown(struct str s)
{
    return s.n < 60 ? (int)s.n : 60;
}

static bool may_set(const struct target *t)
{
    return !record_has(&t->g->r, t->b->field) || t->g->rank[t->b->field] > t->b->rank;
}

static void take(const struct target *t)
{
    t->g->rank[t->b->field] = t->b->rank;
    t->g->touched = true;
}

static void set_u(const struct target *t, uint64_t u)
{
    take(t);
    record_set_u(&t->g->r, t->b->field, u);
}

static void out_of_range(const struct target *t, const char *expected)
{
    diag_add(t->r->d, DIAG_OUT_OF_RANGE, place_of(t),
             "\"%.*s\" in \"%.*s\" cannot be %s; expected %s, left out", shown(t->c->text), t->c->text.p,
             shown(t->s->name), t->s->name.p, field_name(t->b->field), expected);
}

/* Up to 18 digits, which is nearly every figure of a log. */
static bool plain_digits(struct str s, uint64_t *out)
{
    uint64_t v = 0;
    if (s.n == 0 || s.n > 18)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        unsigned digit = (unsigned char)s.p[i] - (unsigned)'0';
        if (digit > 9)
            return false;
        v = v * 10 + digit;
    }
    *out = v;
    return true;
}

bool cells_quick(struct rows *r, const struct slot *s, const struct cell *c)
{
    struct group *g = &r->groups[s->group];
    const struct binding *b = &s->b[0];
    if (!c->plain || c->whole >= (uint64_t)1 << 53 || record_has(&g->r, b->field))
        return false;
    if (s->quick == QUICK_REAL) {
        double v = (double)c->whole / num_pow10[c->plain - 1];
        if (!(v < 1e15))
            return false;
        record_set_d(&g->r, b->field, v);
    } else {
        if (c->plain != CELL_PLAIN(0))
            return false;
        record_set_u(&g->r, b->field, c->whole);
    }
    g->rank[b->field] = b->rank;
    g->touched = true;
    return true;
}

/* "MB" read as MiB: said once a column; the decimal reading is taken when only that stays below capacity. */
static void settle_unit(const struct target *t, struct unit *unit, double value)
{
    struct binding *b = &t->s->b[t->b - t->s->b];
    const char *why = "";
    if (unit->kind == UNIT_KIND_AUTO) {
        if (value == 0)
            return; /* says nothing; 0 is 0 in every unit */
        *unit = unit_guess(value);
        why = "its name has no unit; ";
    }
    double capacity = record_number(&t->r->header.r, F_CAPACITY);
    if (isnan(capacity))
        capacity = t->r->set_capacity;
    if (unit->ambiguous && unit->scale > 1 && value * unit->scale > capacity) {
        double decimal = unit->scale == 1024.0         ? 1e3
                         : unit->scale == 1048576.0    ? 1e6
                         : unit->scale == 1073741824.0 ? 1e9
                                                       : 1e12;
        if (value * decimal <= capacity) {
            unit->scale = decimal;
            why = "the binary reading is beyond the capacity; ";
        }
    }
    b->unit = *unit;
    if (!unit->ambiguous || t->s->told_unit)
        return;
    t->s->told_unit = true;
    diag_add(t->r->d, DIAG_AMBIGUOUS_UNIT, place_of(t),
             "\"%.*s\" is read in %s (%sits first figure is %.*s); "
             "if that is wrong, say --map %s=COLUMN:UNIT",
             shown(t->s->name), t->s->name.p, unit_scale_name(unit->scale), why, shown(t->c->text),
             t->c->text.p, field_name(t->b->field));
    b->unit.ambiguous = false;
}

static void set_bytes(const struct target *t, double value, struct unit cell_unit)
{
    struct unit unit = t->b->unit;
    if (cell_unit.kind == UNIT_KIND_BYTES) {
        bool same = unit.kind == UNIT_KIND_BYTES && !unit.ambiguous; /* the name said the same, for certain */
        double scale = unit.scale;
        unit = cell_unit;
        if (same && cell_unit.ambiguous) {
            unit.scale = scale;
            unit.ambiguous = false;
        }
    } else if (cell_unit.kind != UNIT_KIND_NONE) {
        diag_add(t->r->d, DIAG_BAD_UNIT, place_of(t),
                 "unknown unit in \"%.*s\" of \"%.*s\"; expected B, KiB, MiB, GiB, kB, MB or GB",
                 shown(t->c->text), t->c->text.p, shown(t->s->name), t->s->name.p);
        return;
    }
    if (value < 0) {
        out_of_range(t, "a size >= 0");
        return;
    }
    if (unit.kind == UNIT_KIND_AUTO || unit.ambiguous)
        settle_unit(t, &unit, value);
    double bytes = unit.kind == UNIT_KIND_BYTES ? value * unit.scale : value;
    if (t->r->m->own && bytes != floor(bytes)) {
        out_of_range(t, "a whole number of bytes");
        return;
    }
    bytes = round(bytes);
    if (!(bytes < 9007199254740992.0)) { /* 8 PiB, and exact as a double */
        out_of_range(t, "a size below 2^53 bytes");
        return;
    }
    set_u(t, (uint64_t)bytes);
}

static void set_number(const struct target *t, double value, struct unit cell_unit)
{
    double scale = t->b->unit.kind == UNIT_KIND_SECONDS ? t->b->unit.scale : 1;
    if (t->b->field == F_TIME && cell_unit.kind == UNIT_KIND_SECONDS)
        scale = cell_unit.scale;
    value *= scale;
    if (!(fabs(value) < 1e15)) {
        out_of_range(t, "a number below 1e15");
        return;
    }
    if (t->b->unit.kind == UNIT_KIND_STAMP && value < 1e8)
        return; /* a duration or a counter, no point in time */
    if (value < 0) {
        out_of_range(t, "a number >= 0");
        return;
    }
    take(t);
    record_set_d(&t->g->r, t->b->field, value);
}

static void set_whole(const struct target *t, double value)
{
    if (value < 0 || value != floor(value) || value >= 9007199254740992.0)
        out_of_range(t, "a whole number >= 0");
    else
        set_u(t, (uint64_t)value);
}

static void set_size(const struct target *t, double value)
{
    struct record *rec = &t->g->r;
    struct str name = t->b->size_name.n ? t->b->size_name : t->s->name;
    if (!(fabs(value) < 1e300))
        return;
    for (unsigned i = 0; i < rec->n_extra; i++)
        if (str_eq(rec->extra[i].name, name))
            return;
    if (rec->n_extra == RECORD_EXTRA_MAX) {
        diag_add(t->r->d, DIAG_TOO_MANY_FIELDS, place_of(t),
                 "more than %d sizes in a record; \"%.*s\" is left out", RECORD_EXTRA_MAX, shown(name),
                 name.p);
        return;
    }
    t->g->touched = true;
    rec->extra[rec->n_extra++] = (struct extra){name, value};
}

/* A cell that should be a number. */
static void apply_numeric(const struct target *t)
{
    enum field_kind kind = t->b->target == TARGET_SIZE ? KIND_NUM : field_kind(t->b->field);
    struct unit unit = {UNIT_KIND_NONE, 1, false};
    uint64_t u;
    double v;
    if (t->c->kind != CELL_NUMBER && t->c->kind != CELL_STRING) {
        if (!t->r->document && (t->c->kind == CELL_LIST || t->c->kind == CELL_OBJECT))
            diag_add(t->r->d, DIAG_BAD_NUMBER, place_of(t),
                     "\"%.*s\" holds a list or an object, expected a number", shown(t->s->name),
                     t->s->name.p);
        return;
    }
    if (plain_digits(t->c->text, &u) && (kind == KIND_INT || t->b->unit.kind == UNIT_KIND_NONE) &&
        kind != KIND_NUM && u < (uint64_t)1 << 53) {
        set_u(t, u);
        return;
    }
    if (t->b->field == F_TIME && t->c->kind == CELL_STRING && stamp_parse(t->c->text, &v)) {
        take(t);
        record_set_d(&t->g->r, F_TIME, v);
        return;
    }
    enum cell_value found = unit_cell(t->c->text, &v, &unit);
    if (found == CELL_VALUE_OOM) {
        t->r->oom = true;
        if (!t->r->oom_text.n)
            t->r->oom_text = t->c->text;
    }
    if (found == CELL_VALUE_BAD)
        diag_add(t->r->d, t->b->field == F_TIME ? DIAG_BAD_TIME : DIAG_BAD_NUMBER, place_of(t),
                 "\"%.*s\" in \"%.*s\" is no %s; left out", shown(t->c->text), t->c->text.p,
                 shown(t->s->name), t->s->name.p, t->b->field == F_TIME ? "point in time" : "number");
    if (found != CELL_VALUE_NUMBER)
        return;
    if (t->b->target == TARGET_SIZE)
        set_size(t, v);
    else if (kind == KIND_BYTES)
        set_bytes(t, v, unit);
    else if (kind == KIND_NUM)
        set_number(t, v, unit);
    else
        set_whole(t, v);
}

struct str cells_word(const struct binding *b, struct str text)
{
    if (!b->rule || !b->rule->n_values)
        return text;
    for (size_t i = 0; b->rule && i < b->rule->n_values; i++)
        if (str_eq_nocase(b->rule->values[i].from, text))
            return b->rule->values[i].to;
    return text;
}

static void apply_text(const struct target *t)
{
    struct str text = t->c->text;
    if (t->b->field == F_BATCH_IDS && t->c->kind == CELL_LIST) {
        id_list_put(&t->r->ids, text);
        text = buf_view(&t->r->ids);
    } else if (t->c->kind == CELL_LIST || t->c->kind == CELL_OBJECT) {
        return;
    }
    text = cells_word(t->b, text);
    if (!text.n || (!t->r->m->own && unit_is_missing(text)))
        return;
    take(t);
    record_set_s(&t->g->r, t->b->field, text);
}

static void apply_bool(const struct target *t)
{
    struct str s = t->c->text;
    bool yes = t->c->kind == CELL_TRUE || str_eq_nocase(s, STR_LIT("true")) || str_is(s, "1");
    bool no = t->c->kind == CELL_FALSE || str_eq_nocase(s, STR_LIT("false")) || str_is(s, "0");
    if (yes || no)
        set_u(t, yes);
    else
        out_of_range(t, "true or false");
}

static void apply_shape(const struct target *t)
{
    uint64_t dim[4] = {0};
    unsigned n = 0;
    struct str s = t->c->text;
    for (size_t i = 0; i < s.n && n < 4;) {
        if (s.p[i] < '0' || s.p[i] > '9') {
            i++;
            continue;
        }
        while (i < s.n && s.p[i] >= '0' && s.p[i] <= '9' && dim[n] < 1000000000)
            dim[n] = dim[n] * 10 + (uint64_t)(s.p[i++] - '0');
        n++;
    }
    if (n < 2)
        return;
    static const enum field text[] = {F_BATCH_SIZE, F_MAX_LEN},
                            image[] = {F_BATCH_SIZE, F_COUNT, F_HEIGHT, F_WIDTH};
    const enum field *fields = n == 4 ? image : text;
    for (unsigned i = 0; i < (n == 4 ? 4 : 2); i++)
        if (fields[i] != F_COUNT && !record_has(&t->g->r, fields[i])) {
            record_set_u(&t->g->r, fields[i], dim[i]);
            t->g->rank[fields[i]] = t->b->rank;
        }
    t->g->touched = true;
}

static void apply_special(const struct target *t)
{
    struct str text = str_trim(t->c->text);
    if (t->c->kind != CELL_STRING || !text.n)
        return;
    if (t->b->target == TARGET_OOM) {
        if (((unsigned char)text.p[0] & 0x5F) >= 'A' && unit_is_oom(text)) {
            t->r->oom = true;
            if (text.n > t->r->oom_text.n)
                t->r->oom_text = text;
        }
    } else if (t->b->target == TARGET_HOST) {
        if (unit_is_missing(text))
            return;
        buf_clear(&t->r->host);
        buf_putc(&t->r->host, '@');
        buf_str(&t->r->host, text);
        record_set_s(&t->g->r, F_RUN, buf_view(&t->r->host));
        t->g->rank[F_RUN] = t->b->rank;
        t->g->touched = true;
    } else if (t->b->target == TARGET_GPU) {
        t->r->gpu_text = text;
    }
}

static void apply_sums(struct rows *r, const struct slot *s, const struct cell *c)
{
    double v;
    struct unit unit;
    if ((c->kind != CELL_NUMBER && c->kind != CELL_STRING) ||
        unit_cell(c->text, &v, &unit) != CELL_VALUE_NUMBER)
        return;
    for (size_t i = 0; i < r->m->n_sums; i++)
        for (unsigned k = 0; k < MAP_OPERAND_MAX; k++)
            if (s->sum[i] >> k & 1) {
                r->operand[i][k] = v;
                r->operands[i] |= (unsigned char)(1u << k);
            }
}

void cells_apply(struct rows *r, struct slot *s, const struct cell *c)
{
    if (c->kind == CELL_NULL)
        return;
    if (s->in_sum)
        apply_sums(r, s, c);
    for (unsigned i = 0; i < s->n; i++) {
        const struct binding *b = &s->b[i];
        struct target t = {r, &r->groups[s->group], s, b, c};
        if (b->when.n) {
            struct group *g = t.g;
            struct str phase = g->has_phase ? g->phase : r->phase.n ? r->phase : STR_LIT("train");
            if (!str_eq(phase, b->when))
                continue;
        }
        if (b->target == TARGET_SHAPE)
            apply_shape(&t);
        else if (b->target == TARGET_SIZE)
            apply_numeric(&t);
        else if (b->target != TARGET_FIELD)
            apply_special(&t);
        else if (!may_set(&t))
            continue;
        else if (field_kind(b->field) == KIND_STR)
            apply_text(&t);
        else if (field_kind(b->field) == KIND_BOOL)
            apply_bool(&t);
        else
            apply_numeric(&t);
    }
}

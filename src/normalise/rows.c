#include "normalise/rows.h"
#include "base/mem.h"
#include "base/num.h"
#include "normalise/glob.h"
#include "normalise/sniff.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool has_word(struct str head, const char *word)
{
    struct str w = str_of(word);
    return str_find(head, w) != (size_t)-1;
}

static void set_masks(struct rows *r)
{
    static const enum field memory[] = {F_ALLOCATED, F_PEAK,      F_RESERVED, F_PEAK_RESERVED, F_DEVICE_USED,
                                        F_HOST_RSS,  F_REQUESTED, F_FREE,     F_TOTAL};
    static const enum field alone[] = {F_PHASE, F_LABEL, F_RECOVERED}; /* of no use by themselves */
    r->header_mask = part_mask(PART_HEADER);
    r->use_mask = part_mask(PART_STEP) | part_mask(PART_EVENT);
    for (size_t i = 0; i < sizeof alone / sizeof *alone; i++)
        r->use_mask &= ~((uint64_t)1 << alone[i]);
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
        r->memory_mask |= (uint64_t)1 << memory[i];
}

void rows_init(struct rows *r, const struct mapping *m, enum syntax syntax, const char *file, struct str head,
               const struct normalise_settings *settings, const struct record_sink *sink, struct arena *a,
               struct diag *d)
{
    memset(r, 0, sizeof *r);
    r->settings = settings;
    r->m = m;
    r->sink = *sink;
    r->a = a;
    r->d = d;
    r->file = file;
    r->syntax = syntax;
    set_masks(r);
    r->groups = mem_alloc(GROUPS_MAX * sizeof *r->groups);
    r->groups[0] = (struct group){0};
    r->n_groups = 1;
    r->epoch0 = r->epoch_steps = r->last_train_step = r->epoch_last = r->iter_last = r->line_rank =
        r->line_time = r->first_step = r->last_step = NAN;
    r->last_oom = mem_zero(1, sizeof *r->last_oom);
    r->turns = 1;
    r->set_capacity = NAN;
    for (size_t i = 0; i < settings->n_sets; i++)
        if (settings->sets[i].field == F_CAPACITY)
            num_parse(settings->sets[i].text, &r->set_capacity);
    if (m->by_time && syntax == SYNTAX_CSV)
        r->turns = smi_turns(head, &r->turn_gap);
    r->all_oom_words = m->oom_words && (has_word(head, "OOM") || has_word(head, "ut of memory") ||
                                        has_word(head, "ut of Memory") || has_word(head, "OutOfMemory"));
    for (unsigned i = 0; i < m->n_sums; i++)
        if (m->sums[i].phase.n)
            rows_group(r, m->sums[i].phase, true, false, 0);
}

void rows_release(struct rows *r)
{
    free(r->slots);
    free(r->groups);
    free(r->last_oom);
    buf_release(&r->ids);
    buf_release(&r->many_ids);
    buf_release(&r->host);
    buf_release(&r->message);
    held_release(&r->header);
    held_release(&r->defaults);
}

unsigned rows_group(struct rows *r, struct str phase, bool has_phase, bool has_index, uint64_t index)
{
    if (!has_phase && !has_index)
        return 0;
    for (unsigned i = 1; i < r->n_groups; i++) {
        const struct group *g = &r->groups[i];
        if (g->has_phase == has_phase && g->has_index == has_index && g->index == index &&
            str_eq(g->phase, phase))
            return i;
    }
    if (r->n_groups == GROUPS_MAX)
        return 0;
    struct group *g = &r->groups[r->n_groups];
    g->phase = phase;
    g->has_phase = has_phase;
    g->has_index = has_index;
    g->index = index;
    g->touched = false;
    record_clear(&g->r);
    return r->n_groups++;
}

/* What a unit in the name makes of a rule; false when the name is about something else ("mem_percent"). */
static bool resolve_unit(struct unit *out, const struct map_rule *rule, const struct glob_match *g)
{
    bool bytes = rule->target == TARGET_FIELD && field_kind(rule->field) == KIND_BYTES;
    bool time = rule->target == TARGET_FIELD && rule->field == F_TIME;
    *out = rule->unit;
    if (!g->wants_unit)
        return true;
    if (g->has_unit) {
        if ((bytes && g->unit.kind != UNIT_KIND_BYTES) || (time && g->unit.kind != UNIT_KIND_SECONDS) ||
            (!bytes && !time))
            return false;
        *out = g->unit;
        return true;
    }
    if (bytes && rule->unit.kind == UNIT_KIND_NONE)
        *out = (struct unit){UNIT_KIND_AUTO, NAN, true};
    return true;
}

static void add_binding(struct slot *s, const struct map_rule *rule, struct unit unit, unsigned rank)
{
    if (s->n < BINDINGS_MAX)
        s->b[s->n++] =
            (struct binding){rule, rule->target, rule->field, rule->size_name, rule->when, unit, rank};
}

/* The first rule whose pattern fits, and those for the same pattern. */
static bool bind_rules(struct rows *r, struct slot *s, struct str name, bool plain, struct glob_match *index)
{
    const struct mapping *m = r->m;
    const struct map_rule *first = NULL;
    for (size_t i = 0; i < m->n_rules; i++) {
        const struct map_rule *rule = &m->rules[i];
        struct glob_match g;
        struct unit unit;
        if (first && !str_eq(rule->pattern, first->pattern))
            continue;
        if (plain && memchr(rule->pattern.p, '*', rule->pattern.n))
            continue;
        if (!glob_match(rule->pattern, name, m->loose, &g) || !resolve_unit(&unit, rule, &g))
            continue;
        if (!first) {
            first = rule;
            *index = g;
        }
        add_binding(s, rule, unit, (unsigned)i + 1);
    }
    return first != NULL;
}

static struct str after_last_slash(struct str name)
{
    size_t i = name.n;
    while (i > 0 && name.p[i - 1] != '/')
        i--;
    return (struct str){name.p + i, name.n - i};
}

/* Binds a key by a pattern without "*", else without a prefix that names a phase ("val_", "Eval "),
 * else by any pattern, else, in a loose mapping, by what stands behind its last slash. */
static bool bind_key(struct rows *r, struct slot *s)
{
    const struct mapping *m = r->m;
    struct glob_match g = {0};
    struct str phase = {NULL, 0};
    bool found = bind_rules(r, s, s->name, m->n_prefixes > 0, &g), has_phase = false;
    for (size_t i = 0; !found && i < m->n_prefixes; i++) {
        struct str prefix = m->prefixes[i].pattern;
        if (!str_starts(s->name, prefix))
            continue;
        struct str rest = {s->name.p + prefix.n, s->name.n - prefix.n};
        found = bind_rules(r, s, rest, false, &g);
        if (!found && m->loose)
            found = bind_rules(r, s, after_last_slash(rest), false, &g);
        if (found) {
            phase = m->prefixes[i].phase;
            has_phase = true;
        }
    }
    if (!found && m->n_prefixes > 0)
        found = bind_rules(r, s, s->name, false, &g);
    struct str last = after_last_slash(s->name);
    if (!found && m->loose && last.n < s->name.n)
        found = bind_rules(r, s, last, false, &g);
    if (found && s->b[0].target == TARGET_NONE)
        s->n = 0;
    if (found && s->n)
        s->group = rows_group(r, phase, has_phase, g.has_index, g.index);
    return found;
}

/* --map comes before all rules. */
static void bind_maps(struct rows *r, struct slot *s)
{
    for (size_t i = 0; i < r->settings->n_maps; i++) {
        const struct field_map *map = &r->settings->maps[i];
        if (!str_eq(map->column, s->name))
            continue;
        if (r->settings->map_found)
            r->settings->map_found[i] = true;
        if (s->n == BINDINGS_MAX)
            continue;
        struct unit unit = {UNIT_KIND_NONE, 1, false};
        size_t stem;
        if (field_kind(map->field) == KIND_BYTES) {
            if (!isnan(map->scale))
                unit = (struct unit){UNIT_KIND_BYTES, map->scale, false};
            else if (!unit_of_name(&unit, s->name, &stem) || unit.kind != UNIT_KIND_BYTES)
                unit = (struct unit){UNIT_KIND_AUTO, NAN, true};
        } else if (!isnan(map->scale) && map->field == F_TIME) {
            unit = (struct unit){UNIT_KIND_SECONDS, map->scale, false};
        }
        s->b[s->n++] = (struct binding){NULL, TARGET_FIELD, map->field, {NULL, 0}, {NULL, 0}, unit, 0};
    }
}

static void bind_phases(struct rows *r, struct slot *s)
{
    const struct mapping *m = r->m;
    struct glob_match ignored;
    s->present = -1;
    for (size_t i = 0; i < m->n_present && s->present < 0; i++)
        if (glob_match(m->present[i].pattern, s->name, m->loose, &ignored))
            s->present = (int)i;
    for (size_t i = 0; i < m->n_absent; i++)
        if (glob_match(m->absent[i].pattern, s->name, m->loose, &ignored))
            s->absent |= 1u << i;
}

static void bind_sums(struct rows *r, struct slot *s)
{
    for (size_t i = 0; i < r->m->n_sums; i++)
        for (size_t k = 0; k < r->m->sums[i].n_operands; k++)
            if (r->m->sums[i].operand[k].header == F_COUNT && str_eq(r->m->sums[i].operand[k].key, s->name)) {
                s->sum[i] |= (unsigned char)(1u << k);
                s->in_sum = true;
            }
}

static bool sounds_like_memory(struct str name)
{
    static const char *const words[] = {"mem", "vram", "alloc", "byte", "peak"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        for (size_t k = 0, n = strlen(words[i]); k + n <= name.n; k++)
            if (strncasecmp(name.p + k, words[i], n) == 0)
                return true;
    return false;
}

/* Of many names those that could be the figure that is asked for must not be the ones left out. */
static void note_name(struct rows *r, struct str name)
{
    size_t place = (size_t)r->keys++;
    if (place >= SEEN_NAMES_MAX) {
        if (r->keys > KEYS_MAX || !sounds_like_memory(name))
            return;
        for (place = SEEN_NAMES_MAX; place > 0 && sounds_like_memory(r->seen[place - 1]); place--)
            continue;
        if (place-- == 0)
            return;
    }
    r->seen[place] = arena_str(r->a, name.n > 60 ? (struct str){name.p, 60} : name);
}

/* A header line that comes again names columns that are known already. */
static int find_slot(const struct rows *r, struct str name)
{
    for (size_t i = 0; i < r->n_slots; i++)
        if (str_eq(r->slots[i].name, name))
            return (int)i;
    return KEY_UNWANTED;
}

/* True when the key was already seen and found to have no meaning. */
static bool seen_unknown(const struct rows *r, uint64_t hash)
{
    uint64_t n = r->unknown_keys < UNKNOWN_MAX ? r->unknown_keys : UNKNOWN_MAX;
    for (uint64_t i = 0; i < n; i++)
        if (r->unknown[i] == hash)
            return true;
    return false;
}

static uint64_t name_hash(struct str name)
{
    uint64_t h = 14695981039346656037u; /* FNV-1a */
    for (size_t i = 0; i < name.n; i++)
        h = (h ^ (unsigned char)name.p[i]) * 1099511628211u;
    return h;
}

static void note_unknown(struct rows *r, uint64_t hash)
{
    if (r->unknown_keys < UNKNOWN_MAX)
        r->unknown[r->unknown_keys] = hash;
    r->unknown_keys++;
}

static void set_quick(struct slot *s)
{
    s->tells_phase = s->present >= 0 || s->absent;
    for (unsigned k = 0; k < s->n; k++)
        s->tells_phase |= s->b[k].target == TARGET_FIELD && s->b[k].field == F_PHASE;
    const struct binding *b = &s->b[0];
    if (s->n != 1 || s->in_sum || b->target != TARGET_FIELD || b->when.n)
        return;
    enum field_kind kind = field_kind(b->field);
    if (kind == KIND_INT || (kind == KIND_BYTES && b->unit.kind == UNIT_KIND_NONE))
        s->quick = QUICK_WHOLE;
    else if (kind == KIND_NUM &&
             (b->unit.kind == UNIT_KIND_NONE || (b->unit.kind == UNIT_KIND_SECONDS && b->unit.scale == 1)))
        s->quick = QUICK_REAL;
}

/* Takes out what binds a key as a size of its own name, where that is no plain name. */
static void refuse_size(struct rows *r, struct slot *s)
{
    unsigned kept = 0;
    for (unsigned k = 0; k < s->n; k++)
        if (s->b[k].target != TARGET_SIZE || s->b[k].size_name.n || mapping_is_size(s->name))
            s->b[kept++] = s->b[k];
    if (kept < s->n)
        diag_add(r->d, DIAG_OUT_OF_RANGE, (struct place){r->file, 0, 0},
                 "\"%.*s\" is left out: expected size_ and 1 to 64 letters, digits, \"_\", \".\" or \"-\"; "
                 "rename it",
                 (int)(s->name.n < 60 ? s->name.n : 60), s->name.p);
    s->n = kept;
}

int rows_key(void *ctx, struct str name)
{
    struct rows *r = ctx;
    int known = find_slot(r, name);
    uint64_t hash = name_hash(name);
    if (known != KEY_UNWANTED)
        return known;
    if (r->keys >= KEYS_MAX || seen_unknown(r, hash))
        return KEY_UNWANTED;
    note_name(r, name);
    struct slot s = {.name = name};
    bind_maps(r, &s);
    bool bound = s.n > 0;
    if (!bound)
        bound = bind_key(r, &s);
    if (s.n)
        refuse_size(r, &s);
    bind_phases(r, &s);
    bind_sums(r, &s);
    if (!bound && s.present < 0 && !s.in_sum)
        note_unknown(r, hash);
    if (!bound && r->all_oom_words)
        s.b[s.n++] = (struct binding){.target = TARGET_OOM, .field = F_COUNT, .rank = ~0u};
    if (!s.n && s.present < 0 && !s.absent && !s.in_sum)
        return KEY_UNWANTED;
    if (r->n_slots == SLOTS_MAX) {
        diag_add(r->d, DIAG_TOO_MANY_FIELDS, (struct place){r->file, 0, 0},
                 "more than %d columns with a meaning; \"%.*s\" and later ones are left out", SLOTS_MAX,
                 (int)(name.n < 60 ? name.n : 60), name.p);
        return KEY_UNWANTED;
    }
    if (r->n_slots == r->cap_slots) {
        r->cap_slots = r->cap_slots ? r->cap_slots * 2 : 32;
        r->slots = mem_grow(r->slots, r->cap_slots, sizeof *r->slots);
    }
    s.name = arena_str(r->a, name);
    set_quick(&s);
    r->tell_phase += s.tells_phase;
    r->slots[r->n_slots] = s;
    return (int)r->n_slots++;
}

/* The phase must be known before rules with "when" are applied. */
static void find_phase(struct rows *r, const struct row *row)
{
    const struct mapping *m = r->m;
    int present = -1;
    unsigned refuted = 0;
    r->phase = (struct str){NULL, 0};
    if (!r->tell_phase && !m->n_absent)
        return;
    for (size_t i = 0; i < row->n; i++) {
        const struct cell *c = &row->cells[i];
        const struct slot *s = &r->slots[c->slot];
        if (c->kind == CELL_NULL || !s->tells_phase)
            continue;
        refuted |= s->absent;
        if (s->present >= 0 && (present < 0 || s->present < present))
            present = s->present;
        for (unsigned k = 0; k < s->n; k++)
            if (s->b[k].target == TARGET_FIELD && s->b[k].field == F_PHASE && c->kind == CELL_STRING)
                r->phase = cells_word(&s->b[k], c->text);
    }
    if (r->phase.n || !row->is_row)
        return;
    if (present >= 0)
        r->phase = m->present[present].phase;
    for (size_t i = 0; i < m->n_absent && !r->phase.n; i++)
        if (!(refuted >> i & 1))
            r->phase = m->absent[i].phase;
}

int rows_row(void *ctx, const struct row *row)
{
    struct rows *r = ctx;
    r->line = row->line;
    r->document = !row->is_row;
    r->oom = false;
    r->oom_text = r->gpu_text = (struct str){NULL, 0};
    memset(r->operands, 0, sizeof r->operands);
    for (unsigned i = 0; i < r->n_groups; i++) {
        if (r->groups[i].touched || i == 0)
            record_clear(&r->groups[i].r);
        r->groups[i].touched = false;
    }
    find_phase(r, row);
    for (size_t i = 0; i < row->n; i++) {
        const struct cell *c = &row->cells[i];
        struct slot *s = &r->slots[c->slot];
        if (s->quick == QUICK_NONE || !cells_quick(r, s, c))
            cells_apply(r, s, c);
    }
    emit_row(r, row->is_row);
    return 0;
}

bool rows_text(void *ctx, uint64_t line, struct str text)
{
    struct rows *r = ctx;
    struct oom_message msg;
    size_t from = 0;
    bool used = false;
    /* cheap test first: most lines of a text are none */
    if (str_find(text, STR_LIT("emory")) == (size_t)-1 && str_find(text, STR_LIT("CUDA")) == (size_t)-1)
        return false;
    while (from < text.n && oom_message_find(&msg, text, from)) {
        emit_oom_text(r, &msg, line);
        used = true;
        from = msg.end > from ? msg.end : text.n;
    }
    return used;
}

#include "normalise/mapping_parse.h"

bool mapping_is_size(struct str name)
{
    enum {
        LONGEST = 64
    };
    struct str rest = {name.p + 5, name.n - 5};
    if (!str_starts(name, STR_LIT("size_")) || rest.n == 0 || rest.n > LONGEST)
        return false;
    for (size_t i = 0; i < rest.n; i++) {
        char c = rest.p[i];
        if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') && c != '_' &&
            c != '.' && c != '-')
            return false;
    }
    return true;
}

/* "peak_bytes MiB": a field and the unit its figures are in. */
static void parse_target(struct parse *p, struct map_rule *r, struct str text)
{
    size_t blank = str_find(text, STR_LIT(" "));
    struct str name = blank == (size_t)-1 ? text : (struct str){text.p, blank};
    struct str word =
        blank == (size_t)-1 ? STR_LIT("") : str_trim((struct str){text.p + blank, text.n - blank});
    static const struct {
        const char *name;
        enum map_target target;
    } special[] = {{"oom", TARGET_OOM},
                   {"host", TARGET_HOST},
                   {"gpu", TARGET_GPU},
                   {"shape", TARGET_SHAPE},
                   {"none", TARGET_NONE}};
    r->unit = (struct unit){UNIT_KIND_NONE, 1, false};
    if (word.n && !unit_of_mapping(&r->unit, word))
        parse_complain(p,
                       "unknown unit \"%.*s\", expected B, kB, MB, GB, KiB, MiB, GiB, s, ms, min, h, "
                       "MB?, GB?, auto or stamp",
                       (int)(word.n < 40 ? word.n : 40), word.p);
    r->target = TARGET_FIELD;
    r->field = field_find(name);
    if (r->field != F_COUNT)
        return;
    for (size_t i = 0; i < sizeof special / sizeof *special; i++)
        if (str_is(name, special[i].name)) {
            r->target = special[i].target;
            return;
        }
    if (str_is(name, "size_*") || mapping_is_size(name)) {
        r->target = TARGET_SIZE;
        r->size_name = str_is(name, "size_*") ? STR_LIT("") : arena_str(p->a, name);
        return;
    }
    parse_complain(p, "unknown field \"%.*s\", expected a field of the step log",
                   (int)(name.n < 40 ? name.n : 40), name.p);
}

/* A rule as text, or as {"field": "step", "when": "train", "values": {…}}. */
static void parse_rule(struct parse *p, struct map_rule *r, const cJSON *v)
{
    if (cJSON_IsString(v)) {
        parse_target(p, r, parse_text(p, v));
        return;
    }
    if (!parse_is_object(p, v))
        return;
    bool has_field = false;
    for (const cJSON *k = v->child; k; k = k->next) {
        parse_enter_key(p, k->string);
        if (!strcmp(k->string, "field")) {
            parse_target(p, r, parse_text(p, k));
            has_field = true;
        } else if (!strcmp(k->string, "when")) {
            r->when = parse_text(p, k);
        } else if (!strcmp(k->string, "values")) {
            r->values = parse_pairs(p, k, &r->n_values);
        } else {
            parse_unknown_key(p, "field, when, values");
        }
        parse_leave(p);
    }
    if (!has_field)
        parse_complain(p, "a rule needs \"field\"");
}

static size_t count_patterns(const char *key)
{
    size_t n = 1;
    for (; *key; key++)
        n += *key == '|';
    return n;
}

/* "bs|batch_size" stands for two rules. */
static size_t add_rule(struct parse *p, struct map_rule *list, size_t n, struct str key, const cJSON *v)
{
    struct map_rule rule = {.field = F_COUNT, .target = TARGET_NONE, .unit = {UNIT_KIND_NONE, 1, false}};
    parse_rule(p, &rule, v);
    while (key.n) {
        size_t bar = str_find(key, STR_LIT("|"));
        size_t length = bar == (size_t)-1 ? key.n : bar;
        rule.pattern = arena_str(p->a, (struct str){key.p, length});
        list[n++] = rule;
        key = bar == (size_t)-1 ? (struct str){NULL, 0} : (struct str){key.p + bar + 1, key.n - bar - 1};
    }
    return n;
}

void parse_fields(struct parse *p, const cJSON *v)
{
    if (!parse_is_object(p, v))
        return;
    size_t cap = 1;
    for (const cJSON *k = v->child; k; k = k->next)
        cap += count_patterns(k->string) * (cJSON_IsArray(k) ? (size_t)cJSON_GetArraySize(k) : 1);
    if (cap > 4096) {
        parse_complain(p, "more than 4096 rules");
        return;
    }
    struct map_rule *list = arena_alloc(p->a, cap * sizeof *list);
    size_t n = 0;
    for (const cJSON *k = v->child; k; k = k->next) {
        parse_enter_key(p, k->string);
        if (cJSON_IsArray(k)) {
            size_t i = 0;
            for (const cJSON *item = k->child; item; item = item->next) {
                parse_enter_item(p, i++);
                n = add_rule(p, list, n, str_of(k->string), item);
                parse_leave(p);
            }
        } else {
            n = add_rule(p, list, n, str_of(k->string), k);
        }
        parse_leave(p);
    }
    p->m->rules = list;
    p->m->n_rules = n;
}

static const struct map_phase *parse_phase_list(struct parse *p, const cJSON *v, size_t *n)
{
    *n = 0;
    if (!parse_is_object(p, v))
        return NULL;
    struct map_phase *list = arena_alloc(p->a, ((size_t)cJSON_GetArraySize(v) + 1) * sizeof *list);
    for (const cJSON *k = v->child; k; k = k->next) {
        parse_enter_key(p, k->string);
        list[*n].pattern = arena_str(p->a, str_of(k->string));
        list[(*n)++].phase = parse_text(p, k);
        parse_leave(p);
    }
    return list;
}

void parse_phase(struct parse *p, const cJSON *v)
{
    struct mapping *m = p->m;
    if (!parse_is_object(p, v))
        return;
    for (const cJSON *k = v->child; k; k = k->next) {
        parse_enter_key(p, k->string);
        if (!strcmp(k->string, "prefix"))
            m->prefixes = parse_phase_list(p, k, &m->n_prefixes);
        else if (!strcmp(k->string, "present"))
            m->present = parse_phase_list(p, k, &m->n_present);
        else if (!strcmp(k->string, "absent"))
            m->absent = parse_phase_list(p, k, &m->n_absent);
        else
            parse_unknown_key(p, "prefix, present, absent");
        if (m->n_absent > MAP_ABSENT_MAX)
            parse_complain(p, "at most 8 absent keys");
        parse_leave(p);
    }
}

static void parse_operands(struct parse *p, struct map_sum *s, const cJSON *v)
{
    size_t n;
    const struct str *names = parse_texts(p, v, &n);
    if (n > MAP_OPERAND_MAX) {
        parse_complain(p, "at most 6 keys in a sum");
        return;
    }
    for (size_t i = 0; i < n; i++) {
        struct str key = names[i];
        s->operand[i].sign = 1;
        if (key.n && (key.p[0] == '-' || key.p[0] == '+')) {
            s->operand[i].sign = key.p[0] == '-' ? -1 : 1;
            key = (struct str){key.p + 1, key.n - 1};
        }
        s->operand[i].key = key;
        s->operand[i].header = F_COUNT;
        if (key.n && key.p[0] == '@') {
            s->operand[i].header = field_find((struct str){key.p + 1, key.n - 1});
            if (s->operand[i].header == F_COUNT)
                parse_complain(p, "unknown field \"%.40s\"", key.p);
        }
    }
    s->n_operands = n;
}

static void parse_sum(struct parse *p, struct map_sum *s, const cJSON *v)
{
    struct map_rule rule = {.field = F_COUNT};
    if (!parse_is_object(p, v))
        return;
    for (const cJSON *k = v->child; k; k = k->next) {
        parse_enter_key(p, k->string);
        if (!strcmp(k->string, "field"))
            parse_target(p, &rule, parse_text(p, k));
        else if (!strcmp(k->string, "of"))
            parse_operands(p, s, k);
        else if (!strcmp(k->string, "phase"))
            s->phase = parse_text(p, k);
        else
            parse_unknown_key(p, "field, of, phase");
        parse_leave(p);
    }
    s->field = rule.field;
    s->unit = rule.unit;
    if (rule.field == F_COUNT || field_kind(rule.field) != KIND_BYTES || !s->n_operands)
        parse_complain(p, "a sum needs \"field\" (a size) and \"of\" (its keys)");
}

void parse_sums(struct parse *p, const cJSON *v)
{
    if (!cJSON_IsArray(v) || cJSON_GetArraySize(v) > MAP_SUM_MAX) {
        parse_complain(p, "expected a list of at most 8 sums");
        return;
    }
    struct map_sum *list = arena_alloc(p->a, ((size_t)cJSON_GetArraySize(v) + 1) * sizeof *list);
    for (const cJSON *item = v->child; item; item = item->next) {
        parse_enter_item(p, p->m->n_sums);
        parse_sum(p, &list[p->m->n_sums++], item);
        parse_leave(p);
    }
    p->m->sums = list;
}

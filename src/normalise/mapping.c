#include "normalise/mapping.h"
#include "normalise/json_place.h"
#include "read/text_match.h"
#include <cjson/cJSON.h>
#include <stdarg.h>
#include <stdio.h>

enum {
    PATH_MAX_STEPS = 8
};

/* The value being looked at, with the way to it. */
struct parse {
    struct mapping *m;
    struct arena *a;
    struct diag *d;
    struct json_step path[PATH_MAX_STEPS];
    size_t depth;
    bool bad;
};

static void enter_key(struct parse *p, const char *key)
{
    p->path[p->depth++] = (struct json_step){key, 0};
}

static void enter_item(struct parse *p, size_t i)
{
    p->path[p->depth++] = (struct json_step){NULL, i};
}

static void leave(struct parse *p)
{
    p->depth--;
}

static void complain_at(struct parse *p, bool at_key, const char *text)
{
    diag_add(p->d, DIAG_BAD_MAPPING, json_place(p->m->origin, p->m->text, p->path, p->depth, at_key), "%s",
             text);
    p->bad = true;
}

static void complain(struct parse *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void complain(struct parse *p, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    complain_at(p, false, text);
}

static void unknown_key(struct parse *p, const char *known)
{
    char text[512];
    snprintf(text, sizeof text, "unknown key \"%.60s\", expected one of %s", p->path[p->depth - 1].key,
             known);
    complain_at(p, true, text);
}

static struct str text_of(struct parse *p, const cJSON *v)
{
    if (!cJSON_IsString(v)) {
        complain(p, "expected a text in double quotes");
        return STR_LIT("");
    }
    return arena_str(p->a, str_of(v->valuestring));
}

static bool bool_of(struct parse *p, const cJSON *v)
{
    if (!cJSON_IsBool(v))
        complain(p, "expected true or false");
    return cJSON_IsTrue(v);
}

/* A text, or a list of texts. */
static const struct str *texts_of(struct parse *p, const cJSON *v, size_t *n)
{
    *n = 0;
    if (cJSON_IsString(v)) {
        struct str *one = arena_alloc(p->a, sizeof *one);
        *one = text_of(p, v);
        *n = 1;
        return one;
    }
    if (!cJSON_IsArray(v)) {
        complain(p, "expected a text or a list of texts");
        return NULL;
    }
    size_t count = (size_t)cJSON_GetArraySize(v);
    struct str *list = arena_alloc(p->a, (count + 1) * sizeof *list);
    for (const cJSON *item = v->child; item; item = item->next) {
        enter_item(p, *n);
        list[(*n)++] = text_of(p, item);
        leave(p);
    }
    return list;
}

static bool is_object(struct parse *p, const cJSON *v)
{
    if (!cJSON_IsObject(v))
        complain(p, "expected an object { }");
    return cJSON_IsObject(v);
}

static void parse_reader(struct parse *p, const cJSON *v)
{
    size_t n;
    const struct str *names = texts_of(p, v, &n);
    for (size_t i = 0; i < n; i++) {
        int s = 0;
        while (s < SYNTAX_COUNT && !str_is(names[i], syntax_name((enum syntax)s)))
            s++;
        if (s == SYNTAX_COUNT)
            complain(p, "unknown reader \"%.40s\", expected csv, json, jsonl or text", names[i].p);
        else
            p->m->reads[s] = true;
    }
}

static void parse_detect(struct parse *p, const cJSON *v)
{
    struct map_detect *t = &p->m->detect;
    if (!is_object(p, v))
        return;
    for (const cJSON *k = v->child; k; k = k->next) {
        enter_key(p, k->string);
        if (!strcmp(k->string, "score")) {
            if (cJSON_IsNumber(k) && k->valuedouble >= 0 && k->valuedouble <= 1000)
                t->score = (int)k->valuedouble;
            else
                complain(p, "expected a number from 0 to 1000");
        } else if (!strcmp(k->string, "all")) {
            t->all = texts_of(p, k, &t->n_all);
        } else if (!strcmp(k->string, "any")) {
            t->any = texts_of(p, k, &t->n_any);
        } else if (!strcmp(k->string, "none")) {
            t->none = texts_of(p, k, &t->n_none);
        } else if (!strcmp(k->string, "words")) {
            t->words = texts_of(p, k, &t->n_words);
        } else if (!strcmp(k->string, "cells")) {
            t->smi = str_is(text_of(p, k), "nvidia-smi");
            if (!t->smi)
                complain(p, "unknown cells, expected \"nvidia-smi\"");
        } else {
            unknown_key(p, "score, all, any, none, words, cells");
        }
        leave(p);
    }
}

static const char *plain(struct parse *p, const cJSON *v)
{
    return text_of(p, v).p;
}

static void parse_layout(struct parse *p, const cJSON *v)
{
    struct read_layout *l = &p->m->layout;
    if (!is_object(p, v))
        return;
    for (const cJSON *k = v->child; k; k = k->next) {
        enter_key(p, k->string);
        if (!strcmp(k->string, "rows")) {
            l->rows = plain(p, k);
            if (str_is(str_of(l->rows), "*")) {
                p->m->layout_rows_guess = true;
                l->rows = NULL;
            }
        } else if (!strcmp(k->string, "transposed")) {
            l->transposed = bool_of(p, k);
        } else if (!strcmp(k->string, "delimiter")) {
            struct str s = text_of(p, k);
            if (s.n == 1 && s.p[0] > 0 && s.p[0] != '"' && s.p[0] != '\n')
                l->delimiter = s.p[0];
            else
                complain(p, "expected one ASCII character");
        } else if (!strcmp(k->string, "columns")) {
            const struct str *names = texts_of(p, k, &l->n_columns);
            const char **columns = arena_alloc(p->a, (l->n_columns + 1) * sizeof *columns);
            for (size_t i = 0; i < l->n_columns; i++)
                columns[i] = names[i].p;
            l->columns = columns;
        } else {
            unknown_key(p, "rows, transposed, delimiter, columns");
        }
        leave(p);
    }
}

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
        complain(p,
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
    complain(p, "unknown field \"%.*s\", expected a field of the step log", (int)(name.n < 40 ? name.n : 40),
             name.p);
}

static void parse_values(struct parse *p, struct map_rule *r, const cJSON *v)
{
    if (!is_object(p, v))
        return;
    struct map_value *list = arena_alloc(p->a, ((size_t)cJSON_GetArraySize(v) + 1) * sizeof *list);
    for (const cJSON *k = v->child; k; k = k->next) {
        enter_key(p, k->string);
        list[r->n_values].from = arena_str(p->a, str_of(k->string));
        list[r->n_values++].to = text_of(p, k);
        leave(p);
    }
    r->values = list;
}

/* A rule as text, or as {"field": "step", "when": "train", "values": {…}}. */
static void parse_rule(struct parse *p, struct map_rule *r, const cJSON *v)
{
    if (cJSON_IsString(v)) {
        parse_target(p, r, text_of(p, v));
        return;
    }
    if (!is_object(p, v))
        return;
    bool has_field = false;
    for (const cJSON *k = v->child; k; k = k->next) {
        enter_key(p, k->string);
        if (!strcmp(k->string, "field")) {
            parse_target(p, r, text_of(p, k));
            has_field = true;
        } else if (!strcmp(k->string, "when")) {
            r->when = text_of(p, k);
        } else if (!strcmp(k->string, "values")) {
            parse_values(p, r, k);
        } else {
            unknown_key(p, "field, when, values");
        }
        leave(p);
    }
    if (!has_field)
        complain(p, "a rule needs \"field\"");
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

static void parse_fields(struct parse *p, const cJSON *v)
{
    if (!is_object(p, v))
        return;
    size_t cap = 1;
    for (const cJSON *k = v->child; k; k = k->next)
        cap += count_patterns(k->string) * (cJSON_IsArray(k) ? (size_t)cJSON_GetArraySize(k) : 1);
    if (cap > 4096) {
        complain(p, "more than 4096 rules");
        return;
    }
    struct map_rule *list = arena_alloc(p->a, cap * sizeof *list);
    size_t n = 0;
    for (const cJSON *k = v->child; k; k = k->next) {
        enter_key(p, k->string);
        if (cJSON_IsArray(k)) {
            size_t i = 0;
            for (const cJSON *item = k->child; item; item = item->next) {
                enter_item(p, i++);
                n = add_rule(p, list, n, str_of(k->string), item);
                leave(p);
            }
        } else {
            n = add_rule(p, list, n, str_of(k->string), k);
        }
        leave(p);
    }
    p->m->rules = list;
    p->m->n_rules = n;
}

static const struct map_phase *parse_phase_list(struct parse *p, const cJSON *v, size_t *n)
{
    *n = 0;
    if (!is_object(p, v))
        return NULL;
    struct map_phase *list = arena_alloc(p->a, ((size_t)cJSON_GetArraySize(v) + 1) * sizeof *list);
    for (const cJSON *k = v->child; k; k = k->next) {
        enter_key(p, k->string);
        list[*n].pattern = arena_str(p->a, str_of(k->string));
        list[(*n)++].phase = text_of(p, k);
        leave(p);
    }
    return list;
}

static void parse_phase(struct parse *p, const cJSON *v)
{
    struct mapping *m = p->m;
    if (!is_object(p, v))
        return;
    for (const cJSON *k = v->child; k; k = k->next) {
        enter_key(p, k->string);
        if (!strcmp(k->string, "prefix"))
            m->prefixes = parse_phase_list(p, k, &m->n_prefixes);
        else if (!strcmp(k->string, "present"))
            m->present = parse_phase_list(p, k, &m->n_present);
        else if (!strcmp(k->string, "absent"))
            m->absent = parse_phase_list(p, k, &m->n_absent);
        else
            unknown_key(p, "prefix, present, absent");
        if (m->n_absent > MAP_ABSENT_MAX)
            complain(p, "at most 8 absent keys");
        leave(p);
    }
}

static void parse_operands(struct parse *p, struct map_sum *s, const cJSON *v)
{
    size_t n;
    const struct str *names = texts_of(p, v, &n);
    if (n > MAP_OPERAND_MAX) {
        complain(p, "at most 6 keys in a sum");
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
                complain(p, "unknown field \"%.40s\"", key.p);
        }
    }
    s->n_operands = n;
}

static void parse_sum(struct parse *p, struct map_sum *s, const cJSON *v)
{
    struct map_rule rule = {.field = F_COUNT};
    if (!is_object(p, v))
        return;
    for (const cJSON *k = v->child; k; k = k->next) {
        enter_key(p, k->string);
        if (!strcmp(k->string, "field"))
            parse_target(p, &rule, text_of(p, k));
        else if (!strcmp(k->string, "of"))
            parse_operands(p, s, k);
        else if (!strcmp(k->string, "phase"))
            s->phase = text_of(p, k);
        else
            unknown_key(p, "field, of, phase");
        leave(p);
    }
    s->field = rule.field;
    s->unit = rule.unit;
    if (rule.field == F_COUNT || field_kind(rule.field) != KIND_BYTES || !s->n_operands)
        complain(p, "a sum needs \"field\" (a size) and \"of\" (its keys)");
}

static void parse_sums(struct parse *p, const cJSON *v)
{
    if (!cJSON_IsArray(v) || cJSON_GetArraySize(v) > MAP_SUM_MAX) {
        complain(p, "expected a list of at most 8 sums");
        return;
    }
    struct map_sum *list = arena_alloc(p->a, ((size_t)cJSON_GetArraySize(v) + 1) * sizeof *list);
    for (const cJSON *item = v->child; item; item = item->next) {
        enter_item(p, p->m->n_sums);
        parse_sum(p, &list[p->m->n_sums++], item);
        leave(p);
    }
    p->m->sums = list;
}

static struct str print_json(struct parse *p, const cJSON *v)
{
    char *text = cJSON_PrintUnformatted(v);
    struct str out = arena_str(p->a, str_of(text));
    cJSON_free(text);
    return out;
}

/* Lines of text, or a JSON value that stands for its own text. */
static struct str sample_input(struct parse *p, const cJSON *v)
{
    if (cJSON_IsObject(v))
        return print_json(p, v);
    size_t n;
    const struct str *lines = texts_of(p, v, &n);
    size_t total = 0;
    for (size_t i = 0; i < n; i++)
        total += lines[i].n + 1;
    char *out = arena_alloc(p->a, total + 1), *w = out;
    for (size_t i = 0; i < n; i++) {
        if (lines[i].n)
            memcpy(w, lines[i].p, lines[i].n);
        w += lines[i].n;
        *w++ = '\n';
    }
    return (struct str){out, total};
}

static void parse_sample(struct parse *p, struct map_sample *s, const cJSON *v)
{
    if (!is_object(p, v))
        return;
    bool has_records = false;
    for (const cJSON *k = v->child; k; k = k->next) {
        enter_key(p, k->string);
        if (!strcmp(k->string, "input")) {
            s->input = sample_input(p, k);
        } else if (!strcmp(k->string, "records")) {
            has_records = cJSON_IsArray(k);
            if (has_records)
                s->records = print_json(p, k);
            else
                complain(p, "expected a list of records [ ]");
        } else {
            unknown_key(p, "input, records");
        }
        leave(p);
    }
    if (!s->input.n || !has_records)
        complain(p, "a sample needs \"input\" and \"records\"");
}

static void parse_samples(struct parse *p, const cJSON *v)
{
    if (!cJSON_IsArray(v)) {
        complain(p, "expected a list of samples [ ]");
        return;
    }
    struct map_sample *list = arena_alloc(p->a, ((size_t)cJSON_GetArraySize(v) + 1) * sizeof *list);
    for (const cJSON *item = v->child; item; item = item->next) {
        enter_item(p, p->m->n_samples);
        parse_sample(p, &list[p->m->n_samples++], item);
        leave(p);
    }
    p->m->samples = list;
}

/* Keys and texts: {"phase": "eval"}. */
static const struct map_value *parse_pairs(struct parse *p, const cJSON *v, size_t *n)
{
    *n = 0;
    if (!is_object(p, v))
        return NULL;
    struct map_value *list = arena_alloc(p->a, ((size_t)cJSON_GetArraySize(v) + 1) * sizeof *list);
    for (const cJSON *k = v->child; k; k = k->next) {
        enter_key(p, k->string);
        list[*n].from = arena_str(p->a, str_of(k->string));
        list[(*n)++].to = text_of(p, k);
        leave(p);
    }
    return list;
}

static void parse_use(struct parse *p, struct map_pattern *t, const cJSON *v)
{
    static const char *const words[] = {"record", "next", "keep", "begin", "part"};
    struct str s = text_of(p, v);
    for (int i = 0; i < 5; i++)
        if (str_is(s, words[i])) {
            t->use = (enum map_use)i;
            return;
        }
    complain(p, "unknown use, expected record, next, keep, begin or part");
}

/* The pattern itself must be one, and its groups must have names. */
static void check_re(struct parse *p, struct str re)
{
    const char *error;
    size_t at;
    struct text_match *m = text_match_new(re, false, &error, &at, p->a);
    if (!m)
        complain(p, "no pattern: %s (at offset %zu of it)", error, at);
    text_match_free(m);
}

static const struct str *parse_lookups(struct parse *p, const cJSON *v, size_t *n)
{
    const struct str *list = texts_of(p, v, n);
    for (size_t i = 0; i < *n; i++)
        if (list[i].n < MAP_HAS_MIN)
            complain(p,
                     "\"%s\" is too short, expected a text of 3 bytes or more that lines of this kind hold",
                     list[i].p);
    if (*n > 16)
        complain(p, "at most 16 texts");
    return list;
}

static void parse_pattern(struct parse *p, struct map_pattern *t, const cJSON *v)
{
    if (!is_object(p, v))
        return;
    for (const cJSON *k = v->child; k; k = k->next) {
        enter_key(p, k->string);
        if (!strcmp(k->string, "re")) {
            t->re = text_of(p, k);
            check_re(p, t->re);
        } else if (!strcmp(k->string, "has")) {
            t->has = parse_lookups(p, k, &t->n_has);
        } else if (!strcmp(k->string, "after")) {
            t->after = parse_lookups(p, k, &t->n_after);
        } else if (!strcmp(k->string, "set")) {
            t->set = parse_pairs(p, k, &t->n_set);
        } else if (!strcmp(k->string, "use")) {
            parse_use(p, t, k);
        } else if (!strcmp(k->string, "before")) {
            t->before = text_of(p, k);
        } else {
            unknown_key(p, "re, has, after, set, use, before");
        }
        leave(p);
    }
    if (!t->re.n || !t->n_has)
        complain(p, "a pattern needs \"re\" and \"has\" (a text that a matching line holds)");
}

static void parse_patterns(struct parse *p, const cJSON *v)
{
    if (!cJSON_IsArray(v) || cJSON_GetArraySize(v) > MAP_PATTERN_MAX) {
        complain(p, "expected a list of at most %d patterns [ ]", MAP_PATTERN_MAX);
        return;
    }
    struct map_pattern *list = arena_alloc(p->a, ((size_t)cJSON_GetArraySize(v) + 1) * sizeof *list);
    for (const cJSON *item = v->child; item; item = item->next) {
        enter_item(p, p->m->n_patterns);
        parse_pattern(p, &list[p->m->n_patterns++], item);
        leave(p);
    }
    p->m->patterns = list;
}

static void parse_peak_reset(struct parse *p, const cJSON *v)
{
    struct str s = text_of(p, v);
    if (str_is(s, "step") || str_is(s, "interval") || str_is(s, "never"))
        p->m->peak_reset = s;
    else
        complain(p, "unknown peak_reset, expected step, interval or never");
}

static void parse_options(struct parse *p, const cJSON *v)
{
    static const struct {
        const char *name;
        size_t offset;
    } table[] = {
        {"loose", offsetof(struct mapping, loose)},
        {"own", offsetof(struct mapping, own)},
        {"oom_words", offsetof(struct mapping, oom_words)},
        {"step_in_epoch", offsetof(struct mapping, step_in_epoch)},
        {"step_of_train", offsetof(struct mapping, step_of_train)},
        {"by_time", offsetof(struct mapping, by_time)},
        {"redraws", offsetof(struct mapping, redraws)},
    };
    if (!is_object(p, v))
        return;
    for (const cJSON *k = v->child; k; k = k->next) {
        size_t i = 0;
        enter_key(p, k->string);
        while (i < sizeof table / sizeof *table && strcmp(k->string, table[i].name))
            i++;
        if (i == sizeof table / sizeof *table)
            unknown_key(p, "loose, own, oom_words, step_in_epoch, step_of_train, by_time, redraws");
        else
            *(bool *)((char *)p->m + table[i].offset) = bool_of(p, k);
        leave(p);
    }
}

static void parse_top(struct parse *p, const cJSON *root)
{
    struct mapping *m = p->m;
    for (const cJSON *k = root->child; k; k = k->next) {
        const char *name = k->string;
        enter_key(p, name);
        if (!strcmp(name, "name"))
            m->name = plain(p, k);
        else if (!strcmp(name, "title"))
            m->title = plain(p, k);
        else if (!strcmp(name, "reader"))
            parse_reader(p, k);
        else if (!strcmp(name, "detect"))
            parse_detect(p, k);
        else if (!strcmp(name, "layout"))
            parse_layout(p, k);
        else if (!strcmp(name, "patterns"))
            parse_patterns(p, k);
        else if (!strcmp(name, "fields"))
            parse_fields(p, k);
        else if (!strcmp(name, "sums"))
            parse_sums(p, k);
        else if (!strcmp(name, "phase"))
            parse_phase(p, k);
        else if (!strcmp(name, "peak_reset"))
            parse_peak_reset(p, k);
        else if (!strcmp(name, "framework"))
            m->framework = text_of(p, k);
        else if (!strcmp(name, "options"))
            parse_options(p, k);
        else if (!strcmp(name, "samples"))
            parse_samples(p, k);
        else
            unknown_key(
                p,
                "name, title, reader, detect, layout, patterns, fields, sums, phase, peak_reset, framework, "
                "options, samples");
        leave(p);
    }
}

static void check_complete(struct parse *p)
{
    struct mapping *m = p->m;
    bool any_reader = false;
    for (int s = 0; s < SYNTAX_COUNT; s++)
        any_reader |= m->reads[s];
    if (!m->name || !m->name[0])
        complain(p, "a mapping needs \"name\"");
    if (!m->title)
        complain(p, "a mapping needs \"title\"");
    if (!any_reader)
        complain(p, "a mapping needs \"reader\": csv, json, jsonl or text");
    if (!m->n_rules && !m->n_sums)
        complain(p, "a mapping needs \"fields\"");
    if (m->reads[SYNTAX_TEXT] && !m->n_samples)
        complain(p, "a text format needs \"samples\": lines and the records they must give");
    if (m->reads[SYNTAX_TEXT] != (m->n_patterns > 0))
        complain(p, m->n_patterns ? "\"patterns\" are for the reader \"text\""
                                  : "a text format needs \"patterns\"");
}

struct mapping *mapping_parse(const char *origin, struct str text, struct arena *a, struct diag *d)
{
    struct mapping *m = arena_alloc(a, sizeof *m);
    m->origin = origin;
    m->text = text;
    m->detect.score = 50;
    struct parse p = {.m = m, .a = a, .d = d};
    const char *end = NULL;
    cJSON *root = text.n ? cJSON_ParseWithLengthOpts(text.p, text.n, &end, false) : NULL;
    size_t at = end && end >= text.p && end <= text.p + text.n ? (size_t)(end - text.p) : 0;
    bool trailing = root && str_trim((struct str){text.p + at, text.n - at}).n > 0;
    if (!cJSON_IsObject(root) || trailing) {
        diag_add(d, DIAG_BAD_MAPPING, json_place_at(origin, text, root && !trailing ? 0 : at),
                 "expected a JSON object { } that describes a format");
        cJSON_Delete(root);
        return NULL;
    }
    parse_top(&p, root);
    if (!p.bad)
        check_complete(&p);
    cJSON_Delete(root);
    return p.bad ? NULL : m;
}

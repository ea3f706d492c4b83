#include "normalise/mapping.h"
#include "normalise/mapping_parse.h"

static void parse_reader(struct parse *p, const cJSON *v)
{
    size_t n;
    const struct str *names = parse_texts(p, v, &n);
    for (size_t i = 0; i < n; i++) {
        int s = 0;
        while (s < SYNTAX_COUNT && !str_is(names[i], syntax_name((enum syntax)s)))
            s++;
        if (s == SYNTAX_COUNT)
            parse_complain(p, "unknown reader \"%.40s\", expected csv, json, jsonl or text", names[i].p);
        else
            p->m->reads[s] = true;
    }
}

static void parse_detect(struct parse *p, const cJSON *v)
{
    struct map_detect *t = &p->m->detect;
    if (!parse_is_object(p, v))
        return;
    for (const cJSON *k = v->child; k; k = k->next) {
        parse_enter_key(p, k->string);
        if (!strcmp(k->string, "score")) {
            if (cJSON_IsNumber(k) && k->valuedouble >= 0 && k->valuedouble <= 1000)
                t->score = (int)k->valuedouble;
            else
                parse_complain(p, "expected a number from 0 to 1000");
        } else if (!strcmp(k->string, "all")) {
            t->all = parse_texts(p, k, &t->n_all);
        } else if (!strcmp(k->string, "any")) {
            t->any = parse_texts(p, k, &t->n_any);
        } else if (!strcmp(k->string, "none")) {
            t->none = parse_texts(p, k, &t->n_none);
        } else if (!strcmp(k->string, "words")) {
            t->words = parse_texts(p, k, &t->n_words);
        } else if (!strcmp(k->string, "cells")) {
            t->smi = str_is(parse_text(p, k), "nvidia-smi");
            if (!t->smi)
                parse_complain(p, "unknown cells, expected \"nvidia-smi\"");
        } else {
            parse_unknown_key(p, "score, all, any, none, words, cells");
        }
        parse_leave(p);
    }
}

static const char *plain(struct parse *p, const cJSON *v)
{
    return parse_text(p, v).p;
}

static void parse_layout(struct parse *p, const cJSON *v)
{
    struct read_layout *l = &p->m->layout;
    if (!parse_is_object(p, v))
        return;
    for (const cJSON *k = v->child; k; k = k->next) {
        parse_enter_key(p, k->string);
        if (!strcmp(k->string, "rows")) {
            l->rows = plain(p, k);
            if (str_is(str_of(l->rows), "*")) {
                p->m->layout_rows_guess = true;
                l->rows = NULL;
            }
        } else if (!strcmp(k->string, "transposed")) {
            l->transposed = parse_bool(p, k);
        } else if (!strcmp(k->string, "delimiter")) {
            struct str s = parse_text(p, k);
            if (s.n == 1 && (unsigned char)s.p[0] < 0x80 && s.p[0] != '"' && s.p[0] != '\n')
                l->delimiter = s.p[0];
            else
                parse_complain(p, "expected one ASCII character");
        } else if (!strcmp(k->string, "columns")) {
            const struct str *names = parse_texts(p, k, &l->n_columns);
            const char **columns = arena_alloc(p->a, (l->n_columns + 1) * sizeof *columns);
            for (size_t i = 0; i < l->n_columns; i++)
                columns[i] = names[i].p;
            l->columns = columns;
        } else {
            parse_unknown_key(p, "rows, transposed, delimiter, columns");
        }
        parse_leave(p);
    }
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
    const struct str *lines = parse_texts(p, v, &n);
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
    if (!parse_is_object(p, v))
        return;
    bool has_records = false;
    for (const cJSON *k = v->child; k; k = k->next) {
        parse_enter_key(p, k->string);
        if (!strcmp(k->string, "input")) {
            s->input = sample_input(p, k);
        } else if (!strcmp(k->string, "records")) {
            has_records = cJSON_IsArray(k);
            if (has_records)
                s->records = print_json(p, k);
            else
                parse_complain(p, "expected a list of records [ ]");
        } else {
            parse_unknown_key(p, "input, records");
        }
        parse_leave(p);
    }
    if (!s->input.n || !has_records)
        parse_complain(p, "a sample needs \"input\" and \"records\"");
}

static void parse_samples(struct parse *p, const cJSON *v)
{
    if (!cJSON_IsArray(v)) {
        parse_complain(p, "expected a list of samples [ ]");
        return;
    }
    struct map_sample *list = arena_alloc(p->a, ((size_t)cJSON_GetArraySize(v) + 1) * sizeof *list);
    for (const cJSON *item = v->child; item; item = item->next) {
        parse_enter_item(p, p->m->n_samples);
        parse_sample(p, &list[p->m->n_samples++], item);
        parse_leave(p);
    }
    p->m->samples = list;
}

static void parse_peak_reset(struct parse *p, const cJSON *v)
{
    struct str s = parse_text(p, v);
    if (str_is(s, "step") || str_is(s, "interval") || str_is(s, "never"))
        p->m->peak_reset = s;
    else
        parse_complain(p, "unknown peak_reset, expected step, interval or never");
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
    if (!parse_is_object(p, v))
        return;
    for (const cJSON *k = v->child; k; k = k->next) {
        size_t i = 0;
        parse_enter_key(p, k->string);
        while (i < sizeof table / sizeof *table && strcmp(k->string, table[i].name))
            i++;
        if (i == sizeof table / sizeof *table)
            parse_unknown_key(p, "loose, own, oom_words, step_in_epoch, step_of_train, by_time, redraws");
        else
            *(bool *)((char *)p->m + table[i].offset) = parse_bool(p, k);
        parse_leave(p);
    }
}

static void parse_top(struct parse *p, const cJSON *root)
{
    struct mapping *m = p->m;
    for (const cJSON *k = root->child; k; k = k->next) {
        const char *name = k->string;
        parse_enter_key(p, name);
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
            m->framework = parse_text(p, k);
        else if (!strcmp(name, "options"))
            parse_options(p, k);
        else if (!strcmp(name, "samples"))
            parse_samples(p, k);
        else
            parse_unknown_key(
                p,
                "name, title, reader, detect, layout, patterns, fields, sums, phase, peak_reset, framework, "
                "options, samples");
        parse_leave(p);
    }
}

static void check_complete(struct parse *p)
{
    struct mapping *m = p->m;
    bool any_reader = false;
    for (int s = 0; s < SYNTAX_COUNT; s++)
        any_reader |= m->reads[s];
    if (!m->name || !m->name[0])
        parse_complain(p, "a mapping needs \"name\"");
    if (!m->title)
        parse_complain(p, "a mapping needs \"title\"");
    if (!any_reader)
        parse_complain(p, "a mapping needs \"reader\": csv, json, jsonl or text");
    if (!m->n_rules && !m->n_sums)
        parse_complain(p, "a mapping needs \"fields\"");
    if (m->reads[SYNTAX_TEXT] && !m->n_samples)
        parse_complain(p, "a text format needs \"samples\": lines and the records they must give");
    if (m->reads[SYNTAX_TEXT] != (m->n_patterns > 0))
        parse_complain(p, m->n_patterns ? "\"patterns\" are for the reader \"text\""
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

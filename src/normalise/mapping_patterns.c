#include "normalise/mapping_parse.h"
#include "read/text_match.h"

static void parse_use(struct parse *p, struct map_pattern *t, const cJSON *v)
{
    static const char *const words[] = {"record", "next", "keep", "begin", "part"};
    struct str s = parse_text(p, v);
    for (int i = 0; i < 5; i++)
        if (str_is(s, words[i])) {
            t->use = (enum map_use)i;
            return;
        }
    parse_complain(p, "unknown use, expected record, next, keep, begin or part");
}

/* The pattern itself must be one, and its groups must have names. */
static void check_re(struct parse *p, struct str re)
{
    const char *error;
    size_t at;
    struct text_match *m = text_match_new(re, false, &error, &at, p->a);
    if (!m)
        parse_complain(p, "no pattern: %s (at offset %zu of it)", error, at);
    text_match_free(m);
}

static const struct str *parse_lookups(struct parse *p, const cJSON *v, size_t *n)
{
    const struct str *list = parse_texts(p, v, n);
    for (size_t i = 0; i < *n; i++)
        if (list[i].n < MAP_HAS_MIN)
            parse_complain(
                p, "\"%s\" is too short, expected a text of 3 bytes or more that lines of this kind hold",
                list[i].p);
    if (*n > 16)
        parse_complain(p, "at most 16 texts");
    return list;
}

static void parse_pattern(struct parse *p, struct map_pattern *t, const cJSON *v)
{
    if (!parse_is_object(p, v))
        return;
    for (const cJSON *k = v->child; k; k = k->next) {
        parse_enter_key(p, k->string);
        if (!strcmp(k->string, "re")) {
            t->re = parse_text(p, k);
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
            t->before = parse_text(p, k);
        } else {
            parse_unknown_key(p, "re, has, after, set, use, before");
        }
        parse_leave(p);
    }
    if (!t->re.n || !t->n_has)
        parse_complain(p, "a pattern needs \"re\" and \"has\" (a text that a matching line holds)");
}

void parse_patterns(struct parse *p, const cJSON *v)
{
    if (!cJSON_IsArray(v) || cJSON_GetArraySize(v) > MAP_PATTERN_MAX) {
        parse_complain(p, "expected a list of at most %d patterns [ ]", MAP_PATTERN_MAX);
        return;
    }
    struct map_pattern *list = arena_alloc(p->a, ((size_t)cJSON_GetArraySize(v) + 1) * sizeof *list);
    for (const cJSON *item = v->child; item; item = item->next) {
        parse_enter_item(p, p->m->n_patterns);
        parse_pattern(p, &list[p->m->n_patterns++], item);
        parse_leave(p);
    }
    p->m->patterns = list;
}

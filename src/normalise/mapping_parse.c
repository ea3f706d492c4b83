#include "normalise/mapping_parse.h"
#include <stdarg.h>
#include <stdio.h>

void parse_enter_key(struct parse *p, const char *key)
{
    p->path[p->depth++] = (struct json_step){key, 0};
}

void parse_enter_item(struct parse *p, size_t i)
{
    p->path[p->depth++] = (struct json_step){NULL, i};
}

void parse_leave(struct parse *p)
{
    p->depth--;
}

static void complain_at(struct parse *p, bool at_key, const char *text)
{
    diag_add(p->d, DIAG_BAD_MAPPING, json_place(p->m->origin, p->m->text, p->path, p->depth, at_key), "%s",
             text);
    p->bad = true;
}

void parse_complain(struct parse *p, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    complain_at(p, false, text);
}

void parse_unknown_key(struct parse *p, const char *known)
{
    char text[512];
    snprintf(text, sizeof text, "unknown key \"%.60s\", expected one of %s", p->path[p->depth - 1].key,
             known);
    complain_at(p, true, text);
}

struct str parse_text(struct parse *p, const cJSON *v)
{
    if (!cJSON_IsString(v)) {
        parse_complain(p, "expected a text in double quotes");
        return STR_LIT("");
    }
    return arena_str(p->a, str_of(v->valuestring));
}

bool parse_bool(struct parse *p, const cJSON *v)
{
    if (!cJSON_IsBool(v))
        parse_complain(p, "expected true or false");
    return cJSON_IsTrue(v);
}

const struct str *parse_texts(struct parse *p, const cJSON *v, size_t *n)
{
    *n = 0;
    if (cJSON_IsString(v)) {
        struct str *one = arena_alloc(p->a, sizeof *one);
        *one = parse_text(p, v);
        *n = 1;
        return one;
    }
    if (!cJSON_IsArray(v)) {
        parse_complain(p, "expected a text or a list of texts");
        return NULL;
    }
    size_t count = (size_t)cJSON_GetArraySize(v);
    struct str *list = arena_alloc(p->a, (count + 1) * sizeof *list);
    for (const cJSON *item = v->child; item; item = item->next) {
        parse_enter_item(p, *n);
        list[(*n)++] = parse_text(p, item);
        parse_leave(p);
    }
    return list;
}

bool parse_is_object(struct parse *p, const cJSON *v)
{
    if (!cJSON_IsObject(v))
        parse_complain(p, "expected an object { }");
    return cJSON_IsObject(v);
}

const struct map_value *parse_pairs(struct parse *p, const cJSON *v, size_t *n)
{
    *n = 0;
    if (!parse_is_object(p, v))
        return NULL;
    struct map_value *list = arena_alloc(p->a, ((size_t)cJSON_GetArraySize(v) + 1) * sizeof *list);
    for (const cJSON *k = v->child; k; k = k->next) {
        parse_enter_key(p, k->string);
        list[*n].from = arena_str(p->a, str_of(k->string));
        list[(*n)++].to = parse_text(p, k);
        parse_leave(p);
    }
    return list;
}

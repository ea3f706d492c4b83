#include "read/past_json.h"

#include "base/buf.h"
#include "base/num.h"

#include <math.h>

double past_number(const cJSON *o, const char *key)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);
    return cJSON_IsNumber(v) && isfinite(v->valuedouble) ? v->valuedouble : NAN;
}

bool past_bool(const cJSON *o, const char *key)
{
    return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(o, key));
}

const char *past_text(struct arena *a, const cJSON *o, const char *key)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);
    return cJSON_IsString(v) ? arena_strndup(a, v->valuestring, strlen(v->valuestring)) : NULL;
}

const cJSON *past_object(const cJSON *o, const char *key)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);
    return cJSON_IsObject(v) ? v : NULL;
}

const cJSON *past_array(const cJSON *o, const char *key, size_t *n, size_t most)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);
    int size = cJSON_IsArray(v) ? cJSON_GetArraySize(v) : 0;
    *n = size > 0 ? (size_t)size : 0;
    *n = *n < most ? *n : most;
    return cJSON_IsArray(v) ? v : NULL;
}

double past_item(const cJSON *array, int i)
{
    const cJSON *v = cJSON_GetArrayItem(array, i);
    return cJSON_IsNumber(v) && isfinite(v->valuedouble) ? v->valuedouble : NAN;
}

int past_word(const cJSON *o, const char *key, const char *const *names, int n, int unknown)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);
    for (int i = 0; cJSON_IsString(v) && i < n; i++)
        if (names[i] && strcmp(v->valuestring, names[i]) == 0)
            return i;
    return unknown;
}

struct place past_place(struct arena *a, const cJSON *o, const char *key)
{
    const char *text = past_text(a, o, key), *colon = text ? strrchr(text, ':') : NULL;
    struct place at = {text, 0, 0};
    uint64_t line;
    if (colon && num_parse_u64(str_of(colon + 1), &line)) {
        at.file = arena_strndup(a, text, (size_t)(colon - text));
        at.line = line;
    }
    return at;
}

const char *past_ids(struct arena *a, const cJSON *o, const char *key)
{
    size_t n;
    const cJSON *list = past_array(o, key, &n, (size_t)-1), *v;
    struct buf b = {0};
    bool first = true;
    if (!list)
        return NULL;
    cJSON_ArrayForEach(v, list)
    {
        if (!cJSON_IsString(v))
            continue;
        if (!first)
            buf_putc(&b, ';');
        first = false;
        for (const char *p = v->valuestring; *p; p++) {
            if (*p == ';' || *p == '\\')
                buf_putc(&b, '\\');
            buf_putc(&b, *p);
        }
    }
    const char *ids = arena_strndup(a, b.n ? b.p : "", b.n);
    buf_release(&b);
    return ids;
}

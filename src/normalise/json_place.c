#include "normalise/json_place.h"

enum {
    DEPTH_MAX = 64
};

static size_t skip_space(struct str t, size_t i)
{
    while (i < t.n && (t.p[i] == ' ' || t.p[i] == '\t' || t.p[i] == '\n' || t.p[i] == '\r'))
        i++;
    return i;
}

/* Offset behind the string that starts at i. */
static size_t skip_string(struct str t, size_t i)
{
    for (i++; i < t.n && t.p[i] != '"'; i++)
        if (t.p[i] == '\\')
            i++;
    return i < t.n ? i + 1 : t.n;
}

/* Offset behind the value that starts at i. */
static size_t skip_value(struct str t, size_t i)
{
    size_t depth = 0;
    while (i < t.n) {
        char c = t.p[i];
        if (c == '"') {
            i = skip_string(t, i);
        } else if (c == '{' || c == '[') {
            depth++;
            i++;
        } else if (c == '}' || c == ']') {
            if (depth == 0)
                return i;
            depth--;
            i++;
        } else if (depth == 0 && (c == ',' || c == ':')) {
            return i;
        } else {
            i++;
            continue;
        }
        if (depth == 0)
            return i;
    }
    return t.n;
}

/* Keys of mappings are plain ASCII without escapes; one with an escape is not found. */
static bool key_is(struct str t, size_t from, size_t to, const char *key)
{
    return to >= from + 2 && str_is((struct str){t.p + from + 1, to - from - 2}, key);
}

/* Moves *value from a container to its member; *key becomes the offset of the member's key. */
static bool step_into(struct str t, size_t *value, size_t *key, const struct json_step *step)
{
    size_t i = *value;
    if (i >= t.n || t.p[i] != (step->key ? '{' : '['))
        return false;
    i = skip_space(t, i + 1);
    for (size_t item = 0; i < t.n && t.p[i] != '}' && t.p[i] != ']'; item++) {
        size_t name = i, name_end = i;
        if (step->key) {
            if (t.p[i] != '"')
                return false;
            name_end = skip_string(t, i);
            i = skip_space(t, name_end);
            if (i >= t.n || t.p[i] != ':')
                return false;
            i = skip_space(t, i + 1);
        }
        if (step->key ? key_is(t, name, name_end, step->key) : item == step->index) {
            *key = name;
            *value = i;
            return true;
        }
        i = skip_space(t, skip_value(t, i));
        if (i < t.n && t.p[i] == ',')
            i = skip_space(t, i + 1);
        else
            return false;
    }
    return false;
}

struct place json_place_at(const char *file, struct str text, size_t offset)
{
    struct place at = {file, 1, 1};
    for (size_t i = 0; i < offset && i < text.n; i++) {
        at.col++;
        if (text.p[i] == '\n') {
            at.line++;
            at.col = 1;
        }
    }
    return at;
}

struct place json_place(const char *file, struct str text, const struct json_step *steps, size_t n,
                        bool at_key)
{
    size_t value = skip_space(text, 0), key = value;
    for (size_t i = 0; i < n && i < DEPTH_MAX; i++)
        if (!step_into(text, &value, &key, &steps[i]))
            return json_place_at(file, text, value);
    return json_place_at(file, text, at_key ? key : value);
}

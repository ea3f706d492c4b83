#include "normalise/normalise.h"
#include "normalise/unit.h"
#include "base/num.h"
#include <math.h>

static int shown(struct str s)
{
    return s.n < 60 ? (int)s.n : 60;
}

/* The field in front of '='; NULL, or what is wrong. */
static const char *split(enum field *field, struct str *value, const char *text, struct arena *a)
{
    struct str all = str_of(text);
    size_t eq = str_find(all, STR_LIT("="));
    if (eq == (size_t)-1 || eq == 0)
        return arena_printf(a, "expected FIELD=..., found \"%.*s\"", shown(all), all.p);
    struct str name = {all.p, eq};
    *field = field_find(name);
    *value = (struct str){all.p + eq + 1, all.n - eq - 1};
    if (*field == F_COUNT || *field == F_OOMLOG) {
        const char *names = "";
        for (int f = F_OOMLOG + 1; f < F_COUNT; f++)
            names = arena_printf(a, "%s%s%s", names, *names ? ", " : "", field_name((enum field)f));
        return arena_printf(a, "unknown field \"%.*s\"; the fields are %s", shown(name), name.p, names);
    }
    if (!value->n)
        return arena_printf(a, "nothing stands behind \"%.*s=\"", shown(name), name.p);
    return NULL;
}

/* What stands behind a colon is the end of a column's name, or meant as a unit. */
static bool looks_like_unit(struct str word)
{
    struct unit unit;
    return word.n > 0 && (word.p[word.n - 1] == '?' || unit_of_log(&unit, word) ||
                          (word.n <= 4 && !memchr(word.p, ' ', word.n)));
}

const char *normalise_map(struct field_map *out, const char *text, struct arena *a)
{
    struct str value;
    struct unit unit;
    const char *wrong = split(&out->field, &value, text, a);
    if (wrong)
        return wrong;
    out->scale = NAN;
    size_t colon = value.n;
    while (colon > 0 && value.p[colon - 1] != ':')
        colon--;
    struct str word = {value.p + colon, value.n - colon};
    bool known = colon > 1 && unit_of_mapping(&unit, word);
    enum unit_kind need = out->field == F_TIME                   ? UNIT_KIND_SECONDS
                          : field_kind(out->field) == KIND_BYTES ? UNIT_KIND_BYTES
                                                                 : UNIT_KIND_NONE;
    if (known && need == UNIT_KIND_NONE && (unit.kind == UNIT_KIND_BYTES && word.n > 1))
        return arena_printf(a, "%s is no size: it cannot be in \"%.*s\"", field_name(out->field), shown(word),
                            word.p);
    if (need != UNIT_KIND_NONE && known && !unit.ambiguous) {
        if (unit.kind != need)
            return arena_printf(a, "%s cannot be in \"%.*s\"", field_name(out->field), shown(word), word.p);
        out->scale = unit.scale;
        value.n = colon - 1;
    } else if (need != UNIT_KIND_NONE && colon > 1 && looks_like_unit(word)) {
        return arena_printf(
            a, "unknown unit \"%.*s\"; expected B, kB, MB, GB, KiB, MiB, GiB, TiB, s, ms, us or min",
            shown(word), word.p);
    }
    out->column = arena_str(a, value);
    return NULL;
}

const char *normalise_set(struct field_set *out, const char *text, struct arena *a)
{
    struct str value;
    uint64_t u;
    double v;
    const char *wrong = split(&out->field, &value, text, a);
    if (wrong)
        return wrong;
    struct unit unit;
    switch (field_kind(out->field)) {
    case KIND_BYTES: /* sizes may be given as "24 GiB" */
        if (!num_parse_u64(value, &u)) {
            size_t n = value.n;
            while (n > 0 && ((value.p[n - 1] | 32) >= 'a' && (value.p[n - 1] | 32) <= 'z'))
                n--;
            if (!unit_of_mapping(&unit, (struct str){value.p + n, value.n - n}) ||
                unit.kind != UNIT_KIND_BYTES || !num_parse(str_trim((struct str){value.p, n}), &v) ||
                !(v >= 0 && v * unit.scale < 9007199254740992.0))
                return arena_printf(
                    a, "%s: \"%.*s\" is no size; expected bytes, or a number with KiB, MiB, GiB, MB or GB",
                    field_name(out->field), shown(value), value.p);
            value = str_of(arena_printf(a, "%.0f", round(v * unit.scale)));
        }
        break;
    case KIND_INT:
        if (!num_parse_u64(value, &u))
            return arena_printf(a, "%s: \"%.*s\" is no whole number >= 0", field_name(out->field),
                                shown(value), value.p);
        break;
    case KIND_NUM:
        if (!num_parse(value, &v) || !isfinite(v) || v < 0)
            return arena_printf(a, "%s: \"%.*s\" is no number >= 0", field_name(out->field), shown(value),
                                value.p);
        break;
    case KIND_BOOL:
        if (!str_is(value, "1") && !str_is(value, "0"))
            return arena_printf(a, "%s: \"%.*s\" is neither 0 nor 1", field_name(out->field), shown(value),
                                value.p);
        break;
    case KIND_STR:
        break;
    }
    if (out->field == F_PEAK_RESET && !str_is(value, "step") && !str_is(value, "interval") &&
        !str_is(value, "never"))
        return arena_printf(a, "%s: \"%.*s\" is none of step, interval and never", field_name(out->field),
                            shown(value), value.p);
    out->text = arena_str(a, value);
    return NULL;
}

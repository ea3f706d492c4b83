#include "model/record.h"
#include <math.h>

static const struct {
    const char *name;
    enum field_kind kind;
    enum field_part part;
} FIELDS[F_COUNT] = {
#define FIELD(id, name, kind, part) {name, KIND_##kind, PART_##part},
#include "model/fields.def"
#undef FIELD
};

const char *field_name(enum field f)
{
    return FIELDS[f].name;
}

enum field_kind field_kind(enum field f)
{
    return FIELDS[f].kind;
}

enum field_part field_part(enum field f)
{
    return FIELDS[f].part;
}

enum field field_find(struct str name)
{
    for (int f = 0; f < F_COUNT; f++)
        if (str_is(name, FIELDS[f].name))
            return (enum field)f;
    return F_COUNT;
}

double record_number(const struct record *r, enum field f)
{
    if (!record_has(r, f) || FIELDS[f].kind == KIND_STR)
        return NAN;
    return FIELDS[f].kind == KIND_NUM ? r->v[f].d : (double)r->v[f].u;
}

struct str record_text(const struct record *r, enum field f)
{
    if (!record_has(r, f) || FIELDS[f].kind != KIND_STR)
        return (struct str){NULL, 0};
    return r->v[f].s;
}

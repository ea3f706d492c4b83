#include "normalise/held.h"

void held_release(struct held *h)
{
    buf_release(&h->text);
    h->r.have = 0;
}

/* Texts go into a buffer that may move while it grows, so they are pointed at last. */
static void copy_texts(struct record *r, struct buf *text)
{
    size_t total = 0;
    for (uint64_t bits = r->have & FIELDS_TEXT; bits; bits &= bits - 1)
        total += r->v[__builtin_ctzll(bits)].s.n;
    for (unsigned i = 0; i < r->n_extra; i++)
        total += r->extra[i].name.n;
    if (!total)
        return;
    text->n = 0;
    char *at = buf_room(text, total);
    for (uint64_t bits = r->have & FIELDS_TEXT; bits; bits &= bits - 1) {
        struct str *s = &r->v[__builtin_ctzll(bits)].s;
        if (!s->n)
            continue;
        memcpy(at, s->p, s->n);
        s->p = at;
        at += s->n;
    }
    for (unsigned i = 0; i < r->n_extra; i++) {
        struct str *s = &r->extra[i].name;
        if (s->n)
            memcpy(at, s->p, s->n);
        s->p = at;
        at += s->n;
    }
    text->n = total;
}

static void copy_values(struct record *to, const struct record *from)
{
    to->have = from->have;
    to->n_extra = from->n_extra;
    to->at = from->at;
    for (uint64_t bits = from->have; bits; bits &= bits - 1) {
        int f = __builtin_ctzll(bits);
        to->v[f] = from->v[f];
    }
    for (unsigned i = 0; i < from->n_extra; i++)
        to->extra[i] = from->extra[i];
}

void held_set(struct held *h, const struct record *r)
{
    copy_values(&h->r, r);
    copy_texts(&h->r, &h->text);
}

void held_add(struct held *h, const struct record *r)
{
    struct record both;
    struct buf text = {0};
    copy_values(&both, &h->r);
    for (uint64_t bits = r->have & ~both.have; bits; bits &= bits - 1) {
        int f = __builtin_ctzll(bits);
        both.v[f] = r->v[f];
    }
    both.have |= r->have;
    for (unsigned i = 0; i < r->n_extra; i++) {
        unsigned k = 0;
        while (k < both.n_extra && !str_eq(both.extra[k].name, r->extra[i].name))
            k++;
        if (k == both.n_extra && k < RECORD_EXTRA_MAX)
            both.extra[both.n_extra++] = r->extra[i];
    }
    copy_texts(&both, &text);
    copy_values(&h->r, &both);
    buf_release(&h->text);
    h->text = text;
}

uint64_t part_mask(enum field_part part)
{
    uint64_t mask = 0;
    for (int f = 0; f < F_COUNT; f++)
        if (field_part((enum field)f) == part)
            mask |= (uint64_t)1 << f;
    return mask;
}

void record_part(struct record *out, const struct record *r, uint64_t mask, bool extras)
{
    copy_values(out, r);
    out->have &= mask;
    if (!extras)
        out->n_extra = 0;
}

bool record_same(const struct record *a, const struct record *b, enum field f)
{
    if (!record_has(a, f) || !record_has(b, f))
        return false;
    if (field_kind(f) == KIND_STR)
        return str_eq(a->v[f].s, b->v[f].s);
    if (field_kind(f) == KIND_NUM)
        return a->v[f].d == b->v[f].d;
    return a->v[f].u == b->v[f].u;
}

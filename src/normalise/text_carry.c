#include "normalise/text_carry.h"
#include "base/mem.h"
#include <math.h>
#include <stdlib.h>

void carry_release(struct carry *c)
{
    free(c->sets);
    *c = (struct carry){0};
}

struct carry_set *carry_find(struct carry *c, double rank)
{
    if (isnan(rank))
        return c->any ? &c->sets[c->any - 1] : NULL;
    /* a rank writes several lines, and ranks take turns */
    for (size_t i = 0; i < c->n; i++) {
        size_t at = (c->last + i) % c->n;
        if (c->sets[at].rank == rank) {
            c->last = at;
            return &c->sets[at];
        }
    }
    return NULL;
}

struct carry_set *carry_open(struct carry *c, double rank)
{
    struct carry_set *s = carry_find(c, rank);
    if (s || c->n == CARRY_RANKS)
        return s;
    if (c->n == c->cap) {
        c->cap = c->cap ? c->cap * 2 : 2;
        c->sets = mem_grow(c->sets, c->cap, sizeof *c->sets);
    }
    s = &c->sets[c->n++];
    s->rank = rank;
    s->n = 0;
    if (isnan(rank))
        c->any = c->n;
    return s;
}

bool carry_has(const struct carry_set *s, int slot)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->cells[i].slot == slot)
            return true;
    return false;
}

void carry_put(struct carry_set *s, int slot, struct str text, bool once)
{
    size_t i = 0;
    while (i < s->n && s->cells[i].slot != slot)
        i++;
    if (i == CARRY_CELLS)
        return;
    if (i == s->n)
        s->n++;
    struct carry_cell *c = &s->cells[i];
    c->slot = slot;
    c->once = once;
    c->n = text.n < CARRY_TEXT ? text.n : CARRY_TEXT;
    while (c->n < text.n && c->n > 0 && (text.p[c->n] & 0xC0) == 0x80)
        c->n--; /* not within a character */
    if (c->n)
        memcpy(c->text, text.p, c->n);
}

void carry_used(struct carry_set *s)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->n; i++)
        if (!s->cells[i].once) {
            if (kept != i)
                s->cells[kept] = s->cells[i];
            kept++;
        }
    s->n = kept;
}

#include "model/trace_live.h"
#include "base/mem.h"
#include <stdlib.h>

/* Open addressing, linear probing, deletion by shifting back: addresses come and go by the million. */
struct trace_live {
    struct trace_live_slot *slots;
    size_t mask, n;
    unsigned shift;
};

struct trace_live *trace_live_new(void)
{
    struct trace_live *l = mem_zero(1, sizeof *l);
    l->mask = 1023;
    l->shift = 54;
    l->slots = mem_zero(l->mask + 1, sizeof *l->slots);
    return l;
}

void trace_live_free(struct trace_live *l)
{
    if (!l)
        return;
    free(l->slots);
    free(l);
}

static size_t home(const struct trace_live *l, uint64_t addr)
{
    return (size_t)((addr ^ addr >> 32) * 0x9e3779b97f4a7c15u >> l->shift);
}

struct trace_live_slot *trace_live_find(struct trace_live *l, uint64_t addr)
{
    if (!l)
        return NULL;
    for (size_t i = home(l, addr); l->slots[i].state; i = (i + 1) & l->mask)
        if (l->slots[i].addr == addr)
            return &l->slots[i];
    return NULL;
}

static void grow(struct trace_live *l)
{
    struct trace_live_slot *old = l->slots;
    size_t n = l->mask + 1;
    l->mask = n * 2 - 1;
    l->shift--;
    l->slots = mem_zero(l->mask + 1, sizeof *l->slots);
    for (size_t k = 0; k < n; k++) {
        if (!old[k].state)
            continue;
        size_t i = home(l, old[k].addr);
        while (l->slots[i].state)
            i = (i + 1) & l->mask;
        l->slots[i] = old[k];
    }
    free(old);
}

void trace_live_put(struct trace_live *l, uint64_t addr, uint32_t class, uint64_t born)
{
    if ((l->n + 1) * 2 > l->mask)
        grow(l);
    size_t i = home(l, addr);
    while (l->slots[i].state)
        i = (i + 1) & l->mask;
    l->slots[i] = (struct trace_live_slot){addr, class, born > LIVE_BORN_MAX ? LIVE_BORN_MAX : (uint32_t)born,
                                           LIVE_OPEN};
    l->n++;
}

void trace_live_drop(struct trace_live *l, struct trace_live_slot *s)
{
    size_t hole = (size_t)(s - l->slots);
    for (size_t i = (hole + 1) & l->mask; l->slots[i].state; i = (i + 1) & l->mask) {
        size_t from = home(l, l->slots[i].addr);
        if (((i - from) & l->mask) >= ((i - hole) & l->mask)) {
            l->slots[hole] = l->slots[i];
            hole = i;
        }
    }
    l->slots[hole].state = 0;
    l->n--;
}

uint32_t trace_live_take(struct trace_live *l, uint64_t addr, uint32_t *born)
{
    struct trace_live_slot *s = trace_live_find(l, addr);
    if (!s || s->state != LIVE_OPEN)
        return TRACE_NONE;
    uint32_t class = s->class;
    *born = s->born;
    trace_live_drop(l, s);
    return class;
}

uint64_t trace_live_bytes(const struct trace_live *l, const struct trace_device *d)
{
    uint64_t sum = 0;
    for (size_t i = 0; l && i <= l->mask; i++)
        if (l->slots[i].state == LIVE_OPEN)
            sum += d->classes[l->slots[i].class].size;
    return sum;
}

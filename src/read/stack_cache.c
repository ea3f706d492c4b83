#include "read/stack_cache.h"
#include "base/mem.h"
#include <stdlib.h>

enum {
    NEXT = 1 << 15,
    RAW_MAX = 16 * 1024 * 1024, /* [B] */
    TRIAL = 8192                /* lists after which the hit rate is judged */
};

void stack_cache_release(struct stack_cache *c)
{
    free(c->of);
    free(c->next);
    buf_release(&c->raw);
    *c = (struct stack_cache){.off = true};
}

static uint32_t *predicted(struct stack_cache *c)
{
    if (!c->next)
        c->next = mem_zero(NEXT, sizeof *c->next);
    uint32_t h = c->last * 0x9e3779b1u ^ c->before * 0x85ebca6bu;
    return &c->next[(h >> 12) % NEXT];
}

static void judge(struct stack_cache *c, uint32_t stack)
{
    c->before = c->last;
    c->last = stack;
    c->tried++;
    if (c->tried % TRIAL == 0 && c->hit * 4 < c->tried)
        stack_cache_release(c);
}

size_t stack_cache_find(struct stack_cache *c, const void *p, size_t left, uint32_t *stack)
{
    if (c->off)
        return 0;
    uint32_t guess = *predicted(c);
    size_t n = guess && guess < c->n_of ? c->of[guess].n : 0;
    if (n == 0 || left < n || memcmp(p, c->raw.p + c->of[guess].at, n) != 0)
        return 0;
    *stack = guess;
    c->hit++;
    judge(c, guess);
    return n;
}

void stack_cache_learn(struct stack_cache *c, uint32_t stack, const void *p, size_t n)
{
    if (c->off)
        return;
    if (stack >= c->n_of) {
        size_t want = c->n_of ? c->n_of * 2 : 256;
        while (want <= stack)
            want *= 2;
        c->of = mem_grow(c->of, want, sizeof *c->of);
        memset(c->of + c->n_of, 0, (want - c->n_of) * sizeof *c->of);
        c->n_of = want;
    }
    if (!c->of[stack].n && c->raw.n + n <= RAW_MAX) {
        c->of[stack] = (struct stack_text){(uint32_t)c->raw.n, (uint32_t)n};
        buf_put(&c->raw, p, n);
    }
    *predicted(c) = stack;
    judge(c, stack);
}

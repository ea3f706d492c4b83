/* The search of Wu and Manber: two bytes at the end of a window as long as the shortest text say how far
 * the window may move, or which texts may stand in it. */
#include "read/literals.h"
#include "base/mem.h"
#include <stdlib.h>

enum {
    TABLE = 8192,
    WINDOW_MAX = 32 /* [B] */
};

struct literals {
    const struct str *texts;
    size_t n, window;
    unsigned char shift[TABLE];
    uint16_t first[TABLE]; /* 1 + index of the first text whose window ends so, 0: none */
    uint16_t next[LITERALS_MAX];
};

static unsigned hash(const char *p)
{
    return ((unsigned)(unsigned char)p[0] << 5 ^ (unsigned char)p[1]) & (TABLE - 1);
}

struct literals *literals_new(const struct str *texts, size_t n)
{
    struct literals *l = mem_zero(1, sizeof *l);
    l->texts = texts;
    l->n = n < LITERALS_MAX ? n : LITERALS_MAX;
    l->window = WINDOW_MAX;
    for (size_t i = 0; i < l->n; i++)
        if (texts[i].n < l->window)
            l->window = texts[i].n;
    memset(l->shift, (int)(l->window - 1), sizeof l->shift);
    for (size_t i = l->n; i-- > 0;) {
        for (size_t k = 0; k + 2 <= l->window; k++) {
            unsigned h = hash(texts[i].p + k);
            size_t left = l->window - 2 - k;
            if (left < l->shift[h])
                l->shift[h] = (unsigned char)left;
        }
        unsigned h = hash(texts[i].p + l->window - 2);
        l->next[i] = l->first[h];
        l->first[h] = (uint16_t)(i + 1);
    }
    return l;
}

void literals_free(struct literals *l)
{
    free(l);
}

bool literals_find(const struct literals *l, struct str t, uint64_t *found)
{
    bool any = false;
    for (size_t i = l->window - 1; i < t.n;) {
        unsigned h = hash(t.p + i - 1), skip = l->shift[h];
        if (skip) {
            i += skip;
            continue;
        }
        size_t start = i + 1 - l->window;
        for (unsigned k = l->first[h]; k; k = l->next[k - 1]) {
            struct str s = l->texts[k - 1];
            if (s.n <= t.n - start && memcmp(s.p, t.p + start, s.n) == 0) {
                found[(k - 1) / 64] |= (uint64_t)1 << (k - 1) % 64;
                any = true;
            }
        }
        i++;
    }
    return any;
}

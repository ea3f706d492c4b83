/* A sampling search. Of each text a piece is taken, all pieces of one length. Wherever a piece stands, one of
 * the places that are `step` apart begins three bytes of it; so only the three bytes at these places are
 * looked up, and the looks do not wait for each other. Of a long text the piece is the one that is the rarest
 * in prose. */
#include "read/literals.h"
#include "base/mem.h"
#include <stdlib.h>

enum {
    GRAM = 3, /* [B] */
    TABLE_BITS = 14,
    TABLE = 1 << TABLE_BITS,
    PIECE_MAX = 10, /* [B] */
    ENTRIES_MAX = LITERALS_MAX * (PIECE_MAX - GRAM + 1)
};

struct entry {
    uint16_t text, next; /* next: 1 + index of an entry with the same hash, 0: none */
    uint16_t at;         /* offset of the three bytes in the text [B] */
};

struct literals {
    const struct str *texts;
    size_t n, step;
    unsigned char known[TABLE];
    uint16_t first[TABLE]; /* 1 + index of an entry */
    struct entry *entries; /* n_entries */
    size_t n_entries;
};

_Static_assert(ENTRIES_MAX < 65535, "entries are told by 16 bits");

static unsigned hash(const char *p)
{
    uint32_t x = (uint32_t)(unsigned char)p[0] | (uint32_t)(unsigned char)p[1] << 8 |
                 (uint32_t)(unsigned char)p[2] << 16;
    return x * 2654435761u >> (32 - TABLE_BITS);
}

/* How common a byte is in logs, roughly. */
static unsigned commonness(char c)
{
    return c >= 'a' && c <= 'z' ? 3 : c == ' ' || c == '.' ? 2 : c >= '0' && c <= '9' ? 2 : 0;
}

static size_t rarest_piece(struct str s, size_t length)
{
    size_t best = 0;
    unsigned least = ~0u;
    for (size_t at = 0; at + length <= s.n && at < 4096; at++) {
        unsigned sum = 0;
        for (size_t k = 0; k < length; k++)
            sum += commonness(s.p[at + k]) * (k == 0 || k + 1 == length ? 1 : 2);
        if (sum < least) {
            least = sum;
            best = at;
        }
    }
    return best;
}

static void add(struct literals *l, size_t text, size_t at)
{
    unsigned h = hash(l->texts[text].p + at);
    l->entries[l->n_entries] = (struct entry){(uint16_t)text, l->first[h], (uint16_t)at};
    l->first[h] = (uint16_t)++l->n_entries;
    l->known[h] = 1;
}

struct literals *literals_new(const struct str *texts, size_t n)
{
    struct literals *l = mem_zero(1, sizeof *l);
    size_t length = PIECE_MAX;
    l->texts = texts;
    l->n = n < LITERALS_MAX ? n : LITERALS_MAX;
    for (size_t i = 0; i < l->n; i++)
        if (texts[i].n < length)
            length = texts[i].n;
    l->step = length - GRAM + 1;
    l->entries = mem_alloc((l->n * l->step + 1) * sizeof *l->entries);
    for (size_t i = 0; i < l->n; i++) {
        size_t at = rarest_piece(texts[i], length);
        for (size_t k = 0; k < l->step; k++)
            add(l, i, at + k);
    }
    return l;
}

void literals_free(struct literals *l)
{
    if (l)
        free(l->entries);
    free(l);
}

/* The texts that have the three bytes at offset i of t. */
static bool look(const struct literals *l, struct str t, size_t i, uint64_t *found)
{
    bool any = false;
    for (unsigned k = l->first[hash(t.p + i)]; k; k = l->entries[k - 1].next) {
        const struct entry *e = &l->entries[k - 1];
        struct str s = l->texts[e->text];
        if (e->at > i || s.n > t.n - (i - e->at) || memcmp(s.p, t.p + i - e->at, s.n) != 0)
            continue;
        found[e->text / 64] |= (uint64_t)1 << e->text % 64;
        any = true;
    }
    return any;
}

bool literals_find(const struct literals *l, struct str t, uint64_t *found)
{
    bool any = false;
    if (t.n < GRAM)
        return false;
    for (size_t i = 0, end = t.n - GRAM; i <= end; i += l->step)
        if (l->known[hash(t.p + i)])
            any |= look(l, t, i, found);
    return any;
}

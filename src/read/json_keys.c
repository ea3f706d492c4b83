#include "read/json_keys.h"
#include "base/mem.h"
#include "read/json_scan.h"
#include <stdlib.h>

void json_keys_init(struct json_keys *k, int (*key)(void *, struct str), void *ctx)
{
    *k = (struct json_keys){.key = key, .ctx = ctx};
    k->cap = 64;
    k->all = mem_zero(k->cap, sizeof *k->all);
    k->all[JSON_ROOT].slot = KEY_UNWANTED;
    k->n = 1;
    k->table_size = 256;
    k->table = mem_zero(k->table_size, sizeof *k->table);
}

void json_keys_release(struct json_keys *k)
{
    free(k->all);
    free(k->table);
    buf_release(&k->name);
    arena_release(&k->arena);
    *k = (struct json_keys){0};
}

static uint32_t hash_of(uint32_t parent, bool escaped, struct str s)
{
    uint64_t h = 0x9e3779b97f4a7c15u ^ ((uint64_t)parent << 1 | escaped);
    for (size_t i = 0; i < s.n; i += 8) {
        uint64_t w = 0;
        memcpy(&w, s.p + i, s.n - i < 8 ? s.n - i : 8);
        h = (h ^ w) * 0xff51afd7ed558ccdu;
        h ^= h >> 32;
    }
    h = (h ^ s.n) * 0xc4ceb9fe1a85ec53u;
    return (uint32_t)(h >> 32);
}

/* Index into the table of the key, or of the free place where it belongs. Texts
 * with escapes and texts without never meet: the table tells them apart by the backslash. */
static uint32_t probe(const struct json_keys *k, uint32_t parent, struct str text, bool escaped)
{
    uint32_t mask = k->table_size - 1, i = hash_of(parent, escaped, text) & mask;
    while (k->table[i]) {
        const struct json_key *have = &k->all[k->table[i]];
        if (have->parent == parent && (have->same_as != k->table[i]) == escaped && str_eq(have->text, text))
            break;
        i = (i + 1) & mask;
    }
    return i;
}

static void grow_table(struct json_keys *k)
{
    free(k->table);
    k->table_size *= 2;
    k->table = mem_zero(k->table_size, sizeof *k->table);
    for (uint32_t i = 1; i < k->n; i++) {
        const struct json_key *key = &k->all[i];
        k->table[probe(k, key->parent, key->text, key->same_as != i)] = i;
    }
}

static uint32_t add(struct json_keys *k, uint32_t parent, struct str text)
{
    if (k->n == k->cap) {
        k->cap *= 2;
        k->all = mem_grow(k->all, k->cap, sizeof *k->all);
    }
    uint32_t id = k->n++;
    k->bytes += text.n;
    k->all[id] = (struct json_key){
        .text = arena_str(&k->arena, text), .parent = parent, .same_as = id, .slot = KEY_UNWANTED};
    return id;
}

static bool is_stop(const struct json_keys *k, const struct json_key *key)
{
    bool nested = key->parent != JSON_ROOT && k->all[key->parent].parent == JSON_ROOT;
    return (k->stop && str_is(key->name, k->stop)) ||
           (k->stop_values && nested && str_is(key->text, "values"));
}

/* A key in its plain spelling: named, and the handler asked whether it is wanted. */
static void name_key(struct json_keys *k, uint32_t id)
{
    struct json_key *key = &k->all[id];
    buf_clear(&k->name);
    if (key->parent != JSON_ROOT) {
        buf_str(&k->name, k->all[key->parent].name);
        buf_putc(&k->name, '.');
    }
    buf_str(&k->name, key->text);
    k->bytes += k->name.n;
    key->name = arena_str(&k->arena, buf_view(&k->name));
    key->stop = is_stop(k, key);
    if (!key->stop)
        key->slot = k->key(k->ctx, key->name);
}

static uint32_t plain(struct json_keys *k, uint32_t parent, struct str text)
{
    uint32_t at = probe(k, parent, text, false);
    if (k->table[at])
        return k->table[at];
    uint32_t id = add(k, parent, text);
    k->table[at] = id;
    name_key(k, id);
    return id;
}

uint32_t json_keys_find(struct json_keys *k, uint32_t parent, struct str text, bool escaped)
{
    uint32_t have = k->table[probe(k, parent, text, escaped)];
    if (have)
        return k->all[have].same_as;
    size_t cost = 3 * text.n + k->all[parent].name.n;
    if (k->n + 2 > JSON_KEYS_MAX || k->bytes + cost > JSON_KEY_BYTES_MAX) {
        k->full = true;
        return JSON_NO_KEY;
    }
    if ((k->n + 2) * 2 > k->table_size)
        grow_table(k);
    if (!escaped)
        return plain(k, parent, text);
    char *to = mem_alloc(text.n);
    struct str name = {to, json_unescape(to, text.p, text.n)};
    uint32_t same = plain(k, parent, name);
    free(to);
    uint32_t id = add(k, parent, text);
    k->all[id].same_as = same;
    k->table[probe(k, parent, text, true)] = id;
    return same;
}

void json_keys_learn(struct json_keys *k, struct json_order *o, struct str glue, uint32_t to)
{
    if (glue.n > JSON_GLUE_MAX || o->learned == JSON_LEARN_MAX)
        return;
    struct json_edge *e = &o->edge[o->learned++ % JSON_EDGES];
    *e = (struct json_edge){arena_strndup(&k->arena, glue.p, glue.n), (uint32_t)glue.n, to};
}

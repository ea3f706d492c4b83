#include "normalise/sniff.h"
#include "normalise/glob.h"
#include "read/csv_sniff.h"
#include <limits.h>

enum {
    DEPTH_MAX = 8,
    PATH_ROOM = 512,
    SCAN_JSONL_MAX = 64 * 1024
};

/* Writers repeat their keys in one order, so the key after the last hit is tried first. */
struct key_set {
    struct sniff *s;
    size_t next;
};

static void add_key(struct key_set *k, struct str key)
{
    struct sniff *s = k->s;
    if (k->next < s->n && str_eq(s->keys[k->next], key)) {
        k->next++;
        return;
    }
    for (size_t i = 0; i < s->n; i++)
        if (str_eq(s->keys[i], key)) {
            k->next = i + 1;
            return;
        }
    if (s->n < SNIFF_KEYS_MAX)
        s->keys[s->n++] = arena_str(&s->arena, key);
    k->next = s->n;
}

static bool full(const struct sniff *s)
{
    return s->n == SNIFF_KEYS_MAX;
}

/* A place in a JSON text: the path of keys that leads to it. */
struct walk {
    char path[PATH_ROOM];
    size_t length[DEPTH_MAX + 1]; /* of the path at each depth */
    char kind[DEPTH_MAX + 1];     /* '{' or '[' */
    size_t depth, beyond;         /* beyond: levels that are not followed */
    size_t key_length;            /* of path with the last key */
};

static void push(struct walk *w, char kind, struct sniff *s)
{
    if (w->depth == DEPTH_MAX || w->beyond) {
        w->beyond++;
        return;
    }
    size_t n = w->depth == 0 ? 0 : w->kind[w->depth] == '{' ? w->key_length : w->length[w->depth];
    if (kind == '[' && n + 2 < PATH_ROOM) {
        memcpy(w->path + n, "[]", 2);
        n += 2;
    }
    if (kind == '{' && n > 2 && !s->rows_guess && w->depth > 1 && w->kind[w->depth] == '[')
        s->rows_guess = arena_strndup(&s->arena, w->path, n - 2);
    w->depth++;
    w->kind[w->depth] = kind;
    w->length[w->depth] = n;
    w->key_length = n;
}

static void pop(struct walk *w)
{
    if (w->beyond)
        w->beyond--;
    else if (w->depth)
        w->depth--;
}

static void take_key(struct walk *w, struct key_set *keys, struct str key)
{
    size_t n = w->length[w->depth];
    if (w->beyond || n + key.n + 1 >= PATH_ROOM)
        return;
    if (n)
        w->path[n++] = '.';
    if (key.n)
        memcpy(w->path + n, key.p, key.n);
    w->key_length = n + key.n;
    add_key(keys, (struct str){w->path, w->key_length});
}

static size_t string_end(struct str t, size_t i)
{
    for (i++; i < t.n && t.p[i] != '"'; i++)
        if (t.p[i] == '\\')
            i++;
    return i;
}

/* Keys of JSON and JSONL, also of text that is cut off anywhere. */
static void scan_json(struct sniff *s, struct str t)
{
    struct walk w = {.depth = 0};
    struct key_set keys = {s, 0};
    for (size_t i = 0; i < t.n && !full(s); i++) {
        char c = t.p[i];
        if (c == '{' || c == '[') {
            push(&w, c, s);
        } else if (c == '}' || c == ']') {
            pop(&w);
        } else if (c == '"') {
            size_t end = string_end(t, i), k = end + 1;
            while (k < t.n && (t.p[k] == ' ' || t.p[k] == '\t'))
                k++;
            if (k < t.n && t.p[k] == ':' && w.depth && w.kind[w.depth] == '{')
                take_key(&w, &keys, (struct str){t.p + i + 1, end - i - 1});
            i = end;
        } else if (c == '\n' && s->syntax == SYNTAX_JSONL) {
            w.depth = w.beyond = 0;
        }
    }
}

static int csv_key(void *ctx, struct str name)
{
    struct key_set *k = ctx;
    if (!full(k->s))
        add_key(k, name);
    return KEY_UNWANTED;
}

static int csv_row(void *ctx, const struct row *row)
{
    (void)ctx;
    (void)row;
    return 1; /* the header is enough */
}

static bool csv_text(void *ctx, uint64_t line, struct str text)
{
    (void)ctx;
    (void)line;
    (void)text;
    return true;
}

static void scan_csv(struct sniff *s)
{
    struct key_set keys = {s, 0};
    struct row_handler h = {&keys, csv_key, csv_row, csv_text, NULL};
    struct diag ignored;
    uint64_t skipped = 0;
    struct source *source = source_of_memory("head", s->head);
    diag_init(&ignored);
    read_rows(source, SYNTAX_CSV, &(struct read_layout){0}, &h, &skipped, &ignored);
    diag_release(&ignored);
    source_close(source);
}

void sniff_init(struct sniff *s, enum syntax syntax, struct str head)
{
    *s = (struct sniff){.head = head, .syntax = syntax};
    arena_init(&s->arena);
    s->keys = arena_alloc(&s->arena, SNIFF_KEYS_MAX * sizeof *s->keys);
    if (syntax == SYNTAX_CSV) {
        s->columns = csv_is_own(head) ? NULL : smi_columns(head, &s->n_columns, &s->arena);
        if (!s->columns)
            scan_csv(s);
    } else if (syntax == SYNTAX_JSON || syntax == SYNTAX_JSONL) {
        if (syntax == SYNTAX_JSONL && head.n > SCAN_JSONL_MAX)
            head.n = SCAN_JSONL_MAX;
        scan_json(s, head);
    }
}

void sniff_release(struct sniff *s)
{
    arena_release(&s->arena);
}

bool sniff_has(const struct sniff *s, const char *path)
{
    for (size_t i = 0; i < s->n; i++)
        if (str_is(s->keys[i], path))
            return true;
    return false;
}

static bool some_key(const struct sniff *s, struct str pattern, bool loose)
{
    struct glob_match ignored;
    for (size_t i = 0; i < s->n; i++)
        if (glob_match(pattern, s->keys[i], loose, &ignored))
            return true;
    return false;
}

static size_t count_keys(const struct sniff *s, const struct str *patterns, size_t n, bool loose)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++)
        found += some_key(s, patterns[i], loose);
    return found;
}

/* The own schema is also what has no other key than its fields: a converted log without memory figures. */
static bool all_keys_known(const struct sniff *s, const struct mapping *m)
{
    struct glob_match ignored;
    for (size_t i = 0; i < s->n; i++) {
        size_t k = 0;
        while (k < m->n_rules && !glob_match(m->rules[k].pattern, s->keys[i], m->loose, &ignored))
            k++;
        if (k == m->n_rules)
            return false;
    }
    return s->n > 0;
}

int sniff_score(const struct sniff *s, const struct mapping *m)
{
    const struct map_detect *t = &m->detect;
    if (!m->reads[s->syntax] || t->score == 0 || t->smi != (s->columns != NULL))
        return 0;
    if (count_keys(s, t->all, t->n_all, m->loose) < t->n_all)
        return 0;
    if (count_keys(s, t->none, t->n_none, m->loose) > 0)
        return 0;
    size_t any = count_keys(s, t->any, t->n_any, m->loose);
    if (t->n_any && !any && !(m->own && all_keys_known(s, m)))
        return 0;
    for (size_t i = 0; i < t->n_words; i++)
        if (str_find(s->head, t->words[i]) == (size_t)-1)
            return 0;
    if (m->own && s->syntax == SYNTAX_CSV && csv_is_own(s->head))
        return INT_MAX;
    return t->score * 16 + (int)(any < 15 ? any : 15);
}

const struct mapping *sniff_choose(const struct sniff *s, const struct mapping_set *set)
{
    const struct mapping *best = NULL;
    int best_score = 0;
    for (size_t i = 0; i < mapping_set_count(set); i++) {
        const struct mapping *m = mapping_set_at(set, i);
        int score = sniff_score(s, m);
        if (score > best_score) {
            best = m;
            best_score = score;
        }
    }
    return best;
}

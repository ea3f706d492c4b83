#include "normalise/names.h"
#include "base/num.h"
#include <math.h>
#include <string.h>

enum {
    LEVELS = 4,
    MATCH_STEPS_MAX = 100000
};

static bool is_joint(char c)
{
    return c == '_' || c == '-' || c == '.' || c == '=' || c == ' ';
}

/* "rank12", "rank_12", "rank=12": where it stands in name, and its number. */
static bool find_token(struct str name, const char *word, size_t *from, size_t *to, double *number)
{
    size_t length = strlen(word);
    for (size_t i = 0; i + length < name.n; i++) {
        if ((i > 0 && ascii_letter(name.p[i - 1])) ||
            !str_eq_nocase((struct str){name.p + i, length}, (struct str){word, length}))
            continue;
        size_t k = i + length;
        if (k < name.n && is_joint(name.p[k]))
            k++;
        size_t digits = k;
        while (k < name.n && ascii_digit(name.p[k]))
            k++;
        if (k == digits || k - digits > 15)
            continue;
        num_parse((struct str){name.p + digits, k - digits}, number);
        *from = i;
        *to = k;
        return true;
    }
    return false;
}

/* The name without the token, and without the joints that would be left dangling. */
static struct str without(struct str name, size_t from, size_t to, struct arena *a)
{
    while (from > 0 && is_joint(name.p[from - 1]))
        from--;
    if (from == 0)
        while (to < name.n && is_joint(name.p[to]))
            to++;
    char *out = arena_alloc(a, from + (name.n - to) + 1);
    memcpy(out, name.p, from);
    memcpy(out + from, name.p + to, name.n - to);
    return (struct str){out, from + (name.n - to)};
}

static struct str without_suffixes(struct str name)
{
    static const char *const known[] = {"gz",  "json", "jsonl", "csv", "tsv",
                                        "log", "txt",  "out",   "err", "ndjson"};
    for (;;) {
        size_t dot = name.n;
        while (dot > 0 && name.p[dot - 1] != '.')
            dot--;
        if (dot < 2)
            return name;
        size_t i = 0, n = sizeof known / sizeof *known;
        while (i < n && !str_eq_nocase((struct str){name.p + dot, name.n - dot}, str_of(known[i])))
            i++;
        if (i == n)
            return name;
        name.n = dot - 1;
    }
}

/* Names that many runs share. */
static bool says_nothing(struct str name)
{
    static const char *const words[] = {
        "",        ".",         "..",          "metrics",      "metric",     "log",           "logs",
        "train",   "train_log", "training",    "steps",        "step",       "scalars",       "vis_data",
        "memory",  "mem",       "gpu",         "gpus",         "gpu_memory", "gpu_mem",       "nvidia-smi",
        "smi",     "stdout",    "stderr",      "output",       "out",        "trainer_state", "trainer_log",
        "results", "result",    "history",     "events",       "step_log",   "oomlog",        "shapes",
        "batches", "data",      "all_results", "wandb-summary"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (str_eq_nocase(name, str_of(words[i])))
            return true;
    return false;
}

/* The component that ends at *end; *end moves to the one above it. */
static struct str last_component(struct str path, size_t *end)
{
    while (*end > 0 && path.p[*end - 1] == '/')
        --*end;
    size_t to = *end;
    while (*end > 0 && path.p[*end - 1] != '/')
        --*end;
    return (struct str){path.p + *end, to - *end};
}

static void find_plain(struct run_name *out, struct str path, struct arena *a)
{
    size_t end = path.n;
    struct str fallback = {NULL, 0};
    for (int level = 0; level < LEVELS && end > 0; level++) {
        struct str name = last_component(path, &end);
        size_t from, to;
        double number;
        if (level == 0)
            name = without_suffixes(name);
        if (isnan(out->seed) && find_token(name, "seed", &from, &to, &number))
            out->seed = number;
        if (find_token(name, "rank", &from, &to, &number)) {
            if (isnan(out->rank))
                out->rank = number;
            name = without(name, from, to, a);
        }
        if (!fallback.n && name.n)
            fallback = name;
        if (!out->run.n && !says_nothing(name))
            out->run = arena_str(a, name);
        if (out->run.n && level >= 1)
            return;
    }
    if (!out->run.n)
        out->run = fallback.n ? arena_str(a, fallback) : STR_LIT("run");
}

struct match {
    struct run_name found;
    unsigned steps;
};

static bool starts(struct str s, const char *word)
{
    return str_starts(s, str_of(word));
}

static struct str skip(struct str s, size_t n)
{
    return (struct str){s.p + n, s.n - n};
}

static bool match(struct match *m, struct str pattern, struct str text);

static bool match_number(struct match *m, struct str rest, struct str text, double *number)
{
    size_t n = 0;
    while (n < text.n && n < 15 && ascii_digit(text.p[n]))
        n++;
    for (; n > 0; n--)
        if (match(m, rest, skip(text, n))) {
            num_parse((struct str){text.p, n}, number);
            return true;
        }
    return false;
}

/* Shortest first; the number of tries is bounded, names are short. */
static bool match(struct match *m, struct str pattern, struct str text)
{
    if (++m->steps > MATCH_STEPS_MAX)
        return false;
    if (!pattern.n)
        return !text.n;
    if (starts(pattern, "{seed}"))
        return match_number(m, skip(pattern, 6), text, &m->found.seed);
    if (starts(pattern, "{rank}"))
        return match_number(m, skip(pattern, 6), text, &m->found.rank);
    bool run = starts(pattern, "{run}");
    if (run || pattern.p[0] == '*') {
        for (size_t n = run ? 1 : 0; n <= text.n; n++)
            if (match(m, skip(pattern, run ? 5 : 1), skip(text, n))) {
                if (run)
                    m->found.run = (struct str){text.p, n};
                return true;
            }
        return false;
    }
    return text.n && pattern.p[0] == text.p[0] && match(m, skip(pattern, 1), skip(text, 1));
}

static bool find_by_pattern(struct run_name *out, struct str path, struct str pattern, struct arena *a)
{
    size_t end = path.n, slashes = 0;
    for (size_t i = 0; i < pattern.n; i++)
        slashes += pattern.p[i] == '/';
    for (size_t i = 0; i <= slashes; i++)
        last_component(path, &end);
    struct str tail = {path.p + end, path.n - end};
    struct match m = {{{NULL, 0}, NAN, NAN}, 0};
    if (!match(&m, pattern, tail)) {
        m = (struct match){{{NULL, 0}, NAN, NAN}, 0};
        if (!match(&m, pattern, without_suffixes(tail)))
            return false;
    }
    out->seed = m.found.seed;
    out->rank = m.found.rank;
    if (m.found.run.n)
        out->run = arena_str(a, m.found.run);
    return true;
}

void run_name_find(struct run_name *out, const char *path, const char *pattern, struct arena *a)
{
    struct str name = str_of(path);
    *out = (struct run_name){{NULL, 0}, NAN, NAN};
    if (!strcmp(path, "-"))
        name = STR_LIT("stdin");
    if (pattern && name.n < 4096 && find_by_pattern(out, name, str_of(pattern), a)) {
        if (out->run.n)
            return;
        if (!isnan(out->rank)) { /* ranks share what stands above them */
            size_t end = name.n;
            last_component(name, &end);
            name.n = end;
        }
    }
    struct run_name plain = {{NULL, 0}, out->seed, out->rank};
    find_plain(&plain, name, a);
    *out = plain;
}

bool run_name_pattern_ok(const char *pattern)
{
    static const char *const words[] = {"{run}", "{seed}", "{rank}"};
    unsigned seen = 0;
    for (const char *p = strchr(pattern, '{'); p; p = strchr(p + 1, '{')) {
        unsigned k = 0;
        while (k < 3 && strncmp(p, words[k], strlen(words[k])) != 0)
            k++;
        if (k == 3 || (seen & 1u << k))
            return false;
        seen |= 1u << k;
    }
    return seen != 0;
}

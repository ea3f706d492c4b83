#include "cli/explain.h"

#include "cli/options.h"

static const struct topic {
    const char *cause, *subtype; /* subtype NULL: the cause itself */
    const char *what, *to_do;
} topics[] = {
#define CAUSE(name, what, to_do) {name, NULL, what, to_do},
#define SUBTYPE(cause, name, what, to_do) {cause, name, what, to_do},
#include "report/glossary.def"
#undef CAUSE
#undef SUBTYPE
};

enum {
    TOPICS = sizeof topics / sizeof topics[0]
};

static void put_topic(struct buf *out, const struct topic *t)
{
    if (out->n > 0)
        buf_putc(out, '\n');
    buf_printf(out, "%s%s%s\n%s\nWhat to do: %s\n", t->cause, t->subtype ? "/" : "",
               t->subtype ? t->subtype : "", t->what, t->to_do);
}

static void put_subtypes(struct buf *out, const char *cause)
{
    bool any = false;
    for (size_t i = 0; i < TOPICS; i++) {
        if (!topics[i].subtype || strcmp(topics[i].cause, cause) != 0)
            continue;
        buf_printf(out, "%s%s", any ? ", " : "Subtypes (--explain them too): ", topics[i].subtype);
        any = true;
    }
    if (any)
        buf_puts(out, ".\n");
}

static bool matches(const struct topic *t, const char *word)
{
    size_t n = strlen(t->cause);
    if (strcmp(t->subtype ? t->subtype : t->cause, word) == 0)
        return true;
    return t->subtype && strncmp(word, t->cause, n) == 0 && word[n] == '/' &&
           strcmp(word + n + 1, t->subtype) == 0;
}

const char *explain(struct buf *out, const char *word, struct arena *a)
{
    const char *names[TOPICS];
    bool found = false;
    for (size_t i = 0; i < TOPICS; i++) {
        names[i] = topics[i].subtype ? topics[i].subtype : topics[i].cause;
        if (!matches(&topics[i], word))
            continue;
        found = true;
        put_topic(out, &topics[i]);
        if (!topics[i].subtype)
            put_subtypes(out, topics[i].cause);
    }
    if (found)
        return NULL;
    const char *near = options_nearest(word, names, TOPICS);
    if (near)
        return arena_printf(a, "--explain: unknown class \"%s\"; did you mean %s?", word, near);
    return arena_printf(
        a,
        "--explain: unknown class \"%s\"; expected leak, peak, eval, capacity, none or unknown, "
        "or one of their subtypes",
        word);
}

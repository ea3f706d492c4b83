#include "report/page.h"

/* What the words of this verdict mean: its cause and subtype, its rival, and the quantities. */

static const struct term {
    const char *cause, *subtype; /* subtype NULL: the cause itself */
    const char *what, *to_do;
} terms[] = {
#define CAUSE(name, what, to_do) {name, NULL, what, to_do},
#define SUBTYPE(cause, name, what, to_do) {cause, name, what, to_do},
#include "report/glossary.def"
#undef CAUSE
#undef SUBTYPE
};

static const char *const quantities[][2] = {
    {"allocated", "Memory of live tensors; in a table after a step: what stays."},
    {"peak", "The most that was allocated within a step."},
    {"reserved", "What the framework's allocator holds of the device, allocated or not."},
    {"headroom", "Capacity less peak."},
    {"confirmed, likely, possible, cannot tell",
     "How sure the verdict is: from 0.95 where two runs or a snapshot agree, from 0.75, from 0.4, below."},
};

static void put(struct page *p, struct tnode *root, const char *word, const char *what, const char *to_do)
{
    struct tnode *row = tnode_item(&p->arena, root, "terms");

    tnode_text(&p->arena, row, "word", word);
    tnode_text(&p->arena, row, "what", what);
    page_optional(p, row, "help", "to_do", to_do);
}

static void put_cause(struct page *p, struct tnode *root, const char *cause, const char *subtype)
{
    for (size_t i = 0; i < sizeof terms / sizeof terms[0]; i++) {
        const struct term *t = &terms[i];

        if (strcmp(t->cause, cause) != 0)
            continue;
        if (!t->subtype)
            put(p, root, t->cause, t->what, t->to_do);
        else if (subtype && strcmp(t->subtype, subtype) == 0)
            put(p, root, arena_printf(&p->arena, "%s/%s", t->cause, t->subtype), t->what, t->to_do);
    }
}

bool section_glossary(struct page *p, struct tnode *root)
{
    const struct verdict *v = &p->analysis->verdict;

    put_cause(p, root, cause_name(v->cause), subtype_name(v->subtype));
    if (v->has_runner_up && v->runner_up != v->cause)
        put_cause(p, root, cause_name(v->runner_up), NULL);
    for (size_t i = 0; i < sizeof quantities / sizeof quantities[0]; i++)
        put(p, root, quantities[i][0], quantities[i][1], NULL);
    return true;
}

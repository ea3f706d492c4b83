#include "report/page.h"

/* From each claim of the card to the table behind it, its place in the JSON file and the line of the log. */

struct claim {
    const char *section; /* that holds the table */
    const char *what, *anchor, *table, *field;
};

static const struct claim claims[] = {
    {"why", "Cause and certainty", "why", "Every test", "verdict, runs[].triage"},
    {"growth", "Growth, headroom", "growth-figures", "Growth and headroom", "runs[].leak, runs[].capacity"},
    {"law", "Law, safe budget", "law-figures", "Peak against the batch", "runs[].peak"},
    {"phases", "Peak of each phase", "phases", "Phases", "runs[].phases"},
    {"checkpoints", "Where in the step memory rises", "checkpoints", "Checkpoints", "runs[].checkpoints"},
    {"seeds", "The same batch, the same step", "runs", "Runs", "cross_run"},
    {"message", "Asked and free", "message", "The failure, taken apart", "runs[].failure"},
    {"holders", "Who holds the memory", "holders", "Holders", "runs[].memory_holders, runs[].blame"},
    {"forecast", "When memory runs out", "forecast", "Forecast and back-test", "runs[].leak.backtest"},
    {"ranks", "The rank out of line", "ranks", "Ranks", "ranks"},
    {"what_if", "What if", "what-if", "What if", "what_if"},
    {"next", "Fix and savings", "next-title", "What else to try", "verdict.try"},
};

/* The place that decided: of the verdict's own question the first test for it, of the failure its record. */
static struct place place_of(const struct run_report *r, const char *section)
{
    if (strcmp(section, "message") == 0 && r->has_failure)
        return r->failure.where;
    if (strcmp(section, "why") != 0)
        return (struct place){0};
    for (int q = 0; q < Q_COUNT; q++)
        for (size_t i = 0; i < r->triage[q].n_tests && r->triage[q].answer == ANSWER_YES; i++)
            if (r->triage[q].tests[i].says == SAYS_FOR && r->triage[q].tests[i].where.file)
                return r->triage[q].tests[i].where;
    return (struct place){0};
}

bool section_provenance(struct page *p, struct tnode *root)
{
    struct arena *a = &p->arena;

    if (!p->lead)
        return false;
    for (size_t i = 0; i < sizeof claims / sizeof claims[0]; i++) {
        const struct claim *c = &claims[i];

        if (!page_shows(p, c->section))
            continue;
        struct tnode *row = tnode_item(a, root, "rows");
        tnode_text(a, row, "what", c->what);
        tnode_text(a, row, "anchor", c->anchor);
        tnode_text(a, row, "table", c->table);
        tnode_text(a, row, "field", c->field);
        page_optional(p, row, "place", "where", words_place(a, place_of(p->lead, c->section)));
    }
    return true;
}

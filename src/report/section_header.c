#include "report/facts.h"
#include "report/page.h"

#include <math.h>

static size_t most_ranks(const struct analysis *an)
{
    size_t most = 0;

    for (size_t i = 0; i < an->n_runs;) {
        size_t k = i;

        while (k < an->n_runs &&
               strcmp(an->runs[k].run ? an->runs[k].run : "", an->runs[i].run ? an->runs[i].run : "") == 0)
            k++;
        most = k - i > most ? k - i : most;
        i = k;
    }
    return most;
}

void page_header(struct page *p, struct tnode *root)
{
    struct arena *a = &p->arena;
    const struct analysis *an = p->analysis;
    size_t runs = facts_runs(an), ranks = most_ranks(an);
    const char *times = facts_times(a, an);

    tnode_text(a, root, "label", p->label);
    tnode_printf(a, root, "runs", "%zu %s%s", runs, facts_run_word(an, runs),
                 ranks > 1 ? arena_printf(a, " \xC3\x97 %zu ranks", ranks) : "");
    page_optional(p, root, "device_known", "device", p->lead ? p->lead->device : NULL);
    page_optional(p, root, "times_known", "times", times);
}

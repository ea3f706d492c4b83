#include "report/gate_words.h"
#include "report/page.h"

#include <math.h>

/* An earlier report beside this one. */
bool section_baseline(struct page *p, struct tnode *root)
{
    struct arena *a = &p->arena;
    const struct baseline *b = &p->analysis->baseline;

    if (!p->analysis->has_baseline) {
        page_not_tested(p, "Change since an earlier report", "give one with --baseline report.json.");
        return false;
    }
    page_rich(p, root, "sentence", baseline_sentence(a, b));
    for (size_t i = 0; i < b->n_metrics; i++) {
        const struct baseline_metric *m = &b->metrics[i];
        struct metric_shown shown = metric_shown(a, b, m);

        if (!metric_known(m))
            continue;
        struct tnode *row = tnode_item(a, root, "rows");
        tnode_text(a, row, "metric", metric_word(m));
        tnode_text(a, row, "before", shown.before);
        tnode_text(a, row, "now", shown.now);
        tnode_text(a, row, "difference", shown.difference);
        tnode_text(a, row, "says", shown.says);
    }
    return true;
}

/* gate_words: gates and the baseline in the words of the page and the summaries. */
#ifndef OOMREPORT_REPORT_GATE_WORDS_H
#define OOMREPORT_REPORT_GATE_WORDS_H

#include "report/words.h"

/* "peak", "growth", "failed runs". */
const char *metric_word(const struct baseline_metric *m);
/* Before, now and their difference as shown; "-" unknown. */
struct metric_shown {
    const char *before, *now, *difference, *says;
};
struct metric_shown metric_shown(struct arena *a, const struct baseline *b, const struct baseline_metric *m);
/* Whether the metric is known on either side. */
bool metric_known(const struct baseline_metric *m);
/* "last/report.json", and when it does not compare, why. */
const char *baseline_sentence(struct arena *a, const struct baseline *b);

#endif

#include "report/gate_words.h"

#include <math.h>

const char *metric_word(const struct baseline_metric *m)
{
    static const struct {
        const char *id, *word;
    } words[] = {{"peak_bytes", "peak"},
                 {"headroom_bytes", "headroom"},
                 {"growth_bytes_per_step", "growth"},
                 {"failed_runs_ratio", "failed runs"},
                 {"same_batch_ratio", "same batch fails"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i].id, m->id) == 0)
            return words[i].word;
    return m->id;
}

bool metric_known(const struct baseline_metric *m)
{
    return !isnan(m->before) || !isnan(m->now);
}

static const char *figure(struct arena *a, const struct baseline_metric *m, double v, bool sign)
{
    if (isnan(v))
        return "-";
    if (strcmp(m->unit, "ratio") == 0)
        return arena_printf(a, "%s%s", sign && v > 0 ? "+" : "", words_share(a, v));
    const char *per = strcmp(m->unit, "bytes/step") == 0 ? "/step" : "";
    double widest = fmax(fabs(m->before), fabs(m->now));
    enum byte_unit u = num_byte_unit(widest);
    return arena_printf(a, "%s %s%s", words_bytes_in(a, v, u, sign), num_byte_unit_name(u), per);
}

struct metric_shown metric_shown(struct arena *a, const struct baseline *b, const struct baseline_metric *m)
{
    return (struct metric_shown){figure(a, m, m->before, false), figure(a, m, m->now, false),
                                 figure(a, m, m->now - m->before, true),
                                 !b->comparable              ? "not comparable"
                                 : isnan(m->now - m->before) ? "-"
                                                             : baseline_says_name(m->says)};
}

const char *baseline_sentence(struct arena *a, const struct baseline *b)
{
    if (b->comparable)
        return arena_printf(a, "Compared with %s; a difference within the noise is ~.", b->name);
    return arena_printf(a, "%s is not comparable: %s.", b->name, b->why_not);
}

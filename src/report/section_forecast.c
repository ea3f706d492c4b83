#include "report/page.h"

#include <math.h>

/* When memory will run out, and what the same method said earlier in the run. */

static const char *interval(struct page *p, double step, double low, double high)
{
    struct arena *a = &p->arena;

    if (isnan(step))
        return "none could be made";
    if (isnan(low) || isnan(high))
        return words_number(a, step);
    return arena_printf(a, "%s (%s to %s)", words_number(a, round(step)), words_number(a, round(low)),
                        words_number(a, round(high)));
}

bool section_forecast(struct page *p, struct tnode *root)
{
    struct arena *a = &p->arena;
    const struct run_report *r = p->lead;

    if (!r || !r->has_leak || (isnan(r->leak.oom_step_forecast) && r->leak.n_backtest == 0))
        return false;
    bool failed = r->has_failure && !isnan(r->failure.step);
    if (!isnan(r->leak.oom_step_forecast)) {
        struct tnode *now = tnode_item(a, root, "rows");

        tnode_text(a, now, "made", "with all rows");
        tnode_text(a, now, "forecast",
                   interval(p, r->leak.oom_step_forecast, r->leak.forecast_low, r->leak.forecast_high));
    }
    for (size_t i = 0; i < r->leak.n_backtest; i++) {
        const struct backtest *b = &r->leak.backtest[i];
        struct tnode *row = tnode_item(a, root, "rows");

        tnode_printf(a, row, "made", "with the first %s of the rows", words_share(a, b->at_share));
        tnode_text(a, row, "forecast", interval(p, b->step, b->low, b->high));
    }
    page_optional(p, root, "actual", "step", failed ? words_number(a, r->failure.step) : NULL);
    return true;
}

/* Grows, on the host: the process's resident memory while the device is flat. */
#include "analyse/rules.h"
#include "analyse/say.h"
#include "analyse/stats.h"

#include <math.h>

#define MIB 1048576.0

static double host_limit(const struct frame *f)
{
    double c = series_meta(f->s, F_HOST_CAPACITY);
    return c > 0 ? c : NAN;
}

void rule_host(struct run_ctx *c)
{
    struct frame *f = c->f;
    struct found_leak *l = &c->leak;
    struct arena *a = c->arena;
    const double *rss = f->train.v[F_HOST_RSS];
    l->p_host = 0.02;
    if (!rss || f->train.n < 8) {
        if (f->killed)
            rule_test(c, Q_GROWS, "host_rise", NAN, "bytes", NAN, SAYS_NOTHING, ROW_FAILURE,
                      "The run was killed by a signal; the process's memory on the host was not logged.");
        return;
    }
    double limit = host_limit(f), effect = fmax(256 * MIB, isfinite(limit) ? 0.01 * limit : 0);
    growth_test(&l->host, f->train.x + f->warm, rss + f->warm, f->train.restart + f->warm,
                f->train.n - f->warm, effect);
    struct growth *g = &l->host;
    bool climbs = growth_climbs(g);
    double last = stats_max(rss, f->train.n, NULL);
    if (climbs)
        l->p_host = g->strength * (f->killed ? 1 : f->fail ? 0.3 : 0.85);
    if (climbs && f->killed && last > 0.7 * limit)
        l->p_host = fmax(l->p_host, 0.94);
    if (!climbs && f->killed && last > 0.9 * limit)
        l->p_host = 0.5;
    rule_test(c, Q_GROWS, "host_rise", climbs ? g->rise : g->total_rise, "bytes", effect,
              climbs ? SAYS_FOR : SAYS_AGAINST, f->train.n ? f->train.row[f->train.n - 1] : ROW_NONE,
              climbs
                  ? arena_printf(a, "The process on the host grew by %s (%s a step) to %s%s%s.",
                                 say_bytes(a, g->rise), say_bytes(a, g->slope), say_bytes(a, last),
                                 isfinite(limit) ? " of " : "", isfinite(limit) ? say_bytes(a, limit) : "")
                  : arena_printf(a, "The process's memory on the host shows no lasting climb (highest %s).",
                                 say_bytes(a, last)));
}

#include "analyse/say.h"

#include "base/num.h"

#include <math.h>
#include <string.h>

static const char *keep(struct arena *a, struct buf *b)
{
    const char *s = arena_strndup(a, b->p ? b->p : "", b->n);
    buf_release(b);
    return s;
}

const char *say_bytes(struct arena *a, double bytes)
{
    struct buf b = {0};
    num_put_bytes(&b, bytes < 0 ? 0 : bytes);
    return keep(a, &b);
}

const char *say_signed_bytes(struct arena *a, double bytes)
{
    struct buf b = {0};
    if (bytes < 0)
        buf_putc(&b, '-');
    num_put_bytes(&b, fabs(bytes));
    return keep(a, &b);
}

const char *say_number(struct arena *a, double v, int decimals)
{
    struct buf b = {0};
    if (isfinite(v))
        num_put_fixed(&b, v, decimals);
    else
        buf_puts(&b, "unknown");
    return keep(a, &b);
}

const char *say_count(struct arena *a, double n)
{
    return say_number(a, n, 0);
}

const char *say_percent(struct arena *a, double share)
{
    struct buf b = {0};
    if (!isfinite(share))
        buf_puts(&b, "an unknown share");
    else {
        num_put_fixed(&b, 100 * share, fabs(share) < 0.0995 ? 1 : 0);
        buf_puts(&b, " %");
    }
    return keep(a, &b);
}

const char *say_below(struct arena *a, double percentile, double n)
{
    if (percentile >= 100)
        return arena_printf(a, "all %s", say_count(a, n));
    return arena_printf(a, "%s %% of the %s", say_number(a, percentile, percentile < 99 ? 0 : 1),
                        say_count(a, n));
}

const char *say_interval(struct arena *a, double low, double high)
{
    if (!isfinite(low) || !isfinite(high))
        return "";
    const char *l = say_signed_bytes(a, low), *h = say_signed_bytes(a, high);
    /* Narrower than the digits shown: the estimate itself says as much. */
    return strcmp(l, h) == 0 ? "" : arena_printf(a, " (95 %% interval %s to %s)", l, h);
}

const char *say_seconds(struct arena *a, double s)
{
    static const struct {
        double unit;
        const char *name;
    } scale[] = {{86400, "days"}, {3600, "hours"}, {60, "minutes"}};
    for (size_t i = 0; i < sizeof scale / sizeof *scale; i++)
        if (s >= 2 * scale[i].unit)
            return arena_printf(a, "%s %s", say_number(a, s / scale[i].unit, s < 20 * scale[i].unit),
                                scale[i].name);
    return arena_printf(a, "%s seconds", say_number(a, s, 0));
}

const char *say_ratio(struct arena *a, double v)
{
    bool whole = isfinite(v) && fabs(v - round(v)) < 0.005 * v;
    return say_number(a, v, whole ? 0 : v < 10 ? 2 : 1);
}

const char *say_plural(double n, const char *one, const char *many)
{
    return n == 1 ? one : many;
}

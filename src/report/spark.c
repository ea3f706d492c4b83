#include "report/summary.h"

#include <math.h>

static enum field spark_field(const struct series *s, const char **what)
{
    static const struct {
        enum field f;
        const char *word;
    } columns[] = {{F_PEAK, "peak allocated"},
                   {F_ALLOCATED, "allocated"},
                   {F_RESERVED, "reserved"},
                   {F_DEVICE_USED, "used on the device"},
                   {F_HOST_RSS, "resident on the host"}};

    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        if (series_has(s, columns[i].f)) {
            *what = columns[i].word;
            return columns[i].f;
        }
    return F_COUNT;
}

static double highest(const struct series *s, enum field f, size_t from, size_t to)
{
    double v[512], max = NAN;

    for (size_t at = from; at < to; at += 512) {
        size_t n = to - at < 512 ? to - at : 512;

        series_read(s, f, at, n, v);
        for (size_t i = 0; i < n; i++)
            max = fmax(max, v[i]);
    }
    return max;
}

bool summary_spark(struct buf *out, const struct run_report *r, const char *const *glyphs, int levels,
                   const char **what, double *top)
{
    const struct series *s = r ? r->series : NULL;
    double column[SPARK_COLUMNS], max = NAN;
    enum field f = s && s->rows > 1 ? spark_field(s, what) : F_COUNT;

    if (f == F_COUNT)
        return false;
    size_t columns = s->rows < SPARK_COLUMNS ? s->rows : SPARK_COLUMNS;
    for (size_t i = 0; i < columns; i++) {
        column[i] = highest(s, f, i * s->rows / columns, (i + 1) * s->rows / columns);
        max = fmax(max, column[i]);
    }
    *top = f != F_HOST_RSS && r->capacity_bytes > max ? r->capacity_bytes : max;
    if (!(*top > 0))
        return false;
    for (size_t i = 0; i < columns; i++) {
        double level = isnan(column[i]) ? 0 : floor(column[i] / *top * levels);

        buf_puts(out, glyphs[level < 0 ? 0 : level >= levels ? levels - 1 : (int)level]);
    }
    return true;
}

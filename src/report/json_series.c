#include "report/json.h"

#include <math.h>

/* The reduced points: buckets of rows with min, mean and max, so that a spike of one row is kept. */

enum {
    BUCKETS_LEAD = 480,
    BUCKETS_OTHER = 160,
    OTHER_RUNS = 15,
    ROWS_AT_ONCE = 1024
};

struct bucket {
    double min, mean, max; /* NAN when no row has a value */
};

static void reduce(struct bucket *out, const struct series *s, enum field f, size_t from, size_t to)
{
    double v[ROWS_AT_ONCE], sum = 0, n = 0;

    *out = (struct bucket){NAN, NAN, NAN};
    for (size_t at = from; at < to; at += ROWS_AT_ONCE) {
        size_t k = to - at < ROWS_AT_ONCE ? to - at : ROWS_AT_ONCE;

        series_read(s, f, at, k, v);
        for (size_t i = 0; i < k; i++) {
            if (isnan(v[i]))
                continue;
            out->min = fmin(out->min, v[i]);
            out->max = fmax(out->max, v[i]);
            sum += v[i];
            n++;
        }
    }
    if (n > 0)
        out->mean = sum / n;
}

static void put_column(struct json *j, const struct series *s, enum field f, size_t buckets)
{
    static const char *const names[] = {"min", "mean", "max"};
    struct bucket b[BUCKETS_LEAD];
    bool one_row = buckets == s->rows;

    for (size_t i = 0; i < buckets; i++)
        reduce(&b[i], s, f, i * s->rows / buckets, (i + 1) * s->rows / buckets);
    json_open(j, field_name(f), '{');
    for (int k = 0; k < 3; k++) {
        if (one_row && k != 1)
            continue;
        json_open_flat(j, names[k], '[');
        for (size_t i = 0; i < buckets; i++)
            json_whole(j, NULL, k == 0 ? b[i].min : k == 1 ? b[i].mean : b[i].max);
        json_close(j, ']');
    }
    json_close(j, '}');
}

/* Members of an open object. */
static void put_points(struct json *j, const struct series *s, size_t most)
{
    static const enum field fields[] = {F_STEP,        F_ALLOCATED, F_PEAK,   F_RESERVED, F_PEAK_RESERVED,
                                        F_DEVICE_USED, F_HOST_RSS,  F_TOKENS, F_MAX_LEN,  F_BATCH_SIZE};
    size_t rows = s ? s->rows : 0, buckets = rows < most ? rows : most;

    buckets = buckets < BUCKETS_LEAD ? buckets : BUCKETS_LEAD;
    json_u64(j, "rows", rows);
    json_u64(j, "buckets", buckets);
    json_open(j, "columns", '{');
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        if (buckets > 0 && series_has(s, fields[i]))
            put_column(j, s, fields[i], buckets);
    json_close(j, '}');
}

void json_points(struct json *j, const char *key, const struct series *s, size_t most)
{
    json_open(j, key, '{');
    put_points(j, s, most);
    json_close(j, '}');
}

static void put_series(struct json *j, const struct run_report *r, size_t most)
{
    json_open(j, NULL, '{');
    json_text(j, "run", r->run ? r->run : "");
    json_whole(j, "seed", r->seed);
    json_whole(j, "rank", r->rank);
    put_points(j, r->series, most);
    json_close(j, '}');
}

void json_series(struct buf *out, const struct analysis *an)
{
    struct json j = {.out = out, .empty = true};
    size_t others = 0;

    json_open(&j, NULL, '{');
    json_text(&j, "schema", "oomreport-series/1");
    json_open(&j, "runs", '[');
    for (size_t i = 0; i < an->n_runs; i++) {
        bool lead = i == an->lead;

        if (!an->runs[i].series || (!lead && others == OTHER_RUNS))
            continue;
        others += !lead;
        put_series(&j, &an->runs[i], lead ? BUCKETS_LEAD : BUCKETS_OTHER);
    }
    json_close(&j, ']');
    json_close(&j, '}');
    buf_putc(out, '\n');
}

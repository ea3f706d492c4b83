/* "merge" of a run in report.json: what a comparison with runs of other reports needs of it, and its points.
 * read/past_merge.c is the inverse. */
#include "report/json.h"

#include <math.h>

enum {
    SPANS_MAX = 256,
    IDS_MAX = 4096
};

static void put_text(struct json *j, const char *key, struct str s)
{
    struct arena a = {0};

    json_text(j, key, s.n ? arena_str(&a, s).p : NULL);
    arena_release(&a);
}

static void put_pair(struct json *j, double x, double y)
{
    json_open_flat(j, NULL, '[');
    json_number(j, NULL, x);
    json_number(j, NULL, y);
    json_close(j, ']');
}

static void put_spans(struct json *j, const char *key, const struct span *spans, size_t n)
{
    json_open_flat(j, key, '[');
    for (size_t i = 0; i < n && i < SPANS_MAX; i++)
        put_pair(j, spans[i].from, spans[i].to);
    json_close(j, ']');
}

static void put_failing(struct json *j, const struct run_report *r)
{
    const struct run_traits *t = &r->traits;
    bool known = r->has_failure && r->failure.batch_ids && *r->failure.batch_ids;

    json_number(j, "failing_step", t->failing_step);
    /* those that failure.batch holds stand there */
    struct arena a = {0};
    json_ids(j, "failing_ids", known || t->failing_ids.n == 0 ? NULL : arena_str(&a, t->failing_ids).p);
    arena_release(&a);
    put_text(j, "failing_hash", t->failing_hash);
    json_bool(j, "hash_passed", t->hash_passed);
    json_open_flat(j, "passed_ids", '[');
    for (size_t i = 0; i < t->n_passed_ids && i < IDS_MAX; i++)
        put_text(j, NULL, t->passed_ids[i]);
    json_close(j, ']');
    json_number(j, "distinct_batches", t->distinct_batches);
    json_open_flat(j, "standing", '[');
    for (size_t m = 0; m < SHAPE_MEASURES; m++) {
        json_open_flat(j, NULL, '[');
        json_number(j, NULL, t->standing[m].n);
        json_number(j, NULL, t->standing[m].as_large);
        json_number(j, NULL, t->standing[m].records);
        json_number(j, NULL, t->standing[m].varies);
        json_close(j, ']');
    }
    json_close(j, ']');
    json_open_flat(j, "order", '[');
    for (size_t i = 0; i < t->n_order; i++)
        put_pair(j, t->order_step[i], t->order_code[i]);
    json_close(j, ']');
}

void json_merge(struct json *j, const struct run_report *r, size_t points)
{
    const struct run_traits *t = &r->traits;
    struct arena a = {0};

    json_open(j, "merge", '{');
    json_text(j, "digest", t->digest ? arena_printf(&a, "%016llx", (unsigned long long)t->digest) : NULL);
    arena_release(&a);
    json_whole(j, "peak_bytes", t->peak_bytes);
    json_number(j, "end_time", t->end_time);
    json_number(j, "epoch_steps", t->epoch_steps);
    json_number(j, "typical_batch", t->typical_batch);
    json_number(j, "typical_len", t->typical_len);
    json_number(j, "typical_floor_bytes", t->typical_floor);
    json_number(j, "typical_peak_bytes", t->typical_peak);
    json_number(j, "fit_step", r->has_leak ? r->leak.fit_step0 : NAN);
    json_number(j, "fit_bytes", r->has_leak ? r->leak.fit_bytes0 : NAN);
    put_failing(j, r);
    put_spans(j, "eval_spans", r->eval_spans, r->n_eval_spans);
    put_spans(j, "epochs_at", r->epochs_at, r->n_epochs_at);
    json_points(j, "points", r->series, points);
    json_close(j, '}');
}

/* past_merge: traits and reduced points of a run, read back from report.json's "merge". The inverse of
 * report/json_merge.c. */
#include "read/past_json.h"

#include <math.h>
#include <stdlib.h>

enum {
    SPANS_MAX = 4096,
    POINTS_MAX = 4096,
    KINDS = 3, /* min, mean, max of a bucket */
};

static struct str text_of(struct arena *a, const cJSON *o, const char *key)
{
    return str_of(past_text(a, o, key));
}

/* [[from, to], ...] */
static struct span *read_spans(size_t *n, struct arena *a, const cJSON *o, const char *key)
{
    size_t most;
    const cJSON *list = past_array(o, key, &most, SPANS_MAX), *v;
    struct span *spans = arena_alloc(a, (most + 1) * sizeof *spans);
    *n = 0;
    cJSON_ArrayForEach(v, list)
    {
        struct span s = {past_item(v, 0), past_item(v, 1)};
        if (*n < most && !isnan(s.from) && !isnan(s.to))
            spans[(*n)++] = s;
    }
    return spans;
}

static void read_failing(struct run_report *r, struct arena *a, const cJSON *o)
{
    struct run_traits *t = &r->traits;
    size_t n, i = 0;
    const cJSON *list = past_array(o, "passed_ids", &n, SPANS_MAX), *v;
    const cJSON *standings = past_array(o, "standing", &i, SHAPE_MEASURES);
    struct str *passed = arena_alloc(a, (n + 1) * sizeof *passed);
    const char *ids = past_ids(a, o, "failing_ids");
    t->failing_step = past_number(o, "failing_step");
    t->failing_ids = str_of(ids ? ids : r->failure.batch_ids);
    t->failing_hash = text_of(a, o, "failing_hash");
    t->hash_passed = past_bool(o, "hash_passed");
    t->distinct_batches = past_number(o, "distinct_batches");
    cJSON_ArrayForEach(v, list) if (cJSON_IsString(v) && t->n_passed_ids < n) passed[t->n_passed_ids++] =
        arena_str(a, str_of(v->valuestring));
    t->passed_ids = passed;
    i = 0;
    cJSON_ArrayForEach(v, standings)
    {
        struct standing s = {past_item(v, 0), past_item(v, 1), past_item(v, 2), past_item(v, 3) > 0};
        if (i < SHAPE_MEASURES && s.n >= 0 && s.as_large >= 0 && s.records >= 0)
            t->standing[i] = s;
        i++;
    }
}

static void read_order(struct run_traits *t, struct arena *a, const cJSON *o)
{
    size_t n;
    struct span *order = read_spans(&n, a, o, "order");
    n = n < ORDER_SAMPLE ? n : ORDER_SAMPLE;
    t->order_step = arena_alloc(a, (n + 1) * sizeof *t->order_step);
    t->order_code = arena_alloc(a, (n + 1) * sizeof *t->order_code);
    for (size_t i = 0; i < n; i++) {
        t->order_step[i] = order[i].from;
        t->order_code[i] = order[i].to;
    }
    t->n_order = n;
}

static uint64_t read_digest(const cJSON *o)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, "digest");
    return cJSON_IsString(v) && strlen(v->valuestring) == 16 ? strtoull(v->valuestring, NULL, 16) : 0;
}

/* --- points ----------------------------------------------------------------------- */

struct points {
    size_t buckets, kinds; /* kinds: 1 where each bucket was one row, else KINDS */
    enum field field[F_COUNT];
    double *value[F_COUNT]; /* buckets * kinds each; NAN unknown */
    size_t n;
};

static bool read_column(double *out, const struct points *p, const cJSON *column)
{
    static const char *const names[KINDS] = {"min", "mean", "max"};
    bool any = false;
    for (size_t i = 0; i < p->buckets * p->kinds; i++)
        out[i] = NAN;
    for (size_t k = 0; k < p->kinds; k++) {
        size_t n, i = 0;
        const cJSON *list = past_array(column, p->kinds == 1 ? "mean" : names[k], &n, p->buckets), *v;
        cJSON_ArrayForEach(v, list)
        {
            if (i == n)
                break;
            if (cJSON_IsNumber(v) && v->valuedouble >= 0 && v->valuedouble <= 0x1p53) {
                out[i * p->kinds + k] = v->valuedouble;
                any = true;
            }
            i++;
        }
    }
    return any;
}

static void read_points(struct points *p, struct arena *a, const cJSON *o)
{
    double rows = past_number(o, "rows"), buckets = past_number(o, "buckets");
    const cJSON *columns = past_object(o, "columns"), *v;
    *p = (struct points){.kinds = rows == buckets ? 1 : KINDS};
    if (!(buckets >= 1 && buckets <= POINTS_MAX))
        return;
    p->buckets = (size_t)buckets;
    cJSON_ArrayForEach(v, columns)
    {
        enum field f = v->string ? field_find(str_of(v->string)) : F_COUNT;
        if (f == F_COUNT || p->n == F_COUNT || field_part(f) != PART_STEP || field_kind(f) == KIND_STR)
            continue;
        p->field[p->n] = f;
        p->value[p->n] = arena_alloc(a, p->buckets * p->kinds * sizeof(double));
        p->n += read_column(p->value[p->n], p, v);
    }
}

static void set_number(struct record *r, enum field f, double v)
{
    if (field_kind(f) == KIND_NUM)
        record_set_d(r, f, v);
    else
        record_set_u(r, f, (uint64_t)v);
}

static void set_header(struct record *rec, const struct run_report *r)
{
    if (r->run)
        record_set_s(rec, F_RUN, str_of(r->run));
    if (r->device)
        record_set_s(rec, F_DEVICE, str_of(r->device));
    if (r->seed >= 0 && r->seed <= 0x1p53)
        record_set_u(rec, F_SEED, (uint64_t)r->seed);
    if (r->rank >= 0 && r->rank <= 0x1p53)
        record_set_u(rec, F_RANK, (uint64_t)r->rank);
    if (r->capacity_bytes >= 0 && r->capacity_bytes <= 0x1p53)
        record_set_u(rec, F_CAPACITY, (uint64_t)r->capacity_bytes);
}

/* The event that ended it, and of a run that lived on those that did not. */
static void add_failure(struct series *s, const struct run_report *r)
{
    struct record rec;
    record_clear(&rec);
    if (r->outcome != OUTCOME_OOM && r->outcome != OUTCOME_KILLED)
        return;
    if (r->failure.step >= 0 && r->failure.step <= 0x1p53)
        record_set_u(&rec, F_STEP, (uint64_t)r->failure.step);
    if (r->traits.end_time >= 0)
        record_set_d(&rec, F_TIME, r->traits.end_time);
    if (r->failure.requested_bytes >= 0 && r->failure.requested_bytes <= 0x1p53)
        record_set_u(&rec, F_REQUESTED, (uint64_t)r->failure.requested_bytes);
    if (r->failure.free_bytes >= 0 && r->failure.free_bytes <= 0x1p53)
        record_set_u(&rec, F_FREE, (uint64_t)r->failure.free_bytes);
    series_event(s, r->outcome == OUTCOME_OOM ? EVENT_OOM : EVENT_KILL, &rec, NULL, 0);
}

/* A row for the least, the mean and the largest of each bucket, so that a plot spans what the log spanned. */
static struct series *series_of(const struct points *p, const struct run_report *r)
{
    struct series *s = series_new();
    for (size_t i = 0; i < p->buckets * p->kinds; i++) {
        struct record rec;
        record_clear(&rec);
        if (i == 0)
            set_header(&rec, r);
        for (size_t k = 0; k < p->n; k++)
            if (!isnan(p->value[k][i]))
                set_number(&rec, p->field[k], p->value[k][i]);
        series_append(s, &rec);
    }
    add_failure(s, r);
    s->source = r->source;
    s->format = r->format;
    series_seal(s);
    return s;
}

void past_merge(struct run_report *out, struct arena *a, const cJSON *merge)
{
    struct run_traits *t = &out->traits;
    struct points points;
    t->digest = read_digest(merge);
    t->peak_bytes = past_number(merge, "peak_bytes");
    if (isnan(t->peak_bytes))
        t->peak_bytes = out->peak.max_bytes; /* of a report that carries nothing to merge */
    t->end_time = past_number(merge, "end_time");
    t->epoch_steps = past_number(merge, "epoch_steps");
    t->typical_batch = past_number(merge, "typical_batch");
    t->typical_len = past_number(merge, "typical_len");
    t->typical_floor = past_number(merge, "typical_floor_bytes");
    t->typical_peak = past_number(merge, "typical_peak_bytes");
    out->leak.fit_step0 = past_number(merge, "fit_step");
    out->leak.fit_bytes0 = past_number(merge, "fit_bytes");
    read_failing(out, a, merge);
    read_order(t, a, merge);
    out->eval_spans = read_spans(&out->n_eval_spans, a, merge, "eval_spans");
    out->epochs_at = read_spans(&out->n_epochs_at, a, merge, "epochs_at");
    read_points(&points, a, past_object(merge, "points"));
    out->series = series_of(&points, out);
}

#include "report/facts.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

const struct run_report *facts_lead(const struct analysis *an)
{
    return an->lead < an->n_runs ? &an->runs[an->lead] : NULL;
}

static const char *run_name(const struct run_report *r)
{
    return r->run ? r->run : "";
}

static bool same_run(const struct analysis *an, size_t i, size_t k)
{
    return strcmp(run_name(&an->runs[i]), run_name(&an->runs[k])) == 0;
}

/* The series are sorted by run, so ranks of one run stand together. */
static bool first_of_run(const struct analysis *an, size_t i)
{
    return i == 0 || !same_run(an, i - 1, i);
}

size_t facts_runs(const struct analysis *an)
{
    size_t n = 0;

    for (size_t i = 0; i < an->n_runs; i++)
        n += first_of_run(an, i) && !an->runs[i].beside;
    return n;
}

static bool failed(const struct run_report *r)
{
    return r->outcome == OUTCOME_OOM || r->outcome == OUTCOME_KILLED;
}

/* Failed before not failed, then by step. */
static bool before(const struct run_report *a, const struct run_report *b)
{
    double sa = a->has_failure ? a->failure.step : NAN, sb = b->has_failure ? b->failure.step : NAN;

    if (failed(a) != failed(b))
        return failed(a);
    if (isnan(sb))
        return !isnan(sa);
    return sa < sb;
}

bool facts_stands_for_run(const struct analysis *an, size_t i)
{
    size_t from = i, best;

    while (!first_of_run(an, from))
        from--;
    best = from;
    for (size_t k = from + 1; k < an->n_runs && same_run(an, from, k); k++)
        if (before(&an->runs[k], &an->runs[best]))
            best = k;
    if (an->lead < an->n_runs && an->lead >= from && same_run(an, from, an->lead))
        best = an->lead;
    return best == i;
}

size_t facts_failed_runs(const struct analysis *an)
{
    size_t n = 0;

    for (size_t i = 0; i < an->n_runs;) {
        size_t k = i;
        bool any = false;

        for (; k < an->n_runs && same_run(an, i, k); k++)
            any |= failed(&an->runs[k]) && !an->runs[k].beside;
        n += any;
        i = k;
    }
    return n;
}

size_t facts_agreeing_runs(const struct analysis *an)
{
    size_t n = 0;

    for (size_t i = 0; i < an->n_runs;) {
        size_t k = i;
        bool any = false;

        for (; k < an->n_runs && same_run(an, i, k); k++)
            any |= an->runs[k].verdict.cause == an->verdict.cause && !an->runs[k].beside;
        n += any;
        i = k;
    }
    return n;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

const char *facts_run_word(const struct analysis *an, size_t n)
{
    double *seeds = mem_zero(an->n_runs + 1, sizeof *seeds);
    size_t k = 0;
    bool distinct = true;

    for (size_t i = 0; i < an->n_runs; i++)
        if (first_of_run(an, i)) {
            distinct &= !isnan(an->runs[i].seed);
            seeds[k++] = an->runs[i].seed;
        }
    if (distinct) {
        qsort(seeds, k, sizeof *seeds, by_value);
        for (size_t i = 1; i < k; i++)
            distinct &= seeds[i] != seeds[i - 1];
    }
    free(seeds);
    if (distinct)
        return n == 1 ? "seed" : "seeds";
    return n == 1 ? "run" : "runs";
}

static const char *common_name(struct arena *a, const struct analysis *an)
{
    const char *first = run_name(&an->runs[0]);
    size_t n = strlen(first);

    for (size_t i = 1; i < an->n_runs; i++) {
        const char *other = run_name(&an->runs[i]);
        size_t k = 0;

        while (k < n && other[k] == first[k])
            k++;
        n = k;
    }
    static const char *const tails[] = {"seed", "run", "rank", "s", "r"};
    for (bool again = true; again;) { /* "llama_seed" and "llama-run-" are "llama" */
        again = false;
        while (n && strchr("-_./ 0123456789=", first[n - 1]))
            n--;
        for (size_t t = 0; t < sizeof tails / sizeof tails[0]; t++) {
            size_t len = strlen(tails[t]);
            if (n > len && memcmp(first + n - len, tails[t], len) == 0 &&
                strchr("-_./ ", first[n - len - 1])) {
                n -= len;
                again = true;
            }
        }
    }
    return n >= 3 ? arena_strndup(a, first, n) : NULL;
}

const char *facts_label(struct arena *a, const struct analysis *an, const char *label)
{
    size_t runs = facts_runs(an);

    if (label && *label)
        return words_short(a, label, 200);
    if (runs == 0)
        return "no runs";
    if (runs == 1)
        return *run_name(&an->runs[0]) ? run_name(&an->runs[0]) : "one run";
    const char *common = common_name(a, an);
    return common ? common : arena_printf(a, "%s +%zu more", run_name(&an->runs[0]), runs - 1);
}

const char *facts_title(struct arena *a, const struct analysis *an, const char *label)
{
    const struct verdict *v = &an->verdict;
    const struct run_report *lead = facts_lead(an);
    char *word = arena_strndup(a, class_word(v), strlen(class_word(v)));
    const char *what = "no failure seen";

    for (char *p = word; *p; p++)
        if (*p >= 'a' && *p <= 'z')
            *p = (char)(*p - 'a' + 'A');
    if (lead && failed(lead)) {
        const char *how = lead->outcome == OUTCOME_OOM ? "OOM" : "killed";
        what = lead->has_failure && !isnan(lead->failure.step)
                   ? arena_printf(a, "%s at step %s", how, words_number(a, lead->failure.step))
                   : how;
    } else if (v->status == STATUS_AT_RISK) {
        what = "at risk";
    } else if (lead && !isnan(lead->steps)) {
        what = arena_printf(a, "%s steps", words_number(a, lead->steps));
    }
    if (v->cause == CAUSE_NONE)
        return arena_printf(a, "%s - %s - %s", word, what, label);
    return arena_printf(a, "%s (%s) - %s - %s", word, certainty_name(v->certainty), what, label);
}

static double column_max(const struct series *s, enum field f)
{
    double block[512], max = NAN;

    if (!s || !series_has(s, f))
        return NAN;
    for (size_t at = 0; at < s->rows; at += 512) {
        size_t n = s->rows - at < 512 ? s->rows - at : 512;

        series_read(s, f, at, n, block);
        for (size_t i = 0; i < n; i++)
            max = fmax(max, block[i]);
    }
    return max;
}

double facts_peak(const struct run_report *r, const char **what)
{
    static const struct {
        enum field f;
        const char *word;
    } columns[] = {{F_PEAK, "peak allocated"},
                   {F_ALLOCATED, "allocated after the step"},
                   {F_PEAK_RESERVED, "peak reserved"},
                   {F_RESERVED, "reserved"},
                   {F_DEVICE_USED, "used on the device"},
                   {F_HOST_RSS, "resident on the host"}};

    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
        double v = column_max(r->series, columns[i].f);

        *what = columns[i].word;
        if (!isnan(v))
            return v;
    }
    *what = "peak allocated";
    if (r->has_peak && !isnan(r->peak.max_bytes))
        return r->peak.max_bytes;
    double max = NAN;
    for (size_t i = 0; i < r->n_phases; i++)
        max = fmax(max, r->phases[i].peak_bytes);
    return max;
}

/* Whether `list` (ids joined by ';', CSV form) has the id. */
static bool has_id(const char *list, const char *id)
{
    size_t n = strlen(id);

    for (const char *p = list; *p;) {
        size_t len = 0;

        while (p[len] && p[len] != ';')
            len += p[len] == '\\' && p[len + 1] ? 2 : 1;
        if (len == n && memcmp(p, id, n) == 0)
            return true;
        p += len + (p[len] == ';');
    }
    return false;
}

static bool alike(double a, double b)
{
    return (isnan(a) && isnan(b)) || a == b;
}

/* Whether anything of the failing batch is logged that the comparison goes by. */
static bool knows_batch(const struct analysis *an, const struct failure *f)
{
    if (an->cross.by == BY_BATCH_IDS)
        return f->batch_ids != NULL;
    if (an->cross.by == BY_BATCH_HASH)
        return f->batch_hash != NULL;
    return !isnan(f->batch_size) || !isnan(f->max_len) || !isnan(f->tokens) || !isnan(f->height) ||
           !isnan(f->width);
}

static bool same_batch(const struct analysis *an, const struct failure *a, const struct failure *b)
{
    switch (an->cross.by) {
    case BY_BATCH_IDS:
        if (an->cross.n_shared_ids > 0)
            return a->batch_ids && b->batch_ids && has_id(a->batch_ids, an->cross.shared_ids[0]) &&
                   has_id(b->batch_ids, an->cross.shared_ids[0]);
        return a->batch_ids && b->batch_ids && strcmp(a->batch_ids, b->batch_ids) == 0;
    case BY_BATCH_HASH:
        return a->batch_hash && b->batch_hash && strcmp(a->batch_hash, b->batch_hash) == 0;
    default:
        return alike(a->batch_size, b->batch_size) && alike(a->max_len, b->max_len) &&
               alike(a->tokens, b->tokens) && alike(a->height, b->height) && alike(a->width, b->width);
    }
}

size_t facts_same_batch(const struct analysis *an)
{
    size_t best = 0;

    if (!an->has_cross || an->cross.says == CROSS_NOT_TESTABLE)
        return 0;
    for (size_t i = 0; i < an->n_runs && i < 1000; i++) {
        size_t n = 0;

        if (!an->runs[i].has_failure || !facts_stands_for_run(an, i) ||
            !knows_batch(an, &an->runs[i].failure))
            continue;
        for (size_t k = 0; k < an->n_runs && k < 1000; k++)
            n += an->runs[k].has_failure && facts_stands_for_run(an, k) &&
                 (i == k || same_batch(an, &an->runs[i].failure, &an->runs[k].failure));
        best = n > best ? n : best;
    }
    return best;
}

const char *facts_same_batch_text(struct arena *a, const struct analysis *an)
{
    size_t runs = facts_runs(an), same = facts_same_batch(an);

    if (runs < 2)
        return "not tested (1 run)";
    if (facts_failed_runs(an) == 0)
        return arena_printf(a, "no failure in %zu %s", runs, facts_run_word(an, runs));
    if (same == 0)
        return "not testable";
    if (same == 1 && facts_failed_runs(an) > 1)
        return arena_printf(a, "no (%zu failures, each on another batch)", facts_failed_runs(an));
    return arena_printf(a, "%zu of %zu %s", same, runs, facts_run_word(an, runs));
}

const char *facts_where(struct arena *a, const struct analysis *an, const struct run_report *r,
                        const char **what)
{
    struct buf b = {0};
    bool died = r->has_failure && failed(r);
    double step = died ? r->failure.step : r->last_step;

    *what = r->outcome == OUTCOME_OOM         ? "Failed at"
            : r->outcome == OUTCOME_KILLED    ? "Killed at"
            : r->outcome == OUTCOME_COMPLETED ? "Completed"
                                              : "Log ends at";
    double last = r->last_step;
    if (isnan(step) && died && !isnan(last))
        buf_printf(&b, "after step %s", words_number(a, last));
    else if (isnan(step))
        buf_puts(&b, isnan(r->steps) || r->steps == 0
                         ? "step unknown"
                         : arena_printf(a, "row %s (no steps logged)", words_number(a, r->steps)));
    else
        buf_printf(&b, "step %s", words_number(a, step));
    if (!isnan(r->rank))
        buf_printf(&b, ", rank %s", words_number(a, r->rank));
    if (an->n_ranks > 1)
        buf_printf(&b, " of %zu", an->n_ranks);
    if (died && r->failure.phase)
        buf_printf(&b, ", %s", r->failure.phase);
    if (died && r->failure.batch_ids && *r->failure.batch_ids && !r->failure.ids_hidden)
        buf_printf(&b, ", batch %s", words_batch(a, r->failure.batch_ids));
    const char *text = arena_strndup(a, b.p, b.n);
    buf_release(&b);
    return text;
}

static enum cause cause_of_question(enum question_id q)
{
    static const enum cause causes[Q_COUNT] = {CAUSE_LEAK, CAUSE_PEAK, CAUSE_EVAL, CAUSE_CAPACITY};

    return causes[q];
}

/* The test against a cause that a reader should see: the first, but of capacity the level itself. */
static const struct test *telling_test(const struct question *q)
{
    const struct test *best = NULL;

    for (size_t i = 0; i < q->n_tests; i++) {
        const struct test *t = &q->tests[i];

        if (t->says == SAYS_AGAINST && t->text && (!best || strcmp(t->id, "typical_share") == 0))
            best = t;
    }
    return best;
}

void facts_ruled_out(struct arena *a, const struct analysis *an,
                     void (*say)(void *context, const char *cause, const char *reason), void *context)
{
    const struct verdict *v = &an->verdict;
    const struct run_report *lead = facts_lead(an);
    bool runner = v->has_runner_up && v->runner_up_why_not;

    if (runner)
        say(context, class_of_cause(v->runner_up), words_clause(a, v->runner_up_why_not));
    for (int q = 0; lead && q < Q_COUNT; q++) {
        const struct question *question = &lead->triage[q];
        enum cause cause = cause_of_question(question->id);

        if (question->answer != ANSWER_NO || cause == v->cause || (runner && cause == v->runner_up))
            continue;
        const struct test *best = telling_test(question);
        if (best)
            say(context, class_of_cause(cause), words_clause(a, best->text));
    }
}

static const char *agreement(struct arena *a, const struct analysis *an)
{
    size_t runs = facts_runs(an);

    if (runs == 0)
        return NULL;
    if (runs == 1)
        return "1 run: repeatability not tested.";
    const char *count = arena_printf(a, "%zu of %zu ", facts_agreeing_runs(an), runs);
    if (an->verdict.summary && strstr(an->verdict.summary, count))
        return NULL; /* said already */
    if (an->verdict.cause == CAUSE_NONE || an->verdict.cause == CAUSE_UNKNOWN)
        return arena_printf(a, "%zu of %zu %s failed.", facts_failed_runs(an), runs,
                            facts_run_word(an, runs));
    return arena_printf(a, "The same cause in %zu of %zu %s.", facts_agreeing_runs(an), runs,
                        facts_run_word(an, runs));
}

const char *facts_ranks(struct arena *a, const struct analysis *an)
{
    if (an->n_ranks < 2 || !an->ranks_text)
        return NULL;
    const char *text = words_sentence(a, an->ranks_text);
    char *out = arena_strndup(a, text, strlen(text));
    if (out[0] >= 'a' && out[0] <= 'z')
        out[0] = (char)(out[0] - 'a' + 'A');
    return out;
}

const char *facts_agreement(struct arena *a, const struct analysis *an)
{
    const char *runs = agreement(a, an), *ranks = facts_ranks(a, an);

    return runs && ranks ? arena_printf(a, "%s %s", ranks, runs) : ranks ? ranks : runs;
}

static void widen(double *from, double *to, const struct series *s)
{
    double first = NAN, last = NAN;

    if (!s || !series_has(s, F_TIME))
        return;
    for (size_t i = 0; i < s->rows && isnan(first); i++)
        series_read(s, F_TIME, i, 1, &first);
    for (size_t i = s->rows; i > 0 && isnan(last); i--)
        series_read(s, F_TIME, i - 1, 1, &last);
    if (!(first >= 1e8 && last >= first && last < 253402300800.0)) /* before the year 10000 */
        return;
    *from = fmin(*from, first);
    *to = fmax(*to, last);
}

const char *facts_times(struct arena *a, const struct analysis *an)
{
    double from = NAN, to = NAN;
    char first[32], last[32];
    struct tm tm_from, tm_to;

    for (size_t i = 0; i < an->n_runs; i++)
        widen(&from, &to, an->runs[i].series);
    if (isnan(from))
        return NULL;
    time_t t0 = (time_t)from, t1 = (time_t)to;
    if (!gmtime_r(&t0, &tm_from) || !gmtime_r(&t1, &tm_to))
        return NULL;
    bool same_day = tm_from.tm_year == tm_to.tm_year && tm_from.tm_yday == tm_to.tm_yday;
    strftime(first, sizeof first, "%Y-%m-%d %H:%M", &tm_from);
    strftime(last, sizeof last, same_day ? "%H:%M" : "%Y-%m-%d %H:%M", &tm_to);
    return arena_printf(a, "%s to %s UTC", first, last);
}

const char *facts_growth(struct arena *a, const struct run_report *r)
{
    if (!r->has_leak || isnan(r->leak.slope_bytes_per_step))
        return NULL;
    double least = r->leak.minimum_detectable_bytes_per_step;
    if (isnan(r->leak.onset_step) && !isnan(least))
        return arena_printf(a, "none above %s/step", words_bytes(a, least));
    return arena_printf(a, "%s/step", words_signed_bytes(a, r->leak.slope_bytes_per_step));
}

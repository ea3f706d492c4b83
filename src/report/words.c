#include "report/words.h"
#include "base/utf8.h"

#include <ctype.h>
#include <math.h>

static const char *take(struct arena *a, struct buf *b)
{
    const char *s = arena_strndup(a, b->n ? b->p : "", b->n);

    buf_release(b);
    return s;
}

const char *words_bytes_in(struct arena *a, double bytes, enum byte_unit u, bool sign)
{
    struct buf b = {0};

    if (isnan(bytes))
        return "unknown";
    if (bytes < 0)
        buf_puts(&b, "-");
    else if (sign && bytes > 0)
        buf_puts(&b, "+");
    num_put_bytes_in(&b, fabs(bytes), u);
    return take(a, &b);
}

const char *words_bytes(struct arena *a, double bytes)
{
    enum byte_unit u = num_byte_unit(fabs(bytes));

    if (isnan(bytes))
        return "unknown";
    return arena_printf(a, "%s %s", words_bytes_in(a, bytes, u, false), num_byte_unit_name(u));
}

const char *words_signed_bytes(struct arena *a, double bytes)
{
    enum byte_unit u = num_byte_unit(fabs(bytes));

    if (isnan(bytes))
        return "unknown";
    return arena_printf(a, "%s %s", words_bytes_in(a, bytes, u, true), num_byte_unit_name(u));
}

const char *words_bytes_pair(struct arena *a, double first, double second)
{
    enum byte_unit u = num_byte_unit(fmax(fabs(first), fabs(second)));

    if (isnan(second))
        return arena_printf(a, "%s / unknown", words_bytes(a, first));
    return arena_printf(a, "%s / %s %s", words_bytes_in(a, first, u, false),
                        words_bytes_in(a, second, u, false), num_byte_unit_name(u));
}

const char *words_number(struct arena *a, double v)
{
    struct buf b = {0};
    double size = fabs(v);

    if (isnan(v))
        return "unknown";
    if (isinf(v))
        return v < 0 ? "-infinity" : "infinity";
    if (v == floor(v) && size < 1e15)
        num_put_fixed(&b, v, 0);
    else if (size >= 1e15 || size < 1e-3)
        buf_printf(&b, "%.2e", v);
    else
        num_put_fixed(&b, v, size >= 1000 ? 0 : size >= 10 ? 1 : size >= 0.1 ? 2 : 3 + (size < 0.01));
    return take(a, &b);
}

static const char *percent(struct arena *a, double v)
{
    struct buf b = {0};

    num_put_fixed(&b, v, fabs(v - round(v)) < 0.05 || fabs(v) >= 99.95 ? 0 : 1);
    buf_puts(&b, " %");
    return take(a, &b);
}

const char *words_share(struct arena *a, double share)
{
    return isnan(share) ? "unknown" : percent(a, share * 100);
}

const char *words_measure(struct arena *a, double v, double other, const char *unit)
{
    bool bytes = strncmp(unit, "bytes", 5) == 0;

    if (isnan(v))
        return NULL;
    if (bytes) {
        enum byte_unit u = num_byte_unit(isnan(other) ? fabs(v) : fmax(fabs(v), fabs(other)));
        /* a limit of 4 GiB beside a figure of 3 MiB would be shown as 0.00 */
        if (!isnan(other) && v != 0 && fabs(v) < num_byte_unit_size(u) / 100)
            u = num_byte_unit(fabs(v));
        return arena_printf(a, "%s %s%s", words_bytes_in(a, v, u, unit[5] != '\0'), num_byte_unit_name(u),
                            unit + 5);
    }
    if (strcmp(unit, "percent") == 0)
        return percent(a, v);
    if (strcmp(unit, "1") == 0 || unit[0] == '\0')
        return words_number(a, v);
    if (fabs(v) == 1 && strcmp(unit, "steps") == 0)
        unit = "step";
    return arena_printf(a, "%s %s", words_number(a, v), unit);
}

const char *class_of_cause(enum cause c)
{
    switch (c) {
    case CAUSE_LEAK:
        return "leak";
    case CAUSE_PEAK:
        return "peak";
    case CAUSE_EVAL:
        return "eval";
    case CAUSE_CAPACITY:
        return "capacity";
    case CAUSE_NONE:
        return "no failure";
    default:
        return "unknown";
    }
}

const char *class_word(const struct verdict *v)
{
    switch (v->cause) {
    case CAUSE_LEAK:
        return v->subtype == SUB_HOST ? "Host leak" : "Leak";
    case CAUSE_PEAK:
        return "Peak";
    case CAUSE_EVAL:
        return "Eval";
    case CAUSE_CAPACITY:
        return v->subtype == SUB_FRAGMENTATION ? "Fragmentation"
               : v->subtype == SUB_EXTERNAL    ? "Other process"
                                               : "Capacity";
    case CAUSE_NONE:
        return "No failure found";
    default:
        return "Unknown";
    }
}

const char *headline(struct arena *a, const struct verdict *v)
{
    if (v->cause == CAUSE_NONE)
        return "No failure found";
    if (v->cause == CAUSE_UNKNOWN)
        return v->certainty == CERTAINTY_CANNOT_TELL ? "Unknown, cannot tell" : "Unknown";
    return arena_printf(a, "%s, %s", class_word(v), certainty_name(v->certainty));
}

static const char *peak_tail(const struct verdict *v)
{
    bool failed = v->status == STATUS_FAILED;

    switch (v->subtype) {
    case SUB_LENGTH:
        return failed ? "one batch was too long" : "a longer batch than any so far would not fit";
    case SUB_RESOLUTION:
        return failed ? "one batch had too large images" : "a batch of larger images would not fit";
    case SUB_BATCH_SIZE:
        return failed ? "one batch had too many samples" : "a batch of more samples would not fit";
    case SUB_TOKENS:
        return failed ? "one batch had too many tokens" : "a batch of more tokens would not fit";
    case SUB_SCHEDULE:
        return failed ? "the batches grew by design until one did not fit"
                      : "the batches grow by design towards the limit";
    case SUB_UNEXPLAINED:
        return "single steps need far more than the others";
    default:
        return failed ? "one batch was too big" : "a bigger batch than any so far would not fit";
    }
}

static const char *eval_tail(const struct verdict *v)
{
    switch (v->subtype) {
    case SUB_EVAL_GRAD:
        return "evaluation keeps gradients";
    case SUB_EVAL_BATCH:
        return "the evaluation batch is too large";
    case SUB_EVAL_KEPT:
        return "evaluation keeps its predictions";
    case SUB_EVAL_BOUNDARY:
        return "it fails where evaluation begins";
    default:
        return "evaluation needs more than training";
    }
}

static const char *capacity_tail(const struct verdict *v)
{
    switch (v->subtype) {
    case SUB_SIZING:
        return "the job never fitted the device";
    case SUB_OPTIMIZER:
        return "the optimiser's state does not fit";
    case SUB_TYPICAL:
        return "ordinary steps fill the device";
    case SUB_FRAGMENTATION:
        return "memory is held in pieces too small to use";
    case SUB_EXTERNAL:
        return "memory on this device belongs to another process";
    case SUB_RESUME:
        return "it fails only after a resume";
    case SUB_SAVE:
        return "it fails while saving a checkpoint";
    default:
        return "the job is too large for the device";
    }
}

const char *headline_tail(const struct verdict *v)
{
    bool failed = v->status == STATUS_FAILED;

    switch (v->cause) {
    case CAUSE_LEAK:
        if (v->subtype == SUB_HOST)
            return failed ? "the process grew on the host until it was killed"
                          : "the process grows on the host";
        return failed ? "memory grew until it hit the device limit" : "memory grows from step to step";
    case CAUSE_PEAK:
        return peak_tail(v);
    case CAUSE_EVAL:
        return eval_tail(v);
    case CAUSE_CAPACITY:
        return capacity_tail(v);
    case CAUSE_NONE:
        return v->status == STATUS_AT_RISK ? "but little room is left" : "memory stays within the device";
    default:
        return failed ? "these logs do not show the cause" : "these logs do not show whether it fits";
    }
}

const char *words_sentence(struct arena *a, const char *text)
{
    struct str s = str_trim(str_of(text));

    if (s.n && strchr(".!?", s.p[s.n - 1]))
        return arena_strndup(a, s.p, s.n);
    return arena_printf(a, "%.*s.", (int)s.n, s.p ? s.p : "");
}

const char *words_says(enum question_id q, enum says says)
{
    static const char *const pro[Q_COUNT] = {"leak", "peak", "eval", "capacity"};
    static const char *const against[Q_COUNT] = {"not a leak", "not a peak", "not eval", "not capacity"};

    return says == SAYS_FOR ? pro[q] : says == SAYS_AGAINST ? against[q] : "nothing";
}

const char *words_id(struct arena *a, const char *id)
{
    char *s = arena_strndup(a, id, strlen(id));

    for (char *p = s; *p; p++)
        if (*p == '_')
            *p = ' ';
    if (*s >= 'a' && *s <= 'z')
        *s = (char)(*s - 'a' + 'A');
    return s;
}

const char *words_place(struct arena *a, struct place at)
{
    if (!at.file)
        return NULL;
    return at.line ? arena_printf(a, "%s:%llu", at.file, (unsigned long long)at.line) : at.file;
}

const char *words_short(struct arena *a, const char *text, size_t n)
{
    struct str s = str_of(text);
    size_t i = 0, seen = 0;

    while (i < s.n && seen < n) {
        uint32_t cp;
        size_t len = utf8_next(&cp, (struct str){s.p + i, s.n - i});

        i += len ? len : 1;
        seen++;
    }
    if (i >= s.n)
        return text;
    size_t word = i; /* of a sentence whole words stay, if that costs little */
    while (word > i / 2 && s.p[word] != ' ')
        word--;
    if (s.p[word] == ' ')
        for (i = word; i > 0 && strchr(" ,;:(", s.p[i - 1]);)
            i--;
    return arena_printf(a, "%.*s\xE2\x80\xA6", (int)i, text);
}

const char *words_clause(struct arena *a, const char *sentence)
{
    struct str s = str_trim(str_of(sentence));

    if (s.n && s.p[s.n - 1] == '.')
        s.n--;
    char *copy = arena_strndup(a, s.p ? s.p : "", s.n);
    if (s.n > 1 && isupper((unsigned char)copy[0]) && (islower((unsigned char)copy[1]) || copy[1] == ' '))
        copy[0] = (char)tolower((unsigned char)copy[0]);
    return copy;
}

const char *words_shape(struct arena *a, const struct failure *f)
{
    struct buf b = {0};
    /* all tokens say little beside the two that make them up */
    double tokens = isnan(f->batch_size) || isnan(f->max_len) ? f->tokens : NAN;
    const struct {
        double v;
        const char *word;
    } part[] = {{f->batch_size, "batch"}, {f->max_len, "length"}, {tokens, "tokens"}};

    for (size_t i = 0; i < sizeof part / sizeof part[0]; i++)
        if (!isnan(part[i].v))
            buf_printf(&b, "%s%s %s", b.n ? ", " : "", part[i].word, words_number(a, part[i].v));
    if (!isnan(f->height) && !isnan(f->width))
        buf_printf(&b, "%s%s x %s px", b.n ? ", " : "", words_number(a, f->height),
                   words_number(a, f->width));
    return b.n ? take(a, &b) : NULL;
}

const char *words_batch(struct arena *a, const char *ids)
{
    size_t first = 0, more = 0;

    for (size_t i = 0; ids[i]; i++) {
        if (ids[i] == '\\' && ids[i + 1])
            i++;
        else if (ids[i] == ';')
            first = more++ ? first : i;
    }
    const char *id = words_short(a, more ? arena_strndup(a, ids, first) : ids, 24);
    return more ? arena_printf(a, "%s +%zu more", id, more) : id;
}

/* P(at least k of n) at share p. */
static double tail(unsigned k, unsigned n, double p)
{
    double sum = 0;

    for (unsigned i = k; i <= n; i++)
        sum += exp(lgamma(n + 1.0) - lgamma(i + 1.0) - lgamma(n - i + 1.0) + (i ? i * log(p) : 0) +
                   (n - i ? (n - i) * log1p(-p) : 0));
    return sum;
}

double lower_bound_95(unsigned k, unsigned n)
{
    double low = 0, high = 1;

    if (k == 0 || k > n)
        return 0;
    for (int i = 0; i < 60; i++) {
        double mid = (low + high) / 2;

        if (tail(k, n, mid) < 0.05)
            low = mid;
        else
            high = mid;
    }
    return low;
}

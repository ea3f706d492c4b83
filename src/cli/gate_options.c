#include "cli/gate_options.h"

#include "base/num.h"
#include "cli/options.h"

#include <math.h>

void gate_options_init(struct gate_options *g)
{
    *g = (struct gate_options){
        .settings = {.min_certainty = CERTAINTY_LIKELY, .max_growth = NAN, .max_regression = NAN}};
}

/* The cause or subtype that a word of --fail-on means. */
static bool fail_on_word(struct fail_on *out, struct str word)
{
    static const struct {
        const char *name;
        enum fail_on_kind kind;
    } kinds[] = {{"oom", FAIL_ON_OOM},
                 {"at-risk", FAIL_ON_AT_RISK},
                 {"unknown", FAIL_ON_UNKNOWN},
                 {"regression", FAIL_ON_REGRESSION}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (str_is(word, kinds[i].name)) {
            out->kind = kinds[i].kind;
            return true;
        }
    size_t slash = str_find(word, STR_LIT("/"));
    struct str cause = {word.p, slash == (size_t)-1 ? word.n : slash};
    static const enum subtype first[] = {SUB_STEP, SUB_LENGTH, SUB_EVAL_GRAD, SUB_SIZING, SUB_SAVE + 1};
    for (int c = 0; c < (int)CAUSE_NONE; c++) {
        if (!str_is(cause, cause_name((enum cause)c)))
            continue;
        out->kind = FAIL_ON_CAUSE;
        out->cause = (enum cause)c;
        if (slash == (size_t)-1)
            return true;
        struct str sub = {word.p + slash + 1, word.n - slash - 1};
        for (int s = (int)first[c]; s < (int)first[c + 1]; s++)
            if (str_is(sub, subtype_name((enum subtype)s))) {
                out->subtype = (enum subtype)s;
                return true;
            }
    }
    return false;
}

const char *gate_fail_on(struct gate_options *g, const char *list, struct arena *a)
{
    struct str rest = str_of(list);
    size_t most = 1, n = 0;
    for (size_t i = 0; i < rest.n; i++)
        most += rest.p[i] == ',';
    struct fail_on *out = arena_alloc(a, most * sizeof *out);
    bool never = false;
    for (bool last = false; !last;) {
        size_t comma = str_find(rest, STR_LIT(","));
        last = comma == (size_t)-1;
        struct str word = str_trim((struct str){rest.p, last ? rest.n : comma});
        struct fail_on f = {.text = arena_str(a, word).p};
        bool known = false;
        if (str_is(word, "never"))
            known = never = true;
        else if (fail_on_word(&f, word)) {
            known = true;
            for (size_t i = 0; i < n && known; i++)
                known = strcmp(out[i].text, f.text) != 0;
            if (known)
                out[n++] = f;
            known = true;
        }
        if (!known)
            return arena_printf(
                a,
                "--fail-on: unknown \"%s\"; expected never, oom, at-risk, unknown, regression, or a "
                "cause (leak, peak, eval, capacity), as leak or leak/step",
                f.text);
        if (!last) {
            rest.p += comma + 1;
            rest.n -= comma + 1;
        }
    }
    if (never && n > 0)
        return "--fail-on: \"never\" stands alone";
    g->settings.fail_on = out;
    g->settings.n_fail_on = n;
    return NULL;
}

const char *gate_min_confidence(struct gate_options *g, const char *word, struct arena *a)
{
    for (int c = (int)CERTAINTY_CONFIRMED; c <= (int)CERTAINTY_POSSIBLE; c++)
        if (strcmp(word, certainty_name((enum certainty)c)) == 0) {
            g->settings.min_certainty = (enum certainty)c;
            return NULL;
        }
    return arena_printf(a, "--min-confidence: unknown \"%s\"; expected possible, likely or confirmed", word);
}

/* "5%" as 0.05. */
static bool percent(double *out, const char *text)
{
    struct str s = str_trim(str_of(text));
    if (s.n < 2 || s.p[s.n - 1] != '%')
        return false;
    double v;
    if (!num_parse(str_trim((struct str){s.p, s.n - 1}), &v) || !(v >= 0) || !isfinite(v))
        return false;
    *out = v / 100;
    return true;
}

const char *gate_size_limit(struct size_limit *out, const char *option, const char *text, struct arena *a)
{
    *out = (struct size_limit){true, NAN, NAN};
    if (percent(&out->share, text))
        return NULL;
    if (options_size(&out->bytes, text))
        return NULL;
    return arena_printf(
        a,
        "--%s: \"%s\" is no size; expected one such as 70GiB, or a share of the capacity such as "
        "90%%",
        option, text);
}

const char *gate_max_growth(struct gate_options *g, const char *text, struct arena *a)
{
    static const char per[] = "/step";
    size_t n = strlen(text), m = sizeof per - 1;
    if (n > m && strcmp(text + n - m, per) == 0 &&
        options_size(&g->settings.max_growth, arena_strndup(a, text, n - m)))
        return NULL;
    return arena_printf(a, "--max-growth: \"%s\" is no growth; expected one such as 3MiB/step", text);
}

const char *gate_max_regression(struct gate_options *g, const char *text, struct arena *a)
{
    if (percent(&g->settings.max_regression, text))
        return NULL;
    return arena_printf(a, "--max-regression: \"%s\" is no percentage; expected one such as 5%%", text);
}

const char *gate_check_together(const struct gate_options *g)
{
    for (size_t i = 0; i < g->settings.n_fail_on && !g->baseline; i++)
        if (g->settings.fail_on[i].kind == FAIL_ON_REGRESSION)
            return "--fail-on regression needs --baseline FILE, a report.json to compare with";
    if (!isnan(g->settings.max_regression) && !g->baseline)
        return "--max-regression needs --baseline FILE, a report.json to compare with";
    return NULL;
}

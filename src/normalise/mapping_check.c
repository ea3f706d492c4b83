#include "normalise/mapping.h"
#include "normalise/normalise.h"
#include "normalise/sniff.h"
#include "normalise/source_run.h"
#include "normalise/text_rows.h"
#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>

struct check {
    const struct mapping *m;
    struct arena *a;
    struct diag *d;
    size_t sample; /* 1-based */
};

static struct place place_of(const struct check *c)
{
    return (struct place){c->m->origin, 0, 0};
}

static int shown(size_t n)
{
    return n < 400 ? (int)n : 400;
}

/* The records that the sample gives, one JSON object a line (malloc'd; *n bytes). */
static char *run_sample(const struct check *c, struct str input, size_t *n)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, n);
    if (!out)
        return NULL;
    struct converter *converter = converter_new(out, CONVERT_JSONL, false);
    struct record_sink sink = converter_sink(converter);
    struct normalise_settings settings = {.step_from = NAN, .step_to = NAN};
    struct input_info info = {.name = "sample"};
    struct diag quiet;
    diag_init(&quiet);
    struct source *source = source_of_memory("sample", input);
    normalise_source(&info, &sink, source, &settings, c->m, c->a, &quiet);
    source_close(source);
    diag_release(&quiet);
    converter_close(converter);
    fclose(out);
    return text;
}

static bool compare_one(const struct check *c, size_t number, const cJSON *expected, struct str line)
{
    cJSON *found = cJSON_ParseWithLength(line.p, line.n);
    bool same = found && expected && cJSON_Compare(found, expected, true);
    cJSON_Delete(found);
    if (same)
        return true;
    char *want = expected ? cJSON_PrintUnformatted(expected) : NULL;
    diag_add(c->d, DIAG_BAD_SAMPLE, place_of(c), "sample %zu, record %zu: expected %.400s, but it gives %.*s",
             c->sample, number, want ? want : "no further record", line.n ? shown(line.n) : 9,
             line.n ? line.p : "no record");
    cJSON_free(want);
    return false;
}

static bool compare(const struct check *c, const cJSON *expected, struct str found)
{
    const cJSON *item = expected->child;
    size_t number = 0;
    bool ok = true;
    while (item || found.n) {
        const char *nl = found.n ? memchr(found.p, '\n', found.n) : NULL;
        struct str line = {found.p, nl ? (size_t)(nl - found.p) : found.n};
        ok &= compare_one(c, ++number, item, line);
        found = nl ? (struct str){nl + 1, found.n - line.n - 1} : (struct str){NULL, 0};
        item = item ? item->next : NULL;
    }
    return ok;
}

static bool is_recognised(const struct check *c, struct str input)
{
    const char *what;
    enum syntax syntax = read_detect(input, &what);
    struct sniff s;
    if (c->m->detect.score == 0)
        return true;
    if (c->m->n_patterns) {
        struct text_outcome out;
        text_rows_try(&out, NULL, c->m, input);
        if (!out.matched)
            diag_add(c->d, DIAG_BAD_SAMPLE, place_of(c), "no pattern matches a line of sample %zu",
                     c->sample);
        return out.matched > 0;
    }
    if (syntax == SYNTAX_COUNT || syntax == SYNTAX_TEXT) {
        diag_add(c->d, DIAG_BAD_SAMPLE, place_of(c),
                 "sample %zu is read as %s, which is not what \"reader\" says", c->sample,
                 syntax == SYNTAX_TEXT ? "text" : "nothing known");
        return false;
    }
    sniff_init(&s, syntax, input);
    bool ok = sniff_score(&s, c->m) > 0;
    if (!ok)
        diag_add(c->d, DIAG_BAD_SAMPLE, place_of(c), "sample %zu (%s) is not recognised by \"detect\"",
                 c->sample, syntax_name(syntax));
    sniff_release(&s);
    return ok;
}

bool mapping_check(const struct mapping *m, struct arena *a, struct diag *d)
{
    bool ok = true;
    for (size_t i = 0; i < m->n_samples; i++) {
        struct check c = {m, a, d, i + 1};
        size_t n = 0;
        ok &= is_recognised(&c, m->samples[i].input);
        char *found = run_sample(&c, m->samples[i].input, &n);
        cJSON *expected = cJSON_ParseWithLength(m->samples[i].records.p, m->samples[i].records.n);
        if (found && expected)
            ok &= compare(&c, expected, (struct str){found, n});
        else
            ok = false;
        cJSON_Delete(expected);
        free(found);
    }
    return ok;
}

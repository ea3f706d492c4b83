#include "cli/options.h"

#include "base/mem.h"
#include "base/num.h"
#include "normalise/names.h"
#include "report/report.h"

#include <assert.h>
#include <ctype.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>

enum option_id {
#define GROUP(title)
#define OPTION(id, name, letter, arg, help) OPT_##id,
#include "cli/options.def"
#undef OPTION
#undef GROUP
    OPT_COUNT
};

struct word {
    const char *name;
    int value;
};

static const struct word words_part[] = {{"html", PART_HTML},   {"single", PART_SINGLE},  {"png", PART_PNG},
                                         {"json", PART_JSON},   {"md", PART_MD},          {"txt", PART_TXT},
                                         {"junit", PART_JUNIT}, {"metrics", PART_METRICS}};
static const struct word words_stdout[] = {{"md", 0}, {"txt", 0}, {"json", 0}};
static const struct word words_plots[] = {{"light", 1}, {"dark", 2}, {"both", 3}};
static const struct word words_to[] = {{"jsonl", CONVERT_JSONL}, {"csv", CONVERT_CSV}};
static const struct word words_dump[] = {{"rows", DUMP_ROWS},
                                         {"records", DUMP_RECORDS},
                                         {"series", DUMP_SERIES},
                                         {"verdicts", DUMP_VERDICTS},
                                         {"plots", DUMP_PLOTS}};
static const struct word words_colour[] = {
    {"auto", COLOUR_AUTO}, {"always", COLOUR_ALWAYS}, {"never", COLOUR_NEVER}};

static const struct word words_logger[] = {{"torch", 0}, {"lightning", 0}, {"hf", 0}};
static const struct word words_redact[] = {
    {"none", REDACT_NONE}, {"paths", REDACT_PATHS}, {"all", REDACT_ALL}};

#define WORDS(table) table, sizeof table / sizeof table[0]

/* Levenshtein's distance of two short words. */
static size_t distance(const char *a, const char *b)
{
    enum {
        LONGEST = 32
    };
    size_t n = strlen(a), m = strlen(b), row[LONGEST + 1];
    if (n > LONGEST || m > LONGEST)
        return (size_t)-1;
    for (size_t j = 0; j <= m; j++)
        row[j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t best = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[m];
}

const char *options_nearest(const char *word, const char *const *candidates, size_t n)
{
    const char *best = NULL;
    size_t best_distance = strlen(word) / 3 + 2;
    for (size_t i = 0; i < n; i++) {
        size_t d = distance(word, candidates[i]);
        if (d < best_distance) {
            best = candidates[i];
            best_distance = d;
        }
    }
    return best;
}

/* Looks text up among words; NULL, or what is wrong. */
static const char *word_value(int *out, const char *option, struct str text, const struct word *words,
                              size_t n, struct arena *a)
{
    const char *names[16];
    struct buf list = {0};
    assert(n <= 16);
    for (size_t i = 0; i < n; i++) {
        if (str_is(text, words[i].name)) {
            *out = words[i].value;
            buf_release(&list);
            return NULL;
        }
        names[i] = words[i].name;
        buf_printf(&list, "%s%s", i == 0 ? "" : i + 1 == n ? " or " : ", ", words[i].name);
    }
    const char *word = arena_str(a, text).p;
    const char *near = options_nearest(word, names, n);
    const char *why =
        near ? arena_printf(a, "--%s: unknown \"%s\"; did you mean %s? (%s)", option, word, near, list.p)
             : arena_printf(a, "--%s: unknown \"%s\"; expected %s", option, word, list.p);
    buf_release(&list);
    return why;
}

static const char *parse_only(struct options *o, const char *text, struct arena *a)
{
    struct str rest = str_of(text);
    o->parts = 0;
    for (;;) {
        size_t comma = str_find(rest, STR_LIT(","));
        bool last = comma == (size_t)-1;
        int part = 0;
        const char *why =
            word_value(&part, "only", (struct str){rest.p, last ? rest.n : comma}, WORDS(words_part), a);
        if (why)
            return why;
        o->parts |= (unsigned)part;
        if (last)
            return NULL;
        rest.p += comma + 1;
        rest.n -= comma + 1;
    }
}

bool options_size(double *out_bytes, const char *text)
{
    static const char prefixes[] = "KMGT";
    struct str s = str_trim(str_of(text));
    size_t n = 0;
    while (n < s.n && (isdigit((unsigned char)s.p[n]) || s.p[n] == '.'))
        n++;
    double value;
    if (!num_parse((struct str){s.p, n}, &value) || !(value > 0))
        return false;
    struct str unit = str_trim((struct str){s.p + n, s.n - n});
    if (str_eq_nocase(unit, STR_LIT("B"))) {
        *out_bytes = value;
        return true;
    }
    if (unit.n < 2 || unit.n > 3)
        return false;
    const char *p = strchr(prefixes, toupper((unsigned char)unit.p[0]));
    bool binary = unit.n == 3 && tolower((unsigned char)unit.p[1]) == 'i';
    if (!p || (unit.n == 3 && !binary) || toupper((unsigned char)unit.p[unit.n - 1]) != 'B')
        return false;
    *out_bytes = value * pow(binary ? 1024.0 : 1000.0, (double)(p - prefixes) + 1);
    return true;
}

static int two_digits(const char *p)
{
    return 10 * (p[0] - '0') + p[1] - '0';
}

/* 2024-05-01T12:00:00, all digits: is there such a day and time? A leap second counts. */
static bool is_day_and_time(const char *t)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int year = 100 * two_digits(t) + two_digits(t + 2), month = two_digits(t + 5), day = two_digits(t + 8);
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    if (month < 1 || month > 12 || day < 1 || day > days[month - 1] + (month == 2 && leap))
        return false;
    return two_digits(t + 11) < 24 && two_digits(t + 14) < 60 && two_digits(t + 17) <= 60;
}

bool options_is_rfc3339(const char *text)
{
    static const char form[] = "dddd-dd-ddTdd:dd:dd";
    size_t i = 0;
    for (; form[i]; i++)
        if (form[i] == 'd' ? !isdigit((unsigned char)text[i]) : text[i] != form[i])
            return false;
    if (!is_day_and_time(text))
        return false;
    if (text[i] == '.') {
        if (!isdigit((unsigned char)text[++i]))
            return false;
        while (isdigit((unsigned char)text[i]))
            i++;
    }
    if (text[i] == 'Z')
        return text[i + 1] == '\0';
    static const char zone[] = "dd:dd";
    if (text[i] != '+' && text[i] != '-')
        return false;
    i++;
    for (size_t k = 0; zone[k]; k++, i++)
        if (zone[k] == 'd' ? !isdigit((unsigned char)text[i]) : text[i] != zone[k])
            return false;
    return text[i] == '\0' && two_digits(text + i - 5) < 24 && two_digits(text + i - 2) < 60;
}

const char *options_timestamp(struct options *o, struct arena *a)
{
    const char *epoch = getenv("SOURCE_DATE_EPOCH");
    uint64_t seconds;
    struct tm tm;
    char text[32];
    if (o->timestamp || !epoch || !*epoch)
        return NULL;
    time_t t = num_parse_u64(str_of(epoch), &seconds) && seconds < 253402300800u ? (time_t)seconds : -1;
    if (t < 0 || !gmtime_r(&t, &tm) || strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
        return arena_printf(a, "SOURCE_DATE_EPOCH: \"%s\" is no number of seconds", epoch);
    o->timestamp = arena_strndup(a, text, strlen(text));
    return NULL;
}

static bool whole_or_open(double v)
{
    return isnan(v) || (v >= 0 && v < 1e15 && v == floor(v));
}

static const char *parse_range(double *from, double *to, const char *option, const char *text,
                               struct arena *a)
{
    const char *colon = strchr(text, ':');
    bool good = colon && strlen(text) > 1;
    if (good && colon > text)
        good = num_parse((struct str){text, (size_t)(colon - text)}, from) && isfinite(*from);
    if (good && colon[1] != '\0')
        good = num_parse(str_of(colon + 1), to) && isfinite(*to);
    if (!good || *from > *to)
        return arena_printf(a, "--%s: \"%s\" is no range of %s; expected A:B, A: or :B", option, text,
                            option);
    return NULL;
}

/* One of several things to do instead of a report. */
static const char *set_action(struct options *o, enum action action, const char *subject)
{
    /* --help and --version win, whatever else is there */
    if (o->action == ACTION_HELP || o->action == ACTION_VERSION)
        return NULL;
    if (o->action != ACTION_REPORT && action != ACTION_HELP && action != ACTION_VERSION)
        return "only one of --to, --dump, --list-formats, --show-format, --check-format, --logger, --explain "
               "and --print-config can be given";
    o->action = action;
    o->subject = subject;
    return NULL;
}

static const char *parse_action(struct options *o, enum option_id id, const char *arg, struct arena *a)
{
    int value = 0;
    const char *why = NULL;
    switch (id) {
    case OPT_TO:
        why = word_value(&value, "to", str_of(arg), WORDS(words_to), a);
        o->to = (enum convert_format)value;
        return why ? why : set_action(o, ACTION_CONVERT, NULL);
    case OPT_DUMP:
        why = word_value(&value, "dump", str_of(arg), WORDS(words_dump), a);
        o->dump = (enum dump_stage)value;
        return why ? why : set_action(o, ACTION_DUMP, NULL);
    case OPT_LIST_FORMATS:
        return set_action(o, ACTION_LIST_FORMATS, NULL);
    case OPT_SHOW_FORMAT:
        return set_action(o, ACTION_SHOW_FORMAT, arg);
    case OPT_CHECK_FORMAT:
        return set_action(o, ACTION_CHECK_FORMAT, arg);
    case OPT_EXPLAIN:
        return set_action(o, ACTION_EXPLAIN, arg);
    case OPT_LOGGER:
        why = word_value(&value, "logger", str_of(arg), WORDS(words_logger), a);
        return why ? why : set_action(o, ACTION_LOGGER, arg);
    case OPT_PRINT_CONFIG:
        return set_action(o, ACTION_PRINT_CONFIG, NULL);
    case OPT_HELP:
        return set_action(o, ACTION_HELP, NULL);
    default:
        return set_action(o, ACTION_VERSION, NULL);
    }
}

static const char *parse_jobs(struct options *o, const char *text, struct arena *a)
{
    uint64_t n = 0;
    if (!num_parse_u64(str_of(text), &n) || n < 1 || n > 256)
        return arena_printf(a, "--jobs: \"%s\" is no number of threads; expected 1 to 256", text);
    o->jobs = (unsigned)n;
    return NULL;
}

static const char *parse_gate(struct options *o, enum option_id id, const char *arg, struct arena *a)
{
    struct gate_options *g = &o->gates;
    switch (id) {
    case OPT_FAIL_ON:
        return gate_fail_on(g, arg, a);
    case OPT_MIN_CONFIDENCE:
        return gate_min_confidence(g, arg, a);
    case OPT_MAX_PEAK:
        return gate_size_limit(&g->settings.max_peak, "max-peak", arg, a);
    case OPT_MIN_HEADROOM:
        return gate_size_limit(&g->settings.min_headroom, "min-headroom", arg, a);
    case OPT_MAX_GROWTH:
        return gate_max_growth(g, arg, a);
    case OPT_MAX_REGRESSION:
        return gate_max_regression(g, arg, a);
    case OPT_BASELINE:
        g->baseline = arg;
        return *arg ? NULL : "--baseline: the name is empty";
    case OPT_WARN_ONLY:
        g->warn_only = true;
        return NULL;
    default:
        return parse_action(o, id, arg, a);
    }
}

static const char *parse_value(struct options *o, enum option_id id, const char *arg, struct arena *a)
{
    int value = 0;
    const char *why = NULL;
    switch (id) {
    case OPT_ONLY:
        return parse_only(o, arg, a);
    case OPT_STDOUT:
        o->stdout_format = arg;
        return word_value(&value, "stdout", str_of(arg), WORDS(words_stdout), a);
    case OPT_PLOTS:
        why = word_value(&value, "plots", str_of(arg), WORDS(words_plots), a);
        o->light = value & 1;
        o->dark = value & 2;
        return why;
    case OPT_COLOR:
        why = word_value(&value, "color", str_of(arg), WORDS(words_colour), a);
        o->colour = (enum colour)value;
        return why;
    case OPT_REDACT:
        why = word_value(&value, "redact", str_of(arg), WORDS(words_redact), a);
        o->redact = (enum redact)value;
        return why;
    case OPT_MAP:
        why = normalise_map(&o->maps[o->n_maps++], arg, a);
        return why ? arena_printf(a, "--map: %s", why) : NULL;
    case OPT_SET:
        why = normalise_set(&o->sets[o->n_sets++], arg, a);
        return why ? arena_printf(a, "--set: %s", why) : NULL;
    case OPT_JOBS:
        return parse_jobs(o, arg, a);
    case OPT_STEPS:
        return parse_range(&o->step_from, &o->step_to, "steps", arg, a);
    case OPT_EVENTS:
        why = parse_range(&o->event_from, &o->event_to, "events", arg, a);
        if (!why && !(whole_or_open(o->event_from) && whole_or_open(o->event_to)))
            why = arena_printf(a, "--events: \"%s\": events are whole numbers, counted from 0", arg);
        return why;
    case OPT_CAPACITY:
        if (!options_size(&o->capacity_bytes, arg))
            return arena_printf(a,
                                "--capacity: \"%s\" is no size; expected a number with its unit, "
                                "such as 80GB (10^9) or 79.2GiB (2^30)",
                                arg);
        return NULL;
    case OPT_WHAT_IF:
        return options_what_if(&o->what_ifs[o->n_what_ifs++], arg, a);
    case OPT_TIMESTAMP:
        o->timestamp = arg;
        return options_is_rfc3339(arg)
                   ? NULL
                   : arena_printf(a,
                                  "--timestamp: \"%s\" is no RFC 3339 time; expected one such as "
                                  "2024-05-01T12:00:00Z",
                                  arg);
    default:
        return parse_gate(o, id, arg, a);
    }
}

static const char *parse_option(struct options *o, enum option_id id, const char *arg, struct arena *a)
{
    switch (id) {
    case OPT_OUTPUT:
        o->output = arg;
        return *arg ? NULL : "--output: the name is empty";
    case OPT_CONFIG: /* read before: config.h */
        return NULL;
    case OPT_FORCE:
        o->force = true;
        return NULL;
    case OPT_STRICT:
        o->strict = true;
        return NULL;
    case OPT_PROVENANCE:
        o->provenance = true;
        return NULL;
    case OPT_QUIET:
        o->quiet = true;
        return NULL;
    case OPT_VERBOSE:
        o->verbose = true;
        return NULL;
    case OPT_NO_PROGRESS:
        o->no_progress = true;
        return NULL;
    case OPT_LABEL:
        o->label = arg;
        return NULL;
    case OPT_TEMPLATES:
        o->templates = arg;
        return NULL;
    case OPT_FORMAT:
        o->format = arg;
        return NULL;
    case OPT_NAME_PATTERN:
        o->name_pattern = arg;
        return run_name_pattern_ok(arg)
                   ? NULL
                   : "--name-pattern: expected {run}, {seed} or {rank}, each once, as in '{run}_s{seed}.*'";
    case OPT_FILES_FROM:
        o->files_from = arg;
        return NULL;
    default:
        return parse_value(o, id, arg, a);
    }
}

/* What changes the result is named in the report. */
static bool changes_result(enum option_id id)
{
    return id == OPT_FORMAT || id == OPT_MAP || id == OPT_SET || id == OPT_STEPS || id == OPT_EVENTS ||
           id == OPT_CAPACITY || id == OPT_WHAT_IF || id == OPT_FAIL_ON || id == OPT_MIN_CONFIDENCE ||
           id == OPT_MAX_PEAK || id == OPT_MIN_HEADROOM || id == OPT_MAX_GROWTH || id == OPT_MAX_REGRESSION ||
           id == OPT_NAME_PATTERN || id == OPT_TEMPLATES || id == OPT_ONLY || id == OPT_PLOTS ||
           id == OPT_REDACT;
}

static const char *check_together(const struct options *o)
{
    if (o->provenance && o->action != ACTION_CONVERT)
        return "--provenance belongs to --to";
    if (o->stdout_format && o->action != ACTION_REPORT)
        return "--stdout belongs to a report; it cannot be given with --to, --dump and the like";
    if (o->action == ACTION_DUMP && o->output)
        return "--dump prints to standard output; -o cannot be given with it";
    const char *gates = gate_check_together(&o->gates);
    if (gates)
        return gates;
    if (o->quiet && o->verbose)
        return "--quiet and --verbose exclude each other";
    bool reads = o->action == ACTION_REPORT || o->action == ACTION_CONVERT || o->action == ACTION_DUMP;
    if (reads && o->n_inputs == 0 && !o->files_from)
        return "no input; usage: oomreport [OPTION]... FILE|DIR|-... (see oomreport --help)";
    if (!reads && o->action != ACTION_HELP && o->action != ACTION_VERSION &&
        o->action != ACTION_PRINT_CONFIG && o->n_inputs > 0)
        return "--list-formats, --show-format, --check-format, --logger and --explain take no inputs";
    return NULL;
}

static void set_defaults(struct options *o, int argc, struct arena *a)
{
    *o = (struct options){.parts = PART_ALL, .light = true, .dark = true, .redact = REDACT_PATHS};
    gate_options_init(&o->gates);
    o->step_from = o->step_to = o->event_from = o->event_to = o->capacity_bytes = NAN;
    o->maps = arena_alloc(a, (size_t)argc * sizeof *o->maps);
    o->what_ifs = arena_alloc(a, (size_t)argc * sizeof *o->what_ifs);
    o->sets = arena_alloc(a, (size_t)argc * sizeof *o->sets);
    o->given = arena_alloc(a, (size_t)argc * sizeof *o->given);
}

const char *options_try(struct options *o, size_t option, const char *value, struct arena *a)
{
    set_defaults(o, 1, a);
    return parse_option(o, (enum option_id)option, value, a);
}

const char *options_parse(struct options *o, int argc, char **argv, struct arena *a)
{
    struct option_use use;
    const char *why = NULL;
    int found;
    set_defaults(o, argc, a);
    for (bool first = true; (found = options_next(&use, argc, argv, first, &why, a)) > 0; first = false) {
        enum option_id id = (enum option_id)use.option;
        why = parse_option(o, id, use.value, a);
        if (why)
            return why;
        if (changes_result(id))
            o->given[o->n_given++] =
                str_of(arena_printf(a, "%s = %s", options_table(NULL)[id].name, use.value));
    }
    if (found < 0)
        return why;
    o->inputs = (const char *const *)argv + optind;
    o->n_inputs = (size_t)(argc - optind);
    return check_together(o);
}

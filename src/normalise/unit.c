#include "normalise/unit.h"
#include "base/num.h"
#include <math.h>

#define KIB 1024.0
#define MIB (KIB * KIB)
#define GIB (KIB * MIB)
#define TIB (KIB * GIB)

struct unit_word {
    const char *word;
    struct unit unit;
};

/* Exact words of mappings. */
static const struct unit_word mapping_words[] = {
    {"B", {UNIT_KIND_BYTES, 1, false}},       {"kB", {UNIT_KIND_BYTES, 1e3, false}},
    {"MB", {UNIT_KIND_BYTES, 1e6, false}},    {"GB", {UNIT_KIND_BYTES, 1e9, false}},
    {"TB", {UNIT_KIND_BYTES, 1e12, false}},   {"KiB", {UNIT_KIND_BYTES, KIB, false}},
    {"MiB", {UNIT_KIND_BYTES, MIB, false}},   {"GiB", {UNIT_KIND_BYTES, GIB, false}},
    {"TiB", {UNIT_KIND_BYTES, TIB, false}},   {"KB?", {UNIT_KIND_BYTES, KIB, true}},
    {"MB?", {UNIT_KIND_BYTES, MIB, true}},    {"GB?", {UNIT_KIND_BYTES, GIB, true}},
    {"s", {UNIT_KIND_SECONDS, 1, false}},     {"ms", {UNIT_KIND_SECONDS, 1e-3, false}},
    {"us", {UNIT_KIND_SECONDS, 1e-6, false}}, {"ns", {UNIT_KIND_SECONDS, 1e-9, false}},
    {"min", {UNIT_KIND_SECONDS, 60, false}},  {"h", {UNIT_KIND_SECONDS, 3600, false}},
    {"auto", {UNIT_KIND_AUTO, NAN, true}},    {"stamp", {UNIT_KIND_STAMP, 1, false}},
    {"1", {UNIT_KIND_NONE, 1, false}},
};

/* Words of logs, compared without case. */
static const struct unit_word log_words[] = {
    {"b", {UNIT_KIND_BYTES, 1, false}},       {"byte", {UNIT_KIND_BYTES, 1, false}},
    {"bytes", {UNIT_KIND_BYTES, 1, false}},   {"kib", {UNIT_KIND_BYTES, KIB, false}},
    {"mib", {UNIT_KIND_BYTES, MIB, false}},   {"gib", {UNIT_KIND_BYTES, GIB, false}},
    {"tib", {UNIT_KIND_BYTES, TIB, false}},   {"kb", {UNIT_KIND_BYTES, KIB, true}},
    {"mb", {UNIT_KIND_BYTES, MIB, true}},     {"gb", {UNIT_KIND_BYTES, GIB, true}},
    {"tb", {UNIT_KIND_BYTES, TIB, true}},     {"k", {UNIT_KIND_BYTES, KIB, true}},
    {"m", {UNIT_KIND_BYTES, MIB, true}},      {"g", {UNIT_KIND_BYTES, GIB, true}},
    {"mbs", {UNIT_KIND_BYTES, MIB, true}},    {"mbytes", {UNIT_KIND_BYTES, MIB, true}},
    {"gbytes", {UNIT_KIND_BYTES, GIB, true}}, {"megabytes", {UNIT_KIND_BYTES, MIB, true}},
    {"s", {UNIT_KIND_SECONDS, 1, false}},     {"sec", {UNIT_KIND_SECONDS, 1, false}},
    {"secs", {UNIT_KIND_SECONDS, 1, false}},  {"seconds", {UNIT_KIND_SECONDS, 1, false}},
    {"ms", {UNIT_KIND_SECONDS, 1e-3, false}}, {"us", {UNIT_KIND_SECONDS, 1e-6, false}},
    {"%", {UNIT_KIND_OTHER, 1, false}},       {"percent", {UNIT_KIND_OTHER, 1, false}},
    {"pct", {UNIT_KIND_OTHER, 1, false}},     {"w", {UNIT_KIND_OTHER, 1, false}},
    {"c", {UNIT_KIND_OTHER, 1, false}},       {"mhz", {UNIT_KIND_OTHER, 1, false}},
};

static bool find_word(struct unit *out, struct str word, const struct unit_word *table, size_t n, bool exact)
{
    for (size_t i = 0; i < n; i++) {
        struct str w = str_of(table[i].word);
        if (exact ? str_eq(w, word) : str_eq_nocase(w, word)) {
            *out = table[i].unit;
            return true;
        }
    }
    return false;
}

bool unit_of_mapping(struct unit *out, struct str word)
{
    return find_word(out, word, mapping_words, sizeof mapping_words / sizeof *mapping_words, true);
}

bool unit_of_log(struct unit *out, struct str word)
{
    return word.n <= 10 && find_word(out, word, log_words, sizeof log_words / sizeof *log_words, false);
}

static bool is_separator(char c)
{
    return c == '_' || c == '-' || c == '.' || c == ' ' || c == '/' || c == ':';
}

/* A single letter is a unit only in brackets: "step_s" or "mem_m" are names. */
static bool name_word(struct unit *out, struct str word, bool bracketed)
{
    return (bracketed || word.n > 1) && unit_of_log(out, word);
}

bool unit_of_name(struct unit *out, struct str name, size_t *stem)
{
    size_t end = name.n;
    if (end >= 3 && (name.p[end - 1] == ']' || name.p[end - 1] == ')')) {
        char open = name.p[end - 1] == ']' ? '[' : '(';
        size_t i = end - 1;
        while (i > 0 && name.p[i - 1] != open)
            i--;
        if (i == 0)
            return false;
        if (!name_word(out, str_trim((struct str){name.p + i, end - 1 - i}), true))
            return false;
        end = i - 1;
    } else {
        size_t i = end;
        while (i > 0 && ascii_letter(name.p[i - 1]))
            i--;
        struct str word = {name.p + i, end - i};
        if (i > 0 && is_separator(name.p[i - 1]) && name_word(out, word, false)) {
            end = i;
        } else if (end >= 3 && name_word(out, (struct str){name.p + end - 2, 2}, false) &&
                   name.p[end - 1] == 'B' && name.p[end - 3] >= 'a' && name.p[end - 3] <= 'z') {
            end -= 2; /* "memoryUsedMB" */
        } else {
            return false;
        }
    }
    while (end > 0 && is_separator(name.p[end - 1]))
        end--;
    *stem = end;
    return true;
}

struct unit unit_guess(double value)
{
    if (value >= 1e7)
        return (struct unit){UNIT_KIND_BYTES, 1, false};
    if (value >= 256)
        return (struct unit){UNIT_KIND_BYTES, MIB, true};
    return (struct unit){UNIT_KIND_BYTES, GIB, true};
}

const char *unit_scale_name(double scale)
{
    static const struct {
        double scale;
        const char *name;
    } names[] = {{1, "B"},    {KIB, "KiB"}, {MIB, "MiB"}, {GIB, "GiB"}, {TIB, "TiB"},
                 {1e3, "kB"}, {1e6, "MB"},  {1e9, "GB"},  {1e12, "TB"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].scale == scale)
            return names[i].name;
    return "units";
}

bool unit_is_missing(struct str text)
{
    static const char *const words[] = {"-",       "--",       "n/a",           "na",
                                        "nan",     "null",     "none",          "?",
                                        "unknown", "err!",     "not available", "not supported",
                                        "nil",     "<na>",     "inf",           "-inf",
                                        "+inf",    "infinity", "-infinity"};
    if (text.n == 0)
        return true;
    if (text.n > 2 && text.p[0] == '[' && text.p[text.n - 1] == ']')
        return true; /* nvidia-smi: [N/A], [Not Found], [Unknown Error] */
    if (text.n > 14)
        return false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (str_eq_nocase(text, str_of(words[i])))
            return true;
    return false;
}

static bool contains_nocase(struct str hay, struct str needle)
{
    for (size_t i = 0; i + needle.n <= hay.n; i++)
        if (str_eq_nocase((struct str){hay.p + i, needle.n}, needle))
            return true;
    return false;
}

bool unit_is_oom(struct str text)
{
    static const char *const words[] = {"oom", "cuda oom", "oom error", "oomerror", "gpu oom"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (str_eq_nocase(text, str_of(words[i])))
            return true;
    return contains_nocase(text, STR_LIT("out of memory")) || contains_nocase(text, STR_LIT("OutOfMemory"));
}

/* Length of the number at the start of text; thousands commas are not part of it. */
static size_t number_length(struct str text)
{
    size_t i = 0;
    if (i < text.n && (text.p[i] == '-' || text.p[i] == '+'))
        i++;
    size_t digits = i;
    while (i < text.n && ((text.p[i] >= '0' && text.p[i] <= '9') || text.p[i] == '.'))
        i++;
    if (i == digits)
        return 0;
    if (i + 1 < text.n && (text.p[i] == 'e' || text.p[i] == 'E')) {
        size_t j = i + 1;
        if (text.p[j] == '-' || text.p[j] == '+')
            j++;
        size_t exponent = j;
        while (j < text.n && text.p[j] >= '0' && text.p[j] <= '9')
            j++;
        if (j > exponent)
            i = j;
    }
    return i;
}

/* "17.00MiB ± 0.00MiB" and "2.47GiB(3.12%)": what stands behind the value is no part of it. */
static struct str cut_tail(struct str text)
{
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '(' || (text.p[i] == '+' && i + 1 < text.n && text.p[i + 1] == '/'))
            return str_trim((struct str){text.p, i});
        if ((unsigned char)text.p[i] == 0xC2 && i + 1 < text.n && (unsigned char)text.p[i + 1] == 0xB1)
            return str_trim((struct str){text.p, i});
    }
    return text;
}

enum cell_value unit_cell(struct str text, double *value, struct unit *unit)
{
    *unit = (struct unit){UNIT_KIND_NONE, 1, false};
    text = str_trim(text);
    if (num_parse(text, value))
        return isfinite(*value) ? CELL_VALUE_NUMBER : CELL_VALUE_MISSING;
    if (unit_is_missing(text))
        return CELL_VALUE_MISSING;
    size_t n = number_length(text);
    if (n == 0)
        return unit_is_oom(text) ? CELL_VALUE_OOM : CELL_VALUE_BAD;
    if (!num_parse((struct str){text.p, n}, value) || !isfinite(*value))
        return CELL_VALUE_BAD;
    struct str rest = cut_tail(str_trim((struct str){text.p + n, text.n - n}));
    return rest.n == 0 || unit_of_log(unit, rest) ? CELL_VALUE_NUMBER : CELL_VALUE_BAD;
}

#include "read/oom_other.h"
#include "base/num.h"
#include <math.h>

/* Of a line longer than that only what stands around the words is looked at [B]. */
enum {
    LINE_BEFORE = 1024,
    LINE_BEHIND = 8192
};

static size_t find_from(struct str t, size_t from, const char *what)
{
    size_t at = str_find((struct str){t.p + from, t.n - from}, str_of(what));
    return at == (size_t)-1 ? at : at + from;
}

/* "1.25TiB", "33554432B", "21.95G", "2120187392 bytes", "1024": binary units [B]; NAN when it is none. */
static double size_at(struct str t, size_t *i)
{
    static const struct {
        const char *name;
        double bytes;
    } unit[] = {{"bytes", 1},  {"TiB", 0x1p40}, {"GiB", 0x1p30}, {"MiB", 0x1p20}, {"KiB", 0x1p10},
                {"T", 0x1p40}, {"G", 0x1p30},   {"M", 0x1p20},   {"K", 0x1p10},   {"B", 1}};
    size_t k = *i;
    double v;
    while (k < t.n && (ascii_digit(t.p[k]) || t.p[k] == '.'))
        k++;
    while (k > *i && t.p[k - 1] == '.')
        k--;
    if (k == *i || !num_parse((struct str){t.p + *i, k - *i}, &v))
        return NAN;
    size_t u = k < t.n && t.p[k] == ' ' ? k + 1 : k;
    struct str rest = {t.p + u, t.n - u};
    for (size_t n = 0; n < sizeof unit / sizeof unit[0]; n++)
        if (str_starts(rest, str_of(unit[n].name))) {
            *i = u + strlen(unit[n].name);
            return v * unit[n].bytes < 0x1p60 ? v * unit[n].bytes : NAN;
        }
    *i = k;
    return v < 0x1p60 ? v : NAN;
}

static size_t line_start(struct str t, size_t i)
{
    size_t least = i > LINE_BEFORE ? i - LINE_BEFORE : 0;
    while (i > least && t.p[i - 1] != '\n' && t.p[i - 1] != '\r')
        i--;
    return i;
}

static size_t line_end(struct str t, size_t i)
{
    size_t most = t.n - i > LINE_BEHIND ? i + LINE_BEHIND : t.n;
    while (i < most && t.p[i] != '\n' && t.p[i] != '\r')
        i++;
    return i;
}

/* A size behind the words, if there is one within the line. */
static void size_behind(struct oom_message *m, struct str t, size_t i)
{
    while (i < t.n && (t.p[i] == ' ' || t.p[i] == ':'))
        i++;
    m->requested = size_at(t, &i);
    if (i < t.n && (t.p[i] == ' ' || t.p[i] == '(')) { /* "32.00MiB (33554432B)": the exact figure */
        size_t k = i + (t.p[i] == ' ' && i + 1 < t.n && t.p[i + 1] == '(' ? 2 : t.p[i] == '(' ? 1 : 0);
        double exact = k > i ? size_at(t, &k) : NAN;
        if (!isnan(exact) && k < t.n && t.p[k] == ')')
            m->requested = exact;
    }
}

static double element_bytes(struct str t)
{
    static const struct {
        const char *name;
        double bytes;
    } type[] = {{"half", 2},  {"bfloat16", 2}, {"float16", 2}, {"float", 4}, {"double", 8},
                {"int64", 8}, {"int32", 4},    {"int8", 1},    {"uint8", 1}, {"bool", 1}};
    size_t at = str_find(t, STR_LIT("and type "));
    if (at == (size_t)-1)
        return NAN;
    struct str rest = {t.p + at + 9, t.n - at - 9};
    for (size_t k = 0; k < sizeof type / sizeof type[0]; k++)
        if (str_starts(rest, str_of(type[k].name)))
            return type[k].bytes;
    return NAN;
}

/* "OOM when allocating tensor with shape[64,2016,9,9] and type float": the size is their product. */
static void tensor_size(struct oom_message *m, struct str line)
{
    size_t i = str_find(line, STR_LIT("shape["));
    double product = element_bytes(line);
    if (i == (size_t)-1 || isnan(product))
        return;
    for (i += 6; i < line.n && line.p[i] != ']';) {
        double v = 0;
        size_t from = i;
        while (i < line.n && ascii_digit(line.p[i]) && v < 1e12)
            v = v * 10 + (line.p[i++] - '0');
        if (i == from)
            return;
        product *= v;
        if (i < line.n && line.p[i] == ',')
            i++;
    }
    if (product < 0x1p60)
        m->requested = product;
}

/* An index behind "GPU:" or "device ordinal ". */
static void device_of(struct oom_message *m, struct str line)
{
    static const char *const before[] = {"device ordinal ", "device:GPU:"};
    for (size_t k = 0; k < 2; k++) {
        size_t i = str_find(line, str_of(before[k]));
        if (i == (size_t)-1)
            continue;
        i += strlen(before[k]);
        if (i < line.n && ascii_digit(line.p[i]))
            m->device = line.p[i] - '0';
    }
}

static bool is_warning(struct str line)
{
    return str_has(line, "not a failure") || str_has(line, "may mean that there could be performance gains");
}

/* Source code, advice, documentation. */
static bool is_quoted(struct str line, size_t at)
{
    struct str start = str_trim(line);
    static const char *const code[] = {"raise ",  "print(", "if ", "elif ", "except",  "assert ",
                                       "return ", "# ",     "//",  "* ",    "logger.", "log."};
    for (size_t k = 0; k < sizeof code / sizeof code[0]; k++)
        if (str_starts(start, str_of(code[k])))
            return true;
    struct str before = {line.p, at};
    return str_has(before, "if you ") || str_has(before, "If you ") || str_has(before, "such as ") ||
           str_has(before, "e.g. ") ||
           (at > 0 && (line.p[at - 1] == '"' || line.p[at - 1] == '`') && str_has(before, " in "));
}

enum {
    WORDS_MAX = 96 /* [B] of a form */
};

/* Words that mean an error; sized: a size stands behind them. */
static const struct form {
    const char words[WORDS_MAX];
    bool sized;
} forms[] = {
    {"RESOURCE_EXHAUSTED: Out of memory while trying to allocate", true},
    {"Resource exhausted: Out of memory while trying to allocate", true},
    {"RESOURCE_EXHAUSTED: Failed to allocate request for", true},
    {"RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory", false},
    {"OOM when allocating tensor", false},
    {") ran out of memory trying to allocate", true},
    {"CUBLAS_STATUS_ALLOC_FAILED", false},
    {"CUDNN_STATUS_ALLOC_FAILED", false},
    {"CUSPARSE_STATUS_ALLOC_FAILED", false},
    {"Failed to CUDA calloc", true},
    {"Failed to CUDA malloc", true},
    {"Cuda failure 'out of memory'", false},
    {"Cuda failure 2 'out of memory'", false},
    {"Cuda failure 2 out of memory", false},
    {"CUDA failed with error out of memory", false},
    {"cuda failed with error 2 out of memory", false},
    {"CUDA_ERROR_OUT_OF_MEMORY", false},
    {"hipErrorOutOfMemory", false},
};

/* "failed to allocate 1.97G (2120187392 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY" */
static void size_before(struct oom_message *m, struct str line)
{
    static const char words[] = "failed to allocate ";
    size_t i = str_find(line, str_of(words));
    if (i != (size_t)-1)
        size_behind(m, line, i + sizeof words - 1);
}

static bool take(struct oom_message *m, struct str t, size_t at, const struct form *f)
{
    size_t from = line_start(t, at), end = line_end(t, at);
    struct str line = {t.p + from, end - from};
    if (is_warning(line) || is_quoted(line, at - from))
        return false;
    if (f->sized)
        size_behind(m, t, at + strlen(f->words));
    else if (str_has(line, "shape["))
        tensor_size(m, line);
    else
        size_before(m, line);
    device_of(m, line);
    m->text = str_trim((struct str){t.p + at, end - at});
    if (t.p[at] == ')') /* "Allocator (GPU_0_bfc) ran out of memory": the whole line says it */
        m->text = str_trim(line);
    m->end = end;
    return true;
}

bool oom_other_find(struct oom_message *out, struct str text, size_t from, size_t before)
{
    struct str head = {text.p, text.n - before > WORDS_MAX ? before + WORDS_MAX : text.n};
    while (from < before) {
        size_t best = before;
        const struct form *form = NULL;
        for (size_t k = 0; k < sizeof forms / sizeof forms[0]; k++) {
            size_t at = find_from(head, from, forms[k].words);
            if (at < best) {
                best = at;
                form = &forms[k];
            }
        }
        if (!form)
            return false;
        if (take(out, text, best, form))
            return true;
        from = line_end(text, best);
    }
    return false;
}

/* A number behind words such as "exit code", with blanks, ':' and '=' between. */
static bool number_behind(struct str t, const char *words, int want)
{
    for (size_t at = find_from(t, 0, words); at != (size_t)-1; at = find_from(t, at + 1, words)) {
        size_t i = at + strlen(words);
        while (i < t.n && (t.p[i] == ' ' || t.p[i] == ':' || t.p[i] == '=' || t.p[i] == '\t'))
            i++;
        bool minus = i < t.n && t.p[i] == '-';
        int v = 0;
        size_t start = i += minus;
        while (i < t.n && ascii_digit(t.p[i]) && v < 100000)
            v = v * 10 + (t.p[i++] - '0');
        if (i > start && (minus ? -v : v) == want)
            return true;
    }
    return false;
}

/* The shell's word, alone or behind a job or process number, with the command behind it. */
static bool killed_word(struct str t)
{
    for (size_t at = find_from(t, 0, "Killed"); at != (size_t)-1; at = find_from(t, at + 1, "Killed")) {
        struct str before = str_trim((struct str){t.p, at}), after = {t.p + at + 6, t.n - at - 6};
        bool front = before.n == 0 || ascii_digit(before.p[before.n - 1]) || before.p[before.n - 1] == ':' ||
                     before.p[before.n - 1] == '+' || before.p[before.n - 1] == '-';
        bool back = str_trim(after).n == 0 || str_starts(after, STR_LIT("  ")) ||
                    str_starts(after, STR_LIT(" process ")) || str_is(str_trim(after), ".");
        if (front && back)
            return true;
    }
    return false;
}

bool oom_kill_find(struct str line)
{
    static const char *const code[] = {"exit code",        "exitcode",  "exit status", "return code",
                                       "exited with code", "Exit code", "ExitCode"};
    if (line.n > 4096 || is_quoted(line, line.n))
        return false;
    for (size_t k = 0; k < sizeof code / sizeof code[0]; k++)
        if (number_behind(line, code[k], 137) || number_behind(line, code[k], -9))
            return true;
    return killed_word(line) || number_behind(line, "ignal", 9) || str_has(line, "TERM_MEMLIMIT") ||
           str_has(line, "oom-kill event") || str_has(line, "oom_kill event");
}

bool oom_survived(struct str line)
{
    static const char *const words[] = {"Reducing to batch", "kipping batch", "recover from OOM",
                                        "kipping this batch"};
    for (size_t k = 0; k < sizeof words / sizeof words[0]; k++) {
        size_t at = str_find(line, str_of(words[k]));
        if (at != (size_t)-1 && !is_quoted(line, at) && (at == 0 || line.p[at - 1] != '"'))
            return true;
    }
    return false;
}

bool oom_says_memory(struct str line)
{
    return str_has(line, "OOM") || str_has(line, "ut of memory") || str_has(line, "ut of Memory");
}

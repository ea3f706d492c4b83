/* What an input is, told by its first bytes.
 *
 * 1. Known signatures of what is no log are named (pickle, zip, HTML, …).
 * 2. '{' or '[' first: JSON. One object a line is JSONL, anything else a document.
 * 3. Most lines are JSON objects (a banner stands before them): JSONL.
 * 4. A table (csv_sniff): CSV.
 * 5. Mostly printable: text. */
#include "base/mem.h"
#include "base/utf8.h"
#include "read/csv_sniff.h"
#include "read/json_scan.h"
#include "read/read.h"
#include <stdlib.h>

static const struct {
    const char *bytes;
    size_t n;
    const char *what;
} SIGNATURES[] = {
#define SIGNATURE(s, what)                                                                                   \
    {                                                                                                        \
        s, sizeof(s) - 1, what                                                                               \
    }
    SIGNATURE("version https://git-lfs.github.com/spec/",
              "a git-lfs pointer, not the file itself (run 'git lfs pull')"),
    SIGNATURE("PK\003\004", "a zip archive (also what torch.save and numpy.savez write)"),
    SIGNATURE("PK\005\006", "an empty zip archive"),
    SIGNATURE("\177ELF", "an ELF program or library"),
    SIGNATURE("\211PNG", "a PNG image"),
    SIGNATURE("\377\330\377", "a JPEG image"),
    SIGNATURE("GIF8", "a GIF image"),
    SIGNATURE("%PDF-", "a PDF document"),
    SIGNATURE("\037\213", "gzip data within gzip data (packed twice)"),
    SIGNATURE("\375"
              "7zXZ",
              "xz data (unpack it first: xz -dc)"),
    SIGNATURE("BZh", "bzip2 data (unpack it first: bzip2 -dc)"),
    SIGNATURE("\050\265\057\375", "zstd data (unpack it first: zstd -dc)"),
    SIGNATURE("\211HDF", "an HDF5 file"),
    SIGNATURE("PAR1", "a Parquet file"),
    SIGNATURE("SQLite format 3", "an SQLite database"),
    SIGNATURE("(dp0", "a pickle (protocol 0)"),
    SIGNATURE("(dp1", "a pickle (protocol 0)"),
    SIGNATURE("(lp0", "a pickle (protocol 0)"),
    SIGNATURE("(lp1", "a pickle (protocol 0)"),
    SIGNATURE("ccollections\n", "a pickle (protocol 0)"),
    SIGNATURE("\223NUMPY", "a numpy array"),
#undef SIGNATURE
};

static bool starts_nocase(struct str s, const char *prefix)
{
    size_t n = strlen(prefix);
    return s.n >= n && str_eq_nocase((struct str){s.p, n}, (struct str){prefix, n});
}

static const char *signature(struct str head)
{
    for (size_t i = 0; i < sizeof SIGNATURES / sizeof *SIGNATURES; i++)
        if (str_starts(head, (struct str){SIGNATURES[i].bytes, SIGNATURES[i].n}))
            return SIGNATURES[i].what;
    if (head.n >= 2 && head.p[0] == '\x80' && head.p[1] >= 1 && head.p[1] <= 5)
        return "a pickle (a torch memory snapshot, or another Python object)";
    struct str begin = {head.p, head.n < 64 ? head.n : 64};
    if (str_find(begin, STR_LIT("brain.Event:")) != (size_t)-1)
        return "a TensorBoard event file";
    struct str text = str_trim((struct str){head.p, head.n < 1024 ? head.n : 1024});
    if (starts_nocase(text, "<!doctype html") || starts_nocase(text, "<html"))
        return "an HTML page (a log-in page or an error message instead of the log?)";
    if (text.n > 3 && text.p[0] == '[' && text.p[1] == '[' && text.p[2] >= '0' && text.p[2] <= '9')
        return "lists of numbers (a profiler's memory timeline? It names no lines of code: record a snapshot "
               "with "
               "torch.cuda.memory._record_memory_history and _dump_snapshot)";
    if (starts_nocase(text, "<?xml") || starts_nocase(text, "<svg"))
        return "an XML document";
    return NULL;
}

/* Control characters that no log holds, or bytes that are mostly no UTF-8. */
static bool is_binary(struct str head)
{
    size_t n = head.n < 4096 ? head.n : 4096, bad = 0;
    for (size_t i = 0; i < n;) {
        unsigned char c = (unsigned char)head.p[i];
        uint32_t code;
        size_t step = c < 0x80 ? 1 : utf8_next(&code, (struct str){head.p + i, n - i});
        if (c < 0x80)
            bad += (c < 0x20 && !strchr("\t\n\r\b\f\v\x1b\a", c)) || c == 0x7f;
        else
            bad += step == 0 && n - i > 3;
        i += step ? step : 1;
    }
    return bad * 10 > n;
}

/* The line at p, which is followed by *next (NULL at the end of the head). */
static struct str line_at(const char *p, const char *end, const char **next)
{
    const char *nl = memchr(p, '\n', (size_t)(end - p));
    *next = nl ? nl + 1 : NULL;
    return str_trim((struct str){p, (size_t)((nl ? nl : end) - p)});
}

enum json_line {
    LINE_NO_JSON,
    LINE_OBJECTS,
    LINE_OTHER_JSON,
    LINE_CUT
};

static enum json_line judge(const char *p, const char *end)
{
    struct json_text t;
    bool objects = true;
    json_text_init(&t, (struct str){p, (size_t)(end - p)});
    do {
        objects = objects && *p == '{';
        p = json_skip(&t, p);
        if (!p)
            return t.cut ? LINE_CUT : LINE_NO_JSON;
        p = json_space(&t, p);
    } while (p < end);
    return objects ? LINE_OBJECTS : LINE_OTHER_JSON;
}

/* text begins with '{' or '['. */
static enum syntax json_or_not(struct str text)
{
    const char *end = text.p + text.n, *next;
    struct str first = line_at(text.p, end, &next);
    bool more = next && str_trim((struct str){next, (size_t)(end - next)}).n;
    enum json_line kind = judge(first.p, first.p + first.n);
    if (kind == LINE_OBJECTS)
        return more ? SYNTAX_JSONL : SYNTAX_JSON;
    /* a list or a document over several lines; the end may be cut off */
    struct json_text t;
    json_text_init(&t, text);
    const char *p = json_skip(&t, text.p);
    bool whole = p && (p = json_space(&t, p)) != NULL && (p == end || *p == '{' || *p == '[');
    bool valid = whole || (!p && t.cut);
    if (!valid || (kind == LINE_NO_JSON && !whole))
        return SYNTAX_COUNT;
    if (text.p[0] == '[') { /* "[1, 2]" alone is no log, and "[" may begin anything */
        struct json_text u = t;
        const char *item = json_space(&u, text.p + 1);
        return *item == '{' || *item == '[' || *item == ']' ? SYNTAX_JSON : SYNTAX_COUNT;
    }
    return SYNTAX_JSON;
}

/* Half of the lines or more are objects. */
static bool mostly_objects(struct str text, bool cut)
{
    const char *end = text.p + text.n, *p = text.p, *next;
    size_t objects = 0, others = 0;
    for (; p && p < end && objects + others < 200; p = next) {
        struct str line = line_at(p, end, &next);
        if (line.n == 0 || (!next && cut))
            continue;
        if (line.p[0] == '{' && judge(line.p, line.p + line.n) == LINE_OBJECTS)
            objects++;
        else
            others++;
    }
    return objects > 0 && objects >= others;
}

static enum syntax detect(struct str head)
{
    struct str text = str_trim(head);
    bool cut = head.n >= SOURCE_HEAD;
    if (text.n == 0)
        return SYNTAX_TEXT;
    if (csv_is_own(head))
        return SYNTAX_CSV;
    if (text.p[0] == '{' || text.p[0] == '[') {
        enum syntax s = json_or_not(text);
        if (s != SYNTAX_COUNT)
            return s;
    }
    if (memchr(text.p, '{', text.n) && mostly_objects(text, cut))
        return SYNTAX_JSONL;
    return csv_sniff(head, !cut, 0).found ? SYNTAX_CSV : SYNTAX_TEXT;
}

enum syntax read_detect(struct str head, const char **what)
{
    *what = NULL;
    if (head.n == 0)
        return SYNTAX_COUNT;
    *what = signature(head);
    if (*what)
        return SYNTAX_COUNT;
    if (is_binary(head)) {
        *what = "binary data";
        return SYNTAX_COUNT;
    }
    /* the scanner wants readable bytes behind the text */
    char *copy = mem_alloc(head.n + JSON_PAD);
    memcpy(copy, head.p, head.n);
    memset(copy + head.n, 0, JSON_PAD);
    enum syntax s = detect((struct str){copy, head.n});
    free(copy);
    return s;
}

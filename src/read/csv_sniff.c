#include "read/csv_sniff.h"

enum {
    LINES_MAX = 256,  /* lines that are looked at */
    BANNER_MAX = 128, /* the header is one of the first lines */
    JUDGED_MAX = 64,  /* lines after the header that must look like rows */
    ROWS_SURE = 3,    /* so many rows are enough where another header comes then */
    NAME_MAX = 160,   /* [B] */
    VALUE_MAX = 96,
    WORDS_MAX = 6
};

struct line_shape {
    uint64_t number;
    uint32_t cells;
    uint32_t figures;
    bool tail;      /* the last cell is empty: a trailing comma, or a value that is missing */
    bool names;     /* could be a header */
    bool odd_names; /* could be one if it is the first line: no figures at least */
    bool plain;     /* a header even without rows: words and units only, more than two or odd ones */
    bool values;    /* could be a row */
};

static size_t words(struct str s)
{
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++)
        n += s.p[i] != ' ' && (i == 0 || s.p[i - 1] == ' ');
    return n;
}

static bool has(struct str s, char c)
{
    return s.n && memchr(s.p, c, s.n);
}

/* "lr: 0.001", "lr=0.001", "12 - INFO - text": what text logs hold between commas. */
static bool is_prose(struct str s)
{
    size_t colon = str_find(s, STR_LIT(": "));
    if (colon != (size_t)-1 && csv_is_figure(str_trim((struct str){s.p + colon + 1, s.n - colon - 1})))
        return true;
    return has(s, '=') || has(s, '{') || has(s, '}') || has(s, '|') || has(s, '<') || has(s, '\x1b') ||
           str_find(s, STR_LIT(" - ")) != (size_t)-1;
}

bool csv_is_figure(struct str s)
{
    static const char *const WORDS[] = {"nan", "inf", "-nan", "-inf", "+inf", "infinity", "-infinity"};
    size_t i = 0;
    if (s.n == 0 || s.n > 40)
        return false;
    for (size_t k = 0; !ascii_digit(s.p[0]) && k < sizeof WORDS / sizeof *WORDS; k++)
        if (str_eq_nocase(s, str_of(WORDS[k])))
            return true;
    i += s.p[0] == '+' || s.p[0] == '-';
    i += i < s.n && s.p[i] == '.';
    if (i == s.n || !ascii_digit(s.p[i]))
        return false;
    /* digits, then a unit of a few letters; or a date or time */
    size_t last = s.n, letters = 0;
    for (; i < s.n; i++) {
        char c = s.p[i];
        if (ascii_letter(c) || c == '%') {
            letters++;
            last = i;
        } else if (!ascii_digit(c) && !strchr(":/-+., _", c) && (unsigned char)c < 0x80) {
            return false;
        }
    }
    return letters <= 6 && (letters == 0 || last + 12 >= s.n) && words(s) <= 3;
}

bool csv_is_name(struct str s)
{
    static const char *const NO_NAMES[] = {"nan", "inf",    "infinity", "none",  "null",
                                           "n/a", "na",     "true",     "false", "oom",
                                           "err", "error!", "yes",      "no",    "out of memory"};
    if (s.n == 0 || s.n > NAME_MAX)
        return false;
    char c = s.p[0];
    if (!ascii_letter(c) && c != '_' && c != '%' && c != '#' && (unsigned char)c < 0x80)
        return false;
    for (size_t i = 0; i < sizeof NO_NAMES / sizeof *NO_NAMES; i++)
        if (str_eq_nocase(s, str_of(NO_NAMES[i])))
            return false;
    return words(s) <= WORDS_MAX && !is_prose(s);
}

bool csv_is_value(struct str s)
{
    return s.n <= VALUE_MAX && words(s) <= WORDS_MAX + 2 && !is_prose(s);
}

/* A name that no sentence would hold: no blanks but before a unit in brackets. */
static bool is_plain_name(struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == ' ')
            return i + 1 < s.n && (s.p[i + 1] == '[' || s.p[i + 1] == '(');
        if (!ascii_letter(s.p[i]) && !ascii_digit(s.p[i]) && !strchr("_./%-()[]", s.p[i]))
            return false;
    }
    return true;
}

static struct str trim_blanks(const char *p, size_t n)
{
    while (n && (p[0] == ' ' || p[0] == '\t')) {
        p++;
        n--;
    }
    while (n && (p[n - 1] == ' ' || p[n - 1] == '\t' || p[n - 1] == '\r'))
        n--;
    return (struct str){p, n};
}

static bool next_word(struct str line, size_t *at, struct str *cell)
{
    size_t i = *at;
    while (i < line.n && (line.p[i] == ' ' || line.p[i] == '\t' || line.p[i] == '\r'))
        i++;
    size_t start = i;
    while (i < line.n && line.p[i] != ' ' && line.p[i] != '\t' && line.p[i] != '\r')
        i++;
    *cell = (struct str){line.p + start, i - start};
    *at = i;
    return i > start;
}

bool csv_next_cell(struct str line, char delimiter, size_t *at, struct str *cell)
{
    if (delimiter == CSV_BLANKS)
        return next_word(line, at, cell);
    if (*at > line.n)
        return false;
    size_t start = *at, i = start;
    while (i < line.n && (line.p[i] == ' ' || (line.p[i] == '\t' && delimiter != '\t')))
        i++;
    bool quoted = i < line.n && line.p[i] == '"';
    if (quoted) {
        size_t from = i + 1;
        for (i = from; i < line.n; i++) {
            if (line.p[i] != '"')
                continue;
            if (i + 1 == line.n || line.p[i + 1] != '"')
                break;
            i++;
        }
        *cell = (struct str){line.p + from, i - from};
    }
    const char *next = i < line.n ? memchr(line.p + i, delimiter, line.n - i) : NULL;
    i = next ? (size_t)(next - line.p) : line.n;
    if (!quoted)
        *cell = trim_blanks(line.p + start, i - start);
    *at = i + 1;
    return true;
}

static struct line_shape shape_of(struct str line, uint64_t number, char delimiter)
{
    struct line_shape l = {.number = number, .names = true, .plain = true, .values = true};
    struct str cell;
    uint32_t empty = 0;
    bool telling = false;
    for (size_t at = 0; csv_next_cell(line, delimiter, &at, &cell); l.cells++) {
        bool quoted = cell.p > line.p && cell.p[-1] == '"';
        bool name = csv_is_name(cell);
        bool last = at > line.n;
        l.tail = last && l.cells && cell.n == 0;
        if (l.tail)
            continue;
        if (cell.n == 0 && l.cells == 0)
            empty++; /* an index column without a name */
        else if (!name)
            l.names = false;
        if (!is_plain_name(cell))
            l.plain = false;
        telling = telling || has(cell, '_') || has(cell, '.') || has(cell, '[') || has(cell, '/');
        if (!quoted && !csv_is_value(cell))
            l.values = false;
        if (csv_is_figure(cell))
            l.figures++;
    }
    l.names = l.names && l.cells >= 2 + empty;
    l.odd_names = l.values && l.figures == 0 && l.cells >= 2 + empty;
    l.plain = l.plain && (l.cells > 2 || telling);
    return l;
}

static bool as_many(const struct line_shape *l, const struct line_shape *header)
{
    return l->cells == header->cells || l->cells - l->tail == header->cells - header->tail ||
           l->cells == header->cells - header->tail;
}

static bool row_of(const struct line_shape *l, const struct line_shape *header)
{
    return l->values && l->figures > 0 && as_many(l, header);
}

/* Are the n lines behind a header (or from the first row on) rows with as many cells? */
static bool rows_follow(const struct line_shape *l, size_t n, const struct line_shape *header, bool strict)
{
    size_t judged = n < JUDGED_MAX ? n : JUDGED_MAX, rows = 0;
    for (size_t i = 0; i < judged; i++) {
        if (i >= ROWS_SURE && l[i].names && !as_many(&l[i], header)) {
            judged = i; /* files were joined: here begins another table */
            break;
        }
        rows += row_of(&l[i], header) || (l[i].names && as_many(&l[i], header));
    }
    return judged > 0 && row_of(&l[0], header) && (strict ? rows * 10 >= judged * 8 : rows * 2 >= judged);
}

static size_t shapes_of(struct line_shape *out, struct str head, bool whole, char delimiter)
{
    size_t n = 0;
    uint64_t number = 0;
    for (size_t at = 0; at < head.n && n < LINES_MAX;) {
        const char *nl = memchr(head.p + at, '\n', head.n - at);
        size_t end = nl ? (size_t)(nl - head.p) : head.n;
        struct str line = trim_blanks(head.p + at, end - at);
        if (delimiter == '\t') /* empty cells at the ends count */
            line = (struct str){head.p + at, end - at - (end > at && head.p[end - 1] == '\r')};
        number++;
        if ((nl || whole) && str_trim(line).n) /* not a line that the head cuts */
            out[n++] = shape_of(line, number, delimiter);
        at = end + 1;
    }
    return n;
}

static struct csv_shape with_header(const struct line_shape *l, size_t n, char delimiter)
{
    for (size_t i = 0; i < n && i < BANNER_MAX; i++) {
        bool strict = i > 0 || delimiter == CSV_BLANKS;
        if (!l[i].names && !(i == 0 && l[i].odd_names && delimiter != CSV_BLANKS))
            continue;
        bool alone = n == 1 && l[i].names && l[i].plain && delimiter != CSV_BLANKS;
        bool rows = rows_follow(l + i + 1, n - i - 1, &l[i], strict);
        if (delimiter == CSV_BLANKS && (i > 0 || !rows || l[i + 1].figures != l[i].cells))
            return (struct csv_shape){0};
        if (alone || rows)
            return (struct csv_shape){true, delimiter, l[i].number, l[i].cells};
    }
    return (struct csv_shape){0};
}

static struct csv_shape without_header(const struct line_shape *l, size_t n, char delimiter)
{
    for (size_t i = 0; i < n && i < 8; i++) {
        uint32_t cells = l[i].cells;
        bool enough = cells >= 3 ? l[i].figures >= 2 : cells == 2 && l[i].figures >= 1 && n - i >= 3;
        if (enough && rows_follow(l + i, n - i, &l[i], true))
            return (struct csv_shape){true, delimiter, 0, cells};
    }
    return (struct csv_shape){0};
}

bool csv_is_own(struct str head)
{
    return str_starts(head, STR_LIT("oomlog,run,"));
}

/* A head that ends within its first line: only the names can tell, and there have to be many. */
static struct csv_shape cut_header(struct str head, char delimiter)
{
    enum {
        MANY = 256
    };
    while (head.n && head.p[head.n - 1] != delimiter) /* the last name is cut */
        head.n--;
    struct line_shape l = shape_of(head, 1, delimiter);
    return (struct csv_shape){l.names && l.plain && l.cells >= MANY, delimiter, 1, l.cells};
}

struct csv_shape csv_sniff(struct str head, bool whole, char delimiter)
{
    static const char DELIMITERS[] = {',', ';', '\t', CSV_BLANKS};
    struct line_shape l[LINES_MAX];
    struct csv_shape bare = {0};
    bool one_line = !whole && !memchr(head.p, '\n', head.n);
    if (csv_is_own(head) && (delimiter == 0 || delimiter == ','))
        return (struct csv_shape){true, ',', 1, 0};
    for (size_t i = 0; i < sizeof DELIMITERS; i++) {
        char c = delimiter ? delimiter : DELIMITERS[i];
        if (one_line && c != CSV_BLANKS) {
            bare = cut_header(head, c);
            if (bare.found || delimiter)
                return bare;
            continue;
        }
        size_t n = shapes_of(l, head, whole, c);
        struct csv_shape found = with_header(l, n, c);
        if (found.found)
            return found;
        if (!bare.found && (c != CSV_BLANKS || delimiter == CSV_BLANKS))
            bare = without_header(l, n, c);
        if (delimiter)
            break;
    }
    return bare;
}

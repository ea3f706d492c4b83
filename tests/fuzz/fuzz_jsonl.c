/* JSONL reader on any bytes; one line alone is compared with what cJSON makes of it.
 *
 * Where the two may differ (everything else is a finding):
 * - cJSON is laxer: numbers such as 01, 1., -.5; any byte below 0x20 as white space
 *   and within strings; a byte order mark in front of the value; any four bytes after \u.
 * - The scanner is laxer: NaN, Infinity, -Infinity; unpaired surrogate escapes.
 * - cJSON cuts a string at \u0000 and a number behind 63 characters, and nests to
 *   1000 levels (the scanner to 512). */
#include "row_text.h"
#include <assert.h>
#include <cjson/cJSON.h>
#include <stdlib.h>

enum {
    KEYS_MAX = 512
};

struct seen {
    char *key[KEYS_MAX];
    int n;
    uint64_t rows, texts;
    const cJSON *oracle;
    bool compare;
};

static int on_key(void *ctx, struct str name)
{
    struct seen *s = ctx;
    if (s->n == KEYS_MAX)
        return KEY_UNWANTED;
    s->key[s->n] = malloc(name.n + 1);
    if (name.n)
        memcpy(s->key[s->n], name.p, name.n);
    s->key[s->n][name.n] = '\0';
    return s->n++;
}

/* The last member of that name: the library's own look-up gives the first. */
static const cJSON *member(const cJSON *object, const char *name)
{
    const cJSON *found = NULL, *m;
    cJSON_ArrayForEach(m, object) if (strcmp(m->string, name) == 0) found = m;
    return found;
}

static void compare(const struct cell *c, const cJSON *m)
{
    switch (c->kind) {
    case CELL_NUMBER: {
        char number[64];
        assert(cJSON_IsNumber(m));
        memcpy(number, c->text.p, c->text.n);
        number[c->text.n] = '\0';
        double v = strtod(number, NULL);
        assert(v == m->valuedouble);
        break;
    }
    case CELL_STRING:
        assert(cJSON_IsString(m));
        assert(str_eq(c->text, str_of(m->valuestring)));
        break;
    case CELL_TRUE:
        assert(cJSON_IsTrue(m));
        break;
    case CELL_FALSE:
        assert(cJSON_IsFalse(m));
        break;
    case CELL_NULL:
        assert(cJSON_IsNull(m));
        break;
    case CELL_LIST:
        assert(cJSON_IsArray(m));
        break;
    case CELL_OBJECT:
        assert(cJSON_IsObject(m));
        break;
    }
}

static int on_row(void *ctx, const struct row *row)
{
    struct seen *s = ctx;
    s->rows++;
    volatile char sink = 0;
    for (size_t i = 0; i < row->n; i++) {
        assert(row->cells[i].slot >= 0 && row->cells[i].slot < s->n);
        for (size_t k = 0; k < row->cells[i].text.n; k++)
            sink ^= row->cells[i].text.p[k];
    }
    (void)sink;
    for (size_t i = 0; s->compare && s->rows == 1 && i < row->n; i++) {
        const char *name = s->key[row->cells[i].slot];
        const cJSON *m = member(s->oracle, name);
        if (!strchr(name, '.'))
            compare(&row->cells[i], m);
    }
    return 0;
}

static bool on_text(void *ctx, uint64_t line, struct str text)
{
    (void)line;
    (void)text;
    ((struct seen *)ctx)->texts++;
    return false;
}

static bool contains(const char *text, const char *what)
{
    return strstr(text, what) != NULL;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* \u0000, or \u without four hexadecimal digits behind it. */
static bool odd_unicode(const char *t)
{
    while ((t = strstr(t, "\\u")) != NULL) {
        t += 2;
        if (strspn(t, "0123456789abcdefABCDEF") < 4 || strncmp(t, "0000", 4) == 0)
            return true;
    }
    return false;
}

/* Something in which cJSON is known to be laxer or odd. */
static bool listed(const char *t, size_t n)
{
    size_t digits = 0;
    if (n == 0 || (unsigned char)t[0] >= 0x80 || t[0] == 0x1f || strlen(t) != n)
        return true;
    for (size_t i = 0; i < n; i++) {
        if ((unsigned char)t[i] < 0x20)
            return true;
        bool numeric = is_digit(t[i]) || strchr("+-.eE", t[i]);
        digits = numeric ? digits + 1 : 0;
        if (digits > 60)
            return true;
        if (t[i] == '0' && is_digit(t[i + 1]) && (i == 0 || !(is_digit(t[i - 1]) || t[i - 1] == '.')))
            return true;
        if (t[i] == '.' && (!is_digit(t[i + 1]) || i == 0 || !is_digit(t[i - 1])))
            return true;
    }
    return contains(t, "NaN") || contains(t, "Infinity") || odd_unicode(t);
}

/* Lines read together, where they may fit templates and come many at once, give the rows that each gives
 * alone. */
static void compare_with_lines_alone(struct str all)
{
    if (memchr(all.p, 0, all.n) || (unsigned char)all.p[0] >= 0x80 || all.p[0] == 0x1f ||
        str_find(all, STR_LIT("\xef\xbb\xbf")) != (size_t)-1)
        return;
    struct row_text alone = {0}, many = {.refuse = all.p[0] == ' '};
    const char *end = all.p + all.n;
    for (const char *p = all.p, *next; p < end; p = next) {
        const char *nl = memchr(p, '\n', (size_t)(end - p));
        next = nl ? nl + 1 : end;
        alone.n_names = 0; /* or lines with many keys would have fewer of them */
        row_text_read(&alone, (struct str){p, (size_t)(next - p)}, SYNTAX_JSONL, NULL, false);
        alone.first_line++;
    }
    row_text_read(&many, all, SYNTAX_JSONL, NULL, true);
    if (many.n_names < 200)
        assert(str_eq(buf_view(&alone.out), buf_view(&many.out)));
    row_text_release(&alone);
    row_text_release(&many);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *line = malloc(size + 1);
    if (size)
        memcpy(line, data, size);
    line[size] = '\0';
    struct diag d;
    struct seen seen = {0};
    cJSON *oracle = NULL;
    bool comparable = !listed(line, size);
    if (comparable)
        oracle = cJSON_ParseWithOpts(line, NULL, 1);
    seen.oracle = oracle;
    seen.compare = comparable && cJSON_IsObject(oracle);
    diag_init(&d);
    struct source *s = source_of_memory("fuzz.jsonl", (struct str){(const char *)data, size});
    struct row_handler h = {&seen, on_key, on_row, on_text, NULL};
    uint64_t skipped = 0;
    int r = read_rows(s, SYNTAX_JSONL, NULL, &h, &skipped, &d);
    assert(r == 0);
    /* lines of text between records are skipped too, and told in one note */
    assert(d.seen[DIAG_TEXT_BETWEEN] ? d.seen[DIAG_BAD_JSON] <= skipped : d.seen[DIAG_BAD_JSON] == skipped);
    if (comparable) {
        bool ours = seen.rows == 1 && d.seen[DIAG_BAD_JSON] == 0 && d.seen[DIAG_TRUNCATED] == 0 &&
                    d.seen[DIAG_TEXT_BETWEEN] == 0;
        if (seen.rows < 2 && d.seen[DIAG_BAD_ENCODING] == 0)
            assert(ours == (oracle != NULL && cJSON_IsObject(oracle)));
    }
    source_close(s);
    diag_release(&d);
    cJSON_Delete(oracle);
    for (int i = 0; i < seen.n; i++)
        free(seen.key[i]);
    free(line);
    if (size)
        compare_with_lines_alone((struct str){(const char *)data, size});
    return 0;
}

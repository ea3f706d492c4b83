#define PCRE2_CODE_UNIT_WIDTH 8
#include "read/text_match.h"
#include "base/mem.h"
#include <pcre2.h>
#include <stdlib.h>

enum {
    STEPS_MAX = 20000, /* of one try, counted by PCRE2 */
    DEPTH_MAX = 20000,
    HEAP_MAX = 8192, /* [KiB] */
    STACK_MIN = 32 * 1024,
    STACK_MAX = 256 * 1024
};

struct text_match {
    pcre2_code *code;
    pcre2_match_data *data;
    pcre2_match_context *context;
    pcre2_jit_stack *stack;
    struct str names[TEXT_MATCH_GROUPS]; /* in the code's own table */
    unsigned number[TEXT_MATCH_GROUPS];
    size_t n, strikes;
};

static void read_names(struct text_match *m)
{
    uint32_t count = 0, size = 0;
    PCRE2_SPTR table = NULL;
    pcre2_pattern_info(m->code, PCRE2_INFO_NAMECOUNT, &count);
    pcre2_pattern_info(m->code, PCRE2_INFO_NAMEENTRYSIZE, &size);
    pcre2_pattern_info(m->code, PCRE2_INFO_NAMETABLE, &table);
    for (uint32_t i = 0; i < count && m->n < TEXT_MATCH_GROUPS; i++, table += size) {
        m->number[m->n] = (unsigned)table[0] << 8 | table[1];
        m->names[m->n++] = str_of((const char *)table + 2);
    }
}

struct text_match *text_match_new(struct str pattern, bool fast, const char **error, size_t *at,
                                  struct arena *a)
{
    int code = 0;
    PCRE2_SIZE offset = 0;
    pcre2_code *re =
        pcre2_compile((PCRE2_SPTR)(pattern.n ? pattern.p : ""), pattern.n,
                      PCRE2_DUPNAMES | PCRE2_NEVER_UTF | PCRE2_NEVER_BACKSLASH_C, &code, &offset, NULL);
    *error = NULL;
    *at = offset;
    if (!re) {
        PCRE2_UCHAR text[160] = "no pattern";
        pcre2_get_error_message(code, text, sizeof text);
        *error = arena_printf(a, "%s", (const char *)text);
        return NULL;
    }
    struct text_match *m = mem_zero(1, sizeof *m);
    m->code = re;
    m->data = pcre2_match_data_create_from_pattern(re, NULL);
    m->context = pcre2_match_context_create(NULL);
    if (!m->data || !m->context)
        abort();
    pcre2_set_match_limit(m->context, STEPS_MAX);
    pcre2_set_depth_limit(m->context, DEPTH_MAX);
    pcre2_set_heap_limit(m->context, HEAP_MAX);
    /* without JIT the same matches are found, slowly */
    if (fast && pcre2_jit_compile(re, PCRE2_JIT_COMPLETE) == 0) {
        m->stack = pcre2_jit_stack_create(STACK_MIN, STACK_MAX, NULL);
        pcre2_jit_stack_assign(m->context, NULL, m->stack);
    }
    read_names(m);
    return m;
}

void text_match_free(struct text_match *m)
{
    if (!m)
        return;
    pcre2_jit_stack_free(m->stack);
    pcre2_match_context_free(m->context);
    pcre2_match_data_free(m->data);
    pcre2_code_free(m->code);
    free(m);
}

size_t text_match_groups(const struct text_match *m)
{
    return m->n;
}

struct str text_match_group(const struct text_match *m, size_t i)
{
    return m->names[i];
}

bool text_match_gave_up(const struct text_match *m)
{
    return m->strikes >= TEXT_MATCH_STRIKES;
}

/* A piece of the line from offset `start`; *from is the offset in the line to search from. */
static bool in_piece(struct text_match *m, struct str line, size_t start, size_t *from, struct str *values)
{
    size_t n = line.n - start < TEXT_MATCH_PIECE ? line.n - start : TEXT_MATCH_PIECE;
    uint32_t options = (start ? PCRE2_NOTBOL : 0) | (start + n < line.n ? PCRE2_NOTEOL : 0);
    const char *p = line.p + start;
    int rc = pcre2_match(m->code, (PCRE2_SPTR)p, n, *from - start, options, m->data, m->context);
    if (rc < 0) {
        m->strikes += rc != PCRE2_ERROR_NOMATCH;
        return false;
    }
    const PCRE2_SIZE *v = pcre2_get_ovector_pointer(m->data);
    for (size_t i = 0; i < m->n; i++) {
        unsigned g = m->number[i];
        bool set = (int)g < rc && v[2 * g] != PCRE2_UNSET && v[2 * g + 1] >= v[2 * g];
        values[i] = set ? (struct str){p + v[2 * g], v[2 * g + 1] - v[2 * g]} : (struct str){NULL, 0};
    }
    size_t end = start + v[1];
    *from = end > *from ? end : *from + 1;
    return true;
}

bool text_match_next(struct text_match *m, struct str line, size_t *from,
                     struct str values[TEXT_MATCH_GROUPS])
{
    size_t start = 0;
    while (*from < line.n && !text_match_gave_up(m)) {
        /* pieces overlap by half, so that what is cut by the end of one stands whole in the next */
        while (start + TEXT_MATCH_PIECE < line.n && *from >= start + TEXT_MATCH_PIECE / 2)
            start += TEXT_MATCH_PIECE / 2;
        if (*from < start)
            *from = start;
        if (in_piece(m, line, start, from, values))
            return true;
        if (start + TEXT_MATCH_PIECE >= line.n)
            return false;
        start += TEXT_MATCH_PIECE / 2;
        if (*from < start)
            *from = start;
    }
    return false;
}

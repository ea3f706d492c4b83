#include "read/json_template.h"
#include "base/mem.h"
#include "read/json_value.h"
#include <stdlib.h>

static void template_release(struct json_template *m)
{
    for (size_t i = 0; i < m->n_steps; i++)
        free((char *)m->steps[i].glue);
    free(m->steps);
    free(m->cells);
    *m = (struct json_template){0};
}

void json_templates_release(struct json_templates *ts)
{
    for (size_t i = 0; i < ts->n; i++)
        template_release(&ts->all[i]);
    ts->n = 0;
}

/* True when the n bytes at p are those of the glue; behind both there is a pad. */
static inline bool same_glue(const char *p, const char *glue, unsigned n)
{
#if defined(__SSE2__) && !defined(OOMREPORT_SCALAR)
    for (;;) {
        __m128i a = _mm_loadu_si128((const __m128i *)(const void *)p);
        __m128i b = _mm_loadu_si128((const __m128i *)(const void *)glue);
        unsigned differ = 0xffffu & ~(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(a, b));
        if (n <= 16)
            return (differ & ((1u << n) - 1)) == 0;
        if (differ)
            return false;
        p += 16, glue += 16, n -= 16;
    }
#else
    return memcmp(p, glue, n) == 0;
#endif
}

/* A value that is no plain number; lines do not end within it. */
static const char *odd_value(struct json_text *t, const char *p, unsigned depth, bool *escaped)
{
    *escaped = false;
    if (*p == '[') {
        const char *end = json_plain_list(t, p + 1);
        if (end)
            return end;
        end = json_skip_below(t, p, depth);
        return end && !memchr(p, '\n', (size_t)(end - p)) ? end : NULL;
    }
    return *p == '{' ? NULL : json_scalar(t, p, escaped);
}

static const char *match(struct json_template *m, struct json_text *t, const char *p)
{
    const char *line = p;
    struct cell *c = m->cells;
    const struct json_step *step = m->steps, *last = step + m->n_steps - 1;
    for (;; step++) {
        if (!same_glue(p, step->glue, step->n))
            return NULL;
        p += step->n;
        if (step == last)
            return p <= t->end ? p : NULL;
        const char *start = p;
        bool escaped = false;
        if (step->slot < 0) {
            p = json_is_digit(*p) ? json_number(t, p) : odd_value(t, p, step->depth, &escaped);
            if (!p)
                return NULL;
            continue;
        }
        struct num_plain number;
        const char *end = json_is_digit(*p) ? num_scan_plain(p, &number) : NULL;
        c->text.p = start;
        c->col = (uint32_t)(start - line) + 1;
        if (end) {
            c->kind = CELL_NUMBER;
            c->plain = CELL_PLAIN(number.decimals);
            c->whole = number.whole;
        } else {
            c->kind = json_kind(*p);
            c->plain = 0;
            end = odd_value(t, p, step->depth, &escaped);
            if (!end || escaped)
                return NULL;
        }
        p = end;
        c->text.n = (size_t)(end - start);
        if (c->kind == CELL_STRING) {
            c->text.p++;
            c->text.n -= 2;
        }
        c++;
    }
}

const char *json_templates_match(struct json_templates *ts, const struct json_text *t, const char *p,
                                 struct json_template **found)
{
    for (size_t i = 0, k = ts->n ? ts->all[ts->last].next : 0; i < ts->n; i++, k = (k + 1) % ts->n) {
        struct json_text scratch = *t;
        const char *end = match(&ts->all[k], &scratch, p);
        if (!end || scratch.bad_text)
            continue;
        ts->all[ts->last].next = k;
        ts->last = k;
        *found = &ts->all[k];
        return end;
    }
    return NULL;
}

static void set_step(struct json_step *s, const char *glue, const char *value, const struct json_leaf *leaf)
{
    s->n = (unsigned)(value - glue);
    char *copy = mem_zero(s->n + 16, 1);
    memcpy(copy, glue, s->n);
    s->glue = copy;
    s->depth = leaf ? leaf->depth : 0;
    s->slot = leaf ? leaf->slot : KEY_UNWANTED;
}

static bool can_learn(const struct json_trace *trace, struct str line)
{
    const char *before = line.p;
    if (trace->odd || trace->n == 0)
        return false;
    for (size_t i = 0; i < trace->n; i++) {
        if (trace->leaf[i].start - before > TEMPLATE_GLUE_MAX)
            return false;
        before = trace->leaf[i].end;
    }
    return line.p + line.n - before <= TEMPLATE_GLUE_MAX;
}

void json_templates_learn(struct json_templates *ts, const struct json_scan *j, struct str line)
{
    const struct json_trace *trace = &j->trace;
    if (ts->learned == TEMPLATE_LEARN_MAX || !can_learn(trace, line))
        return;
    ts->learned++;
    size_t k = ts->n < TEMPLATES_MAX ? ts->n++ : ts->oldest;
    ts->oldest = (k + 1) % TEMPLATES_MAX;
    struct json_template *m = &ts->all[k];
    template_release(m);
    m->n_steps = trace->n + 1;
    m->steps = mem_zero(m->n_steps, sizeof *m->steps);
    m->cells = mem_zero(trace->n + 1, sizeof *m->cells);
    m->next = k;
    const char *before = line.p;
    for (size_t i = 0; i < trace->n; i++) {
        const struct json_leaf *leaf = &trace->leaf[i];
        set_step(&m->steps[i], before, leaf->start, leaf);
        before = leaf->end;
        if (leaf->slot >= 0)
            m->cells[m->n_cells++].slot = leaf->slot;
    }
    set_step(&m->steps[trace->n], before, line.p + line.n, NULL);
    ts->all[ts->last].next = k;
    ts->last = k;
}

#include "analyse/copies.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint64_t mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) * 0x9E3779B97F4A7C15u;
    return h ^ (h >> 29);
}

static uint64_t mix_number(uint64_t h, double v)
{
    uint64_t bits = 0;
    if (isnan(v))
        return mix(h, 1);
    memcpy(&bits, &v, sizeof bits);
    return mix(h, bits);
}

static uint64_t mix_text(uint64_t h, struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        h = mix(h, (unsigned char)s.p[i]);
    return mix(h, s.n);
}

static uint64_t mix_column(uint64_t h, const struct column *c, size_t rows, double *block)
{
    for (size_t from = 0; c && from < rows; from += COLUMN_BLOCK) {
        size_t n = rows - from < COLUMN_BLOCK ? rows - from : COLUMN_BLOCK;
        column_read(c, from, n, block);
        for (size_t i = 0; i < n; i++)
            h = mix_number(h, block[i]);
    }
    return mix(h, c != NULL);
}

static uint64_t mix_event(uint64_t h, const struct event *e)
{
    static const enum field figures[] = {F_STEP, F_REQUESTED, F_FREE, F_TOTAL, F_ALLOCATED, F_RESERVED};
    h = mix(mix(h, e->kind), e->row);
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        h = mix_number(h, record_number(&e->rec, figures[i]));
    return mix_text(h, record_text(&e->rec, F_MESSAGE));
}

/* The name that the log itself gives its run; a name made of the file's, or told apart by it, is none. */
static uint64_t mix_own_name(uint64_t h, const struct series *s)
{
    struct str run = record_text(&s->meta, F_RUN);
    const char *base = s->source ? strrchr(s->source, '/') : NULL;
    base = base ? base + 1 : s->source;
    size_t stem = base ? strcspn(base, ".") : 0;
    if (run.n == 0 || !base || (stem > 0 && stem <= run.n && memcmp(run.p, base, stem) == 0) ||
        memchr(run.p, '(', run.n))
        return h;
    size_t digits = 0; /* "x seed 3" is what x is called beside other seeds */
    while (digits < run.n && run.p[run.n - 1 - digits] >= '0' && run.p[run.n - 1 - digits] <= '9')
        digits++;
    static const char seed[] = " seed ";
    size_t behind = run.n - digits;
    if (digits > 0 && behind > sizeof seed - 1 &&
        memcmp(run.p + behind - (sizeof seed - 1), seed, sizeof seed - 1) == 0)
        run.n = behind - (sizeof seed - 1);
    return mix_text(h, run);
}

uint64_t copies_digest(const struct series *s)
{
    uint64_t h = s->rows + 1;
    if (s->trace || (s->rows == 0 && s->n_events == 0))
        return 0;
    double *block = mem_alloc(COLUMN_BLOCK * sizeof *block);
    h = mix_number(mix_number(h, series_meta(s, F_SEED)), series_meta(s, F_RANK));
    h = mix_own_name(h, s);
    for (size_t f = 0; f < F_COUNT; f++)
        h = mix_column(h, s->col[f], s->rows, block);
    for (size_t i = 0; i < s->n_sizes; i++)
        h = mix_column(mix_text(h, s->sizes[i].name), s->sizes[i].column, s->rows, block);
    h = mix_column(mix_column(h, s->phase, s->rows, block), s->content, s->rows, block);
    free(block);
    for (size_t i = 0; i < s->n_events; i++)
        h = mix_event(h, &s->events[i]);
    /* Seeds of one job often fail with the same words: without rows only the place tells a copy. */
    for (size_t i = 0; s->rows == 0 && i < s->n_events; i++)
        h = mix(h, s->events[i].rec.at.line);
    return h ? h : 1;
}

size_t copies_first(const uint64_t *digest, size_t k)
{
    for (size_t i = 0; digest[k] != 0 && i < k; i++)
        if (digest[i] == digest[k])
            return i;
    return k;
}

#include "base/diag.h"
#include "base/mem.h"
#include "base/utf8.h"
#include <inttypes.h>
#include <stdlib.h>

static const struct {
    const char *name;
    enum diag_level level;
} KINDS[DIAG_COUNT] = {
#define DIAG(id, name, level) {name, level},
#include "base/diag.def"
#undef DIAG
};

/* A text names what it found; a hostile input must not make it a page. */
enum {
    TEXT_MAX = 600
};

void diag_init(struct diag *d)
{
    *d = (struct diag){0};
}

void diag_release(struct diag *d)
{
    free(d->items);
    arena_release(&d->arena);
    diag_init(d);
}

void diag_add(struct diag *d, enum diag_code code, struct place at, const char *fmt, ...)
{
    if (d->seen[code]++ >= DIAG_PER_KIND)
        return;
    struct buf raw = {0}, text = {0};
    va_list ap;
    va_start(ap, fmt);
    buf_vprintf(&raw, fmt, ap);
    va_end(ap);
    size_t shown = raw.n < TEXT_MAX ? raw.n : TEXT_MAX;
    while (shown < raw.n && shown > TEXT_MAX - 3 && (raw.p[shown] & 0xC0) == 0x80)
        shown--; /* not within a character */
    utf8_put_visible(&text, (struct str){raw.p, shown});
    if (shown < raw.n)
        buf_puts(&text, "...");
    if (d->n == d->cap) {
        d->cap = d->cap ? d->cap * 2 : 8;
        d->items = mem_grow(d->items, d->cap, sizeof *d->items);
    }
    if (at.file)
        at.file = arena_strndup(&d->arena, at.file, strlen(at.file));
    d->items[d->n++] = (struct diag_item){code, at, arena_strndup(&d->arena, text.p, text.n)};
    buf_release(&raw);
    buf_release(&text);
}

const char *diag_name(enum diag_code code)
{
    return KINDS[code].name;
}

enum diag_level diag_level(enum diag_code code)
{
    return KINDS[code].level;
}

uint64_t diag_errors(const struct diag *d)
{
    uint64_t n = 0;
    for (int i = 0; i < DIAG_COUNT; i++)
        if (KINDS[i].level == DIAG_ERROR)
            n += d->seen[i];
    return n;
}

static void put_place(struct buf *b, struct place at)
{
    utf8_put_visible(b, str_of(at.file));
    if (at.line)
        buf_printf(b, ":%" PRIu64, at.line);
    if (at.line && at.col)
        buf_printf(b, ":%" PRIu32, at.col);
    buf_puts(b, ": ");
}

void diag_print(const struct diag *d, FILE *f, enum diag_level least)
{
    static const char *const LEVELS[] = {"note", "warning", "error"};
    struct buf b = {0};
    const char *file = NULL;
    for (size_t i = 0; i < d->n; i++) {
        const struct diag_item *it = &d->items[i];
        if (it->at.file)
            file = it->at.file;
        if (KINDS[it->code].level < least)
            continue;
        buf_clear(&b);
        if (it->at.file)
            put_place(&b, it->at);
        buf_printf(&b, "%s: %s [%s]\n", LEVELS[KINDS[it->code].level], it->text, KINDS[it->code].name);
        fwrite(b.p, 1, b.n, f);
    }
    for (int i = 0; i < DIAG_COUNT; i++) {
        if (d->seen[i] <= DIAG_PER_KIND || KINDS[i].level < least)
            continue;
        buf_clear(&b);
        if (file)
            put_place(&b, (struct place){file, 0, 0});
        buf_printf(&b, "%s: %" PRIu64 " more of this kind [%s]\n", LEVELS[KINDS[i].level],
                   d->seen[i] - DIAG_PER_KIND, KINDS[i].name);
        fwrite(b.p, 1, b.n, f);
    }
    buf_release(&b);
}

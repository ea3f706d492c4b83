#include "normalise/text_format.h"
#include <math.h>
#include <stdlib.h>

enum {
    PART_LINES = 64 /* lines that a record may stand over */
};

void text_cells_add(struct text_cells *cells, int slot, struct str text)
{
    if (slot < 0 || cells->n == sizeof cells->c / sizeof *cells->c)
        return;
    for (size_t i = 0; i < cells->n; i++)
        if (cells->c[i].slot == slot)
            return;
    cells->c[cells->n++] = (struct cell){.slot = slot, .kind = CELL_STRING, .text = text};
}

static void add_carried(struct text_cells *cells, const struct carry_set *s)
{
    for (size_t i = 0; s && i < s->n; i++)
        text_cells_add(cells, s->cells[i].slot, (struct str){s->cells[i].text, s->cells[i].n});
}

/* A progress bar that is drawn again for the step of the last record. */
static bool is_redraw(struct text_format *f, const struct text_cells *cells)
{
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    for (size_t i = 0; i < cells->n; i++) {
        enum field field = f->rows->slots[cells->c[i].slot].b[0].field;
        if (field != F_STEP && field != F_EPOCH)
            continue;
        for (size_t k = 0; k < cells->c[i].text.n; k++)
            hash = (hash ^ (unsigned char)cells->c[i].text.p[k]) * 1099511628211u;
        hash = (hash ^ 0xFF) * 1099511628211u;
    }
    bool same = f->matched && hash == f->last_step;
    f->last_step = hash;
    return same;
}

static void send_row(struct text_format *f, const struct text_cells *cells, const struct text_origin *o)
{
    if (f->m->redraws && is_redraw(f, cells))
        return;
    struct row row = {o->line, cells->c, cells->n, true};
    f->rows->line_rank = o->rank;
    f->rows->line_time = o->time;
    f->matched++;
    rows_row(f->rows, &row);
}

/* What earlier lines left for this rank, then for any. */
static void add_kept(struct text_format *f, struct text_cells *cells, double rank)
{
    struct carry_set *own = carry_find(&f->carry, rank),
                     *any = isnan(rank) ? NULL : carry_find(&f->carry, NAN);
    add_carried(cells, own);
    add_carried(cells, any);
}

static void used_kept(struct text_format *f, double rank)
{
    struct carry_set *own = carry_find(&f->carry, rank),
                     *any = isnan(rank) ? NULL : carry_find(&f->carry, NAN);
    if (own)
        carry_used(own);
    if (any)
        carry_used(any);
}

static void flush_parts(struct text_format *f, struct carry_set *s)
{
    struct text_cells cells;
    cells.n = 0;
    if (!s->n)
        return;
    add_carried(&cells, s);
    add_kept(f, &cells, s->rank);
    send_row(f, &cells, &(struct text_origin){s->line, s->rank, s->time});
    used_kept(f, s->rank);
    s->n = 0;
}

void text_format_flush(struct text_format *f)
{
    for (size_t k = 0; k < f->parts.n; k++)
        flush_parts(f, &f->parts.sets[k]);
}

static void take_part(struct text_format *f, const struct text_cells *cells, bool begins,
                      const struct text_origin *o)
{
    struct carry_set *s = carry_open(&f->parts, o->rank);
    if (!s)
        return;
    bool ends = begins || o->line > s->line + PART_LINES;
    for (size_t i = 0; i < cells->n && !ends; i++)
        ends = carry_has(s, cells->c[i].slot);
    if (s->n && ends)
        flush_parts(f, s);
    if (!s->n) {
        s->line = o->line;
        s->time = o->time;
    }
    for (size_t i = 0; i < cells->n; i++)
        carry_put(s, cells->c[i].slot, cells->c[i].text, false);
}

static void keep(struct text_format *f, const struct text_cells *cells, bool once, double rank)
{
    struct carry_set *s = carry_open(&f->carry, rank);
    for (size_t i = 0; s && i < cells->n; i++)
        carry_put(s, cells->c[i].slot, cells->c[i].text, once);
}

bool text_format_take(struct text_format *f, enum map_use use, struct text_cells *cells,
                      const struct text_origin *o)
{
    switch (use) {
    case MAP_USE_NEXT:
    case MAP_USE_KEEP:
        keep(f, cells, use == MAP_USE_NEXT, o->rank);
        return false;
    case MAP_USE_BEGIN:
    case MAP_USE_PART:
        take_part(f, cells, use == MAP_USE_BEGIN, o);
        return true;
    case MAP_USE_RECORD:
        break;
    }
    add_kept(f, cells, o->rank);
    send_row(f, cells, o);
    used_kept(f, o->rank);
    return true;
}

void text_format_release(struct text_format *f)
{
    if (f->rows)
        rows_release(f->rows);
    free(f->rows);
    carry_release(&f->carry);
    carry_release(&f->parts);
}

/* row_text: what a reader hands out, as text, the same whether rows come one by one or many at once. */
#ifndef OOMREPORT_TESTS_ROW_TEXT_H
#define OOMREPORT_TESTS_ROW_TEXT_H

#include "base/buf.h"
#include "base/num.h"
#include "read/read.h"
#include <inttypes.h>

struct row_text {
    struct buf out;
    struct arena arena;
    struct str names[256];
    int n_names;
    uint64_t first_line; /* is added to every line number */
    bool refuse;         /* every other batch */
    unsigned batches;
};

static inline int row_text_key(void *ctx, struct str name)
{
    struct row_text *r = ctx;
    if (r->n_names == 256 || (name.n && name.p[0] == '!'))
        return KEY_UNWANTED;
    r->names[r->n_names] = arena_str(&r->arena, name);
    return r->n_names++;
}

static inline void row_text_value(struct row_text *r, int slot, enum cell_kind kind, struct str text,
                                  double v)
{
    buf_putc(&r->out, ' ');
    buf_str(&r->out, r->names[slot]);
    if (kind == CELL_NUMBER) {
        buf_printf(&r->out, "=%.17g", v);
    } else {
        buf_putc(&r->out, '=');
        buf_putc(&r->out, "nstf0[{"[kind]);
        buf_str(&r->out, text);
    }
}

static inline int row_text_row(void *ctx, const struct row *row)
{
    struct row_text *r = ctx;
    buf_printf(&r->out, "%" PRIu64, r->first_line + row->line);
    for (size_t i = 0; i < row->n; i++) {
        const struct cell *c = &row->cells[i];
        double v = 0;
        bool number = (c->plain || c->kind == CELL_NUMBER) && num_parse(c->text, &v);
        row_text_value(r, c->slot, number ? CELL_NUMBER : c->kind, c->text, v);
    }
    buf_putc(&r->out, '\n');
    return 0;
}

static inline enum batch_answer row_text_batch(void *ctx, const struct batch *b)
{
    struct row_text *r = ctx;
    if (r->refuse && r->batches++ % 2)
        return BATCH_LATER;
    for (size_t k = 0; k < b->n; k++) {
        buf_printf(&r->out, "%" PRIu64, r->first_line + b->line + k);
        for (size_t i = 0; i < b->n_items; i++) {
            const struct batch_item *item = &b->items[i];
            bool number = item->kind == CELL_NUMBER;
            row_text_value(r, item->slot, item->kind, number ? (struct str){NULL, 0} : item->text[k],
                           number ? item->value[k] : 0);
        }
        buf_putc(&r->out, '\n');
    }
    return BATCH_TAKEN;
}

static inline void row_text_read(struct row_text *r, struct str bytes, enum syntax syntax,
                                 const struct read_layout *layout, bool many)
{
    struct diag d;
    uint64_t skipped = 0;
    diag_init(&d);
    struct source *s = source_of_memory("text", bytes);
    struct row_handler h = {r, row_text_key, row_text_row, NULL, many ? row_text_batch : NULL};
    read_rows(s, syntax, layout, &h, &skipped, &d);
    source_close(s);
    diag_release(&d);
}

static inline void row_text_release(struct row_text *r)
{
    buf_release(&r->out);
    arena_release(&r->arena);
}

#endif

#include "read/batch.h"
#include "base/mem.h"
#include "base/num.h"
#include <stdlib.h>

struct batch_column {
    double value[BATCH_ROWS];
    struct str text[BATCH_ROWS];
};

void batch_init(struct batch_rows *b, const struct row_handler *h)
{
    b->h = h;
    b->n = b->n_items = 0;
    b->columns = h->batch ? mem_alloc(BATCH_ITEMS_MAX * sizeof *b->columns) : NULL;
}

void batch_release(struct batch_rows *b)
{
    free(b->columns);
    b->columns = NULL;
}

/* What a cell is in a batch: NUMBER, or a text; NULL when it is for no batch. */
static inline enum cell_kind kind_of(const struct cell *c)
{
    if (c->plain || c->kind == CELL_NUMBER)
        return CELL_NUMBER;
    return c->kind == CELL_STRING || c->kind == CELL_LIST ? c->kind : CELL_NULL;
}

static bool begin(struct batch_rows *b, uint64_t line, const struct cell *cells, size_t n)
{
    if (!b->columns || n == 0 || n > BATCH_ITEMS_MAX)
        return false;
    for (size_t i = 0; i < n; i++) {
        enum cell_kind kind = kind_of(&cells[i]);
        if (kind == CELL_NULL)
            return false;
        b->items[i] = (struct batch_item){cells[i].slot, kind, b->columns[i].value, b->columns[i].text};
    }
    b->n_items = n;
    b->line = line;
    return true;
}

bool batch_add(struct batch_rows *b, uint64_t line, const char *at, const struct cell *cells, size_t n)
{
    size_t row = b->n;
    if (row == 0) {
        if (!begin(b, line, cells, n))
            return false;
    } else if (row == BATCH_ROWS || n != b->n_items || line != b->line + row) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        const struct cell *c = &cells[i];
        if (c->slot != b->items[i].slot || kind_of(c) != b->items[i].kind)
            return false;
        struct batch_column *column = &b->columns[i];
        if (c->plain && c->whole < (uint64_t)1 << 53) {
            double v = (double)(int64_t)c->whole;
            column->value[row] = c->plain == CELL_PLAIN(0) ? v : v / num_pow10[c->plain - 1];
        } else if (b->items[i].kind == CELL_NUMBER) {
            if (!num_parse(c->text, &column->value[row]))
                return false;
        } else {
            column->text[row] = c->text;
        }
    }
    b->at[row] = at;
    b->n++;
    return true;
}

bool batch_flush(struct batch_rows *b, size_t *n, uint32_t *pause)
{
    struct batch all = {b->line, b->n, b->items, b->n_items};
    *n = b->n;
    b->n = 0;
    enum batch_answer answer = all.n ? b->h->batch(b->h->ctx, &all) : BATCH_TAKEN;
    *pause = answer == BATCH_NEVER ? BATCH_PAUSE_FOR_GOOD : answer == BATCH_LATER ? BATCH_PAUSE : 0;
    return answer == BATCH_TAKEN;
}

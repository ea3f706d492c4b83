#include "draw/labels.h"
#include <math.h>

void labels_add(struct labels *l, double y, enum ink ink, const char *line1, const char *line2,
                const char *line3)
{
    if (l->n < LABELS_MAX && !isnan(y))
        l->items[l->n++] = (struct label){y, ink, {line1, line2, line3}, y};
}

static double height_of(const struct label *it)
{
    double lines = 0;
    for (int i = 0; i < LABEL_LINES && it->lines[i]; i++)
        lines++;
    return lines * LABEL_HEIGHT;
}

/* Insertion keeps equal places in the order in which they were added. */
static void sort_by_y(struct labels *l)
{
    for (size_t i = 1; i < l->n; i++) {
        struct label it = l->items[i];
        size_t k = i;
        for (; k > 0 && l->items[k - 1].y > it.y; k--)
            l->items[k] = l->items[k - 1];
        l->items[k] = it;
    }
}

/* A block of labels that touch: it sits where its members' wishes average out. */
struct block {
    double sum;    /* of wished tops, less the offset within the block [px] */
    double height; /* [px] */
    double top;    /* [px] */
    size_t n;
};

static void settle(struct block *b, double top, double bottom)
{
    b->top = fmax(fmin(b->sum / (double)b->n, bottom - b->height), top);
}

void labels_place(struct labels *l, double top, double bottom)
{
    double total = 0;
    for (size_t i = 0; i < l->n; i++)
        total += height_of(&l->items[i]);
    while (l->n > 0 && total > bottom - top)
        total -= height_of(&l->items[--l->n]);
    sort_by_y(l);
    struct block blocks[LABELS_MAX];
    size_t n = 0;
    for (size_t i = 0; i < l->n; i++) {
        struct block *b = &blocks[n++];
        *b = (struct block){l->items[i].y - LABEL_HEIGHT / 2.0, height_of(&l->items[i]), 0, 1};
        settle(b, top, bottom);
        while (n > 1 && blocks[n - 2].top + blocks[n - 2].height > blocks[n - 1].top) {
            struct block *up = &blocks[n - 2], *down = &blocks[n - 1];
            up->sum += down->sum - (double)down->n * up->height;
            up->height += down->height;
            up->n += down->n;
            n--;
            settle(up, top, bottom);
        }
    }
    size_t at = 0;
    for (size_t k = 0; k < n; k++) {
        double y = blocks[k].top;
        for (size_t i = 0; i < blocks[k].n; i++, at++) {
            l->items[at].at = y + LABEL_HEIGHT / 2.0;
            y += height_of(&l->items[at]);
        }
    }
}

void labels_draw(const struct labels *l, struct canvas *c, double from_x, double x, double max_width)
{
    for (size_t i = 0; i < l->n; i++) {
        const struct label *it = &l->items[i];
        if (it->ink != INK_MUTED && fabs(it->at - it->y) > 6)
            canvas_line(c, from_x, it->y, x - 3, it->at, it->ink, 0.8, DASH_NONE);
        for (int k = 0; k < LABEL_LINES && it->lines[k]; k++)
            canvas_text(c, x, it->at + k * LABEL_HEIGHT + 4, ANCHOR_LEFT, 12, it->ink, max_width,
                        it->lines[k]);
    }
}

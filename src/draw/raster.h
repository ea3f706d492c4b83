/* raster: a picture as pixels that name its colours, and the same as PNG bytes.
 *
 * Pixels are numbers of colours in a table: a chart has few colours, and half the
 * memory is touched. */
#ifndef OOMREPORT_DRAW_RASTER_H
#define OOMREPORT_DRAW_RASTER_H

#include "base/buf.h"
#include <stdint.h>

enum {
    RASTER_COLOURS = 4096,
    RASTER_SLOTS = 2 * RASTER_COLOURS,
    RASTER_OPAQUE = 256
};

struct raster {
    uint16_t *px;                 /* width * height numbers of colours, row by row; owned */
    size_t cap;                   /* pixels there is room for */
    int width, height;            /* [px] of the PNG */
    uint32_t rgb[RASTER_COLOURS]; /* n_colours, 0xRRGGBB */
    size_t n_colours;
    uint16_t slots[RASTER_SLOTS]; /* hash table: number of a colour + 1; 0: free */
};

struct raster *raster_new(void);
void raster_free(struct raster *r);
/* Makes it a picture of that size in one colour; the memory of an earlier picture is used again. */
void raster_reset(struct raster *r, int width, int height, uint32_t rgb);
/* The number of a colour; when the table is full, that of the nearest colour in it. */
uint16_t raster_colour(struct raster *r, uint32_t rgb);
/* Lays a colour over one pixel; alpha 0..RASTER_OPAQUE. The pixel must lie inside. */
void raster_blend(struct raster *r, int x, int y, uint32_t rgb, unsigned alpha);
/* The same for all pixels from x, y up to but not including x2, y2, as far as they lie inside. */
void raster_fill(struct raster *r, int x, int y, int x2, int y2, uint32_t rgb, unsigned alpha);
uint32_t raster_at(const struct raster *r, int x, int y); /* 0xRRGGBB */

/* Appends a PNG without time or text chunks: with an exact palette up to 256
 * colours; above that with a palette in which neighbouring colours share the most
 * frequent of them (at most 7/255 off in a channel) when that is enough; else RGB.
 * 0, or -1 with errno set. */
int raster_png(struct buf *out, const struct raster *r);

#endif

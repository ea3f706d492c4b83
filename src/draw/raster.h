/* raster: a picture as pixels, and those as PNG bytes. */
#ifndef OOMREPORT_DRAW_RASTER_H
#define OOMREPORT_DRAW_RASTER_H

#include "base/buf.h"
#include <stdint.h>

struct raster {
    uint32_t *px;      /* width * height pixels 0x__RRGGBB, the high byte undefined; owned */
    int width, height; /* [px] of the PNG */
};

void raster_release(struct raster *r);
/* Appends a PNG without time or text chunks: with an exact palette up to 256
 * colours; above that with a palette in which neighbouring colours share the most
 * frequent of them (at most 7/255 off in a channel) when that is enough; else RGB.
 * 0, or -1 with errno set. */
int raster_png(struct buf *out, const struct raster *r);

#endif

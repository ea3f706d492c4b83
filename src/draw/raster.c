#include "draw/raster.h"
#include "base/mem.h"
#include <stdlib.h>

struct raster *raster_new(void)
{
    return mem_zero(1, sizeof(struct raster));
}

void raster_free(struct raster *r)
{
    if (!r)
        return;
    free(r->px);
    free(r);
}

void raster_reset(struct raster *r, int width, int height, uint32_t rgb)
{
    size_t n = (size_t)width * (size_t)height;
    if (n > r->cap) {
        free(r->px);
        r->px = mem_alloc(n * sizeof *r->px);
        r->cap = n;
    }
    r->width = width;
    r->height = height;
    r->n_colours = 0;
    memset(r->slots, 0, sizeof r->slots);
    raster_colour(r, rgb); /* number 0 */
    memset(r->px, 0, n * sizeof *r->px);
}

static unsigned distance(uint32_t a, uint32_t b)
{
    unsigned sum = 0;
    for (int shift = 0; shift <= 16; shift += 8) {
        int d = (int)(a >> shift & 255) - (int)(b >> shift & 255);
        sum += (unsigned)(d * d);
    }
    return sum;
}

static uint16_t nearest(const struct raster *r, uint32_t rgb)
{
    size_t best = 0;
    for (size_t i = 1; i < r->n_colours; i++)
        if (distance(r->rgb[i], rgb) < distance(r->rgb[best], rgb))
            best = i;
    return (uint16_t)best;
}

uint16_t raster_colour(struct raster *r, uint32_t rgb)
{
    size_t at = (rgb * 2654435761u >> 16) % RASTER_SLOTS;
    for (; r->slots[at]; at = (at + 1) % RASTER_SLOTS)
        if (r->rgb[r->slots[at] - 1] == rgb)
            return (uint16_t)(r->slots[at] - 1);
    if (r->n_colours == RASTER_COLOURS)
        return nearest(r, rgb);
    r->rgb[r->n_colours++] = rgb;
    r->slots[at] = (uint16_t)r->n_colours;
    return (uint16_t)(r->n_colours - 1);
}

static uint32_t mix(uint32_t under, uint32_t over, unsigned alpha)
{
    uint32_t out = 0;
    for (int shift = 0; shift <= 16; shift += 8) {
        uint32_t u = under >> shift & 255, o = over >> shift & 255;
        out |= (u * (RASTER_OPAQUE - alpha) + o * alpha + RASTER_OPAQUE / 2) / RASTER_OPAQUE << shift;
    }
    return out;
}

void raster_blend(struct raster *r, int x, int y, uint32_t rgb, unsigned alpha)
{
    uint16_t *px = r->px + (size_t)y * (size_t)r->width + x;
    *px = raster_colour(r, alpha >= RASTER_OPAQUE ? rgb : mix(r->rgb[*px], rgb, alpha));
}

static int inside(int v, int limit)
{
    return v < 0 ? 0 : v > limit ? limit : v;
}

void raster_fill(struct raster *r, int x, int y, int x2, int y2, uint32_t rgb, unsigned alpha)
{
    x = inside(x, r->width);
    x2 = inside(x2, r->width);
    y = inside(y, r->height);
    y2 = inside(y2, r->height);
    if (x >= x2 || y >= y2)
        return;
    uint16_t under = r->px[(size_t)y * (size_t)r->width + x], over = 0;
    bool known = false;
    for (int row = y; row < y2; row++) {
        uint16_t *px = r->px + (size_t)row * (size_t)r->width;
        for (int col = x; col < x2; col++) {
            /* Neighbours mostly have the same colour: mix it once. */
            if (!known || px[col] != under) {
                under = px[col];
                over = raster_colour(r, alpha >= RASTER_OPAQUE ? rgb : mix(r->rgb[under], rgb, alpha));
                known = true;
            }
            px[col] = over;
        }
    }
}

uint32_t raster_at(const struct raster *r, int x, int y)
{
    return r->rgb[r->px[(size_t)y * (size_t)r->width + x]];
}

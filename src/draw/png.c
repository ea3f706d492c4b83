/* The only file that knows libpng. */
#include "base/mem.h"
#include "draw/raster.h"
#include <errno.h>
#include <png.h>
#include <stdlib.h>

enum {
    PALETTE = 256,
    MAX_SHIFT = 3
};

struct palette {
    png_color colours[PALETTE]; /* n */
    int n;
    unsigned char of[RASTER_COLOURS]; /* the colour that stands for each colour of the raster */
};

struct use {
    uint32_t count, rgb;
    uint16_t number;
};

/* The most used first; then by colour, so that the order is the same everywhere. */
static int by_use(const void *a, const void *b)
{
    const struct use *x = a, *y = b;
    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    return (x->rgb > y->rgb) - (x->rgb < y->rgb);
}

static size_t count_uses(struct use *uses, const struct raster *r)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n_colours; i++)
        uses[i] = (struct use){0, r->rgb[i], (uint16_t)i};
    for (size_t i = 0; i < (size_t)r->width * (size_t)r->height; i++)
        uses[r->px[i]].count++;
    qsort(uses, r->n_colours, sizeof *uses, by_use);
    while (n < r->n_colours && uses[n].count > 0)
        n++;
    return n;
}

/* Colours that differ only in the low `shift` bits of a channel share the most used of them. */
static bool try_palette(struct palette *p, const struct use *uses, size_t n, int shift)
{
    uint32_t low = (1u << shift) - 1, keep = 0xFFFFFF & ~(low | low << 8 | low << 16), keys[PALETTE];
    p->n = 0;
    for (size_t i = 0; i < n; i++) {
        int k = 0;
        while (k < p->n && keys[k] != (uses[i].rgb & keep))
            k++;
        if (k == PALETTE)
            return false;
        if (k == p->n) {
            keys[k] = uses[i].rgb & keep;
            p->colours[p->n++] = (png_color){(png_byte)(uses[i].rgb >> 16), (png_byte)(uses[i].rgb >> 8),
                                             (png_byte)uses[i].rgb};
        }
        p->of[uses[i].number] = (unsigned char)k;
    }
    return true;
}

static bool choose_palette(struct palette *p, const struct raster *r)
{
    struct use *uses = mem_alloc(r->n_colours * sizeof *uses);
    size_t n = count_uses(uses, r);
    bool found = false;
    for (int shift = 0; !found && shift <= MAX_SHIFT; shift++)
        found = try_palette(p, uses, n, shift);
    free(uses);
    return found;
}

static void put_row(unsigned char *out, const uint16_t *px, int width, const struct raster *r,
                    const struct palette *p)
{
    for (int i = 0; i < width; i++) {
        if (p) {
            out[i] = p->of[px[i]];
            continue;
        }
        out[3 * i] = (unsigned char)(r->rgb[px[i]] >> 16);
        out[3 * i + 1] = (unsigned char)(r->rgb[px[i]] >> 8);
        out[3 * i + 2] = (unsigned char)r->rgb[px[i]];
    }
}

static void on_write(png_structp png, png_bytep data, png_size_t n)
{
    buf_put(png_get_io_ptr(png), data, n);
}

static void on_flush(png_structp png)
{
    (void)png;
}

static void on_error(png_structp png, png_const_charp message)
{
    (void)message;
    png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp message)
{
    (void)png;
    (void)message;
}

static void write_header(png_structp png, png_infop info, const struct raster *r, const struct palette *p)
{
    png_set_compression_level(png, 3); /* half the time of 6, for a third more bytes at most */
    png_set_IHDR(png, info, (png_uint_32)r->width, (png_uint_32)r->height, 8,
                 p ? PNG_COLOR_TYPE_PALETTE : PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_BASE, PNG_FILTER_TYPE_BASE);
    png_set_filter(png, 0, PNG_FILTER_NONE);
    if (p)
        png_set_PLTE(png, info, p->colours, p->n);
    png_write_info(png, info);
}

/* libpng reports errors by longjmp: everything that may do so happens in here, and
 * nothing that is changed after setjmp is read after the jump. */
static int write_png(struct buf *out, const struct raster *r, const struct palette *p, unsigned char *row)
{
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, on_error, on_warning);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    if (!info || setjmp(png_jmpbuf(png))) {
        png_destroy_write_struct(&png, &info);
        return -1;
    }
    png_set_write_fn(png, out, on_write, on_flush);
    write_header(png, info, r, p);
    for (int y = 0; y < r->height; y++) {
        put_row(row, r->px + (size_t)y * (size_t)r->width, r->width, r, p);
        png_write_row(png, row);
    }
    png_write_end(png, NULL);
    png_destroy_write_struct(&png, &info);
    return 0;
}

int raster_png(struct buf *out, const struct raster *r)
{
    size_t before = out->n;
    struct palette *p = mem_zero(1, sizeof *p);
    bool found = choose_palette(p, r);
    unsigned char *row = mem_alloc((size_t)r->width * 3);
    int result = write_png(out, r, found ? p : NULL, row);
    free(row);
    free(p);
    if (result != 0) {
        out->n = before;
        errno = ENOMEM;
    }
    return result;
}

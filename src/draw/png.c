/* The only file that knows libpng. */
#include "base/mem.h"
#include "draw/raster.h"
#include <errno.h>
#include <png.h>
#include <stdlib.h>

enum {
    COLOURS = 256,
    SLOTS = 4096, /* of the hash table; far more than colours, so that probing stays short */
    CANDIDATES = 2048,
    MAX_SHIFT = 3
};

void raster_release(struct raster *r)
{
    free(r->px);
    r->px = NULL;
}

/* Buckets of colours that are equal but for the low `shift` bits of each channel. */
struct buckets {
    uint32_t key[SLOTS]; /* bucket + 1; 0: free */
    uint32_t rgb[SLOTS]; /* the most frequent colour in it */
    uint32_t count[SLOTS];
    int index[SLOTS];
    int n, shift;
};

static uint32_t bucket_of(const struct buckets *b, uint32_t rgb)
{
    uint32_t low = (1u << b->shift) - 1;
    return (rgb & 0xFFFFFF & ~(low | low << 8 | low << 16)) + 1;
}

static size_t slot_of(const struct buckets *b, uint32_t key)
{
    size_t at = key * 2654435761u >> 20;
    while (b->key[at] && b->key[at] != key)
        at = (at + 1) % SLOTS;
    return at;
}

/* Adds a colour seen `count` times; false when there are more than `limit` buckets. */
static bool bucket_add(struct buckets *b, uint32_t rgb, uint32_t count, int limit)
{
    uint32_t key = bucket_of(b, rgb);
    size_t at = slot_of(b, key);
    if (!b->key[at]) {
        if (b->n == limit)
            return false;
        b->key[at] = key;
        b->index[at] = b->n++;
        b->count[at] = 0;
    }
    if (count > b->count[at]) {
        b->count[at] = count;
        b->rgb[at] = rgb;
    }
    return true;
}

/* All colours of the picture with their counts; false when there are too many to be worth a palette. */
static bool count_colours(struct buckets *b, const struct raster *r)
{
    size_t n = (size_t)r->width * (size_t)r->height;
    for (size_t i = 0; i < n;) {
        uint32_t rgb = r->px[i] & 0xFFFFFF, key = rgb + 1;
        size_t run = 1;
        while (i + run < n && (r->px[i + run] & 0xFFFFFF) == rgb)
            run++;
        size_t at = slot_of(b, key);
        if (!b->key[at]) {
            if (b->n == CANDIDATES)
                return false;
            b->key[at] = key;
            b->rgb[at] = rgb;
            b->n++;
        }
        b->count[at] += (uint32_t)run;
        i += run;
    }
    return true;
}

/* Chooses the finest buckets that fit a palette; false when none do. */
static bool choose_palette(struct buckets *out, const struct raster *r)
{
    struct buckets *all = mem_zero(1, sizeof *all);
    bool ok = count_colours(all, r), found = false;
    for (int shift = 0; ok && !found && shift <= MAX_SHIFT; shift++) {
        memset(out, 0, sizeof *out);
        out->shift = shift;
        found = true;
        for (size_t i = 0; found && i < SLOTS; i++)
            if (all->key[i])
                found = bucket_add(out, all->rgb[i], all->count[i], COLOURS);
    }
    free(all);
    return found;
}

/* The picture as rows of palette indices or of RGB. */
static unsigned char *rows_of(const struct raster *r, const struct buckets *b)
{
    size_t n = (size_t)r->width * (size_t)r->height;
    unsigned char *rows = mem_alloc(b ? n : n * 3);
    uint32_t last = 0;
    unsigned char index = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t rgb = r->px[i] & 0xFFFFFF;
        if (!b) {
            rows[3 * i] = (unsigned char)(rgb >> 16);
            rows[3 * i + 1] = (unsigned char)(rgb >> 8);
            rows[3 * i + 2] = (unsigned char)rgb;
            continue;
        }
        if (i == 0 || rgb != last)
            index = (unsigned char)b->index[slot_of(b, bucket_of(b, rgb))];
        last = rgb;
        rows[i] = index;
    }
    return rows;
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

static void write_header(png_structp png, png_infop info, const struct raster *r, const struct buckets *b)
{
    png_set_compression_level(png, 6);
    png_set_IHDR(png, info, (png_uint_32)r->width, (png_uint_32)r->height, 8,
                 b ? PNG_COLOR_TYPE_PALETTE : PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_BASE, PNG_FILTER_TYPE_BASE);
    png_set_filter(png, 0, b ? PNG_FILTER_NONE : PNG_FILTER_UP);
    if (b) {
        png_color palette[COLOURS] = {{0, 0, 0}};
        for (size_t i = 0; i < SLOTS; i++)
            if (b->key[i])
                palette[b->index[i]] =
                    (png_color){(png_byte)(b->rgb[i] >> 16), (png_byte)(b->rgb[i] >> 8), (png_byte)b->rgb[i]};
        png_set_PLTE(png, info, palette, b->n);
    }
    png_write_info(png, info);
}

/* libpng reports errors by longjmp: everything that may do so happens in here, and
 * nothing that is changed after setjmp is read after the jump. */
static int write_png(struct buf *out, const struct raster *r, const struct buckets *b, unsigned char *rows)
{
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, on_error, on_warning);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    if (!info || setjmp(png_jmpbuf(png))) {
        png_destroy_write_struct(&png, &info);
        return -1;
    }
    png_set_write_fn(png, out, on_write, on_flush);
    write_header(png, info, r, b);
    size_t stride = (size_t)r->width * (b ? 1 : 3);
    for (int y = 0; y < r->height; y++)
        png_write_row(png, rows + (size_t)y * stride);
    png_write_end(png, NULL);
    png_destroy_write_struct(&png, &info);
    return 0;
}

int raster_png(struct buf *out, const struct raster *r)
{
    size_t before = out->n;
    struct buckets *b = mem_zero(1, sizeof *b);
    bool palette = choose_palette(b, r);
    unsigned char *rows = rows_of(r, palette ? b : NULL);
    int result = write_png(out, r, palette ? b : NULL, rows);
    free(rows);
    free(b);
    if (result != 0) {
        out->n = before;
        errno = ENOMEM;
    }
    return result;
}

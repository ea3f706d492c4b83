/* Rasters and their PNGs, read back with libpng. */
#include "draw/raster.h"
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <png.h>

struct decoded {
    unsigned char *rgb;
    int width, height, colour_type;
};

/* The type of the image stands in its header, the pixels come from libpng. */
static struct decoded decode(const struct buf *b)
{
    struct decoded d = {NULL, 0, 0, 0};
    png_image image = {.version = PNG_IMAGE_VERSION};
    assert_true(b->n > 33);
    d.colour_type = (unsigned char)b->p[25];
    assert_int_equal(png_image_begin_read_from_memory(&image, b->p, b->n), 1);
    image.format = PNG_FORMAT_RGB;
    d.width = (int)image.width;
    d.height = (int)image.height;
    d.rgb = malloc(PNG_IMAGE_SIZE(image));
    assert_int_equal(png_image_finish_read(&image, NULL, d.rgb, 0, NULL), 1);
    return d;
}

/* The greatest difference of a channel. */
static int compare(const struct raster *r, const struct buf *b, int colour_type)
{
    struct decoded d = decode(b);
    int worst = 0;
    assert_int_equal(d.width, r->width);
    assert_int_equal(d.height, r->height);
    assert_int_equal(d.colour_type, colour_type);
    for (int y = 0; y < r->height; y++)
        for (int x = 0; x < r->width; x++)
            for (int k = 0; k < 3; k++) {
                int was = (int)(raster_at(r, x, y) >> (16 - 8 * k) & 255);
                int is = d.rgb[3 * (y * r->width + x) + k];
                worst = abs(was - is) > worst ? abs(was - is) : worst;
            }
    free(d.rgb);
    return worst;
}

static void a_few_colours_come_back_exactly(void **state)
{
    (void)state;
    struct raster *r = raster_new();
    struct buf b = {0};
    raster_reset(r, 61, 17, 0xFFFFFF);
    raster_fill(r, 3, 2, 40, 9, 0x023687, RASTER_OPAQUE);
    raster_fill(r, 20, 0, 61, 17, 0xB3261E, 77);
    raster_blend(r, 60, 16, 0x000000, RASTER_OPAQUE);
    assert_int_equal(raster_at(r, 60, 16), 0x000000);
    assert_int_equal(raster_png(&b, r), 0);
    assert_int_equal(compare(r, &b, PNG_COLOR_TYPE_PALETTE), 0);
    buf_release(&b);
    raster_free(r);
}

static void fill_stops_at_the_edges(void **state)
{
    (void)state;
    struct raster *r = raster_new();
    raster_reset(r, 10, 10, 0xFFFFFF);
    raster_fill(r, -100, -100, 5, 5, 0x111111, RASTER_OPAQUE);
    raster_fill(r, 8, 8, 1000000, 1000000, 0x222222, RASTER_OPAQUE);
    raster_fill(r, 7, 7, 2, 2, 0x333333, RASTER_OPAQUE);
    assert_int_equal(raster_at(r, 0, 0), 0x111111);
    assert_int_equal(raster_at(r, 4, 4), 0x111111);
    assert_int_equal(raster_at(r, 5, 5), 0xFFFFFF);
    assert_int_equal(raster_at(r, 9, 9), 0x222222);
    raster_free(r);
}

static void slightly_too_many_colours_share_a_palette_closely(void **state)
{
    (void)state;
    struct raster *r = raster_new();
    struct buf b = {0};
    raster_reset(r, 400, 2, 0xFFFFFF);
    for (int x = 0; x < 400; x++)
        raster_blend(r, x, 0, (uint32_t)(x / 2 << 16 | x / 2 << 8 | (x / 2 + x % 2)), RASTER_OPAQUE);
    assert_true(r->n_colours > 256);
    assert_int_equal(raster_png(&b, r), 0);
    assert_in_range(compare(r, &b, PNG_COLOR_TYPE_PALETTE), 1, 7);
    buf_release(&b);
    raster_free(r);
}

static void very_many_colours_come_back_exactly_as_rgb(void **state)
{
    (void)state;
    struct raster *r = raster_new();
    struct buf b = {0};
    raster_reset(r, 60, 60, 0xFFFFFF);
    for (int y = 0; y < 60; y++)
        for (int x = 0; x < 60; x++)
            raster_blend(r, x, y, (uint32_t)(x * 4 << 16 | y * 4 << 8 | (x ^ y)), RASTER_OPAQUE);
    assert_int_equal(raster_png(&b, r), 0);
    assert_int_equal(compare(r, &b, PNG_COLOR_TYPE_RGB), 0);
    buf_release(&b);
    raster_free(r);
}

static void a_full_table_gives_the_nearest_colour(void **state)
{
    (void)state;
    struct raster *r = raster_new();
    raster_reset(r, 4, 4, 0);
    for (uint32_t i = 1; i < RASTER_COLOURS; i++)
        assert_int_equal(raster_colour(r, i << 4), i);
    assert_int_equal(r->rgb[raster_colour(r, 0x000511)], 0x000510);
    assert_int_equal(r->n_colours, RASTER_COLOURS);
    raster_free(r);
}

static void the_same_pixels_give_the_same_bytes_without_time(void **state)
{
    (void)state;
    struct raster *r = raster_new();
    struct buf a = {0}, b = {0};
    for (int k = 0; k < 2; k++) {
        raster_reset(r, 50, 50, 0xFFFFFF);
        raster_fill(r, 1, 1, 20, 20, 0x9552C3, 128);
        assert_int_equal(raster_png(k ? &b : &a, r), 0);
    }
    assert_int_equal(a.n, b.n);
    assert_memory_equal(a.p, b.p, a.n);
    for (size_t i = 0; i + 4 < a.n; i++)
        assert_true(memcmp(a.p + i, "tIME", 4) && memcmp(a.p + i, "tEXt", 4));
    buf_release(&a);
    buf_release(&b);
    raster_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_few_colours_come_back_exactly),
        cmocka_unit_test(fill_stops_at_the_edges),
        cmocka_unit_test(slightly_too_many_colours_share_a_palette_closely),
        cmocka_unit_test(very_many_colours_come_back_exactly_as_rgb),
        cmocka_unit_test(a_full_table_gives_the_nearest_colour),
        cmocka_unit_test(the_same_pixels_give_the_same_bytes_without_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

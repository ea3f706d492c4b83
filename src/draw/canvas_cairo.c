/* The painting of a canvas: columns and rectangles are written straight into the pixels; cairo
 * draws lines, marks and texts into a mask, whose coverage is rounded to a few levels before it
 * goes into the pixels. So a picture has few colours, and its PNG a palette. */
#include "base/mem.h"
#include "base/utf8.h"
#include "draw/canvas.h"
#include <cairo-ft.h>
#include <cairo.h>
#include <errno.h>
#include <ft2build.h>
#include <math.h>
#include <stdlib.h>
#include FT_FREETYPE_H
#include FT_ADVANCES_H

enum {
    ASCII = 128
};

struct font {
    FT_Library library;
    FT_Face face;
    cairo_font_face_t *cairo;
    double ascii[ASCII]; /* [em] */
};

/* --- font ---------------------------------------------------------------------------- */

static double face_advance(FT_Face face, FT_UInt glyph)
{
    FT_Fixed w = 0;
    if (FT_Get_Advance(face, glyph, FT_LOAD_NO_SCALE, &w) || face->units_per_EM == 0)
        return 0.6;
    return (double)w / face->units_per_EM;
}

struct font *font_new(struct str bytes)
{
    struct font *f = mem_zero(1, sizeof *f);
    if (FT_Init_FreeType(&f->library)) {
        free(f);
        errno = ENOMEM;
        return NULL;
    }
    if (bytes.n == 0 ||
        FT_New_Memory_Face(f->library, (const FT_Byte *)bytes.p, (FT_Long)bytes.n, 0, &f->face) ||
        !FT_IS_SCALABLE(f->face)) {
        font_free(f);
        errno = EINVAL;
        return NULL;
    }
    f->cairo = cairo_ft_font_face_create_for_ft_face(f->face, 0);
    if (cairo_font_face_status(f->cairo) != CAIRO_STATUS_SUCCESS) {
        font_free(f);
        errno = ENOMEM;
        return NULL;
    }
    for (FT_ULong code = 0; code < ASCII; code++)
        f->ascii[code] = face_advance(f->face, FT_Get_Char_Index(f->face, code));
    return f;
}

void font_free(struct font *f)
{
    if (!f)
        return;
    if (f->cairo) {
        cairo_font_face_destroy(f->cairo);
        /* cairo keeps scaled fonts for later, and those point into the face. */
        cairo_debug_reset_static_data();
    }
    if (f->face)
        FT_Done_Face(f->face);
    FT_Done_FreeType(f->library);
    free(f);
}

bool font_has(const struct font *f, uint32_t code)
{
    return FT_Get_Char_Index(f->face, code) != 0;
}

double font_advance(const struct font *f, uint32_t code)
{
    return code < ASCII ? f->ascii[code] : face_advance(f->face, FT_Get_Char_Index(f->face, code));
}

/* --- pixels ---------------------------------------------------------------------------- */

enum {
    OPAQUE = 256
};

struct painter {
    uint32_t *px;      /* width * height */
    int width, height; /* [px] of the PNG */
    enum theme theme;
    const struct font *font;
    cairo_surface_t *mask; /* one byte of coverage for each pixel; empty between items */
    cairo_t *cr;           /* draws on the mask, in CSS pixels */
};

static uint32_t mix(uint32_t under, uint32_t over, unsigned alpha)
{
    uint32_t out = 0;
    for (int shift = 0; shift <= 16; shift += 8) {
        uint32_t u = under >> shift & 255, o = over >> shift & 255;
        out |= (u * (OPAQUE - alpha) + o * alpha + OPAQUE / 2) / OPAQUE << shift;
    }
    return out;
}

static void blend(const struct painter *p, int x, int y, uint32_t rgb, unsigned alpha)
{
    uint32_t *px = p->px + (size_t)y * (size_t)p->width + x;
    *px = alpha >= OPAQUE ? rgb : mix(*px, rgb, alpha);
}

static unsigned alpha_of(const struct item *it)
{
    return (unsigned)(it->alpha * OPAQUE + 0.5);
}

/* One column of pixels from y to y2; the share of a pixel that is covered is rounded to
 * quarters, so that soft edges cost few colours. */
static void fill_column(const struct painter *p, int x, double y, double y2, uint32_t rgb, unsigned alpha)
{
    if (x < 0 || x >= p->width)
        return;
    y = fmin(fmax(y, 0), p->height);
    y2 = fmin(fmax(y2, 0), p->height);
    int first = (int)floor(y), last = (int)ceil(y2);
    for (int row = first; row < last; row++) {
        double cover = fmin(row + 1, y2) - fmax(row, y);
        unsigned quarters = (unsigned)(cover * 4 + 0.5);
        if (quarters)
            blend(p, x, row, rgb, alpha * quarters / 4);
    }
}

static void paint_columns(const struct painter *p, const struct item *it)
{
    uint32_t rgb = palette_rgb(it->ink, p->theme);
    int x0 = (int)lround(it->x * CANVAS_SCALE);
    for (size_t i = 0; i < it->n; i++)
        if (!isnan(it->top[i]) && !isnan(it->bottom[i]))
            fill_column(p, x0 + (int)i, (double)it->top[i] * CANVAS_SCALE,
                        (double)it->bottom[i] * CANVAS_SCALE, rgb, alpha_of(it));
}

static int pixel(double css, int limit)
{
    double v = round(css * CANVAS_SCALE);
    return v < 0 ? 0 : v > limit ? limit : (int)v;
}

static void paint_rect(const struct painter *p, const struct item *it)
{
    uint32_t rgb = palette_rgb(it->ink, p->theme);
    int x = pixel(it->x, p->width), x2 = pixel(it->x2, p->width);
    int y = pixel(it->y, p->height), y2 = pixel(it->y2, p->height);
    for (int row = y; row < y2; row++)
        for (int col = x; col < x2; col++)
            blend(p, col, row, rgb, alpha_of(it));
}

static void paint_cells(const struct painter *p, const struct item *it)
{
    for (size_t i = 0; i < it->n && it->across; i++) {
        unsigned level = it->cells[i];
        if (level == 0)
            continue;
        double x = it->x + (double)(i % it->across) * it->size,
               y = it->y + (double)(i / it->across) * it->size;
        bool heat = it->ink == INK_HEAT0;
        struct item cell = {.ink = heat ? (enum ink)(INK_HEAT0 + level - 1) : it->ink,
                            .alpha = heat ? 1 : (double)level / CELL_LEVELS,
                            .x = x,
                            .y = y,
                            .x2 = x + it->size,
                            .y2 = y + it->size};
        paint_rect(p, &cell);
    }
}

/* --- mask -------------------------------------------------------------------------------- */

/* Moves what was drawn on the mask between x, y and x2, y2 [CSS px] into the pixels, and clears it there. */
static void stamp(const struct painter *p, enum ink ink, double x, double y, double x2, double y2)
{
    enum {
        LEVELS = 8
    };
    uint32_t rgb = palette_rgb(ink, p->theme);
    int left = pixel(x - 1, p->width), right = pixel(x2 + 1, p->width);
    int top = pixel(y - 1, p->height), bottom = pixel(y2 + 1, p->height);
    cairo_surface_flush(p->mask);
    int stride = cairo_image_surface_get_stride(p->mask);
    unsigned char *data = cairo_image_surface_get_data(p->mask);
    for (int row = top; data && row < bottom; row++) {
        unsigned char *cover = data + (size_t)row * (size_t)stride;
        for (int col = left; col < right; col++) {
            unsigned level = (cover[col] * LEVELS + 127u) / 255u;
            if (level)
                blend(p, col, row, rgb, level * OPAQUE / LEVELS);
        }
        if (right > left)
            memset(cover + left, 0, (size_t)(right - left));
    }
    cairo_surface_mark_dirty(p->mask);
}

static void paint_line(const struct painter *p, const struct item *it)
{
    static const struct {
        int n;
        double on_off[4];
    } dashes[] = {
        [DASH_NONE] = {0, {0}},
        [DASH_DASHED] = {2, {6, 3}},
        [DASH_DOTTED] = {2, {2, 3}},
        [DASH_MIXED] = {4, {2, 3, 6, 3}},
    };
    bool straight = it->x == it->x2 || it->y == it->y2;
    cairo_set_antialias(p->cr, straight ? CAIRO_ANTIALIAS_NONE : CAIRO_ANTIALIAS_DEFAULT);
    cairo_set_dash(p->cr, dashes[it->dash].on_off, dashes[it->dash].n, 0);
    cairo_set_line_width(p->cr, it->size);
    cairo_move_to(p->cr, it->x, it->y);
    cairo_line_to(p->cr, it->x2, it->y2);
    cairo_stroke(p->cr);
    stamp(p, it->ink, fmin(it->x, it->x2) - it->size, fmin(it->y, it->y2) - it->size,
          fmax(it->x, it->x2) + it->size, fmax(it->y, it->y2) + it->size);
}

static void mark_path(cairo_t *cr, enum mark mark, double x, double y, double r)
{
    cairo_new_path(cr);
    switch (mark) {
    case MARK_X:
    case MARK_X_HOLLOW:
        cairo_move_to(cr, x - r, y - r);
        cairo_line_to(cr, x + r, y + r);
        cairo_move_to(cr, x - r, y + r);
        cairo_line_to(cr, x + r, y - r);
        break;
    case MARK_DIAMOND:
        cairo_move_to(cr, x, y - r);
        cairo_line_to(cr, x + r * 0.8, y);
        cairo_line_to(cr, x, y + r);
        cairo_line_to(cr, x - r * 0.8, y);
        cairo_close_path(cr);
        break;
    case MARK_TRIANGLE:
        cairo_move_to(cr, x, y - r);
        cairo_line_to(cr, x + r, y + r * 0.7);
        cairo_line_to(cr, x - r, y + r * 0.7);
        cairo_close_path(cr);
        break;
    case MARK_DOT:
    case MARK_RING:
        cairo_arc(cr, x, y, r, 0, 6.283185307179586);
        cairo_close_path(cr);
        break;
    }
}

/* The mark's outline in a width [px], and its inside when filled. */
static void stamp_mark(const struct painter *p, const struct item *it, enum ink ink, double width,
                       bool filled)
{
    double r = it->size / 2, reach = r + width;
    mark_path(p->cr, it->mark, it->x, it->y, r);
    cairo_set_line_width(p->cr, width);
    if (filled)
        cairo_fill_preserve(p->cr);
    if (width > 0)
        cairo_stroke_preserve(p->cr);
    cairo_new_path(p->cr);
    stamp(p, ink, it->x - reach, it->y - reach, it->x + reach, it->y + reach);
}

static void paint_mark(const struct painter *p, const struct item *it)
{
    cairo_set_antialias(p->cr, CAIRO_ANTIALIAS_DEFAULT);
    cairo_set_dash(p->cr, NULL, 0, 0);
    /* A rim in the page's colour keeps a mark apart from the lines under it. */
    switch (it->mark) {
    case MARK_X:
        stamp_mark(p, it, INK_PAGE, 5.5, false);
        stamp_mark(p, it, it->ink, 2.5, false);
        break;
    case MARK_X_HOLLOW:
        stamp_mark(p, it, INK_PAGE, 5.5, false);
        stamp_mark(p, it, it->ink, 3.5, false);
        stamp_mark(p, it, INK_PAGE, 1.3, false);
        break;
    case MARK_RING:
        stamp_mark(p, it, INK_PAGE, 3, true);
        stamp_mark(p, it, it->ink, 1.6, false);
        break;
    case MARK_DIAMOND:
    case MARK_TRIANGLE:
    case MARK_DOT:
        stamp_mark(p, it, INK_PAGE, 3, true);
        stamp_mark(p, it, it->ink, 0, true);
        break;
    }
}

static void paint_text(const struct painter *p, const struct item *it)
{
    cairo_glyph_t glyphs[CANVAS_TEXT_MAX + 8];
    int n = 0;
    double from = it->x - (it->anchor == ANCHOR_MIDDLE  ? it->width / 2
                           : it->anchor == ANCHOR_RIGHT ? it->width
                                                        : 0);
    double x = from;
    struct str rest = str_of(it->text);
    while (rest.n > 0 && n < CANVAS_TEXT_MAX) {
        uint32_t code = 0;
        size_t len = utf8_next(&code, rest);
        if (len == 0)
            break;
        glyphs[n++] = (cairo_glyph_t){FT_Get_Char_Index(p->font->face, code), x, it->y};
        x += font_advance(p->font, code) * it->size;
        rest.p += len;
        rest.n -= len;
    }
    cairo_set_font_size(p->cr, it->size);
    cairo_show_glyphs(p->cr, glyphs, n);
    stamp(p, it->ink, from - it->size, it->y - 1.2 * it->size, x + it->size, it->y + 0.5 * it->size);
}

static void paint_item(const struct painter *p, const struct item *it)
{
    switch (it->kind) {
    case ITEM_RECT:
        paint_rect(p, it);
        break;
    case ITEM_COLUMNS:
        paint_columns(p, it);
        break;
    case ITEM_CELLS:
        paint_cells(p, it);
        break;
    case ITEM_LINE:
        paint_line(p, it);
        break;
    case ITEM_MARK:
        paint_mark(p, it);
        break;
    case ITEM_TEXT:
        if (p->font)
            paint_text(p, it);
        break;
    }
}

static void open_mask(struct painter *p)
{
    p->mask = cairo_image_surface_create(CAIRO_FORMAT_A8, p->width, p->height);
    p->cr = cairo_create(p->mask);
    cairo_scale(p->cr, CANVAS_SCALE, CANVAS_SCALE);
    if (p->font)
        cairo_set_font_face(p->cr, p->font->cairo);
    cairo_font_options_t *options = cairo_font_options_create();
    cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
    cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
    cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
    cairo_set_font_options(p->cr, options);
    cairo_font_options_destroy(options);
}

int canvas_paint(struct raster *out, const struct canvas *c, enum theme theme)
{
    struct painter p = {.width = (int)c->width * CANVAS_SCALE,
                        .height = (int)c->height * CANVAS_SCALE,
                        .theme = theme,
                        .font = c->font};
    size_t n = (size_t)p.width * (size_t)p.height;
    p.px = mem_alloc(n * sizeof *p.px);
    *out = (struct raster){p.px, p.width, p.height};
    uint32_t page = palette_rgb(INK_PAGE, theme);
    for (size_t i = 0; i < n; i++)
        p.px[i] = page;
    open_mask(&p);
    for (size_t i = 0; i < c->n && cairo_status(p.cr) == CAIRO_STATUS_SUCCESS; i++)
        paint_item(&p, &c->items[i]);
    cairo_status_t status = cairo_status(p.cr);
    cairo_destroy(p.cr);
    cairo_surface_destroy(p.mask);
    if (status == CAIRO_STATUS_SUCCESS)
        return 0;
    raster_release(out);
    errno = status == CAIRO_STATUS_NO_MEMORY ? ENOMEM : EIO;
    return -1;
}

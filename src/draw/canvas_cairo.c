/* The painting of a canvas: columns, rectangles and straight lines are written into the pixels;
 * cairo draws the rest on small masks, whose coverage is rounded to a few levels before it goes
 * into the pixels. So a picture has few colours, and its PNG a palette. */
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

struct painter {
    struct raster *raster;
    enum theme theme;
    const struct font *font;
    cairo_font_options_t *options;
    cairo_status_t status; /* the first failure */
};

static unsigned alpha_of(const struct item *it)
{
    return (unsigned)(it->alpha * RASTER_OPAQUE + 0.5);
}

static int pixel(double css)
{
    return (int)lround(css * CANVAS_SCALE);
}

/* One column of pixels from y to y2; the share of a pixel that is covered is rounded to
 * quarters, and what shines through has hard edges, so that few colours are needed. */
static void fill_column(const struct painter *p, int x, double y, double y2, uint32_t rgb, unsigned alpha)
{
    if (x < 0 || x >= p->raster->width)
        return;
    y = fmin(fmax(y, 0), p->raster->height);
    y2 = fmin(fmax(y2, 0), p->raster->height);
    int first = (int)ceil(y), last = (int)floor(y2);
    if (alpha < RASTER_OPAQUE || last < first) {
        raster_fill(p->raster, x, (int)lround(y), x + 1, (int)fmax(lround(y2), lround(y) + 1), rgb, alpha);
        return;
    }
    unsigned above = (unsigned)((first - y) * 4 + 0.5), below = (unsigned)((y2 - last) * 4 + 0.5);
    raster_fill(p->raster, x, first, x + 1, last, rgb, alpha);
    if (above)
        raster_fill(p->raster, x, first - 1, x + 1, first, rgb, alpha * above / 4);
    if (below)
        raster_fill(p->raster, x, last, x + 1, last + 1, rgb, alpha * below / 4);
}

static void paint_columns(const struct painter *p, const struct item *it)
{
    uint32_t rgb = palette_rgb(it->ink, p->theme);
    int x0 = pixel(it->x);
    for (size_t i = 0; i < it->n; i++)
        if (!isnan(it->top[i]) && !isnan(it->bottom[i]))
            fill_column(p, x0 + (int)i, (double)it->top[i] * CANVAS_SCALE,
                        (double)it->bottom[i] * CANVAS_SCALE, rgb, alpha_of(it));
}

static void paint_rect(const struct painter *p, const struct item *it)
{
    raster_fill(p->raster, pixel(it->x), pixel(it->y), pixel(it->x2), pixel(it->y2),
                palette_rgb(it->ink, p->theme), alpha_of(it));
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

/* Lengths [px] of the next dash and of the gap after it, `at` px from the line's start; on 0: no end. */
static void dash_next(enum dash dash, double at, double *on, double *off)
{
    *on = 0;
    *off = 0;
    if (dash == DASH_NONE)
        return;
    *off = 3;
    *on = dash == DASH_DASHED ? 6 : dash == DASH_DOTTED ? 2 : fmod(at, 14) < 5 ? 2 : 6;
}

/* A level or upright line as the rectangles of its dashes. */
static void paint_straight(const struct painter *p, const struct item *it)
{
    bool level = it->y == it->y2;
    double from = level ? fmin(it->x, it->x2) : fmin(it->y, it->y2);
    double to = level ? fmax(it->x, it->x2) : fmax(it->y, it->y2), half = it->size / 2;
    while (from < to) {
        double on, off;
        dash_next(it->dash, from - (level ? fmin(it->x, it->x2) : fmin(it->y, it->y2)), &on, &off);
        double end = fmin(on > 0 ? from + on : to, to);
        struct item piece = *it;
        piece.x = level ? from : it->x - half;
        piece.x2 = level ? end : it->x + half;
        piece.y = level ? it->y - half : from;
        piece.y2 = level ? it->y + half : end;
        paint_rect(p, &piece);
        from = end + off;
    }
}

/* --- masks -------------------------------------------------------------------------------- */

struct mask {
    cairo_surface_t *surface;
    cairo_t *cr;   /* draws in the canvas's CSS pixels */
    int left, top; /* [px] of the PNG */
    int width, height;
};

/* An empty mask for what lies between x, y and x2, y2 [CSS px]; false when nothing of that is on the picture.
 */
static bool mask_open(struct mask *m, const struct painter *p, double x, double y, double x2, double y2)
{
    int right = pixel(x2) + 2, bottom = pixel(y2) + 2;
    m->left = pixel(x) - 2 > 0 ? pixel(x) - 2 : 0;
    m->top = pixel(y) - 2 > 0 ? pixel(y) - 2 : 0;
    m->width = (right < p->raster->width ? right : p->raster->width) - m->left;
    m->height = (bottom < p->raster->height ? bottom : p->raster->height) - m->top;
    if (m->width <= 0 || m->height <= 0)
        return false;
    m->surface = cairo_image_surface_create(CAIRO_FORMAT_A8, m->width, m->height);
    m->cr = cairo_create(m->surface);
    cairo_translate(m->cr, -m->left, -m->top);
    cairo_scale(m->cr, CANVAS_SCALE, CANVAS_SCALE);
    return true;
}

/* Lays an ink over the picture where the mask is covered, and empties the mask. */
static void mask_stamp(const struct mask *m, const struct painter *p, enum ink ink)
{
    enum {
        LEVELS = 8
    };
    uint32_t rgb = palette_rgb(ink, p->theme);
    cairo_surface_flush(m->surface);
    int stride = cairo_image_surface_get_stride(m->surface);
    unsigned char *data = cairo_image_surface_get_data(m->surface);
    for (int row = 0; data && row < m->height; row++) {
        unsigned char *cover = data + (size_t)row * (size_t)stride;
        for (int col = 0; col < m->width; col++) {
            unsigned level = (cover[col] * LEVELS + 127u) / 255u;
            if (level)
                raster_blend(p->raster, m->left + col, m->top + row, rgb, level * RASTER_OPAQUE / LEVELS);
        }
        memset(cover, 0, (size_t)m->width);
    }
    cairo_surface_mark_dirty(m->surface);
}

static void mask_close(struct mask *m, struct painter *p)
{
    if (p->status == CAIRO_STATUS_SUCCESS)
        p->status = cairo_status(m->cr);
    cairo_destroy(m->cr);
    cairo_surface_destroy(m->surface);
}

static void paint_line(struct painter *p, const struct item *it)
{
    struct mask m;
    if (it->x == it->x2 || it->y == it->y2) {
        paint_straight(p, it);
        return;
    }
    if (!mask_open(&m, p, fmin(it->x, it->x2), fmin(it->y, it->y2), fmax(it->x, it->x2), fmax(it->y, it->y2)))
        return;
    cairo_set_line_width(m.cr, it->size);
    cairo_move_to(m.cr, it->x, it->y);
    cairo_line_to(m.cr, it->x2, it->y2);
    cairo_stroke(m.cr);
    mask_stamp(&m, p, it->ink);
    mask_close(&m, p);
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
static void stamp_mark(const struct painter *p, const struct mask *m, const struct item *it, enum ink ink,
                       double width, bool filled)
{
    mark_path(m->cr, it->mark, it->x, it->y, it->size / 2);
    cairo_set_line_width(m->cr, width);
    if (filled)
        cairo_fill_preserve(m->cr);
    if (width > 0)
        cairo_stroke_preserve(m->cr);
    cairo_new_path(m->cr);
    mask_stamp(m, p, ink);
}

static void paint_mark(struct painter *p, const struct item *it)
{
    struct mask m;
    double reach = it->size / 2 + 4;
    if (!mask_open(&m, p, it->x - reach, it->y - reach, it->x + reach, it->y + reach))
        return;
    /* A rim in the page's colour keeps a mark apart from the lines under it. */
    switch (it->mark) {
    case MARK_X:
        stamp_mark(p, &m, it, INK_PAGE, 5.5, false);
        stamp_mark(p, &m, it, it->ink, 2.5, false);
        break;
    case MARK_X_HOLLOW:
        stamp_mark(p, &m, it, INK_PAGE, 5.5, false);
        stamp_mark(p, &m, it, it->ink, 3.5, false);
        stamp_mark(p, &m, it, INK_PAGE, 1.3, false);
        break;
    case MARK_RING:
        stamp_mark(p, &m, it, INK_PAGE, 3, true);
        stamp_mark(p, &m, it, it->ink, 1.6, false);
        break;
    case MARK_DIAMOND:
    case MARK_TRIANGLE:
    case MARK_DOT:
        stamp_mark(p, &m, it, INK_PAGE, 3, true);
        stamp_mark(p, &m, it, it->ink, 0, true);
        break;
    }
    mask_close(&m, p);
}

static double left_of(const struct item *it)
{
    switch (it->anchor) {
    case ANCHOR_MIDDLE:
        return it->x - it->width / 2;
    case ANCHOR_RIGHT:
        return it->x - it->width;
    case ANCHOR_LEFT:
        break;
    }
    return it->x;
}

static void paint_text(struct painter *p, const struct item *it)
{
    cairo_glyph_t glyphs[CANVAS_TEXT_MAX + 8];
    int n = 0;
    double x = left_of(it);
    struct str rest = str_of(it->text);
    struct mask m;
    if (!p->font || !mask_open(&m, p, x - it->size, it->y - 1.2 * it->size, x + it->width + it->size,
                               it->y + 0.5 * it->size))
        return;
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
    cairo_set_font_options(m.cr, p->options);
    cairo_set_font_face(m.cr, p->font->cairo);
    cairo_set_font_size(m.cr, it->size);
    cairo_show_glyphs(m.cr, glyphs, n);
    mask_stamp(&m, p, it->ink);
    mask_close(&m, p);
}

static void paint_item(struct painter *p, const struct item *it)
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
        paint_text(p, it);
        break;
    }
}

int canvas_paint(struct raster *out, const struct canvas *c, enum theme theme)
{
    struct painter p = {
        .raster = out, .theme = theme, .font = c->font, .options = cairo_font_options_create()};
    cairo_font_options_set_antialias(p.options, CAIRO_ANTIALIAS_GRAY);
    cairo_font_options_set_hint_style(p.options, CAIRO_HINT_STYLE_NONE);
    cairo_font_options_set_hint_metrics(p.options, CAIRO_HINT_METRICS_OFF);
    raster_reset(out, (int)c->width * CANVAS_SCALE, (int)c->height * CANVAS_SCALE,
                 palette_rgb(INK_PAGE, theme));
    for (size_t i = 0; i < c->n && p.status == CAIRO_STATUS_SUCCESS; i++)
        paint_item(&p, &c->items[i]);
    cairo_font_options_destroy(p.options);
    if (p.status == CAIRO_STATUS_SUCCESS)
        return 0;
    errno = p.status == CAIRO_STATUS_NO_MEMORY ? ENOMEM : EIO;
    return -1;
}

/* The recording of a canvas, and its printed form. */
#include "base/mem.h"
#include "base/num.h"
#include "base/utf8.h"
#include "draw/canvas.h"
#include "draw/text.h"
#include <math.h>
#include <stdlib.h>

static const char ELLIPSIS[] = "\xE2\x80\xA6";

void canvas_init(struct canvas *c, struct arena *arena, const struct font *font, double width, double height)
{
    *c = (struct canvas){.arena = arena, .font = font, .width = width, .height = height};
}

static struct item *add(struct canvas *c, enum item_kind kind, enum ink ink)
{
    if (c->n == c->cap) {
        c->cap = c->cap ? c->cap * 2 : 64;
        struct item *bigger = arena_alloc(c->arena, c->cap * sizeof *bigger);
        if (c->n)
            memcpy(bigger, c->items, c->n * sizeof *bigger);
        c->items = bigger;
    }
    struct item *it = &c->items[c->n++];
    *it = (struct item){.kind = kind, .ink = ink, .alpha = 1};
    return it;
}

/* A place far outside, infinite or NAN must not reach the painter's integers. */
static double bounded(double v)
{
    return v > 1e5 ? 1e5 : v > -1e5 ? v : -1e5;
}

void canvas_rect(struct canvas *c, double x, double y, double x2, double y2, enum ink ink, double alpha)
{
    struct item *it = add(c, ITEM_RECT, ink);
    it->x = bounded(x);
    it->y = bounded(y);
    it->x2 = bounded(x2);
    it->y2 = bounded(y2);
    it->alpha = alpha;
}

void canvas_line(struct canvas *c, double x, double y, double x2, double y2, enum ink ink, double width,
                 enum dash dash)
{
    struct item *it = add(c, ITEM_LINE, ink);
    it->x = bounded(x);
    it->y = bounded(y);
    it->x2 = bounded(x2);
    it->y2 = bounded(y2);
    it->size = width;
    it->dash = dash;
}

void canvas_mark(struct canvas *c, enum mark mark, double x, double y, double size, enum ink ink)
{
    struct item *it = add(c, ITEM_MARK, ink);
    it->mark = mark;
    it->x = bounded(x);
    it->y = bounded(y);
    it->size = size;
}

void canvas_columns(struct canvas *c, double x, size_t n, const double *top, const double *bottom,
                    enum ink ink, double alpha)
{
    float *t = arena_alloc(c->arena, n * sizeof *t), *b = arena_alloc(c->arena, n * sizeof *b);
    for (size_t i = 0; i < n; i++) {
        t[i] = isnan(top[i]) ? NAN : (float)bounded(top[i]);
        b[i] = isnan(bottom[i]) ? NAN : (float)bounded(bottom[i]);
    }
    struct item *it = add(c, ITEM_COLUMNS, ink);
    it->x = bounded(x);
    it->alpha = alpha;
    it->top = t;
    it->bottom = b;
    it->n = n;
}

static bool dash_on(enum dash dash, size_t column)
{
    size_t at = column / CANVAS_SCALE;
    switch (dash) {
    case DASH_DASHED:
        return at % 9 < 6;
    case DASH_DOTTED:
        return at % 5 < 2;
    case DASH_MIXED:
        return at % 14 < 2 || (at % 14 >= 5 && at % 14 < 11);
    case DASH_NONE:
        break;
    }
    return true;
}

/* The stretch of y that the line covers within column i: half-way to each neighbour. */
static void span(const double *y, size_t n, size_t i, double *lo, double *hi)
{
    *lo = *hi = y[i];
    for (int side = -1; side <= 1; side += 2) {
        if ((side < 0 && i == 0) || (side > 0 && i + 1 == n) || isnan(y[i + (size_t)side]))
            continue;
        double mid = (y[i] + y[i + (size_t)side]) / 2;
        *lo = fmin(*lo, mid);
        *hi = fmax(*hi, mid);
    }
}

void canvas_trace(struct canvas *c, double x, size_t n, const double *y, enum ink ink, double width,
                  enum dash dash)
{
    double *top = mem_alloc(n * sizeof *top), *bottom = mem_alloc(n * sizeof *bottom);
    for (size_t i = 0; i < n; i++)
        top[i] = bottom[i] = NAN;
    /* The brush is a disc: it reaches into the neighbouring columns, less high there. */
    const int reach = (int)ceil(width * CANVAS_SCALE / 2) - 1;
    for (size_t i = 0; i < n; i++) {
        if (isnan(y[i]) || !dash_on(dash, i))
            continue;
        double lo, hi;
        span(y, n, i, &lo, &hi);
        for (int r = -reach; r <= reach; r++) {
            if ((r < 0 && i < (size_t)-r) || (r > 0 && i + (size_t)r >= n))
                continue;
            double dx = (double)r / CANVAS_SCALE, half = sqrt(width * width / 4 - dx * dx);
            size_t at = i + (size_t)r;
            top[at] = fmin(isnan(top[at]) ? INFINITY : top[at], lo - half);
            bottom[at] = fmax(isnan(bottom[at]) ? -INFINITY : bottom[at], hi + half);
        }
    }
    canvas_columns(c, x, n, top, bottom, ink, 1);
    c->items[c->n - 1].size = width;
    c->items[c->n - 1].dash = dash;
    free(top);
    free(bottom);
}

void canvas_cells(struct canvas *c, double x, double y, double side, size_t across, size_t n,
                  const unsigned char *levels, enum ink ink)
{
    unsigned char *copy = arena_alloc(c->arena, n + 1);
    memcpy(copy, levels, n);
    struct item *it = add(c, ITEM_CELLS, ink);
    it->x = bounded(x);
    it->y = bounded(y);
    it->size = side;
    it->across = across;
    it->n = n;
    it->cells = copy;
}

/* --- text ------------------------------------------------------------------------- */

/* Advance widths of DejaVu Sans 2.37 from U+0020 to U+007E [1/2048 em]. */
static const unsigned short ascii_advance[] = {
    651,  821,  942,  1716, 1303, 1946, 1597, 563,  799,  799,  1024, 1716, 651,  739,  651,  690,
    1303, 1303, 1303, 1303, 1303, 1303, 1303, 1303, 1303, 1303, 690,  690,  1716, 1716, 1716, 1087,
    2048, 1401, 1405, 1430, 1577, 1294, 1178, 1587, 1540, 604,  604,  1343, 1141, 1767, 1532, 1612,
    1235, 1612, 1423, 1300, 1251, 1499, 1401, 2025, 1403, 1251, 1403, 799,  690,  799,  1716, 1024,
    1024, 1255, 1300, 1126, 1300, 1260, 721,  1300, 1298, 569,  569,  1186, 569,  1995, 1298, 1253,
    1300, 1300, 842,  1067, 803,  1298, 1212, 1675, 1212, 1212, 1075, 1303, 690,  1303, 1716,
};

static bool has_glyph(const void *font, uint32_t code)
{
    return font ? font_has(font, code) : code < 0x250 || code == 0x2026;
}

static double advance(const struct font *font, uint32_t code)
{
    if (font)
        return font_advance(font, code);
    return code >= 0x20 && code < 0x7F ? ascii_advance[code - 0x20] / 2048.0 : code == 0x2026 ? 1.0 : 0.65;
}

/* Bytes of s that fit into width [em]; *used is what they take [em]. */
static size_t fitting(const struct font *font, const char *s, size_t n, double width, double *used)
{
    *used = 0;
    for (size_t i = 0; i < n;) {
        uint32_t code = 0;
        size_t len = utf8_next(&code, (struct str){s + i, n - i});
        double w = advance(font, code);
        if (len == 0 || *used + w > width)
            return i;
        *used += w;
        i += len;
    }
    return n;
}

const char *canvas_visible(struct canvas *c, struct str bytes, double size, double max_width)
{
    char text[CANVAS_TEXT_MAX];
    size_t n = text_visible(text, sizeof text, bytes, has_glyph, c->font);
    double used, room = max_width > 0 ? max_width / size : INFINITY;
    if (fitting(c->font, text, n, room, &used) == n)
        return arena_strndup(c->arena, text, n);
    size_t kept = fitting(c->font, text, n, room - advance(c->font, 0x2026), &used);
    char *out = arena_alloc(c->arena, kept + sizeof ELLIPSIS);
    memcpy(out, text, kept);
    memcpy(out + kept, ELLIPSIS, sizeof ELLIPSIS);
    return out;
}

double canvas_text_width(const struct canvas *c, double size, const char *text)
{
    char visible[CANVAS_TEXT_MAX];
    size_t n = text_visible(visible, sizeof visible, str_of(text), has_glyph, c->font);
    double used;
    fitting(c->font, visible, n, INFINITY, &used);
    return used * size;
}

double canvas_text(struct canvas *c, double x, double y, enum anchor anchor, double size, enum ink ink,
                   double max_width, const char *text)
{
    const char *shown = canvas_visible(c, str_of(text), size, max_width);
    struct item *it = add(c, ITEM_TEXT, ink);
    double used;
    fitting(c->font, shown, strlen(shown), INFINITY, &used);
    it->x = bounded(x);
    it->y = bounded(y);
    it->anchor = anchor;
    it->size = size;
    it->text = shown;
    it->width = used * size;
    return it->width;
}

/* Bytes of the longest beginning of s that fits on a line, broken at a space where there is one. */
static size_t line_length(const struct font *font, const char *s, double width)
{
    double used;
    size_t n = strlen(s), fit = fitting(font, s, n, width, &used), at = fit;
    if (fit == n)
        return n;
    while (at > 0 && s[at] != ' ')
        at--;
    if (at == 0)
        at = fit ? fit : n;
    return at;
}

size_t canvas_paragraph(struct canvas *c, double x, double y, double size, double line_height, enum ink ink,
                        double max_width, size_t max_lines, const char *text)
{
    char visible[CANVAS_TEXT_MAX * CANVAS_LINES_MAX];
    text_visible(visible, sizeof visible, str_of(text), has_glyph, c->font);
    const char *rest = visible;
    size_t lines = 0;
    for (; *rest && lines < max_lines; lines++) {
        size_t n = line_length(c->font, rest, max_width / size);
        if (lines + 1 == max_lines)
            n = strlen(rest);
        const char *line = arena_strndup(c->arena, rest, n);
        canvas_text(c, x, y + (double)lines * line_height, ANCHOR_LEFT, size, ink, max_width, line);
        rest += n;
        while (*rest == ' ')
            rest++;
    }
    return lines;
}

/* --- printing ---------------------------------------------------------------------- */

static void put_px(struct buf *out, double v)
{
    buf_putc(out, ' ');
    if (isnan(v))
        buf_putc(out, '-');
    else
        num_put_fixed(out, round(v * 2) / 2 + 0.0, 1);
}

static void print_columns(struct buf *out, const struct item *it)
{
    enum {
        SAMPLES = 16
    };
    size_t filled = 0, highest = 0, lowest = 0;
    for (size_t i = 0; i < it->n; i++) {
        if (isnan(it->top[i]))
            continue;
        if (!filled++)
            highest = lowest = i;
        if (it->top[i] < it->top[highest])
            highest = i;
        if (it->bottom[i] > it->bottom[lowest])
            lowest = i;
    }
    put_px(out, it->x);
    buf_printf(out, " columns=%zu filled=%zu", it->n, filled);
    if (!filled)
        return;
    buf_puts(out, " highest");
    put_px(out, it->x + (double)highest / CANVAS_SCALE);
    put_px(out, it->top[highest]);
    buf_puts(out, " lowest");
    put_px(out, it->x + (double)lowest / CANVAS_SCALE);
    put_px(out, it->bottom[lowest]);
    buf_puts(out, " middles");
    for (size_t k = 0; k <= SAMPLES; k++) {
        size_t i = (it->n - 1) * k / SAMPLES;
        put_px(out, ((double)it->top[i] + (double)it->bottom[i]) / 2);
    }
}

static void print_cells(struct buf *out, const struct item *it)
{
    size_t of_level[CELL_LEVELS + 1] = {0};
    for (size_t i = 0; i < it->n; i++)
        of_level[it->cells[i] <= CELL_LEVELS ? it->cells[i] : CELL_LEVELS]++;
    buf_printf(out, " %zu by %zu, of each level:", it->across, it->across ? it->n / it->across : 0);
    for (size_t i = 0; i <= CELL_LEVELS; i++)
        buf_printf(out, " %zu", of_level[i]);
}

static void print_item(struct buf *out, const struct item *it)
{
    static const char *const kinds[] = {"rect", "columns", "cells", "line", "mark", "text"};
    static const char *const dashes[] = {"", " dashed", " dotted", " mixed"};
    static const char *const marks[] = {"x", "x-hollow", "diamond", "triangle", "dot", "ring"};
    static const char *const anchors[] = {"left", "middle", "right"};
    bool trace = it->kind == ITEM_COLUMNS && it->size > 0;
    buf_printf(out, "  %s %s", trace ? "trace" : kinds[it->kind], palette_name(it->ink));
    if (it->kind == ITEM_MARK)
        buf_printf(out, " %s", marks[it->mark]);
    if (it->kind == ITEM_COLUMNS) {
        print_columns(out, it);
    } else {
        put_px(out, it->x);
        put_px(out, it->y);
    }
    if (it->kind == ITEM_RECT || it->kind == ITEM_LINE) {
        put_px(out, it->x2);
        put_px(out, it->y2);
    }
    buf_puts(out, dashes[it->dash]);
    if (it->kind == ITEM_CELLS)
        print_cells(out, it);
    if (it->kind == ITEM_TEXT) {
        buf_printf(out, " %s size", anchors[it->anchor]);
        put_px(out, it->size);
        buf_printf(out, " \"%s\"", it->text);
    }
    buf_putc(out, '\n');
}

void canvas_print(struct buf *out, const struct canvas *c)
{
    for (size_t i = 0; i < c->n; i++)
        print_item(out, &c->items[i]);
}

#include "draw/draw.h"
#include "draw/plot.h"
#include <errno.h>
#include <math.h>

static const struct plot plots[] = {
#define PLOT(name) {#name, plot_##name},
#include "draw/plots.def"
#undef PLOT
};

enum {
    PLOTS = sizeof plots / sizeof *plots
};

/* What the pictures are made with, one after the other. */
struct studio {
    struct font *font;
    struct raster *raster;
};

static int finish(struct gallery *out, const struct studio *studio, struct picture p, const struct canvas *c,
                  const bool *themes)
{
    p.width = (int)c->width;
    p.height = (int)c->height;
    struct picture *kept = &out->items[out->n++];
    *kept = p;
    for (int theme = 0; theme < THEME_COUNT; theme++)
        if (themes[theme] && (canvas_paint(studio->raster, c, (enum theme)theme) ||
                              raster_png(&kept->png[theme], studio->raster)))
            return -1;
    return 0;
}

static int draw_pictures(struct gallery *out, const struct analysis *a, const struct draw_settings *settings,
                         const struct studio *studio)
{
    for (size_t i = 0; i < PLOTS; i++) {
        struct canvas c;
        struct picture p = {.name = plots[i].name};
        canvas_init(&c, &out->arena, studio->font, PLOT_WIDTH, PLOT_HEIGHT);
        if (plots[i].draw(&c, a, &p) && finish(out, studio, p, &c, settings->themes))
            return -1;
    }
    if (settings->card) {
        static const bool light[THEME_COUNT] = {[THEME_LIGHT] = true};
        struct canvas c;
        struct picture p = {.name = "verdict"};
        canvas_init(&c, &out->arena, studio->font, CARD_WIDTH, CARD_HEIGHT);
        card_draw(&c, a, &p);
        return finish(out, studio, p, &c, light);
    }
    return 0;
}

int draw_all(struct gallery *out, const struct analysis *a, const struct draw_settings *settings)
{
    *out = (struct gallery){.n = 0};
    arena_init(&out->arena);
    struct studio studio = {font_new(settings->font), NULL};
    if (!studio.font)
        return -1;
    studio.raster = raster_new();
    out->items = arena_alloc(&out->arena, (PLOTS + 1) * sizeof *out->items);
    int result = draw_pictures(out, a, settings, &studio), error = errno;
    raster_free(studio.raster);
    font_free(studio.font);
    if (result == 0)
        return 0;
    gallery_release(out);
    errno = error;
    return -1;
}

void gallery_release(struct gallery *g)
{
    for (size_t i = 0; i < g->n; i++)
        for (int theme = 0; theme < THEME_COUNT; theme++)
            buf_release(&g->items[i].png[theme]);
    arena_release(&g->arena);
    *g = (struct gallery){.n = 0};
}

const struct picture *gallery_find(const struct gallery *g, const char *name)
{
    for (size_t i = 0; i < g->n; i++)
        if (strcmp(g->items[i].name, name) == 0)
            return &g->items[i];
    return NULL;
}

static void dump(struct buf *out, const struct analysis *a, const struct plot *plot, double width,
                 double height)
{
    struct arena arena = {0};
    struct canvas c;
    struct picture p = {.name = plot->name};
    canvas_init(&c, &arena, NULL, width, height);
    if (plot->draw(&c, a, &p)) {
        buf_printf(out, "plot %s %.0fx%.0f\n  title: %s\n  alt: %s\n  caption: %s\n", p.name, c.width,
                   c.height, p.title ? p.title : "", p.alt ? p.alt : "", p.caption ? p.caption : "");
        canvas_print(out, &c);
    }
    arena_release(&arena);
}

static bool card(struct canvas *c, const struct analysis *a, struct picture *p)
{
    card_draw(c, a, p);
    return true;
}

void draw_dump(struct buf *out, const struct analysis *a)
{
    static const struct plot verdict = {"verdict", card};
    for (size_t i = 0; i < PLOTS; i++)
        dump(out, a, &plots[i], PLOT_WIDTH, PLOT_HEIGHT);
    dump(out, a, &verdict, CARD_WIDTH, CARD_HEIGHT);
}

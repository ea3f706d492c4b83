#include "draw/palette.h"
#include <math.h>

struct colour {
    const char *name;
    uint32_t rgb[THEME_COUNT];
};

static const struct colour colours[INK_COUNT] = {
    [INK_PAGE] = {"page", {0xFFFFFF, 0x0D1117}},
    [INK_PANEL] = {"panel", {0xF6F8FA, 0x161B22}},
    [INK_BAND] = {"band", {0xE6EDF3, 0x21262D}},
    [INK_GRID] = {"grid", {0xD1D9E0, 0x3D444D}},
    [INK_MUTED] = {"muted", {0x59636E, 0x9198A1}},
    [INK_TEXT] = {"text", {0x1F2328, 0xE6EDF3}},
    [INK_ALLOCATED] = {"allocated", {0x023687, 0x9CCBFF}},
    [INK_RESERVED] = {"reserved", {0x9552C3, 0xB57BFF}},
    [INK_OTHER] = {"other", {0x593600, 0xF5DC82}},
    [INK_PEAK] = {"peak", {0xB75625, 0xF0602B}},
    [INK_EVAL] = {"eval", {0x0C675B, 0x3FA796}},
    [INK_OOM] = {"oom", {0xB3261E, 0xFF7B72}},
    [INK_HEAT0 + 0] = {"heat0", {0xFFF4C9, 0xFFF4C9}},
    [INK_HEAT0 + 1] = {"heat1", {0xFCD093, 0xFCD093}},
    [INK_HEAT0 + 2] = {"heat2", {0xF4AC5D, 0xF4AC5D}},
    [INK_HEAT0 + 3] = {"heat3", {0xDC824E, 0xDC824E}},
    [INK_HEAT0 + 4] = {"heat4", {0xBD544F, 0xBD544F}},
    [INK_HEAT0 + 5] = {"heat5", {0x972C4F, 0x972C4F}},
    [INK_HEAT0 + 6] = {"heat6", {0x651C53, 0x651C53}},
    [INK_HEAT7] = {"heat7", {0x2B1055, 0x2B1055}},
    [INK_CARD] = {"card", {0xFFFFFF, 0xFFFFFF}},
    [INK_HATCH] = {"hatch", {0x8C959F, 0x8C959F}},
    [INK_FAILED] = {"failed", {0xB3261E, 0xB3261E}},
};

uint32_t palette_rgb(enum ink ink, enum theme theme)
{
    return colours[ink].rgb[theme];
}

const char *palette_name(enum ink ink)
{
    return colours[ink].name;
}

bool palette_must_contrast(enum ink ink)
{
    return ink >= INK_MUTED && ink <= INK_OOM;
}

static double linear(uint32_t channel)
{
    double c = channel / 255.0;
    return c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4);
}

static double luminance(uint32_t rgb)
{
    return 0.2126 * linear(rgb >> 16 & 255) + 0.7152 * linear(rgb >> 8 & 255) + 0.0722 * linear(rgb & 255);
}

double palette_contrast(uint32_t a, uint32_t b)
{
    double la = luminance(a), lb = luminance(b);
    double hi = la > lb ? la : lb, lo = la > lb ? lb : la;
    return (hi + 0.05) / (lo + 0.05);
}

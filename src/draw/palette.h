/* palette: the colours of the pictures, by role, for light and dark.
 *
 * Lines, marks and texts reach a contrast of 4.5:1 on both the page and the panel
 * colour, so that a label can wear its line's colour. Knows nothing of drawing. */
#ifndef OOMREPORT_DRAW_PALETTE_H
#define OOMREPORT_DRAW_PALETTE_H

#include "draw/draw.h"
#include <stdint.h>

enum ink {
    INK_PAGE,  /* background of a picture */
    INK_PANEL, /* background of a card on the page */
    INK_BAND,  /* fill of evaluation bands */
    INK_GRID,  /* decoration */
    INK_MUTED, /* secondary text, other runs */
    INK_TEXT,  /* text, capacity */
    INK_ALLOCATED,
    INK_RESERVED,
    INK_OTHER, /* device use beyond the framework's */
    INK_PEAK,  /* peak, fitted growth */
    INK_EVAL,
    INK_OOM,
    INK_HEAT0, /* the eight classes of the heat map, light to dark, the same in both themes */
    INK_HEAT7 = INK_HEAT0 + 7,
    INK_CARD,   /* what the heat map lies on, light in both themes */
    INK_HATCH,  /* on the card: what is missing */
    INK_FAILED, /* on the card: the X of a failure */
    INK_COUNT
};

uint32_t palette_rgb(enum ink ink, enum theme theme); /* 0xRRGGBB */
const char *palette_name(enum ink ink);
/* True for inks that carry meaning and must keep the contrast. */
bool palette_must_contrast(enum ink ink);
/* Contrast ratio of two colours 0xRRGGBB, 1..21 (WCAG 2.2, relative luminance). */
double palette_contrast(uint32_t a, uint32_t b);

#endif

/* text: any bytes as text that can be drawn.
 *
 * Control bytes, characters that reorder or hide text, and characters that the
 * font lacks become \uXXXX (\UXXXXXXXX above the first plane), invalid UTF-8 \xNN. */
#ifndef OOMREPORT_DRAW_TEXT_H
#define OOMREPORT_DRAW_TEXT_H

#include "base/str.h"
#include <stdint.h>

/* Writes the visible form of in to out (at most cap - 1 bytes and a NUL, cut between characters) and
 * returns its length [B]; looks at no more of in than that takes. has says which characters can be drawn. */
size_t text_visible(char *out, size_t cap, struct str in, bool (*has)(const void *font, uint32_t code),
                    const void *font);

#endif

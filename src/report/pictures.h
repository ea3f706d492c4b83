/* pictures: where the PNG files stand, and what they are as data: URLs. */
#ifndef OOMREPORT_REPORT_PICTURES_H
#define OOMREPORT_REPORT_PICTURES_H

#include "draw/draw.h"

enum {
    SINGLE_FILE_MAX = 5 << 20
}; /* [B] above it the single file goes without dark pictures */

/* "plots/timeline.png", "plots/timeline.dark.png". */
const char *picture_path(struct arena *a, const struct picture *pic, enum theme theme);
/* "data:image/png;base64,…" (RFC 2397, RFC 4648). */
struct str picture_data_url(struct arena *a, const struct buf *png);
/* Whether all pictures together are too large for one file. */
bool pictures_too_large(const struct gallery *g);

#endif

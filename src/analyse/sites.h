/* sites: the lines of the user's own code behind the stacks of a snapshot.
 *
 * The site of a stack is its innermost Python frame outside the framework, installed packages and
 * the standard library; else its innermost Python frame; else its innermost frame (C++ frames are
 * never user code). A stack without frames has none: TRACE_NONE. */
#ifndef OOMREPORT_ANALYSE_SITES_H
#define OOMREPORT_ANALYSE_SITES_H

#include "base/arena.h"
#include "model/trace.h"

enum frame_kind {
    FRAME_FOREIGN, /* C++, the interpreter's own */
    FRAME_PACKAGE, /* Python, but the framework's, a package's or the standard library's */
    FRAME_USER
};

enum frame_kind site_frame_kind(struct str file);
/* site_frame_kind of every frame, n_frames bytes; to be freed. */
uint8_t *site_frame_kinds(const struct trace_names *names);
/* Frame that is the site of a stack; TRACE_NONE for one without frames. */
uint32_t site_of_stack(const struct trace_names *names, const uint8_t *kinds, uint32_t stack);
/* "file:line function", in the arena; NULL for TRACE_NONE. */
const char *site_text(const struct trace_names *names, uint32_t frame, struct arena *a);

#endif

/* read_ahead: several inputs read at once by threads, and given out one by one in their order.
 *
 * Each input is read into a builder of its own, whose series then move into the common one; what that does
 * not allow (a file that goes on where an earlier one stopped) is read again into the common one. So the
 * outcome is that of reading one input after the other, whatever the number of threads. */
#ifndef OOMREPORT_NORMALISE_READ_AHEAD_H
#define OOMREPORT_NORMALISE_READ_AHEAD_H

#include "normalise/normalise.h"

struct read_ahead;

/* An input as the reports call it. */
struct named_input {
    const char *path, *name;
};

/* Begins to read n inputs on that many threads; inputs, settings and name_pattern must live on.
 * NULL when no thread can be started. */
struct read_ahead *read_ahead_new(const struct named_input *inputs, size_t n, size_t threads,
                                  const struct normalise_settings *settings, const char *name_pattern);
/* The next input, as normalise_input with the builder's sink and builder_input_end would give it; d must be
 * fresh. info's texts live as long as r. */
int read_ahead_next(struct read_ahead *r, struct builder *b, struct input_info *info, struct diag *d);
/* Stops reading. */
void read_ahead_free(struct read_ahead *r);

#endif

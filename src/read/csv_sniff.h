/* csv_sniff: is this a table, what separates its cells, which line names the columns?
 *
 * Told from the first lines alone: a line of names followed by lines with as
 * many cells, figures among them; or lines of figures without names. */
#ifndef OOMREPORT_READ_CSV_SNIFF_H
#define OOMREPORT_READ_CSV_SNIFF_H

#include "base/str.h"
#include <stdint.h>

enum {
    CSV_BLANKS = ' ' /* as a delimiter: runs of blanks */
};

struct csv_shape {
    bool found;
    char delimiter;
    uint64_t header; /* number of the line with the names, 1-based; 0: there is none */
    size_t columns;
};

/* head: the first bytes of the input; whole: they are all of it. delimiter: 0, or the one that is known. */
struct csv_shape csv_sniff(struct str head, bool whole, char delimiter);

/* True for the header that this program's own CSV begins with; what stands in its rows does not matter then.
 */
bool csv_is_own(struct str head);

/* A cell that could name a column, that could be a value at all, that is a figure
 * (number with or without unit, time). cell is trimmed, without quotes. */
bool csv_is_name(struct str cell);
bool csv_is_value(struct str cell);
bool csv_is_figure(struct str cell);

/* Goes through the cells of a line: the next one from *at (0 at first), trimmed and
 * without its quotes (doubled quotes stay); false when there is none left. */
bool csv_next_cell(struct str line, char delimiter, size_t *at, struct str *cell);

#endif

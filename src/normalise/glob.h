/* glob: patterns on the names of keys and columns.
 *
 * "*" stands for any run of bytes, "#" for a run of digits (a GPU index), "{unit}" at the end
 * for a unit such as "_mb", " [MiB]", "(GiB)", or for nothing. Everything else is literal. Loose
 * matching ignores case, and "_" stands for any run of separators "_-. /:", or for none. */
#ifndef OOMREPORT_NORMALISE_GLOB_H
#define OOMREPORT_NORMALISE_GLOB_H

#include "base/str.h"
#include "normalise/unit.h"
#include <stdint.h>

struct glob_match {
    bool has_index;  /* the pattern has "#" */
    uint64_t index;  /* [1] what the last "#" stood for */
    bool wants_unit; /* the pattern ends in "{unit}" */
    bool has_unit;   /* and the name does have one */
    struct unit unit;
};

/* True when all of name matches. Time is O(pattern * name). */
bool glob_match(struct str pattern, struct str name, bool loose, struct glob_match *out);

#endif

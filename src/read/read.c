#include "read/read.h"
#include "read/readers.h"

const char *syntax_name(enum syntax s)
{
    switch (s) {
#define READER(id, name, function)                                                                           \
    case SYNTAX_##id:                                                                                        \
        return name;
#include "read/readers.def"
#undef READER
    case SYNTAX_COUNT:
        break;
    }
    return "unknown";
}

int read_rows(struct source *s, enum syntax syntax, const struct read_layout *layout,
              const struct row_handler *h, uint64_t *skipped, struct diag *d)
{
    static const struct read_layout NO_LAYOUT = {0};
    static int (*const READERS[SYNTAX_COUNT])(struct source *, const struct read_layout *,
                                              const struct row_handler *, uint64_t *, struct diag *) = {
#define READER(id, name, function) [SYNTAX_##id] = function,
#include "read/readers.def"
#undef READER
    };
    uint64_t ignored = 0;
    if ((unsigned)syntax >= SYNTAX_COUNT) {
        diag_add(d, DIAG_NOT_RECOGNISED, (struct place){source_name(s), 0, 0},
                 "not a CSV, JSON, JSONL or text log; it is left out");
        return -1;
    }
    return READERS[syntax](s, layout ? layout : &NO_LAYOUT, h, skipped ? skipped : &ignored, d);
}

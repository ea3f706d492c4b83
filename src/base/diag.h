/* diag: what is wrong with an input, told once, with its place.
 *
 * A diag collects the diagnostics of one input. At most DIAG_PER_KIND of a kind
 * are kept per input; the rest are counted ("… 312 more"). Kinds stand in
 * diag.def. Nothing is printed until diag_print(). Not thread-safe. */
#ifndef OOMREPORT_BASE_DIAG_H
#define OOMREPORT_BASE_DIAG_H

#include "base/arena.h"
#include "base/str.h"
#include <stdint.h>
#include <stdio.h>

/* A place in an input. file is a name as the user gave it. */
struct place {
    const char *file; /* NULL: no place */
    uint64_t line;    /* 1-based; 0: the file as a whole */
    uint32_t col;     /* 1-based byte column; 0: the line as a whole */
};

enum diag_level {
    DIAG_NOTE,
    DIAG_WARNING,
    DIAG_ERROR
};

enum diag_code {
#define DIAG(id, name, level) DIAG_##id,
#include "base/diag.def"
#undef DIAG
    DIAG_COUNT
};

enum {
    DIAG_PER_KIND = 5
};

struct diag_item {
    enum diag_code code;
    struct place at;
    const char *text; /* what was found, what was expected, what to do; one line */
};

struct diag {
    struct arena arena;
    struct diag_item *items; /* n items, in the order they were found */
    size_t n, cap;
    uint64_t seen[DIAG_COUNT]; /* of each kind, kept or not */
};

void diag_init(struct diag *d);
void diag_release(struct diag *d);
void diag_add(struct diag *d, enum diag_code code, struct place at, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
const char *diag_name(enum diag_code code); /* "bad-json" */
enum diag_level diag_level(enum diag_code code);
/* Number of errors (not warnings, not notes) seen. */
uint64_t diag_errors(const struct diag *d);
/* `file:line:col: level: text [name]` one a line; unsafe characters and invalid
 * UTF-8 are shown as \xNN; only those of at least this level. */
void diag_print(const struct diag *d, FILE *f, enum diag_level least);

#endif

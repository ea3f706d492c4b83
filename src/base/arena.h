/* arena: memory that is given back all at once.
 *
 * One arena per run of the program holds what lives until the end (names,
 * texts, small tables). Not thread-safe: a worker uses its own. */
#ifndef OOMREPORT_BASE_ARENA_H
#define OOMREPORT_BASE_ARENA_H

#include "base/str.h"

struct arena {
    struct arena_block *head; /* NULL in an empty arena, so {0} is a valid arena */
};

void arena_init(struct arena *a);
void arena_release(struct arena *a);
/* n bytes [B], zeroed, aligned for any type; never NULL. */
void *arena_alloc(struct arena *a, size_t n);
/* A NUL-terminated copy of n bytes. */
char *arena_strndup(struct arena *a, const char *s, size_t n);
/* The same for a str; the copy is NUL-terminated too. */
struct str arena_str(struct arena *a, struct str s);
/* printf into the arena, C locale assumed by the caller's choice of formats. */
const char *arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif

/* inputs: operands -> the list of files to read, in natural order.
 *
 * A directory stands for the regular files in it (not recursive); a pattern that
 * the shell left alone is expanded; "-" is standard input. Opens no log. */
#ifndef OOMREPORT_CLI_INPUTS_H
#define OOMREPORT_CLI_INPUTS_H

#include "base/arena.h"

struct input {
    const char *path; /* or "-" */
    const char *name; /* what the report calls it: path without the folders that all inputs share */
    bool from_dir;    /* found in a directory: nobody said that it is a log */
};

struct input_list {
    struct input *items; /* n, each file once, natural order; "-" first */
    size_t n, cap;
};

/* Expands n operands and the lines of files_from (NULL: none; "-": standard
 * input). NULL, or one line (in the arena) that says what is wrong. */
const char *inputs_expand(struct input_list *out, const char *const *operands, size_t n,
                          const char *files_from, struct arena *a);
void inputs_release(struct input_list *list);
/* The first input that lies inside directory dir or is file dir itself, or NULL. */
const char *inputs_inside(const struct input_list *list, const char *dir);

#endif

/* manifest: the file ".oomreport", names and sizes of what we wrote into a directory.
 *
 * Only the files it names may be replaced or removed next time. Its names are
 * relative, without ".." and control characters; others are not believed. */
#ifndef OOMREPORT_REPORT_MANIFEST_H
#define OOMREPORT_REPORT_MANIFEST_H

#include "base/arena.h"
#include "base/buf.h"
#include <stdint.h>

#define MANIFEST_NAME ".oomreport"

struct dir_file {
    const char *name; /* "index.html", "plots/timeline.png" */
    struct str bytes;
};

struct manifest {
    struct arena arena;
    const char **names; /* n names */
    size_t n;
};

/* The manifest's text for n files. */
void manifest_put(struct buf *out, const struct dir_file *files, size_t n);
/* Reads the manifest of an open directory: 1 found, 0 there is none (or none of ours), -1 with errno. */
int manifest_read(struct manifest *out, int dir);
void manifest_release(struct manifest *m);
/* True for a name in it, and for the manifest itself. */
bool manifest_has(const struct manifest *m, const char *name);
/* Whether some name in it lies in the folder `name`. */
bool manifest_has_folder(const struct manifest *m, const char *name);
bool manifest_name_ok(struct str name);

#endif

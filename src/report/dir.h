/* dir: a set of files -> a directory that appears whole or not at all.
 *
 * The files are written to DIR.tmp-PID beside the target, synced, and the two are
 * exchanged in one step; files in the target that are not ours are linked into
 * the new directory first, so they are never without a name in it. Where the
 * file system cannot exchange, two renames through DIR.old, which the next call
 * puts back if the first of them was the last. A directory that is not ours is
 * refused. Knows nothing of what is in the files. */
#ifndef OOMREPORT_REPORT_DIR_H
#define OOMREPORT_REPORT_DIR_H

#include "base/diag.h"
#include "report/manifest.h"

/* Called once the new directory is complete, open as `made`, and the old one still in its place.
 * Other than 0: the old one stays, the new one goes. */
struct dir_ready {
    int (*call)(void *ctx, int made);
    void *ctx;
};

/* Puts n files into directory path; the manifest is added. Of a directory that is not ours, is not
 * empty, or holds files under our names: refused, unless force, which replaces those names and
 * nothing else. ready may be NULL. 0, or -1 with a diagnostic; the directory is then as it was. */
int dir_write(const char *path, const struct dir_file *files, size_t n, bool force,
              const struct dir_ready *ready, struct diag *d);
/* True when the file lies in the directory, both existing. */
bool dir_holds(const char *path, const char *file);

#endif

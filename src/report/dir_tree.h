/* dir_tree: walks over directories by file descriptor, never through symbolic links. */
#ifndef OOMREPORT_REPORT_DIR_TREE_H
#define OOMREPORT_REPORT_DIR_TREE_H

#include "report/manifest.h"

enum {
    TREE_DEPTH = 32
};

/* True when nothing is in an open directory but an entry named `but` (may be NULL, and may be missing). */
bool tree_is_empty(int dir, const char *but);
/* Removes all of parent/name; for directories that we have just made. */
void tree_remove(int parent, const char *name);
/* Links every file of `from` that is not in `ours` to the same place in `to`. Names in `keep` are
 * not linked: with force they are passed over, else they are a conflict. 0; -1 with errno, and the
 * name in `at`; EEXIST is a conflict, EXDEV a mounted file system, ELOOP too many levels. What cannot be
 * linked (no hard links here) is passed over: tree_retire moves it. */
int tree_link_foreign(int from, int to, const struct manifest *ours, const struct manifest *keep, bool force,
                      struct buf *at);
/* Takes down an old directory parent/name: unlinks what its own manifest or that of `now` names, and
 * what `now` holds as the same file; moves what is neither into `now`. now is -1 when there is none. Removes
 * it if nothing is left. */
void tree_retire(int parent, const char *name, int now);

#endif

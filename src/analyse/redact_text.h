/* redact_text: paths in a line of text, without what says whose they are.
 *
 * A path loses everything up to and with a home directory (/home/x, /Users/x, /root,
 * C:\Users\x), up to an installed package's folder (site-packages/), or the folder that
 * the user's own files share. What is left is a suffix of the path. Knows nothing of runs. */
#ifndef OOMREPORT_ANALYSE_REDACT_TEXT_H
#define OOMREPORT_ANALYSE_REDACT_TEXT_H

#include "base/arena.h"

struct redact_rules {
    struct str folder; /* shared by the user's files, with its last separator; empty: none */
    bool bare;         /* of every path only its last name stays */
};

/* The text with its paths cut; the text itself when there was nothing to cut; NULL for NULL. */
const char *redact_text(struct arena *a, const char *text, const struct redact_rules *rules);
/* How many bytes of the path at the front of s to leave out: a home directory with all before it;
 * 0 where there is none, and n when the path is a home directory itself. */
size_t redact_home(struct str s);

#endif

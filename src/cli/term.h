/* term: what a person at a terminal sees: colour, and a line of progress.
 *
 * Neither appears when the stream is no terminal, unless asked for. */
#ifndef OOMREPORT_CLI_TERM_H
#define OOMREPORT_CLI_TERM_H

#include "base/diag.h"
#include "cli/options.h"

struct term {
    bool out_colour, err_colour; /* of standard output, standard error */
    bool progress;               /* show a line of progress */
    bool quiet;                  /* errors only */
    bool shown;                  /* one is on the screen now */
    double started;              /* [s] monotonic */
};

void term_init(struct term *t, const struct options *o);
/* "reading 3 of 64: rank3.jsonl", once a second has passed; overwritten by the next. */
void term_progress(struct term *t, size_t i, size_t n, const char *name);
/* Takes the line of progress away. */
void term_clear(struct term *t);
/* diag_print() on standard error, "error" and "warning" coloured; notes only when all is true, and
 * errors only when the term is quiet. */
void term_diag(struct term *t, const struct diag *d, bool all);
/* Writes text with control bytes shown as \xNN, so that a log cannot steer the terminal. */
void term_put(FILE *f, const char *text);

#endif

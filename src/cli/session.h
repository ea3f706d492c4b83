/* session: one call of the program: what was asked for, and the inputs with what became of them. */
#ifndef OOMREPORT_CLI_SESSION_H
#define OOMREPORT_CLI_SESSION_H

#include "cli/config.h"
#include "cli/inputs.h"
#include "cli/options.h"
#include "cli/term.h"
#include "normalise/normalise.h"
#include "normalise/read_ahead.h"

struct session {
    struct options o;
    struct config config;
    struct arena arena;
    struct term term;
    struct input_list inputs;
    struct mapping_set *mappings;
    struct normalise_settings normalise;
    struct read_ahead *ahead; /* NULL: inputs are read one after the other */
    struct input_info *infos; /* n_infos, in the order of inputs */
    size_t n_infos;
    size_t skipped; /* inputs that were named and gave no memory figure */
    const char *first_skipped;
    const char *templates_shown; /* --templates as the report names it */
    struct past_report **past;   /* n_past inputs that are earlier reports */
    size_t n_past;
    size_t passed_over; /* files of a directory that are no logs */
    int write_error;    /* errno of the first failed write to standard output */
};

/* Where the records of the inputs go: to a builder, or else to a converter. */
struct destination {
    struct builder *builder;
    struct converter *converter;
};

/* Says why, as the last line on standard error; returns status. */
int session_fail(int status, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Writes to standard output, and remembers the errno of the first write that failed: stdio keeps only that
 * one did. */
void session_print(struct session *s, const struct buf *text);

/* Reads all inputs. EXIT_OK, or the exit status. */
int session_read_inputs(struct session *s, const struct destination *to);
/* The same, into series; set is filled on EXIT_OK. Earlier reports among the inputs are in s->past then. */
int session_read_series(struct session *s, struct series_set *set);
void session_release_past(struct session *s);
bool session_any_memory(const struct session *s);

/* --to, to out or to -o: a regular file is there whole or not at all. An exit status. */
int session_convert_to(struct session *s, FILE *out);
int session_convert_to_file(struct session *s);
/* --dump=rows. An exit status. */
int session_dump_each_row(struct session *s);
/* The output of --to that is not finished, for a signal to take away; NULL when there is none. */
const char *session_unfinished(void);

#endif

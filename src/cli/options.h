/* options: the command line as plain values.
 *
 * options.def is the one table that getopt_long and --help are made from. The
 * stages never see struct options: main turns it into their arguments. */
#ifndef OOMREPORT_CLI_OPTIONS_H
#define OOMREPORT_CLI_OPTIONS_H

#include "analyse/redact.h"
#include "analyse/what_if.h"
#include "base/arena.h"
#include "base/buf.h"
#include "cli/gate_options.h"
#include "cli/options_table.h"
#include "normalise/normalise.h"

enum exit_code {
    EXIT_OK = 0,
    EXIT_GATE = 1,     /* a gate failed */
    EXIT_USAGE = 2,    /* usage, an input that cannot be opened, nothing to report, cannot write */
    EXIT_SKIPPED = 3,  /* --strict and an input was skipped */
    EXIT_INTERNAL = 70 /* the program itself is wrong, or out of memory */
};

enum action {
    ACTION_REPORT,
    ACTION_CONVERT,
    ACTION_DUMP,
    ACTION_LIST_FORMATS,
    ACTION_SHOW_FORMAT,
    ACTION_CHECK_FORMAT,
    ACTION_EXPLAIN,
    ACTION_LOGGER,
    ACTION_PRINT_CONFIG,
    ACTION_HELP,
    ACTION_VERSION
};

enum dump_stage {
    DUMP_ROWS,
    DUMP_RECORDS,
    DUMP_SERIES,
    DUMP_VERDICTS,
    DUMP_PLOTS,
    DUMP_COUNT
};
enum colour {
    COLOUR_AUTO,
    COLOUR_ALWAYS,
    COLOUR_NEVER
};

struct options {
    enum action action;
    const char *subject;       /* of --show-format, --check-format, --explain, --logger */
    const char *output;        /* NULL: not given */
    unsigned parts;            /* of enum report_part */
    const char *stdout_format; /* "md", "txt", "json" or NULL */
    bool force, strict, provenance, quiet, verbose, no_progress;
    bool light, dark;
    const char *label, *timestamp, *templates, *format, *name_pattern, *files_from;
    struct field_map *maps; /* n_maps */
    size_t n_maps;
    struct field_set *sets; /* n_sets */
    size_t n_sets;
    unsigned jobs;                   /* threads; 0: not given */
    double step_from, step_to;       /* NAN where open */
    double event_from, event_to;     /* likewise */
    double capacity_bytes;           /* [B] NAN: not given */
    struct what_if_change *what_ifs; /* n_what_ifs */
    size_t n_what_ifs;
    struct gate_options gates;
    enum convert_format to;
    enum dump_stage dump;
    enum colour colour;
    enum redact redact;
    const char *const *inputs; /* n_inputs operands, as given */
    size_t n_inputs;
    struct str *given; /* n_given options that change the result, "name = value", in the order given */
    size_t n_given;
};

/* Reads the command line. NULL, or one line (in the arena) that says what is
 * wrong with it and what would be right. argv may be reordered and must outlive o. */
const char *options_parse(struct options *o, int argc, char **argv, struct arena *a);

/* The same for one option of the table alone, onto the defaults. */
const char *options_try(struct options *o, size_t option, const char *value, struct arena *a);
/* The creation time comes from --timestamp or SOURCE_DATE_EPOCH, never from a clock. NULL, or what is wrong.
 */
const char *options_timestamp(struct options *o, struct arena *a);
/* "80GB" -> 80e9 [B], "79.2GiB" -> 79.2 * 2^30. False on a bare number, an
 * unknown unit, zero, and what is no number. */
bool options_size(double *out_bytes, const char *text);
/* "capacity=40GiB,batch_size=4": NULL, or what is wrong. */
const char *options_what_if(struct what_if_change *out, const char *text, struct arena *a);
/* True for an RFC 3339 time such as 2024-05-01T12:00:00Z. */
bool options_is_rfc3339(const char *text);
/* The candidate most like word, or NULL when none is near. */
const char *options_nearest(const char *word, const char *const *candidates, size_t n);

void options_help(struct buf *out);
void options_version(struct buf *out);

#endif

/* lane: the records of one series on their way in.
 *
 * A window of records is held back before they are appended, so that a step
 * that goes back can be told from a second writer by what follows it, and
 * sparse rows of one step are joined. Internal to this layer. */
#ifndef OOMREPORT_NORMALISE_LANE_H
#define OOMREPORT_NORMALISE_LANE_H

#include "normalise/held.h"
#include "model/series.h"
#include "normalise/normalise.h"
#include "read/oom_message.h"

enum {
    LANE_WINDOW = 32,
    LANE_LOOK_BACK = 4
};

enum lane_kind {
    LANE_ROW,
    LANE_EVENT,
    LANE_CHECKPOINT
};

struct lane_slot {
    struct held h;
    enum lane_kind kind;
    enum event_kind event;
    bool after_header; /* a header came again before it */
    bool plain;        /* the row came by lane_push_rows, and nothing joined it */
    struct process_use processes[OOM_PROCESS_MAX];
    size_t n_processes;
};

struct lane {
    struct series *s;
    struct diag *d;
    struct str run, device; /* in the builder's arena */
    double seed, rank;      /* [1] or NAN */
    bool run_logged;        /* the run's name stands in the log, not only in the file's name */
    size_t input;
    const char *input_name; /* of all inputs that the series was read from */
    const char *place_name; /* of the one that is being read */
    uint64_t header_seq;    /* headers seen when the last record came */

    struct lane_slot *slots; /* LANE_WINDOW of them; NULL while nothing is held */
    unsigned first, n;
    /* The last rows of the series that still count as held back (then n is 0): they came by lane_push_rows,
     * and are taken back from it when another record comes. */
    unsigned n_back;
    struct lane_back {
        uint64_t have;      /* its fields */
        double last_step;   /* of the lane before it */
    } back[LANE_LOOK_BACK]; /* the last one first */
    const char *back_file;
    double last_step, first_step; /* of appended train rows; NAN */
    bool two_writers;
};

/* Figures that make a row worth keeping, as bits of record.have; memory only, or shapes too. */
uint64_t lane_memory_mask(void);
uint64_t lane_figure_mask(void);

/* Takes a record; r's texts may die afterwards. */
void lane_push(struct lane *l, const struct record *r, bool after_header, const struct process_use *processes,
               size_t n);
/* Takes rows of the input being read, as lane_push would one by one; their texts may die afterwards. False,
 * and nothing done, when they have to come one by one. */
bool lane_push_rows(struct lane *l, const struct step_rows *rows);
/* Appends all that is held, and gives the window back. */
void lane_flush(struct lane *l);

/* True when `from`, an event of another log, is the out-of-memory error that s ended with: what s lacks of it
 * is added. */
bool lane_same_oom(struct series *s, const struct event *from);
/* The same of a slot of s's own log that another line tells again. */
bool lane_event_again(struct series *s, const struct lane_slot *slot);

#endif

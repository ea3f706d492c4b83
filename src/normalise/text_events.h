/* text_events: out-of-memory errors and kills in a text log, each told once.
 *
 * The same error is printed by the traceback, the logger and the launcher, and by every rank; and the next
 * run in the same file may die of the very same. An error is held back for some lines, which may say that the
 * run survived it. Internal to this layer. */
#ifndef OOMREPORT_NORMALISE_TEXT_EVENTS_H
#define OOMREPORT_NORMALISE_TEXT_EVENTS_H

#include "normalise/rows.h"

enum {
    TEXT_RECENT_MAX = 64
};

struct text_recent {
    double requested, total, free, allocated, reserved, device, rank;
};

struct text_events {
    struct rows *rows;                          /* sends the records */
    struct text_recent recent[TEXT_RECENT_MAX]; /* n_recent errors of the run at hand */
    size_t n_recent, others;                    /* others: lines since the last one that are no traceback */
    bool killed;                                /* a kill was told since the last record */
    uint64_t ranks[64];                         /* bits of the ranks that gave records */
    bool rankless;                              /* records without a rank came too */
    /* the error held back */
    bool pending, recovered;
    struct oom_message message;
    struct buf text;
    double rank;
    uint64_t line, last_line;
};

/* The texts that a line with an event holds one of. */
extern const struct str text_event_words[];
extern const size_t n_text_event_words;

void text_events_init(struct text_events *e, struct rows *rows);
void text_events_release(struct text_events *e);
/* A line with one of the words. True when it is an event. */
bool text_events_line(struct text_events *e, uint64_t line, struct str text, double rank);
/* Any other line. */
void text_events_other(struct text_events *e, uint64_t line, struct str text);
/* Before a record of the log is sent: the run goes on. */
void text_events_record(struct text_events *e, const struct record *r);
void text_events_flush(struct text_events *e);

#endif

/* source: an input as lines of UTF-8, for the readers of this layer.
 *
 * Bytes come from a file, a pipe or memory; gzip, UTF-16, BOM and NUL runs are
 * dealt with on the way, so a reader sees plain lines. At most one long line
 * (SOURCE_LINE_MAX) is held in memory. Knows nothing of syntax. */
#ifndef OOMREPORT_READ_SOURCE_H
#define OOMREPORT_READ_SOURCE_H

#include "base/diag.h"
#include "base/str.h"
#include "read/read.h"

enum {
    SOURCE_PAD = 64,                    /* readable bytes behind every line and every text, zero at the end */
    SOURCE_LINE_MAX = 64 * 1024 * 1024, /* a longer line is left out with line-too-long [B] */
    SOURCE_TEXT_MAX = 512 * 1024 * 1024 /* limit of source_rest [B] */
};

/* A line without its \n or \r\n. The bytes stay in place until the next call
 * on the source; SOURCE_PAD bytes behind text may be read, and the first of
 * them (text.p[text.n]) is '\n', '\r' or 0. */
struct line {
    struct str text;
    uint64_t number; /* 1-based */
    uint64_t offset; /* of text.p in the decoded input [B] */
    bool ended;      /* false: the last line, without a line end */
};

/* The next line; false at the end (and after an error: source_failed). */
bool source_line(struct source *s, struct line *out, struct diag *d);
/* The bytes that source_line takes the next lines from, as far as they are in memory; SOURCE_PAD zero bytes
 * follow. They stay in place until the next call but source_take. */
struct str source_window(const struct source *s);
/* Passes over the first n bytes of the window, which are whole lines. */
void source_take(struct source *s, size_t n, uint64_t lines);
/* Number of the line that the window begins with. */
uint64_t source_next_line(const struct source *s);
/* Reads on when the window holds no whole line. False when it holds one, or when nothing more comes. */
bool source_more(struct source *s);
/* Makes *l longer by the line that follows it (the line end between them stays
 * in the text). False, and *l as it was, at the end of the input or when
 * l->text would become longer than limit [B]. l must be the line given last. */
bool source_line_join(struct source *s, struct line *l, size_t limit, struct diag *d);
/* Takes back all joins: *l is the line that source_line gave, and the lines
 * behind it are read again. */
void source_line_unjoin(struct source *s, struct line *l);
/* All that is left, in memory, with its first line number; the text ends in
 * SOURCE_PAD zero bytes. False with a diagnostic when it is longer than limit
 * [B] or cannot be read. */
bool source_rest(struct source *s, struct line *out, size_t limit, struct diag *d);
/* The next n bytes of a binary input (a pickle) or of text that needs no lines; fewer only at the end. */
size_t source_raw(struct source *s, char *p, size_t n);
/* After source_raw: says what went wrong on the way. */
void source_end(struct source *s, struct diag *d);
/* True once reading broke off (read error, unreadable compressed data is no such error). */
bool source_failed(const struct source *s);
/* True when the input ended before its writer was done (gzip cut off): then the last line is cut too. */
bool source_cut_off(const struct source *s);

#endif

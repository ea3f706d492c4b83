/* bytes: the bytes of a file, a pipe or a piece of memory, gunzipped.
 *
 * Read with read(), never mapped: a file that is cut off meanwhile gives fewer
 * bytes, not a signal. Knows nothing of lines and encodings. */
#ifndef OOMREPORT_READ_BYTES_H
#define OOMREPORT_READ_BYTES_H

#include "base/diag.h"
#include "base/str.h"

struct bytes;

/* "-" is standard input. NULL with cannot-open when the file cannot be opened or is a directory. */
struct bytes *bytes_open(const char *path, struct diag *d);
/* The caller keeps the memory alive. */
struct bytes *bytes_of_memory(struct str memory);
void bytes_close(struct bytes *b);
/* Up to n bytes to p; fewer than n only at the end (or at what cannot be read any further). */
size_t bytes_read(struct bytes *b, char *p, size_t n);
/* Size as stored [B]; of a pipe what was read so far. */
uint64_t bytes_size(const struct bytes *b);
/* The input could not be read to its end: a read error or damaged or cut-off compressed data. */
bool bytes_broken(const struct bytes *b);
bool bytes_read_error(const struct bytes *b);
/* To be called at the end: says what went wrong (cannot-read, bad-gzip, changed-while-read). */
void bytes_tell(const struct bytes *b, const char *name, struct diag *d);

#endif

/* words: figures and causes in the words of the page, the summaries and the JSON texts.
 *
 * Texts are made in an arena and hold no markup. An unknown figure is "unknown".
 * Knows nothing of HTML and files. */
#ifndef OOMREPORT_REPORT_WORDS_H
#define OOMREPORT_REPORT_WORDS_H

#include "base/num.h"
#include "model/verdict.h"

/* "139.1 GiB"; "unknown" for NAN. */
const char *words_bytes(struct arena *a, double bytes);
/* "139.1 / 139.8 GiB": both in the unit of the larger; a NAN one is "unknown". */
const char *words_bytes_pair(struct arena *a, double first, double second);
/* bytes in the given unit without its name, with a sign if asked. */
const char *words_bytes_in(struct arena *a, double bytes, enum byte_unit u, bool sign);
/* "+3.1 MiB". */
const char *words_signed_bytes(struct arena *a, double bytes);
/* A plain number: whole ones in full and without separators, others with 3 significant digits. */
const char *words_number(struct arena *a, double v);
/* 0..1 as "43 %". */
const char *words_share(struct arena *a, double share);
/* A test's figure in its unit ("bytes/step", "bytes", "percent", "steps", "1"), written in the
 * unit that `other`, the figure beside it, needs too. */
const char *words_measure(struct arena *a, double v, double other, const char *unit);

/* "Leak", "Peak", "Eval", "Fragmentation", "Capacity", "Other process", "Host leak",
 * "Cannot tell", "No failure found". */
const char *class_word(const struct verdict *v);
/* The word of a cause alone: "leak", "peak", … */
const char *class_of_cause(enum cause c);
/* "Leak, likely" and what it means: "memory grew until it hit the device limit". */
const char *headline(struct arena *a, const struct verdict *v);
const char *headline_tail(const struct verdict *v);

/* The text with a full stop at its end. */
const char *words_sentence(struct arena *a, const char *text);
/* What a test says: "leak", "not a leak", "nothing". */
const char *words_says(enum question_id q, enum says says);

/* "floor_slope" as "Floor slope". */
const char *words_id(struct arena *a, const char *id);
/* "run.csv:118"; NULL when there is no file. */
const char *words_place(struct arena *a, struct place at);
/* Text cut to at most n characters (not bytes), behind a whole word where one ends in the second half, with
 * "…" where it was longer. */
const char *words_short(struct arena *a, const char *text, size_t n);
/* The sentence without its full stop and with a small first letter (unless it begins an acronym). */
const char *words_clause(struct arena *a, const char *sentence);
/* "batch 8, length 4096": what is known of a failing batch's shape; NULL when nothing is. */
const char *words_shape(struct arena *a, const struct failure *f);

/* "8812 +7 more": the first of ids in CSV form, and how many follow. */
const char *words_batch(struct arena *a, const char *ids);

/* One-sided 95 % lower bound of a share seen as k of n (Clopper & Pearson, Biometrika 26,
 * 1934): the p with P(at least k of n) = 0.05; 0 for k = 0. */
double lower_bound_95(unsigned k, unsigned n);

#endif

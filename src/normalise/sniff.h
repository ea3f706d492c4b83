/* sniff: which mapping fits an input, from the keys in its first bytes. */
#ifndef OOMREPORT_NORMALISE_SNIFF_H
#define OOMREPORT_NORMALISE_SNIFF_H

#include "normalise/mapping.h"

enum {
    SNIFF_KEYS_MAX = 1024
};

struct sniff {
    struct arena arena;
    struct str head;
    enum syntax syntax;
    struct str *keys; /* n distinct keys; of list items as "log_history[].loss" */
    size_t n;
    const char *rows_guess;     /* path of the first list of objects, or NULL */
    const char *const *columns; /* names for an nvidia-smi log without a header line, or NULL */
    size_t n_columns;
};

/* Looks at head; release it afterwards. */
void sniff_init(struct sniff *s, enum syntax syntax, struct str head);
void sniff_release(struct sniff *s);
/* True when the head has a key of that path. */
bool sniff_has(const struct sniff *s, const char *path);
/* How well a mapping fits: 0 not at all, more is better. */
int sniff_score(const struct sniff *s, const struct mapping *m);
/* The mapping that fits best, or NULL. */
const struct mapping *sniff_choose(const struct sniff *s, const struct mapping_set *set);

/* Column names for rows of nvidia-smi --format=csv,noheader, told by their cells; NULL when the
 * head does not look like such rows. */
const char *const *smi_columns(struct str head, size_t *n, struct arena *a);
/* Number of GPUs that take turns in rows that name none, told by their time stamps: stamps of one
 * turn lie much closer together than turns do. 1 when they do not. */
unsigned smi_turns(struct str head, double *gap_seconds);

#endif

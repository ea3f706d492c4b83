/* cross_content: did the failing batches of several runs hold the same?
 *
 * By sample ids where two failing batches or more have them, else by content
 * hash, else by how large the batch is among its run's batches. Part of cross_run, whose
 * header states the null models. */
#ifndef OOMREPORT_ANALYSE_CROSS_CONTENT_H
#define OOMREPORT_ANALYSE_CROSS_CONTENT_H

#include "analyse/ranks.h"

enum {
    SHARED_IDS_MAX = 64
};

/* One failing run that counts. */
struct failed_run {
    const struct run_report *r;
    double seed, step;    /* NAN unknown */
    struct str ids, hash; /* of the failing batch; {NULL, 0} unknown */
};

struct content {
    bool tested, repeated;
    enum batch_by by;
    double agree, of;    /* so many of the failures whose content is known share something [1] */
    double p;            /* by chance; NAN untested */
    const char **shared; /* n_shared ids, natural order, at most SHARED_IDS_MAX */
    size_t n_shared;
    bool passed_before; /* something shared does not count: the same run had lived through it earlier */
    double rank;        /* BY_SHAPE: largest share u of batches at least as large, 0..1 */
    const char *shape;  /* BY_SHAPE: "tokens" */
};

/* Ids, hash, step and seed of a run's failing batch, from the failure, the event or the row logged at that
 * step. */
struct failed_run failed_run_of(const struct run_report *r);
/* Compares n >= 2 failing runs. step_repeats raises the bar for shapes. */
void content_compare(struct content *out, struct arena *a, const struct failed_run *runs, size_t n,
                     bool step_repeats);
/* 1 when the runs logged the same batches at the same steps (at least 5 compared, nine in ten
 * alike), 0 when they did not, -1 when it cannot be told. */
int same_order(const struct run_report *x, const struct run_report *y);

#endif

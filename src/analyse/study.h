/* study: one device's trace replayed by site: who holds how much at which moment, and
 * what stays from step to step. Knows of no verdict. */
#ifndef OOMREPORT_ANALYSE_STUDY_H
#define OOMREPORT_ANALYSE_STUDY_H

#include "analyse/sites.h"
#include "model/verdict.h"

enum {
    STUDY_SAMPLES = 64, /* floors that are looked at, of all steps */
    STUDY_MOMENTS = 3   /* by enum holder_at */
};

struct study_moment {
    uint64_t bytes, count;
    uint32_t stack; /* of the largest part */
    uint64_t stack_bytes;
};

struct study_site {
    uint32_t frame;       /* TRACE_NONE: blocks without a stack */
    uint32_t flags;       /* of its stacks, together */
    int64_t bytes, count; /* while replaying */
    struct study_moment at[STUDY_MOMENTS];
    uint64_t allocs, frees;                   /* in the trace */
    uint64_t ghosts;                          /* blocks of the end whose allocation is not in the trace */
    uint64_t born_early;                      /* blocks of the end from before the end of the first step */
    uint64_t largest_before, largest_failing; /* [B] single allocation, before and in the failing step */
    double rise;                              /* [B] over the samples */
    double growth;                            /* [B/step] */
    bool leaks;
    enum category category;
};

struct study {
    const struct trace_file *t;
    const struct trace_device *d;
    struct study_site *sites; /* n_sites */
    size_t n_sites, cap_sites;
    uint8_t *kinds;          /* of frames */
    uint32_t *site_of_frame; /* + 1 */
    uint32_t *site_of_stack; /* + 1; 0: not looked at yet */
    uint32_t *site_of_class;
    size_t null_site;
    bool has[STUDY_MOMENTS];
    uint64_t total[STUDY_MOMENTS]; /* [B] live at the moment */
    /* samples: floors of steps, ascending */
    size_t n_samples;
    size_t step[STUDY_SAMPLES];        /* index of the step */
    int64_t *bytes, *count;            /* [n_samples][n_sites] */
    double floor_rise;                 /* [B] of the floor over the samples */
    uint64_t fail_from;                /* first event of the failing step; d->n without a failure */
    int32_t *class_first, *class_last; /* live allocations of each class at the first and last sample */
    uint32_t *class_allocs;            /* allocations of each class between them */
};

void study_init(struct study *s, const struct trace_file *t, const struct trace_device *d);
/* Only the sites, and in bytes and count what each holds before the first event. */
void study_sites(struct study *s, const struct trace_file *t, const struct trace_device *d);
void study_release(struct study *s);

#endif

/* blame: which sites grow, which pin free memory, and the frame that they share. */
#ifndef OOMREPORT_ANALYSE_BLAME_H
#define OOMREPORT_ANALYSE_BLAME_H

#include "analyse/study.h"

#define BLAME_SHARE 0.8 /* of the bytes that a blamed frame must be part of */

struct growing {
    bool any;
    double rise;       /* [B] of all sites that leak, over the samples */
    double growth;     /* [B/step] */
    double eval_share; /* of it from within evaluation */
    size_t sites;
    size_t events;  /* samples at which it rose */
    bool by_window; /* told by what a short window kept, not by steps */
    bool each_step;
};

/* Marks the sites that leak and sums them up. */
void blame_growth(struct growing *out, struct study *s);
/* The innermost user frame shared by BLAME_SHARE of the bytes that the marked sites gained. False: none. */
bool blame_leak(struct blame *out, const struct study *s, const struct growing *g, struct arena *a);
/* The site whose blocks lie next to the free pieces and outlive their step. */
bool blame_pins(struct blame *out, struct study *s, struct arena *a);
/* The frame shared by what the peak has above what stays between steps. */
bool blame_peak(struct blame *out, const struct study *s, struct arena *a);

#endif

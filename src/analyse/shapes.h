/* shapes: the batch's shape as terms of a memory law.
 *
 * Activations are linear in the tokens (or pixels) of a batch and, where
 * attention is not fused, quadratic in the length; so a law has a linear and a
 * quadratic term. Which logged shape stands for "tokens" is tried, not assumed. */
#ifndef OOMREPORT_ANALYSE_SHAPES_H
#define OOMREPORT_ANALYSE_SHAPES_H

#include "analyse/fit.h"
#include "analyse/frame.h"

enum shape_kind {
    SHAPE_PADDED, /* batch*len and batch*len^2: what a padded batch costs */
    SHAPE_TOKENS, /* tokens and tokens*len (tokens^2 when no length is logged) */
    SHAPE_PIXELS, /* batch*height*width and batch*(height*width)^2 */
    SHAPE_BATCH,  /* batch alone */
    SHAPE_SIZE,   /* a size_* column and its square */
    SHAPE_NONE
};

struct shape_model {
    enum shape_kind kind;
    size_t k;   /* which size_* column, SHAPE_SIZE */
    bool extra; /* a second size_* column is added, linear and squared */
    size_t extra_k;
    size_t terms;
    double *x[FIT_TERMS]; /* terms columns over the track's rows; owned */
};

/* The kinds whose columns are there and vary in the track; at most `most` of them. */
size_t shape_candidates(struct shape_model *out, size_t most, const struct frame *f, const struct track *t);
/* Computes x for the track's rows. False when a column is missing. */
bool shape_fill(struct shape_model *m, const struct frame *f, const struct track *t);
void shape_release(struct shape_model *m);
/* The same terms for the failing batch; false when its shape is not known. */
bool shape_of_failure(double *values, const struct shape_model *m, const struct frame *f);
/* Terms of a batch of given size and length (text kinds), or pixels per side squared. */
void shape_of_batch(double *values, const struct shape_model *m, double batch, double len);
/* The model that explains y (over the track's rows) best, fitted; kind SHAPE_NONE when none explains a
 * good part. Rows before `warm` and missing ones are left out. */
void shape_best(struct shape_model *best, struct fit *fit, const struct frame *f, const struct track *t,
                const double *y, size_t warm);

#endif

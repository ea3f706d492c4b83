/* leak_shapes: growth is judged after what the batch's shape explains is taken out. */
#ifndef OOMREPORT_ANALYSE_LEAK_SHAPES_H
#define OOMREPORT_ANALYSE_LEAK_SHAPES_H

#include "analyse/frame.h"

struct shapes_taken {
    bool taken;      /* something was subtracted */
    bool collinear;  /* shapes rise with time so closely that the two cannot be told apart */
    double share;    /* of the variance that the shapes explain */
    bool sorted;     /* sizes rise row by row, not in stages */
    double size_tau; /* trend of the leading shape over 24 blocks; NAN when nothing varies */
};

/* adj = y (train rows, n) less what the shapes explain, about their mean. is_floor: y is what
 * is left allocated after a step, in which a batch's shape has little place. */
struct shapes_taken leak_take_out_shapes(double *adj, const struct frame *f, const double *y, bool is_floor);

#endif

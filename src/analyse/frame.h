/* frame: one series decoded for the rules.
 *
 * Splits the rows by phase, lays them on one ascending axis across restarts,
 * finds what the peak column means and what ended the run, and reduces the
 * failure's figures to the derived ones that decide many cases alone. Each
 * column is decoded once. Knows of no question and no verdict. */
#ifndef OOMREPORT_ANALYSE_FRAME_H
#define OOMREPORT_ANALYSE_FRAME_H

#include "model/verdict.h"

enum {
    FRAME_SIZES = 8
};

/* The rows of one phase. */
struct track {
    size_t n;
    size_t *row;               /* row in the series, ascending */
    double *x;                 /* ascending axis (see frame.axis) */
    unsigned char *restart;    /* 1 on the first row of a new process */
    double *v[F_COUNT];        /* n values or NULL when the phase never has the field */
    double *size[FRAME_SIZES]; /* size_* columns, as frame.size_name */
};

enum axis {
    AXIS_STEP,
    AXIS_TIME,
    AXIS_ROW
};
enum fail_phase {
    FAIL_PHASE_UNKNOWN,
    FAIL_TRAIN,
    FAIL_EVAL,
    FAIL_SAVE,
    FAIL_LOAD,
    FAIL_OPTIMIZER,
    FAIL_OTHER
};

/* The derived numbers of the failing moment; NAN where the log does not give them. */
struct moment {
    double requested, free, total, allocated, reserved, this_process, other_process;
    double outside;  /* [B] total - reserved - free: context, libraries, other processes */
    double gap;      /* [B] reserved - allocated */
    double need;     /* [B] allocated + requested */
    double missing;  /* [B] requested - free, at least 0 */
    bool impossible; /* allocated or reserved above the total: no arithmetic on it */
};

struct frame {
    const struct series *s;
    enum axis axis;
    struct track train, eval;
    size_t train_rows, eval_rows; /* in the whole series; the tracks hold fewer of very long ones */
    double offset;                /* step = x - offset in the last process */
    size_t n_sizes;
    const char *size_name[FRAME_SIZES];
    double capacity;          /* [B] in force; NAN unknown */
    double capacity_declared; /* [B] from the header */
    double capacity_refused;  /* [B] said, but steps had more than that; NAN: none */
    double capacity_set;      /* [B] given by the user, for logs that do not say it; NAN */
    double room;              /* [B] capacity less what is not the framework's; NAN unknown */
    double outside_usual;     /* [B] the part taken off for it */
    bool room_measured;       /* from the log's own figures, not an allowance */
    enum peak_reset reset;
    bool reset_declared;
    enum field
        floor_field;  /* F_ALLOCATED, else F_PEAK, F_RESERVED, F_DEVICE_USED; F_COUNT: no memory figure */
    size_t warm;      /* train rows left out as warm-up */
    double stride;    /* typical distance of logged steps [step] */
    double per_epoch; /* steps per epoch, declared or found; NAN unknown */
    size_t micro;     /* micro-steps per update, 1 unless declared */
    enum outcome outcome;
    const struct event *fail; /* the OOM or kill that ended it, or NULL */
    struct event completed;   /* what fail points to where a row without memory gave the failing batch */
    bool killed;
    double fail_step, fail_x;
    enum fail_phase fail_phase;
    bool fail_phase_given; /* the event itself names its phase */
    struct moment at;
    size_t survived; /* OOMs the run went on after */
    const struct event *last_survived;
    double blind;                  /* steps between the last row and the failure; NAN unknown */
    bool resumed;                  /* header or event says that it resumed */
    size_t rows_since_start;       /* train rows of the last process */
    bool peak_known;               /* peak_field shows peaks; false when only allocated is logged */
    double peak_max, peak_typical; /* [B] of train rows after warm-up; NAN unknown */
    size_t peak_max_at;            /* index in train */
    enum field peak_field;         /* F_PEAK, else F_PEAK_RESERVED, F_ALLOCATED, …; F_COUNT */
};

void frame_init(struct frame *f, const struct series *s, double capacity_setting);
void frame_release(struct frame *f);
/* The step that belongs to a point of the axis; NAN when steps were not logged. */
double frame_step(const struct frame *f, double x);
/* A shape field of the failing batch: from the event, else, if it never varied, from the rows. */
double frame_fail_shape(const struct frame *f, enum field field);
double frame_fail_size(const struct frame *f, size_t k);
/* The only value of a train column, or NAN when it varies or is missing. */
double frame_constant(const struct frame *f, enum field field);
/* Quantile q of what train steps peak at [B], also where the counter is never reset; NAN unknown. */
double frame_peak_quantile(const struct frame *f, double q);
/* Phases by their usual words ("val", "checkpoint", …). */
enum fail_phase frame_phase_of(struct str word);

#endif

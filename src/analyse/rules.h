/* rules: what the questions share while one run is judged.
 *
 * Each rule reads the frame and what rules before it found, fills its own
 * finding and the figures of the report, and adds its tests to the question it
 * belongs to; it does so whatever earlier questions found. decide.c alone turns
 * findings into a verdict. The order stands in rules.def. */
#ifndef OOMREPORT_ANALYSE_RULES_H
#define OOMREPORT_ANALYSE_RULES_H

#include "analyse/fit.h"
#include "analyse/frame.h"
#include "analyse/growth.h"

/* How far ahead of the last row a failure lies, with 90 % of runs between low and high. */
struct ahead {
    double mid, low, high;
};

/* grows? */
struct found_leak {
    struct growth floor; /* of the tested column, shapes taken out */
    struct growth raw;   /* the same column as logged */
    struct growth host;  /* of the process's resident memory */
    enum field column;   /* F_COUNT: nothing to test */
    bool by_shape;       /* what the shapes explain takes the growth away */
    bool sorted;         /* batches in order of size: peaks alone cannot tell growth from size */
    bool collinear;      /* shapes and time rise together: they cannot be told apart */
    double size_tau;     /* trend of the batch's size itself, NAN unknown */
    bool held;           /* the column does not fall back between steps: its records decide */
    bool records;        /* held, and its records are as rare as those of a steady process */
    double records_seen; /* rows that set a record */
    bool doubted;        /* the column rises, and that is no sign of growth */
    enum subtype carrier;
    double period;           /* [step] of SUB_PERIODIC, else NAN */
    double carrier_jumps;    /* boundaries that carried it */
    double carrier_jump;     /* [B] at a typical one; NAN */
    double share;            /* of the rise that the carrier explains */
    double rise;             /* [B] retained at the end */
    double slope, low, high; /* [B/step] average over what climbs */
    double p;                /* that the device memory really leaks */
    double p_host;
    bool sufficient;    /* without the rise the failing step would have fitted */
    double covers;      /* the rise against what would have had to be free [1] */
    double latest;      /* [x] when the floor alone would fill the room; NAN */
    struct ahead ahead; /* [s] of a log by time; NAN with steps */
    double closure;     /* extrapolated step of the ceiling / failing step; NAN */
    double effect;      /* [B] least rise that counts */
};

/* outlier batch? */
struct found_peak {
    bool has_fit;
    struct fit fit;
    int kind;      /* enum law_kind */
    size_t size_k; /* which size_* column */
    bool shapes_vary, shapes_logged;
    double predicted;       /* [B] the failing batch's need by the law, growth added; NAN */
    double alone;           /* [B] the same without the growth */
    double percentile;      /* 0..100 of the failing batch among those seen; NAN */
    double need_ratio;      /* need / largest peak logged; NAN */
    double p50, p95, p99;   /* [B] of the peaks */
    enum subtype dimension; /* what the outlier is out in */
    double p;               /* that the failing batch is the cause (failed runs) */
    double p_risk;          /* that a batch not yet met will fail (green runs) */
    bool schedule;          /* sizes grow by design */
    double risk_len;        /* corpus_max_len when it was not met; NAN */
};

/* eval boundary? */
struct found_eval {
    double cadence; /* [step] NAN unknown */
    size_t passes;
    bool on_boundary;       /* failing step lands on it */
    bool at_epoch, at_eval; /* which */
    bool save_due;          /* a checkpoint was due at the failing step, whose phase is not known */
    double chance;          /* that a random step lands so */
    double kept;            /* [B] growth within a pass */
    enum subtype sub;
    double p; /* failed runs */
    double p_risk;
};

/* capacity? */
struct found_capacity {
    double typical_share; /* typical peak / room */
    enum subtype sub;
    double p_early; /* another process, save, resume: evidence that needs no history */
    double p;       /* otherwise */
    double p_risk;
    double foreign;      /* [B] beyond what a clean process needs; NAN */
    bool optimiser_jump; /* level shift at the first update seen */
};

/* what a memory snapshot says, where there is one: shares of the causes (the rest is unknown) */
struct snapshot_shares {
    bool known;
    double leak, peak, eval, capacity, none;
    enum subtype subtype;           /* of the largest */
    bool by_window;                 /* growth was told by what a short window kept */
    double steps;                   /* that the growth was measured over */
    double rise, growth;            /* [B], [B/step] of the sites that leak; NAN none */
    double floor_growth;            /* [B/step] of all that stays */
    double sites;                   /* how many leak */
    double scattered, largest_free; /* [B] at the failing request */
    double need, before;            /* [B] live + requested, and the highest level before the failing step */
    double larger;                  /* failing step's allocations against the largest before [1] */
};

struct run_ctx {
    struct arena *arena; /* of the analysis: texts and tables live there */
    struct frame *f;
    struct run_report *out;
    struct found_leak leak;
    struct found_peak peak;
    struct found_eval eval;
    struct found_capacity cap;
    struct snapshot_shares snapshot;
};

/* One more test of question q. where: a row of the series, ROW_NONE, or ROW_FAILURE. */
#define ROW_NONE ((size_t)-1)
#define ROW_FAILURE ((size_t)-2)
void rule_test(struct run_ctx *c, enum question_id q, const char *id, double measured, const char *unit,
               double limit, enum says says, size_t where, const char *text);

#define RULE(name) void rule_##name(struct run_ctx *c);
#include "analyse/rules.def"
#undef RULE

/* Findings -> verdict of the run. */
void decide(struct run_ctx *c);
/* Puts what a snapshot knows into the verdict's words: the line, and what it holds. */
void snapshot_say(struct run_ctx *c);

#endif

/* input: what became of one named input, for report.json's `inputs`. */
#ifndef OOMREPORT_MODEL_INPUT_H
#define OOMREPORT_MODEL_INPUT_H

#include "base/diag.h"

struct input_note {
    uint64_t line; /* 0: the file as a whole */
    const char *code, *text;
};

struct input_info {
    const char *name;               /* as the user gave it */
    const char *format;             /* name of the mapping, or NULL when it was not recognised */
    uint64_t size;                  /* [B] */
    uint64_t records;               /* records that were used */
    uint64_t skipped;               /* lines or records that could not be used */
    uint64_t events;                /* of the allocator, taken from a memory snapshot */
    double first_step, last_step;   /* least and greatest [step] that stand in it, used or not; NAN: none */
    bool has_memory;                /* some record had a memory figure */
    bool built_in;                  /* the mapping is one of ours */
    const struct input_note *notes; /* n_notes */
    size_t n_notes;
    struct past_report *past; /* the input was an earlier report: what it holds, the caller's to free */
    struct trace_file *trace; /* of a memory snapshot; given to builder_input_end, NULL afterwards */
};

#endif

/* oom_message: the figures in the text of a device out-of-memory error.
 *
 * Recognises PyTorch's wordings for CUDA, HIP, XPU, NPU and Metal from 1.0 on, the
 * cudaMallocAsync block, and errors without figures ("CUDA error: out of memory");
 * also when the text is wrapped, boxed, coloured or cut. Sizes in the text are
 * binary (GiB = 2^30) and rounded to two decimals. Knows nothing of files: it is
 * given text. Time is linear in the text, also when all its messages are asked for in turn. */
#ifndef OOMREPORT_READ_OOM_MESSAGE_H
#define OOMREPORT_READ_OOM_MESSAGE_H

#include "base/arena.h"
#include "base/str.h"
#include <stdint.h>

enum {
    OOM_PROCESS_MAX = 32
};

/* All sizes [B]; NAN when the text does not give them. */
struct oom_message {
    struct str text; /* the message within the text it was found in, hint left out */
    size_t end;      /* offset behind the message in that text */
    double device;   /* index [1] */
    double requested, total, free, allocated, reserved, unallocated, private_pools, this_process, allowed;
    struct {
        uint64_t pid;
        double bytes;
    } process[OOM_PROCESS_MAX]; /* other processes, n_process */
    size_t n_process;
    bool advises_expandable; /* the hint names expandable_segments, so it is not set */
};

/* Finds the first OOM message in text at or after offset from. False when there is none
 * (advice, documentation and source code that merely quote the words are none).
 * reserved is derived as allocated + private_pools + unallocated where the wording gives those
 * (torch >= 2.1; torch <= 1.3 prints reserved - allocated as "cached"). */
bool oom_message_find(struct oom_message *out, struct str text, size_t from);

#endif

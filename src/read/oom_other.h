/* oom_other: out-of-memory errors of other libraries than PyTorch's allocator, kills by the host, and what
 * logs say when a run goes on after an error. Knows nothing of files. */
#ifndef OOMREPORT_READ_OOM_OTHER_H
#define OOMREPORT_READ_OOM_OTHER_H

#include "read/oom_message.h"

/* As oom_message_find, for XLA and JAX, TensorFlow, NCCL, cuBLAS, cuDNN and the driver, and only for a
 * message whose words begin before the offset `before`. *out is cleared before by the caller; only text, end,
 * requested and device are set. */
bool oom_other_find(struct oom_message *out, struct str text, size_t from, size_t before);
/* True when the line says that the host killed a process: "Killed", exit code 137, signal 9. */
bool oom_kill_find(struct str line);
/* True when the line says that the run goes on: a batch is skipped or made smaller. */
bool oom_survived(struct str line);
/* True when the line names memory as the reason. */
bool oom_says_memory(struct str line);

#endif

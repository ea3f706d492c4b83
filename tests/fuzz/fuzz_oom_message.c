#include "read/oom_message.h"
#include <stdlib.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Every message lies within the text, and the search moves forward. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = {(const char *)data, size};
    struct oom_message m;
    for (size_t from = 0; oom_message_find(&m, text, from); from = m.end)
        if (m.end <= from || m.end > size || m.text.p < text.p || m.text.p + m.text.n > text.p + size ||
            m.n_process > OOM_PROCESS_MAX)
            abort();
    return 0;
}

/* Any bytes as the report.json of an earlier call: what it holds is within bounds, or there is a diagnostic.
 */
#include "read/past_report.h"
#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = {(const char *)data, size};
    struct diag d;
    diag_init(&d);
    past_report_detect(text);
    struct source *s = source_of_memory("report.json", text);
    struct past_report *report = past_report_read(s, "report.json", &d);
    assert(report || d.n > 0);
    past_report_free(report);
    source_close(s);
    diag_release(&d);
    return 0;
}

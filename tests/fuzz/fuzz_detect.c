/* Any bytes through the source and the detection: it is one of the syntaxes, or named, or
 * empty; and lines cover the decoded text without a gap. */
#include "read/read.h"
#include "read/source.h"
#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct source *s = source_of_memory("fuzz", (struct str){(const char *)data, size});
    struct str head = source_head(s);
    const char *what;
    enum syntax found = read_detect(head, &what);
    assert((what != NULL) <= (found == SYNTAX_COUNT));
    assert(head.n == 0 || found != SYNTAX_COUNT || what);
    struct diag d;
    struct line l;
    uint64_t lines = 0, next = 0;
    diag_init(&d);
    while (source_line(s, &l, &d)) {
        assert(l.number == ++lines);
        assert(l.offset >= next && l.offset <= next + 3); /* a byte order mark */
        assert(!memchr(l.text.p, '\n', l.text.n));
        assert(l.text.p[l.text.n] == '\n' || l.text.p[l.text.n] == '\r' || l.text.p[l.text.n] == 0);
        next = l.offset + l.text.n + (l.ended ? 1 + (l.text.p[l.text.n] == '\r') : 0);
    }
    source_close(s);
    diag_release(&d);
    return 0;
}

#include "report/page.h"

#include <math.h>

/* The anatomy of the failure: whose memory it was, what was asked, what was lacking. */

struct line {
    const char *what;
    double bytes;
    const char *note;
};

enum {
    LINE_MAX_MESSAGE = 800
};

/* The lines that are known, in `out`; their number. */
static size_t anatomy(struct line out[10], const struct failure *f, double capacity)
{
    double held = f->reserved_bytes - f->allocated_bytes;
    double total = isnan(f->total_bytes) ? capacity : f->total_bytes;
    const struct line all[] = {
        {"Capacity of the device", total, ""},
        {"Free", f->free_bytes, "of the device, at the failure"},
        {"This process", f->this_process_bytes, "with what lies outside PyTorch's allocator"},
        {"Other processes", f->other_process_bytes, ""},
        {"Allocated", f->allocated_bytes, "in live tensors"},
        {"Reserved", f->reserved_bytes, "held by the caching allocator"},
        {"Reserved but not allocated", held,
         held > f->requested_bytes ? "more than was asked, yet not in one piece" : ""},
        {"Asked", f->requested_bytes, "the allocation that failed; often not the root cause"},
        {"Lacking", f->requested_bytes > f->free_bytes ? f->requested_bytes - f->free_bytes : NAN,
         "asked minus free"},
    };
    size_t n = 0;

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (!isnan(all[i].bytes))
            out[n++] = all[i];
    return n;
}

bool section_message(struct page *p, struct tnode *root)
{
    struct arena *a = &p->arena;
    const struct run_report *r = p->lead;
    struct line lines[10];
    double largest = 0;

    if (!r || !r->has_failure)
        return false;
    const struct failure *f = &r->failure;
    bool figures = !isnan(f->requested_bytes) || !isnan(f->free_bytes) || !isnan(f->allocated_bytes);
    if (!figures)
        page_not_tested(p, "Whose memory it was at the failure",
                        "the log has no OOM message with figures; log the text of the exception (message).");
    if (!figures && !f->message)
        return false;
    size_t n = figures ? anatomy(lines, f, r->capacity_bytes) : 0;
    for (size_t i = 0; i < n; i++)
        largest = fmax(largest, lines[i].bytes);
    enum byte_unit u = num_byte_unit(largest);
    struct tnode *table = figures ? tnode_item(a, root, "table") : NULL;
    if (table)
        tnode_text(a, table, "unit", num_byte_unit_name(u));
    for (size_t i = 0; i < n; i++) {
        struct tnode *row = tnode_item(a, table, "rows");

        tnode_text(a, row, "what", lines[i].what);
        page_cell_bytes(p, row, "bytes", lines[i].bytes, u);
        tnode_text(a, row, "note", lines[i].note);
    }
    for (size_t i = 0; table && i < f->n_processes && i < 16; i++) {
        struct tnode *row = tnode_item(a, table, "rows");

        tnode_printf(a, row, "what", "Process %llu", (unsigned long long)f->processes[i].pid);
        page_cell_bytes(p, row, "bytes", (double)f->processes[i].bytes, u);
        tnode_text(a, row, "note", "named by the message");
    }
    page_optional(p, root, "message", "text",
                  f->message ? words_short(a, f->message, LINE_MAX_MESSAGE) : NULL);
    page_optional(p, root, "place", "where", words_place(a, f->where));
    return true;
}

#include "read/snapshot.h"
#include "base/utf8.h"
#include "read/pickle.h"
#include "read/snapshot_forms.h"
#include "read/source.h"
#include <inttypes.h>

static struct place whole(const struct source *s)
{
    return (struct place){source_name(s), 0, 0};
}

static bool pickle_text(struct str head)
{
    /* protocol 0 and 1: a dictionary or a list, memoised at once */
    static const char *const STARTS[] = {"(dp0\n", "(dp1\n", "(lp0\n", "(lp1\n", "}q", "]q", "(dp", "(lp"};
    for (size_t i = 0; i < sizeof STARTS / sizeof *STARTS; i++)
        if (str_starts(head, str_of(STARTS[i])))
            return true;
    return false;
}

enum snapshot_form snapshot_detect(struct str head)
{
    if (head.n >= 2 && head.p[0] == '\x80' && head.p[1] >= 1 && head.p[1] <= 5)
        return SNAPSHOT_PICKLE;
    if (pickle_text(head))
        return SNAPSHOT_PICKLE;
    if (snapshot_is_json(head))
        return SNAPSHOT_JSON;
    return snapshot_is_html(head) ? SNAPSHOT_HTML : SNAPSHOT_NONE;
}

size_t snapshot_source_read(void *ctx, char *p, size_t n)
{
    return source_raw(ctx, p, n);
}

/* --- what is said of it ------------------------------------------------------------- */

static void tell_names(struct diag *d, const struct source *s, const struct snap_build *b)
{
    const struct trace_names *names = &b->file->names;
    struct buf text = {0};
    if (b->unknown_actions) {
        utf8_put_visible(&text,
                         b->has_unknown_action ? trace_string_at(names, b->unknown_action) : STR_LIT("?"));
        diag_add(d, DIAG_SNAPSHOT_SKIPPED, whole(s),
                 "%" PRIu64 " entries with an action that is not known (\"%.40s\") were left out",
                 b->unknown_actions, text.p ? text.p : "");
        buf_clear(&text);
    }
    if (b->unknown_keys) {
        utf8_put_visible(&text, trace_string_at(names, b->unknown_key));
        diag_add(d, DIAG_SNAPSHOT_WINDOW, whole(s),
                 "%" PRIu64 " unknown keys were left out, the first is \"%.40s\"", b->unknown_keys,
                 text.p ? text.p : "");
    }
    buf_release(&text);
    if (b->strange_blocks)
        diag_add(d, DIAG_SNAPSHOT_SKIPPED, whole(s),
                 "%" PRIu64 " blocks or segments of an unknown state, an impossible size or in no order were "
                 "left out or taken as inactive",
                 b->strange_blocks);
    if (b->strange_items)
        diag_add(d, DIAG_SNAPSHOT_SKIPPED, whole(s),
                 "%" PRIu64 " list items that mean nothing here were left out", b->strange_items);
}

static void tell_device(struct diag *d, const struct source *s, const struct trace_device *t)
{
    if (t->first || t->after)
        diag_add(d, DIAG_SNAPSHOT_WINDOW, whole(s),
                 "device %u: %" PRIu64 " of its %" PRIu64 " events were chosen by --events",
                 (unsigned)t->index, t->n, t->first + t->n + t->after);
    if (t->impossible)
        diag_add(d, DIAG_SNAPSHOT_SKIPPED, whole(s),
                 "device %u: %" PRIu64 " entries without a size or with one that no device has were left out",
                 (unsigned)t->index, t->impossible);
    if (t->replaced)
        diag_add(d, DIAG_SNAPSHOT_WINDOW, whole(s),
                 "device %u: %" PRIu64
                 " allocations at an address that was still open: their frees are not in "
                 "the trace",
                 (unsigned)t->index, t->replaced);
    if (t->truncated && !t->first)
        diag_add(d, DIAG_SNAPSHOT_WINDOW, whole(s),
                 "device %u: the trace begins after the first allocation (%" PRIu64 " frees and %" PRIu64
                 " blocks have no allocation in it); peaks before it are not known",
                 (unsigned)t->index, t->unmatched, t->untraced);
}

static void tell_all(struct diag *d, const struct source *s, const struct snap_build *b, uint64_t *skipped)
{
    tell_names(d, s, b);
    *skipped += b->unknown_actions + b->strange_blocks + b->strange_items;
    for (size_t i = 0; i < b->file->n_devices; i++) {
        tell_device(d, s, b->file->devices[i]);
        *skipped += b->file->devices[i]->impossible;
    }
}

/* --- pickle ------------------------------------------------------------------------- */

/* Bytes behind STOP: zeros are padding (trace_plot writes up to three). */
static void trailing(struct raw *in, const struct source *s, struct diag *d)
{
    uint64_t n = 0;
    bool zeros = true;
    do {
        for (size_t i = in->at; i < in->end; i++)
            zeros &= in->w[i] == 0;
        n += in->end - in->at;
        in->at = in->end;
    } while (raw_fill(in));
    if (n > 3 || !zeros)
        diag_add(d, DIAG_TRAILING_BYTES, whole(s),
                 "%" PRIu64 " bytes behind the end of the pickle were left out", n);
}

bool snapshot_pickle(struct raw *in, struct snap_build *b, const struct source *s, struct diag *d)
{
    struct arena a = {0};
    struct pickle_result r = pickle_read(in, b, &a);
    bool found = r.end != PICKLE_REFUSED && snap_build_finish(b);
    if (r.end == PICKLE_REFUSED)
        diag_add(d, DIAG_NOT_RECOGNISED, whole(s), "not a memory snapshot: %s (nothing was executed)", r.why);
    else if (!found && r.end == PICKLE_WHOLE)
        diag_add(d, DIAG_NOT_RECOGNISED, whole(s),
                 "not a memory snapshot: a pickle without segments and device_traces; expected what "
                 "torch.cuda.memory._dump_snapshot writes");
    else if (!found)
        diag_add(d, r.end == PICKLE_CUT ? DIAG_BAD_SNAPSHOT : DIAG_NOT_RECOGNISED, whole(s),
                 "not a memory snapshot, or too little of one: %s", r.why);
    else if (r.end == PICKLE_CUT)
        diag_add(d, DIAG_SNAPSHOT_CUT, whole(s), "%s; what was read is used", r.why);
    else if (r.end == PICKLE_DAMAGED)
        diag_add(d, DIAG_BAD_SNAPSHOT, whole(s), "damaged: %s; what was read before is used", r.why);
    else
        trailing(in, s, d);
    arena_release(&a);
    return found;
}

struct trace_file *snapshot_read(struct source *s, enum snapshot_form form, struct trace_window window,
                                 uint64_t *skipped, struct diag *d)
{
    struct trace_file *t = trace_file_new();
    t->window = window;
    struct snap_build b;
    snap_build_init(&b, t);
    bool found = false;
    if (form == SNAPSHOT_PICKLE) {
        struct raw in;
        raw_init(&in, snapshot_source_read, s);
        found = snapshot_pickle(&in, &b, s, d);
        raw_release(&in);
    } else if (form == SNAPSHOT_JSON) {
        found = snapshot_json(s, &b, d);
    } else if (form == SNAPSHOT_HTML) {
        found = snapshot_html(s, &b, d);
    }
    source_end(s, d);
    if (found)
        tell_all(d, s, &b, skipped);
    snap_build_release(&b);
    if (found)
        return t;
    trace_file_free(t);
    return NULL;
}

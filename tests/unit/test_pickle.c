#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/arena.h"
#include "read/pickle.h"
#include <stdio.h>
#include <stdlib.h>

/* Bytes to be read. */
struct feed {
    const char *p;
    size_t left;
};

static size_t feed_read(void *ctx, char *p, size_t n)
{
    struct feed *f = ctx;
    size_t got = f->left < n ? f->left : n;
    memcpy(p, f->p, got);
    f->p += got;
    f->left -= got;
    return got;
}

struct reading {
    struct trace_file *file;
    struct snap_build b;
    struct arena a;
    struct pickle_result r;
    bool found;
};

static void read_bytes(struct reading *x, const char *p, size_t n)
{
    struct feed f = {p, n};
    struct raw in;
    *x = (struct reading){.file = trace_file_new()};
    snap_build_init(&x->b, x->file);
    raw_init(&in, feed_read, &f);
    x->r = pickle_read(&in, &x->b, &x->a);
    x->found = x->r.end != PICKLE_REFUSED && snap_build_finish(&x->b);
    raw_release(&in);
}

static void reading_release(struct reading *x)
{
    snap_build_release(&x->b);
    trace_file_free(x->file);
    arena_release(&x->a);
}

static void assert_refused(const char *p, size_t n, const char *why)
{
    struct reading x;
    read_bytes(&x, p, n);
    assert_int_equal(x.r.end, PICKLE_REFUSED);
    assert_string_equal(x.r.why, why);
    reading_release(&x);
}
#define REFUSED(bytes, why) assert_refused(bytes, sizeof(bytes) - 1, why)

static void what_imports_or_calls_is_refused_by_name_and_offset(void **state)
{
    (void)state;
    REFUSED("\x80\x02(K\x01K\x02K\x03K\x04K\x05K\x06"
            "cos\nsystem\n.",
            "GLOBAL os.system at byte 15");
    REFUSED("\x80\x04\x8c\x02os\x8c\x06system\x93.", "STACK_GLOBAL os.system at byte 14");
    REFUSED("\x80\x02K\x01)R.", "REDUCE at byte 5");
    REFUSED("(ios\nsystem\n.", "INST os.system at byte 1");
    REFUSED("\x80\x02K\x01K\x01"
            "b.",
            "BUILD at byte 6");
    REFUSED("\x80\x02\x82\x01.", "EXT1 at byte 2");
    REFUSED("\x80\x02P7\n.", "PERSID at byte 2");
    REFUSED("\x80\x02K\x01Q.", "BINPERSID at byte 4");
    REFUSED("\x80\x04)\x81.", "NEWOBJ at byte 3");
    REFUSED("\x80\x05\x97.", "NEXT_BUFFER at byte 2");
}

static void a_name_with_control_characters_is_shown_escaped(void **state)
{
    (void)state;
    REFUSED("\x80\x02"
            "co\x1b[31ms\nsystem\n.",
            "GLOBAL o\\x1B[31ms.system at byte 2");
}

static void an_import_that_is_cut_off_is_refused_all_the_same(void **state)
{
    (void)state;
    REFUSED("\x80\x02"
            "cos\nsys",
            "GLOBAL os at byte 2");
}

/* {"segments": [{"device": 0, "address": 4096, "total_size": 2097152, "blocks":
 *  [{"address": 4096, "size": 1024, "requested_size": 1000, "state": "active_allocated"}]}],
 *  "device_traces": [[{"action": "alloc", "addr": 4096, "size": 1000},
 *                     {"action": "alloc", "addr": 8192, "size": 300},
 *                     {"action": "free_requested", "addr": 8192, "size": 300}]]} in protocol 2 */
static const char SMALL[] =
    "\x80\x02}q\x00(X\x08\x00\x00\x00segmentsq\x01]q\x02}q\x03(X\x06\x00\x00\x00"
    "deviceq\x04K\x00X\x07\x00\x00\x00"
    "addressq\x05M\x00\x10X\x0a\x00\x00\x00total_sizeq\x06J\x00\x00\x20\x00X\x06\x00\x00\x00"
    "blocksq\x07]q\x08}q\x09("
    "h\x05M\x00\x10X\x04\x00\x00\x00sizeq\x0aM\x00\x04X\x0e\x00\x00\x00requested_"
    "sizeq\x0bM\xe8\x03X\x05\x00\x00\x00"
    "stateq\x0cX\x10\x00\x00\x00"
    "active_allocatedq\x0duauaX\x0d\x00\x00\x00"
    "device_tracesq\x0e]q\x0f]q\x10(}q\x11("
    "X\x06\x00\x00\x00"
    "actionq\x12X\x05\x00\x00\x00"
    "allocq\x13X\x04\x00\x00\x00"
    "addrq\x14M\x00\x10h\x0aM\xe8\x03u}q\x15("
    "h\x12h\x13h\x14M\x00\x20h\x0aM\x2c\x01u}q\x16(h\x12X\x0e\x00\x00\x00"
    "free_requestedq\x17h\x14M\x00\x20h\x0aM\x2c\x01u"
    "eau.";

static void a_small_snapshot_is_replayed(void **state)
{
    (void)state;
    struct reading x;
    read_bytes(&x, SMALL, sizeof SMALL - 1);
    assert_int_equal(x.r.end, PICKLE_WHOLE);
    assert_true(x.found);
    assert_int_equal(x.file->n_devices, 1);
    const struct trace_device *d = x.file->devices[0];
    assert_int_equal(d->n, 3);
    assert_int_equal(d->totals.peak, 1300);
    assert_int_equal(d->totals.peak_event, 1);
    assert_int_equal(d->totals.live_end, 1000);
    assert_int_equal(d->totals.base, 0);
    assert_int_equal(d->totals.reserved, 2097152);
    assert_int_equal(d->unmatched, 0);
    assert_false(d->truncated);
    reading_release(&x);
}

static void a_file_cut_at_any_byte_gives_what_came_before(void **state)
{
    (void)state;
    uint64_t events = 0;
    for (size_t n = 0; n < sizeof SMALL - 1; n++) {
        char *copy = malloc(n + 1);
        struct reading x;
        memcpy(copy, SMALL, n);
        read_bytes(&x, copy, n);
        assert_int_equal(x.r.end, PICKLE_CUT);
        uint64_t now = x.file->n_devices ? x.file->devices[0]->n : 0;
        assert_true(now >= events && now <= events + 1);
        events = now;
        reading_release(&x);
        free(copy);
    }
    assert_int_equal(events, 3);
}

static void protocol_zero_writes_items_one_by_one(void **state)
{
    (void)state;
    static const char TEXT[] =
        "(dp0\nVdevice_traces\np1\n(lp2\n(lp3\n(dp4\nVaction\np5\nValloc\np6\nsVaddr\np7\nI4096\ns"
        "Vsize\np8\nL500L\nsa(dp9\ng5\nVfree_completed\np10\nsg7\nI4096\nsg8\nI500\nsaasVsegments\n(lp11\ns.";
    struct reading x;
    read_bytes(&x, TEXT, sizeof TEXT - 1);
    assert_int_equal(x.r.end, PICKLE_WHOLE);
    assert_true(x.found);
    assert_int_equal(x.file->devices[0]->n, 2);
    assert_int_equal(x.file->devices[0]->totals.peak, 500);
    assert_int_equal(x.file->devices[0]->totals.live_end, 0);
    reading_release(&x);
}

/* PyTorch's C++ pickler: every container with a mark, memoised after its items, one batch. */
static void lists_memoised_behind_their_items_are_shared(void **state)
{
    (void)state;
    static const char BYTES[] =
        "\x80\x02}(X\x0d\x00\x00\x00"
        "device_tracesq\x00](](}(X\x06\x00\x00\x00"
        "actionq\x01X\x05\x00\x00\x00"
        "allocq\x02"
        "X\x04\x00\x00\x00"
        "addrq\x03K\x01X\x04\x00\x00\x00sizeq\x04K\x07X\x06\x00\x00\x00"
        "framesq\x05](}(X\x04\x00\x00\x00"
        "nameq\x06X\x01\x00\x00\x00"
        "fq\x07X\x08\x00\x00\x00"
        "filenameq\x08X\x04\x00\x00\x00"
        "a.pyq\x09X\x04\x00\x00\x00lineq\x0aK\x03"
        "uq\x0b"
        "eq\x0cuq\x0d}(h\x01h\x02h\x03K\x02h\x04K\x07h\x05h\x0cu}(h\x01h\x02h\x03K\x03h\x04K\x07h\x05](h\x0b"
        "eu}(h\x01h\x02"
        "h\x03K\x04h\x04K\x07h\x05](euee"
        "X\x08\x00\x00\x00segmentsq\x0e](eu.";
    struct reading x;
    read_bytes(&x, BYTES, sizeof BYTES - 1);
    assert_int_equal(x.r.end, PICKLE_WHOLE);
    const struct trace_device *d = x.file->devices[0];
    assert_int_equal(d->n, 4);
    assert_int_equal(d->n_classes, 2); /* the same stack three times, and none */
    assert_int_equal(x.file->names.n_stacks, 2);
    uint32_t frames[TRACE_DEPTH_MAX];
    assert_int_equal(trace_stack_frames(&x.file->names, 1, frames), 1);
    assert_int_equal(x.file->names.frames[frames[0]].line, 3);
    reading_release(&x);
}

static void assert_ends(const char *p, size_t n, enum pickle_end end)
{
    struct reading x;
    read_bytes(&x, p, n);
    assert_int_equal(x.r.end, end);
    assert_false(x.found);
    if (end != PICKLE_WHOLE)
        assert_non_null(x.r.why);
    reading_release(&x);
}
#define ENDS(bytes, end) assert_ends(bytes, sizeof(bytes) - 1, end)

static void hostile_bytes_end_with_a_reason(void **state)
{
    (void)state;
    ENDS("\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\xff", PICKLE_CUT); /* a frame larger than any file */
    ENDS("\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\x7f"
         "abc",
         PICKLE_CUT);                                    /* a string likewise */
    ENDS("\x80\x02]r\xff\xff\xff\x7f.", PICKLE_DAMAGED); /* a memo entry that cannot be */
    ENDS("\x80\x02h\x05.", PICKLE_DAMAGED);              /* one that was never filled */
    ENDS("\x80\x02"
         "e.",
         PICKLE_DAMAGED);
    ENDS("\x80\x02(u.", PICKLE_DAMAGED);
    ENDS("\x80\x02K\x01"
         "a.",
         PICKLE_DAMAGED);
    ENDS("\x80\x02"
         "0.",
         PICKLE_DAMAGED);
    ENDS("\x80\x09.", PICKLE_DAMAGED);
    ENDS("\x80\x02K\x01K\x02.", PICKLE_DAMAGED);
    ENDS("\x80\x02]q\x00h\x00"
         "a.",
         PICKLE_WHOLE); /* a list that holds itself */
    ENDS("\x80\x02}q\x00K\x01h\x00s.", PICKLE_WHOLE);
    ENDS("\x80\x02]q\x00(h\x00h\x00h\x00"
         "e.",
         PICKLE_WHOLE);
}

static void nesting_without_end_stops(void **state)
{
    (void)state;
    enum {
        N = 3 * 1000 * 1000
    };
    static const char OPS[] = {'(', ']', '}', '2', 'K'};
    char *p = malloc(N);
    for (size_t k = 0; k < sizeof OPS; k++) {
        memset(p, OPS[k], N);
        p[0] = 'N';
        struct reading x;
        read_bytes(&x, p, N);
        assert_int_not_equal(x.r.end, PICKLE_WHOLE);
        assert_false(x.found);
        reading_release(&x);
    }
    free(p);
}

static void a_list_of_any_length_in_one_batch_is_taken_as_it_comes(void **state)
{
    (void)state;
    struct buf b = {0};
    static const char BEGIN[] = "\x80\x02}(X\x0d\x00\x00\x00"
                                "device_tracesq\x00](](}(X\x06\x00\x00\x00"
                                "actionq\x01"
                                "X\x05\x00\x00\x00"
                                "allocq\x02X\x04\x00\x00\x00"
                                "addrq\x03K\x00X\x04\x00\x00\x00sizeq\x04K\x01u";
    enum {
        MORE = 20000
    };
    buf_put(&b, BEGIN, sizeof BEGIN - 1);
    for (int i = 1; i <= MORE; i++) {
        char addr[] = {'J', (char)i, (char)(i >> 8), (char)(i >> 16), 0};
        buf_put(&b, "}(h\x01h\x02h\x03", 8);
        buf_put(&b, addr, 5);
        buf_put(&b, "h\x04K\x01u", 5);
    }
    buf_put(&b, "eeu.", 4);
    struct reading x;
    read_bytes(&x, b.p, b.n);
    assert_int_equal(x.r.end, PICKLE_WHOLE);
    assert_int_equal(x.file->devices[0]->n, MORE + 1);
    assert_int_equal(x.file->devices[0]->totals.peak, MORE + 1);
    reading_release(&x);
    buf_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_imports_or_calls_is_refused_by_name_and_offset),
        cmocka_unit_test(a_name_with_control_characters_is_shown_escaped),
        cmocka_unit_test(an_import_that_is_cut_off_is_refused_all_the_same),
        cmocka_unit_test(a_small_snapshot_is_replayed),
        cmocka_unit_test(a_file_cut_at_any_byte_gives_what_came_before),
        cmocka_unit_test(protocol_zero_writes_items_one_by_one),
        cmocka_unit_test(lists_memoised_behind_their_items_are_shared),
        cmocka_unit_test(hostile_bytes_end_with_a_reason),
        cmocka_unit_test(nesting_without_end_stops),
        cmocka_unit_test(a_list_of_any_length_in_one_batch_is_taken_as_it_comes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

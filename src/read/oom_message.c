#include "read/oom_message.h"
#include "read/oom_other.h"
#include "read/wrapped.h"
#include <math.h>

enum {
    CLAUSE_MAX = 64,  /* clauses of one message */
    LABEL_MAX = 64,   /* characters of a figure's label */
    HINT_MAX = 32,    /* pieces of the hint */
    LINE_BEFORE = 400 /* [B] looked at before a message to see who is speaking */
};

/* A size with its unit [B]. Metal says "GB" and means GiB. A wrapped unsigned
 * number (17179869184.00 GiB) stands for "no limit" and is unknown. */
static bool size(struct wrapped *c, double *out)
{
    static const struct {
        const char *name;
        double bytes;
    } unit[] = {{"bytes", 1.0},  {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30},
                {"TiB", 0x1p40}, {"KB", 0x1p10},  {"MB", 0x1p20},  {"GB", 0x1p30}};
    size_t start = c->i;
    double v;
    if (wrapped_number(c, &v)) {
        for (size_t k = 0; k < sizeof unit / sizeof unit[0]; k++) {
            if (!wrapped_match(c, unit[k].name))
                continue;
            v *= unit[k].bytes;
            *out = v >= 0x1p60 ? NAN : v;
            return true;
        }
    }
    c->i = start;
    return false;
}

static void clear(struct oom_message *m)
{
    m->text = (struct str){NULL, 0};
    m->end = 0;
    m->device = m->requested = m->total = m->free = m->allocated = m->reserved = m->unallocated = NAN;
    m->private_pools = m->this_process = m->allowed = NAN;
    m->n_process = 0;
    m->advises_expandable = false;
}

static double or_zero(double v)
{
    return isnan(v) ? 0.0 : v;
}

/* A figure of the older wordings, "8.87 GiB already allocated": the label says which. */
static void older_figure(struct oom_message *m, struct wrapped *c, double v)
{
    if (wrapped_match(c, "totalcapacity"))
        m->total = v;
    else if (wrapped_match(c, "alreadyallocated"))
        m->allocated = v;
    else if (wrapped_match(c, "free"))
        m->free = v;
    else if (wrapped_match(c, "allowed"))
        m->allowed = v;
    else if (wrapped_match(c, "reservedintotalbyPyTorch"))
        m->reserved = v;
    else if (wrapped_match(c, "cached"))
        m->unallocated = v; /* torch <= 1.3 prints reserved - allocated here */
}

/* "(GPU 0; 23.52 GiB total capacity; …)": torch <= 2.0 and NPU. Ends where the text stops making sense. */
static void older_figures(struct oom_message *m, struct wrapped *c)
{
    double device;
    struct wrapped in = *c;
    if (!wrapped_match(&in, "(") || !(wrapped_match(&in, "GPU") || wrapped_match(&in, "NPU")))
        return;
    if (wrapped_number(&in, &device) && wrapped_match(&in, ";"))
        m->device = device;
    else if (!wrapped_match(&in, ";"))
        return;
    *c = in;
    for (int k = 0; k < CLAUSE_MAX; k++) {
        double v;
        if (!size(&in, &v))
            return;
        older_figure(m, &in, v);
        for (int skipped = 0; skipped < LABEL_MAX && in.i < in.n; skipped++) {
            if (in.p[in.i] == ';' || in.p[in.i] == ')')
                break;
            wrapped_skip(&in);
            if (in.i < in.n && in.p[in.i] == '\n')
                return; /* cut off */
            if (in.i < in.n && in.p[in.i] != ';' && in.p[in.i] != ')')
                in.i++;
        }
        *c = in;
        if (wrapped_match(&in, ")")) {
            *c = in;
            return;
        }
        if (!wrapped_match(&in, ";"))
            return;
    }
}

/* "Process 77 has 1.20 GiB memory in use." */
static bool process_clause(struct oom_message *m, struct wrapped *c)
{
    struct wrapped in = *c;
    double pid, bytes;
    if (!wrapped_match(&in, "Process") || !wrapped_number(&in, &pid) || !wrapped_match(&in, "has") ||
        !size(&in, &bytes) || !wrapped_match(&in, "memoryinuse."))
        return false;
    if (m->n_process < OOM_PROCESS_MAX && pid < 0x1p53 && !isnan(bytes)) {
        m->process[m->n_process].pid = (uint64_t)pid;
        m->process[m->n_process++].bytes = bytes;
    }
    *c = in;
    return true;
}

/* before, a size, after; sets *out and moves on only when all three are there. */
static bool figure(struct wrapped *c, const char *before, double *out, const char *after)
{
    struct wrapped in = *c;
    double v;
    if (!wrapped_match(&in, before) || !size(&in, &v))
        return false;
    *out = v;
    *c = in; /* a figure counts even where the text ends behind it */
    if (wrapped_match(&in, after))
        *c = in;
    return true;
}

static bool newer_clause(struct oom_message *m, struct wrapped *c)
{
    if (process_clause(m, c) || figure(c, "ofwhich", &m->free, "isfree.") ||
        figure(c, "IncludingnonPyTorchmemory,thisprocesshas", &m->this_process, "memoryinuse.") ||
        figure(c, "Includingnon-PyTorchmemory,thisprocesshas", &m->this_process, "memoryinuse.") ||
        figure(c, "Oftheallocatedmemory", &m->allocated, "isallocatedbyPyTorch,") ||
        figure(c, "and", &m->unallocated, "isreservedbyPyTorchbutunallocated."))
        return true;
    if (figure(c, "with", &m->private_pools, "allocatedinprivatepools")) {
        if (wrapped_match(c, "(e.g.,") &&
            (wrapped_match(c, "CUDA") || wrapped_match(c, "HIP") || wrapped_match(c, "XPU")))
            wrapped_match(c, "Graphs),");
        return true;
    }
    struct wrapped in = *c;
    double v;
    if (size(&in, &v) && wrapped_match(&in, "allowed;")) {
        m->allowed = v;
        *c = in;
        return true;
    }
    return wrapped_match(c, ".");
}

/* ". GPU 0 has a total capacity of …": torch >= 2.1. Some builds of 2.3 end
 * after "GPU" (the index was printed as a control byte). */
static void newer_figures(struct oom_message *m, struct wrapped *c)
{
    struct wrapped in = *c;
    double device = NAN;
    if (!wrapped_match(&in, ".GPU"))
        return;
    if (wrapped_number(&in, &device) && wrapped_match(&in, "hasatotal")) {
        m->device = device;
    } else {
        in = *c;
        wrapped_match(&in, ".GPU");
        *c = in;
        wrapped_skip(&in);
        if (in.i < in.n && (unsigned char)in.p[in.i] < 0x20 && in.p[in.i] != '\n' && in.p[in.i] != '\r')
            in.i++;
        if (!wrapped_match(&in, "hasatotal"))
            return;
    }
    *c = in;
    if (!figure(c, "capacityof", &m->total, ".") && !figure(c, "capactyof", &m->total, "."))
        return;
    for (int k = 0; k < CLAUSE_MAX && newer_clause(m, c); k++)
        continue;
}

/* What PyTorch advises after the figures. */
static void hint(struct oom_message *m, struct wrapped *c)
{
    static const char *const piece[] = {
        "Ifreservedmemoryis",
        "Ifreservedbutunallocatedmemoryislarge",
        ">>",
        "&gt;&gt;",
        "\\u003e\\u003e",
        "allocatedmemory",
        "trysetting",
        "max_split_size_mb",
        "PYTORCH_CUDA_ALLOC_CONF",
        "PYTORCH_HIP_ALLOC_CONF",
        "PYTORCH_NPU_ALLOC_CONF",
        "PYTORCH_ALLOC_CONF",
        "toavoidfragmentation.",
        "SeedocumentationforMemoryManagement",
        "and",
        "(https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)",
        "Pleaseuse`empty_cache`toreleasealloccupiedcachedmemory.",
        "Pleaseuse`empty_cache`toreleaseallunoccupiedcachedmemory.",
        "UsePYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0",
        "todisableupperlimitformemoryallocations",
        "(maycausesystemfailure)."};
    struct wrapped in = *c;
    wrapped_match(&in, ".");
    if (!wrapped_match(&in, "Ifreserved") && !wrapped_match(&in, "Pleaseuse") &&
        !wrapped_match(&in, "UsePYTORCH"))
        return;
    in = *c;
    wrapped_match(&in, ".");
    for (int k = 0; k < HINT_MAX; k++) {
        bool any = false;
        if (wrapped_match(&in, "=expandable_segments:True"))
            any = m->advises_expandable = true;
        for (size_t i = 0; !any && i < sizeof piece / sizeof piece[0]; i++)
            any = wrapped_match(&in, piece[i]);
        if (!any)
            break;
    }
    *c = in;
}

static void metal_figures(struct oom_message *m, struct wrapped *c)
{
    double other = NAN;
    if (figure(c, "(MPSallocated:", &m->allocated, ",otherallocations:"))
        if (figure(c, "", &other, ",maxallowed:"))
            figure(c, "", &m->allowed, "");
    m->this_process = m->allocated + other;
    wrapped_match(c, ").");
    if (figure(c, "Triedtoallocate", &m->requested, "on") &&
        (wrapped_match(c, "shared") || wrapped_match(c, "private")))
        wrapped_match(c, "pool.");
}

/* The block of the cudaMallocAsync backend, behind "Allocation on device ". */
static bool async_figures(struct oom_message *m, struct wrapped *c)
{
    struct wrapped in = *c;
    double device;
    if (!wrapped_number(&in, &device) || !wrapped_match(&in, "wouldexceedallowedmemory."))
        return false;
    m->device = device;
    wrapped_match(&in, "(outofmemory)");
    figure(&in, "Currentlyallocated:", &m->allocated, "");
    figure(&in, "Requested:", &m->requested, "");
    figure(&in, "Devicelimit:", &m->total, "");
    figure(&in, "Free(accordingtoCUDA):", &m->free, "");
    figure(&in, "PyTorchlimit(setbyuser-suppliedmemoryfraction):", &m->allowed, "");
    *c = in;
    return true;
}

/* The line in front of offset i, at most LINE_BEFORE bytes of it. */
static struct str line_before(struct str t, size_t i)
{
    size_t from = i;
    while (from > 0 && i - from < LINE_BEFORE && t.p[from - 1] != '\n' && t.p[from - 1] != '\r')
        from--;
    return (struct str){t.p + from, i - from};
}

static bool is_quote(char ch)
{
    return ch == '"' || ch == '\'' || ch == '`';
}

/* True when the words at offset i are quoted by source code, or by advice. */
static bool merely_quoted(struct str t, size_t i)
{
    static const char *const advice[] = {"if you ",     "If you ",     "such as ",
                                         "e.g. ",       "for example", "errors like ",
                                         "error like ", "In case of ", "in case of "};
    static const char *const source[] = {"raise ", "print(",  "if ",      "elif ",     "assert ", "return ",
                                         "except", "logger.", "logging.", "warnings.", "in ",     "log."};
    struct str before = line_before(t, i);
    for (size_t k = 0; k < sizeof advice / sizeof advice[0]; k++)
        if (str_has(before, advice[k]))
            return true;
    struct str start = before;
    while (start.n > 0 && (start.p[0] == ' ' || start.p[0] == '\t'))
        start = (struct str){start.p + 1, start.n - 1};
    if (str_starts(start, STR_LIT("# ")) || str_starts(start, STR_LIT("//")) ||
        str_starts(start, STR_LIT("* ")))
        return true;
    if (i == 0 || !is_quote(t.p[i - 1]))
        return false;
    /* pretty tracebacks print the source line behind a bar and a line number */
    while (start.n > 0) {
        size_t o = wrapped_ornament(start.p, start.n, 0);
        if (o == 0 && ((start.p[0] >= '0' && start.p[0] <= '9') || start.p[0] == ' '))
            o = 1;
        if (o == 0)
            break;
        start = (struct str){start.p + o, start.n - o};
    }
    for (size_t k = 0; k < sizeof source / sizeof source[0]; k++)
        if (str_starts(start, str_of(source[k])))
            return true;
    return str_has(before, " = \"") || str_has(before, " = '") || str_has(before, "==");
}

/* Wordings without figures count only where an error itself speaks: "RuntimeError: ", "Error('". */
static bool spoken_by_error(struct str t, size_t i)
{
    struct str before = line_before(t, i);
    size_t n = before.n;
    if (n > 0 && is_quote(before.p[n - 1]))
        return n > 7 && memcmp(before.p + n - 7, "Error(", 6) == 0;
    return true;
}

/* The device's name in front of "out of memory" at offset i; (size_t)-1 when there is none. */
static size_t device_name(struct str t, size_t i)
{
    static const char *const name[] = {"CUDA", "HIP", "XPU", "NPU", "MPSbackend"};
    for (size_t k = 0; k < sizeof name / sizeof name[0]; k++) {
        size_t at = wrapped_match_back(t, i, name[k]);
        if (at != (size_t)-1)
            return at;
    }
    return (size_t)-1;
}

/* Messages without figures: the driver's error code, torch <= 1.0 and anything outside the allocator. */
static bool bare_error(struct oom_message *m, struct str t, size_t i, struct wrapped *c)
{
    static const char *const form[] = {
        "CUDAerror:", "HIPerror:", "cudaruntimeerror(2):", "cudaMallocfailed:", "Error:CUDA"};
    for (size_t k = 0; k < sizeof form / sizeof form[0]; k++) {
        size_t at = wrapped_match_back(t, i, form[k]);
        if (at == (size_t)-1)
            continue;
        if (k == 4)
            at = wrapped_match_back(t, i, "CUDA");
        if (!spoken_by_error(t, at) || merely_quoted(t, at))
            return false;
        m->text = (struct str){t.p + at, c->i - at};
        m->end = c->i;
        return true;
    }
    return false;
}

/* A message around "out of memory"; words = its offset, c behind it. */
static bool around_words(struct oom_message *m, struct str t, size_t words, struct wrapped *c)
{
    size_t start = device_name(t, words);
    if (start == (size_t)-1)
        return bare_error(m, t, words, c);
    struct wrapped figures = *c;
    bool known = false;
    if (t.p[start] == 'M') {
        metal_figures(m, &figures);
        known = !isnan(m->allocated) || !isnan(m->requested);
    } else if (wrapped_match(&figures, ".Triedtoallocatemorethan1EBmemory.")) {
        known = true;
    } else if (figure(&figures, ".Triedtoallocate", &m->requested, "")) {
        known = true;
        older_figures(m, &figures);
        newer_figures(m, &figures);
    }
    if (!known)
        return bare_error(m, t, words, c);
    if (merely_quoted(t, start))
        return false;
    if (isnan(m->reserved) && !isnan(m->unallocated))
        m->reserved = m->allocated + m->unallocated + or_zero(m->private_pools);
    m->text = (struct str){t.p + start, figures.i - start};
    hint(m, &figures);
    m->end = figures.i;
    return true;
}

/* "Allocation on device 0 would exceed allowed memory."; words = its offset, c behind "device". */
static bool async_block(struct oom_message *m, struct str t, size_t words, struct wrapped *c)
{
    /* torch 2.2-2.9 cut the text here on device 0 */
    if (!async_figures(m, c) && wrapped_match_back(t, words, "OutOfMemoryError:") == (size_t)-1)
        return false;
    if (merely_quoted(t, words))
        return false;
    m->text = (struct str){t.p + words, c->i - words};
    m->end = c->i;
    return true;
}

static bool find_in_allocator(struct oom_message *out, struct str text, size_t from)
{
    clear(out);
    for (size_t i = from; i < text.n; i++) {
        char first = text.p[i];
        if (first != 'o' && first != 'A')
            continue;
        struct wrapped c = {text.p, text.n, i};
        if (!wrapped_match(&c, first == 'o' ? "outofmemory" : "Allocationondevice"))
            continue;
        clear(out);
        if (first == 'o' ? around_words(out, text, i, &c) : async_block(out, text, i, &c))
            return true;
    }
    clear(out);
    return false;
}

bool oom_message_find(struct oom_message *out, struct str text, size_t from)
{
    struct oom_message other;
    bool found = find_in_allocator(out, text, from);
    size_t before = found ? (size_t)(out->text.p - text.p) : text.n;
    clear(&other);
    if (from >= before || !oom_other_find(&other, text, from, before))
        return found;
    *out = other;
    return true;
}

#include "analyse/sites.h"

#include "base/mem.h"
#include "base/utf8.h"

#include <inttypes.h>

/* /usr/lib/python3.11/json/decoder.py, …/lib/python3.12/threading.py, C:\Python311\Lib\threading.py */
static bool standard_library(struct str file)
{
    size_t at = str_find(file, STR_LIT("/lib/python"));
    if (at != (size_t)-1 && at + 11 < file.n && file.p[at + 11] >= '0' && file.p[at + 11] <= '9')
        return true;
    at = str_find(file, STR_LIT("\\Lib\\"));
    return at != (size_t)-1 && str_has(file, "ython");
}

static bool framework(struct str file)
{
    static const char *const PARTS[] = {"torch/nn/",         "torch/optim/",        "torch/autograd/",
                                        "torch/utils/",      "torch/_dynamo/",      "torch/_inductor/",
                                        "torch/_functorch/", "torch/distributed/",  "torch/cuda/",
                                        "torch/_",           "torch/fx/",           "torchinductor_",
                                        "torch/storage.py",  "torch/functional.py", "torch/serialization.py"};
    for (size_t i = 0; i < sizeof PARTS / sizeof *PARTS; i++)
        if (str_has(file, PARTS[i]))
            return true;
    return false;
}

enum frame_kind site_frame_kind(struct str file)
{
    if (!trace_file_is_python(file))
        return FRAME_FOREIGN;
    if (file.p[0] == '<') /* typed in by the user, or made by a program */
        return str_has(file, "<stdin>") || str_has(file, "ipython") ? FRAME_USER : FRAME_PACKAGE;
    if (str_has(file, "site-packages") || str_has(file, "dist-packages") || standard_library(file) ||
        framework(file))
        return FRAME_PACKAGE;
    return FRAME_USER;
}

uint8_t *site_frame_kinds(const struct trace_names *names)
{
    uint8_t *kinds = mem_alloc(names->n_frames + 1);
    for (size_t i = 0; i < names->n_frames; i++)
        kinds[i] = (uint8_t)site_frame_kind(trace_string_at(names, names->frames[i].file));
    return kinds;
}

uint32_t site_of_stack(const struct trace_names *names, const uint8_t *kinds, uint32_t stack)
{
    const unsigned char *p = trace_stack_begin(names, stack);
    uint32_t python = TRACE_NONE, first = TRACE_NONE;
    for (uint32_t i = 0; i < names->stacks[stack].n; i++) {
        uint32_t frame = trace_stack_next(&p);
        if (kinds[frame] == FRAME_USER)
            return frame;
        if (kinds[frame] == FRAME_PACKAGE && python == TRACE_NONE)
            python = frame;
        first = i == 0 ? frame : first;
    }
    return python != TRACE_NONE ? python : first;
}

const char *site_text(const struct trace_names *names, uint32_t frame, struct arena *a)
{
    if (frame == TRACE_NONE)
        return NULL;
    const struct trace_frame *f = &names->frames[frame];
    struct buf b = {0};
    utf8_put_visible(&b, trace_string_at(names, f->file));
    buf_printf(&b, ":%" PRIu64 " ", f->line);
    utf8_put_visible(&b, trace_string_at(names, f->name));
    const char *text = arena_strndup(a, b.p, b.n);
    buf_release(&b);
    return text;
}

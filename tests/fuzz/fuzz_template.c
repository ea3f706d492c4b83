/* Any bytes as a template, rendered with values of every kind; the part behind the first NUL is a
 * second file, which the first may include as "other". */
#include "report/template.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct two_files {
    struct str first, second;
};

static bool find(void *context, const char *name, struct template_file *out)
{
    const struct two_files *files = context;
    bool first = strcmp(name, "main") == 0;

    if (!first && strcmp(name, "other") != 0)
        return false;
    *out = (struct template_file){first ? files->first : files->second, name, false, NULL};
    return true;
}

/* What an escaped page may not hold beyond what the templates themselves hold. */
static void check(const struct buf *out, const struct two_files *files)
{
    if (!memchr(files->first.p, '<', files->first.n) && !memchr(files->second.p, '<', files->second.n) &&
        out->n && memchr(out->p, '<', out->n))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    const char *cut = size ? memchr(text, '\0', size) : NULL;
    size_t n = cut ? (size_t)(cut - text) : size;
    struct two_files files = {{text, n}, {cut ? cut + 1 : "", cut ? size - n - 1 : 0}};
    struct template_set set;
    struct arena a = {0};
    struct buf out = {0};
    struct diag d;

    if (size == 0)
        files.first.p = "";
    diag_init(&d);
    struct tnode *root = tnode_new(&a);
    tnode_text(&a, root, "x", "<script>&\"'\x1b\xff");
    for (int i = 0; i < 3; i++) {
        struct tnode *row = tnode_item(&a, root, "rows");
        tnode_text(&a, row, "y", "<b>");
        tnode_text(&a, tnode_item(&a, row, "rows"), "z", "3");
    }
    template_init(&set, (struct template_source){find, &files});
    if (template_render(&set, &out, "main", root, &d) == 0)
        check(&out, &files);
    else if (d.n == 0)
        abort(); /* a failure has to be told */
    template_release(&set);
    buf_release(&out);
    diag_release(&d);
    arena_release(&a);
    return 0;
}

/* template: text files with holes + a tree of values -> text.
 *
 * {{name}} puts a text, always escaped for HTML; there is no raw form.
 * {{#list}} … {{/list}} repeats for each item of a list; an absent list has none.
 * {{>file}} puts another template, or a part rendered before, by name.
 * A name is looked for in the item, then outwards. A tag of {{#}}, {{/}} or {{>}} alone
 * on its line leaves no line behind. Knows nothing of directories and reports:
 * files come through a function. */
#ifndef OOMREPORT_REPORT_TEMPLATE_H
#define OOMREPORT_REPORT_TEMPLATE_H

#include "base/buf.h"
#include "base/diag.h"
#include "report/tree.h"

enum {
    TEMPLATE_NESTING = 32,      /* lists within lists, in one file */
    TEMPLATE_DEPTH = 16,        /* files within files */
    TEMPLATE_STEPS = 20000000,  /* tags carried out in one rendering */
    TEMPLATE_OUTPUT = 64 << 20, /* [B] of one rendering */
};

struct template_file {
    struct str bytes;    /* must live as long as the template set */
    const char *shown;   /* its name for diagnostics */
    bool rendered;       /* finished text: put as it is */
    const char *problem; /* why it is there but cannot be read, or NULL */
};

struct template_source {
    /* Finds a file; false when there is none of that name. */
    bool (*find)(void *context, const char *name, struct template_file *out);
    void *context;
};

/* Parsed templates, kept for the next use. */
struct template_set {
    struct arena arena;
    struct template_source source;
    struct parsed *parsed;
};

void template_init(struct template_set *set, struct template_source source);
void template_release(struct template_set *set);
/* Renders file `name` with the values of `root` to the end of out. 0, or -1 with
 * `bad-template` diagnostics (file:line:col) in d; out then holds no sense. */
int template_render(struct template_set *set, struct buf *out, const char *name, const struct tnode *root,
                    struct diag *d);

#endif

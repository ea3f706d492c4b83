#include "report/tree.h"
#include "base/buf.h"

#include <stdarg.h>

struct tnode *tnode_new(struct arena *a)
{
    return arena_alloc(a, sizeof(struct tnode));
}

static struct tfield *field_of(struct arena *a, struct tnode *node, const char *name)
{
    for (struct tfield *f = node->fields; f; f = f->next)
        if (strcmp(f->name, name) == 0)
            return f;
    struct tfield *f = arena_alloc(a, sizeof *f);
    f->name = name;
    f->next = node->fields;
    node->fields = f;
    return f;
}

void tnode_str(struct arena *a, struct tnode *node, const char *name, struct str text)
{
    field_of(a, node, name)->text = text;
}

void tnode_text(struct arena *a, struct tnode *node, const char *name, const char *text)
{
    tnode_str(a, node, name, str_of(text));
}

void tnode_printf(struct arena *a, struct tnode *node, const char *name, const char *fmt, ...)
{
    struct buf b = {0};
    va_list ap;

    va_start(ap, fmt);
    buf_vprintf(&b, fmt, ap);
    va_end(ap);
    tnode_str(a, node, name, arena_str(a, buf_view(&b)));
    buf_release(&b);
}

struct tnode *tnode_item(struct arena *a, struct tnode *node, const char *list)
{
    struct tfield *f = field_of(a, node, list);
    struct tnode *item = tnode_new(a);

    if (f->last)
        f->last->next = item;
    else
        f->first = item;
    f->last = item;
    return item;
}

const struct tfield *tnode_find(const struct tnode *node, struct str name)
{
    for (const struct tfield *f = node->fields; f; f = f->next)
        if (str_is(name, f->name))
            return f;
    return NULL;
}

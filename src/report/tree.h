/* tree: the values of a page, as templates see them.
 *
 * A node is a set of named texts and named lists of nodes. Nodes live in an
 * arena; names and texts are borrowed and must live as long. Knows nothing of
 * HTML: texts are plain, the template engine escapes them. */
#ifndef OOMREPORT_REPORT_TREE_H
#define OOMREPORT_REPORT_TREE_H

#include "base/arena.h"

struct tnode;

struct tfield {
    const char *name;
    struct str text;            /* of a text field */
    struct tnode *first, *last; /* of a list field; NULL in a text field */
    struct tfield *next;
};

struct tnode {
    struct tfield *fields;
    struct tnode *next; /* in its list */
};

struct tnode *tnode_new(struct arena *a);
/* Sets a text; a second call of the same name replaces the first. NULL is the empty text. */
void tnode_text(struct arena *a, struct tnode *node, const char *name, const char *text);
void tnode_str(struct arena *a, struct tnode *node, const char *name, struct str text);
/* printf into the arena, then tnode_text. */
void tnode_printf(struct arena *a, struct tnode *node, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* Appends an empty item to a list and returns it. A list of one item serves as a condition. */
struct tnode *tnode_item(struct arena *a, struct tnode *node, const char *list);
/* The field of that name, or NULL. */
const struct tfield *tnode_find(const struct tnode *node, struct str name);

#endif

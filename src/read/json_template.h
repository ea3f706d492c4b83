/* json_template: lines that repeat one sequence of keys, read without looking at a key.
 *
 * A logger writes the same text between the values of line after line: `,"loss":` and so on. A template
 * holds these texts and where the values stand, so a line is compared, its values are validated, and the
 * wanted ones become cells. What does not compare is for json_scan, from which templates are learned:
 * whatever a template accepts, json_scan accepts with the same cells. */
#ifndef OOMREPORT_READ_JSON_TEMPLATE_H
#define OOMREPORT_READ_JSON_TEMPLATE_H

#include "read/json_scan.h"

enum {
    TEMPLATES_MAX = 4,
    TEMPLATE_VALUES_MAX = 256,
    TEMPLATE_GLUE_MAX = JSON_PAD, /* between two values: read at once */
    TEMPLATE_LEARN_MAX = 64       /* times that one is learned anew */
};

/* A value and the text before it. */
struct json_step {
    const char *glue; /* n bytes and a pad of 16 */
    unsigned n;
    unsigned depth;
    int slot; /* KEY_UNWANTED: validated only */
};

struct json_template {
    struct json_step *steps; /* n_steps; the last one is the end of the line, without a value */
    size_t n_steps;
    struct cell *cells; /* n_cells, of the line that matched last */
    size_t n_cells;
    size_t next;    /* index of the template that matched after it */
    uint32_t pause; /* of its rows so many come one by one */
};

struct json_templates {
    struct json_template all[TEMPLATES_MAX]; /* n */
    size_t n, oldest, last, learned;
};

void json_templates_release(struct json_templates *ts);
/* The line at p, with its end: a pointer behind it and in *found the template whose cells hold its
 * values; NULL when no template fits. */
const char *json_templates_match(struct json_templates *ts, const struct json_text *t, const char *p,
                                 struct json_template **found);
/* Learns from the line that j read last, of which j->trace tells the values; line with its end. */
void json_templates_learn(struct json_templates *ts, const struct json_scan *j, struct str line);

#endif

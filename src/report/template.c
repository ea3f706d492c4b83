#include "report/template.h"
#include "base/mem.h"
#include "report/html.h"

#include <stdlib.h>

enum op_kind {
    OP_TEXT,
    OP_VALUE,
    OP_LIST,
    OP_END,
    OP_INCLUDE
};

struct op {
    enum op_kind kind;
    struct str s;   /* text, or the name */
    size_t partner; /* of a list: its end */
    uint64_t line;  /* of the tag, 1-based */
    uint32_t col;
};

struct parsed {
    const char *name, *shown;
    struct op *ops; /* n ops */
    size_t n;
    bool bad; /* could not be parsed; said once */
    struct parsed *next;
};

struct parser {
    struct template_set *set;
    struct str text;
    size_t at, line_start; /* offsets */
    uint64_t line;
    struct op *ops;
    size_t n, cap;
    size_t open[TEMPLATE_NESTING]; /* n_open ops of lists not yet closed */
    unsigned n_open;
    const char *shown;
    struct diag *d;
};

struct scope {
    const struct tnode *node;
    const struct scope *up;
};

struct rendering {
    struct template_set *set;
    struct buf *out;
    struct diag *d;
    unsigned depth;
    uint64_t steps;
    size_t start; /* bytes in out before */
};

void template_init(struct template_set *set, struct template_source source)
{
    *set = (struct template_set){.source = source};
    arena_init(&set->arena);
}

void template_release(struct template_set *set)
{
    arena_release(&set->arena);
    *set = (struct template_set){0};
}

static struct place op_place(const char *shown, const struct op *op)
{
    return (struct place){shown, op->line, op->col};
}

static struct op *add_op(struct parser *p, enum op_kind kind, struct str s)
{
    if (p->n == p->cap) {
        p->cap = p->cap ? 2 * p->cap : 64;
        p->ops = mem_grow(p->ops, p->cap, sizeof *p->ops);
    }
    struct op *op = &p->ops[p->n++];
    *op = (struct op){.kind = kind, .s = s, .line = p->line, .col = (uint32_t)(p->at - p->line_start) + 1};
    return op;
}

static bool name_ok(struct str name, bool file)
{
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        bool ok = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
                  (file && i > 0 && (c == '.' || c == '-'));

        if (!ok)
            return false;
    }
    return name.n > 0 && name.n <= 64;
}

/* Whether only blanks stand before `from` and behind `to` on the line; *end is then behind the newline. */
static bool alone_on_line(const struct parser *p, size_t from, size_t to, size_t *end)
{
    for (size_t i = p->line_start; i < from; i++)
        if (p->text.p[i] != ' ' && p->text.p[i] != '\t')
            return false;
    while (to < p->text.n && (p->text.p[to] == ' ' || p->text.p[to] == '\t' || p->text.p[to] == '\r'))
        to++;
    if (to < p->text.n && p->text.p[to] != '\n')
        return false;
    *end = to < p->text.n ? to + 1 : to;
    return true;
}

static void advance(struct parser *p, size_t to)
{
    for (; p->at < to; p->at++)
        if (p->text.p[p->at] == '\n') {
            p->line++;
            p->line_start = p->at + 1;
        }
}

static struct place here(const struct parser *p)
{
    return (struct place){p->shown, p->line, (uint32_t)(p->at - p->line_start) + 1};
}

static bool close_list(struct parser *p, struct str name)
{
    if (p->n_open == 0) {
        diag_add(p->d, DIAG_BAD_TEMPLATE, here(p), "{{/%.*s}} closes a list that was not opened; remove it",
                 (int)name.n, name.p);
        return false;
    }
    struct op *opened = &p->ops[p->open[p->n_open - 1]];
    if (!str_eq(opened->s, name)) {
        diag_add(p->d, DIAG_BAD_TEMPLATE, here(p),
                 "found {{/%.*s}}, expected {{/%.*s}} for the list opened on line %llu", (int)name.n, name.p,
                 (int)opened->s.n, opened->s.p, (unsigned long long)opened->line);
        return false;
    }
    opened->partner = p->n;
    p->n_open--;
    add_op(p, OP_END, name);
    return true;
}

/* The tag at p->at, whose inside is `inside`. */
static bool parse_tag(struct parser *p, struct str inside)
{
    char sign = inside.n ? inside.p[0] : 0;
    bool marked = sign == '#' || sign == '/' || sign == '>';
    struct str name = marked ? str_trim((struct str){inside.p + 1, inside.n - 1}) : inside;

    if (!name_ok(name, sign == '>')) {
        diag_add(p->d, DIAG_BAD_TEMPLATE, here(p),
                 "expected {{name}}, {{#list}}, {{/list}} or {{>file}} with a name of a-z, 0-9 and _");
        return false;
    }
    if (sign == '/')
        return close_list(p, name);
    if (sign == '#') {
        if (p->n_open == TEMPLATE_NESTING) {
            diag_add(p->d, DIAG_BAD_TEMPLATE, here(p), "lists are nested more than %d deep",
                     TEMPLATE_NESTING);
            return false;
        }
        p->open[p->n_open++] = p->n;
    }
    add_op(p, sign == '#' ? OP_LIST : sign == '>' ? OP_INCLUDE : OP_VALUE, name);
    return true;
}

static bool parse_text(struct parser *p)
{
    while (p->at < p->text.n) {
        struct str rest = {p->text.p + p->at, p->text.n - p->at};
        size_t to = str_find(rest, STR_LIT("{{"));

        if (to == (size_t)-1) {
            add_op(p, OP_TEXT, rest);
            advance(p, p->text.n);
            break;
        }
        size_t text_from = p->at;
        advance(p, p->at + to);
        size_t tag = p->at;
        struct str in = {p->text.p + tag + 2, p->text.n - tag - 2};
        size_t close = 0;
        while (close + 1 < in.n && in.p[close] != '\n' && !(in.p[close] == '}' && in.p[close + 1] == '}'))
            close++;
        if (close + 1 >= in.n || in.p[close] == '\n') {
            diag_add(p->d, DIAG_BAD_TEMPLATE, here(p), "{{ without }} on the same line");
            return false;
        }
        struct str inside = str_trim((struct str){in.p, close});
        size_t end = tag + 2 + close + 2, whole_end;
        size_t text_to = tag;
        if (inside.n && strchr("#/>", inside.p[0]) && alone_on_line(p, tag, end, &whole_end)) {
            text_to = p->line_start;
            end = whole_end;
        }
        if (text_to > text_from)
            add_op(p, OP_TEXT, (struct str){p->text.p + text_from, text_to - text_from});
        if (!parse_tag(p, inside))
            return false;
        advance(p, end);
    }
    if (p->n_open) {
        const struct op *opened = &p->ops[p->open[p->n_open - 1]];
        diag_add(p->d, DIAG_BAD_TEMPLATE, op_place(p->shown, opened),
                 "{{#%.*s}} is not closed; expected {{/%.*s}}", (int)opened->s.n, opened->s.p,
                 (int)opened->s.n, opened->s.p);
        return false;
    }
    return true;
}

/* The parsed file of that name, or NULL when there is no such file. */
static struct parsed *load(struct template_set *set, struct str name, struct diag *d)
{
    for (struct parsed *f = set->parsed; f; f = f->next)
        if (str_is(name, f->name))
            return f;

    struct template_file file = {0};
    const char *copy = arena_str(&set->arena, name).p;
    if (!set->source.find(set->source.context, copy, &file))
        return NULL;
    struct parser p = {.set = set, .text = file.bytes, .line = 1, .shown = file.shown, .d = d};
    struct parsed *f = arena_alloc(&set->arena, sizeof *f);
    f->name = copy;
    f->shown = file.shown;
    if (file.problem) {
        diag_add(d, DIAG_BAD_TEMPLATE, (struct place){file.shown, 0, 0}, "%s", file.problem);
        f->bad = true;
    } else if (file.rendered)
        add_op(&p, OP_TEXT, file.bytes);
    else
        f->bad = !parse_text(&p);
    f->n = p.n;
    f->ops = arena_alloc(&set->arena, p.n ? p.n * sizeof *p.ops : 1);
    if (p.n)
        memcpy(f->ops, p.ops, p.n * sizeof *p.ops);
    free(p.ops);
    if (!file.rendered) { /* a finished part may be another one next time */
        f->next = set->parsed;
        set->parsed = f;
    }
    return f;
}

static const struct tfield *lookup(const struct scope *scope, struct str name)
{
    for (; scope; scope = scope->up) {
        const struct tfield *f = tnode_find(scope->node, name);

        if (f)
            return f;
    }
    return NULL;
}

static int render_ops(struct rendering *r, const struct parsed *file, size_t from, size_t to,
                      const struct scope *scope);

static int render_list(struct rendering *r, const struct parsed *file, size_t at, const struct scope *scope)
{
    const struct op *op = &file->ops[at];
    const struct tfield *list = lookup(scope, op->s);

    for (const struct tnode *item = list ? list->first : NULL; item; item = item->next) {
        struct scope inner = {item, scope};

        r->steps++;
        if (render_ops(r, file, at + 1, op->partner, &inner))
            return -1;
    }
    return 0;
}

static int render_include(struct rendering *r, const struct parsed *from, const struct op *op,
                          const struct scope *scope)
{
    if (r->depth == TEMPLATE_DEPTH) {
        diag_add(r->d, DIAG_BAD_TEMPLATE, op_place(from->shown, op),
                 "files include each other more than %d deep", TEMPLATE_DEPTH);
        return -1;
    }
    const struct parsed *file = load(r->set, op->s, r->d);
    if (!file) {
        diag_add(r->d, DIAG_BAD_TEMPLATE, op_place(from->shown, op), "there is no template \"%.*s\"",
                 (int)op->s.n, op->s.p);
        return -1;
    }
    if (file->bad)
        return -1;
    r->depth++;
    int rc = render_ops(r, file, 0, file->n, scope);
    r->depth--;
    return rc;
}

static int render_value(struct rendering *r, const struct parsed *file, const struct op *op,
                        const struct scope *scope)
{
    const struct tfield *f = lookup(scope, op->s);

    if (!f || f->first) {
        diag_add(r->d, DIAG_BAD_TEMPLATE, op_place(file->shown, op), "there is no text \"%.*s\" here",
                 (int)op->s.n, op->s.p);
        return -1;
    }
    html_escape(r->out, f->text);
    return 0;
}

static int render_ops(struct rendering *r, const struct parsed *file, size_t from, size_t to,
                      const struct scope *scope)
{
    for (size_t i = from; i < to; i++) {
        const struct op *op = &file->ops[i];
        int rc = 0;

        if (++r->steps > TEMPLATE_STEPS || r->out->n - r->start > TEMPLATE_OUTPUT) {
            diag_add(r->d, DIAG_BAD_TEMPLATE, op_place(file->shown, op), "the page grows beyond all bounds");
            return -1;
        }
        if (op->kind == OP_TEXT)
            buf_str(r->out, op->s);
        else if (op->kind == OP_VALUE)
            rc = render_value(r, file, op, scope);
        else if (op->kind == OP_INCLUDE)
            rc = render_include(r, file, op, scope);
        else if (op->kind == OP_LIST) {
            rc = render_list(r, file, i, scope);
            i = op->partner;
        }
        if (rc)
            return rc;
    }
    return 0;
}

int template_render(struct template_set *set, struct buf *out, const char *name, const struct tnode *root,
                    struct diag *d)
{
    struct rendering r = {.set = set, .out = out, .d = d, .depth = 1, .start = out->n};
    struct scope scope = {root, NULL};
    const struct parsed *file = load(set, str_of(name), d);

    if (!file) {
        diag_add(d, DIAG_BAD_TEMPLATE, (struct place){name, 0, 0}, "there is no such template");
        return -1;
    }
    return file->bad ? -1 : render_ops(&r, file, 0, file->n, &scope);
}

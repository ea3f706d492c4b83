#include "cli/dump.h"

#include "base/mem.h"
#include "base/num.h"
#include "read/read.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* Tabs, line ends and backslashes of a value are written as in C. */
static void put_text(struct buf *b, struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c == '\t')
            buf_puts(b, "\\t");
        else if (c == '\n')
            buf_puts(b, "\\n");
        else if (c == '\\')
            buf_puts(b, "\\\\");
        else if (c < 0x20 || c == 0x7f)
            buf_printf(b, "\\x%02x", c);
        else
            buf_putc(b, (char)c);
    }
}

static void put_number(struct buf *b, double v)
{
    if (isnan(v))
        buf_putc(b, '-');
    else
        num_put(b, v);
}

static void put_named(struct buf *b, const char *name, double v)
{
    buf_printf(b, "\t%s=", name);
    put_number(b, v);
}

static void put_named_text(struct buf *b, const char *name, const char *text)
{
    buf_printf(b, "\t%s=", name);
    put_text(b, str_of(text ? text : "-"));
}

static void flush(FILE *out, struct buf *b)
{
    fwrite(b->p, 1, b->n, out);
    buf_clear(b);
}

/* --- rows ------------------------------------------------------------------------- */

struct row_dump {
    FILE *out;
    struct arena arena;
    struct str *names; /* n, by slot */
    size_t n, cap;
    struct buf line;
};

static int on_key(void *ctx, struct str name)
{
    struct row_dump *r = ctx;
    for (size_t i = 0; i < r->n && r->n < 4096; i++)
        if (str_eq(r->names[i], name))
            return (int)i;
    if (r->n == 4096)
        return KEY_UNWANTED;
    if (r->n == r->cap) {
        r->cap = r->cap ? 2 * r->cap : 32;
        r->names = mem_grow(r->names, r->cap, sizeof *r->names);
    }
    r->names[r->n] = arena_str(&r->arena, name);
    return (int)r->n++;
}

static int on_row(void *ctx, const struct row *row)
{
    static const char *const kinds[] = {"", "\"", "", "", "", "", ""};
    struct row_dump *r = ctx;
    buf_printf(&r->line, "%" PRIu64 "\t%s", row->line, row->is_row ? "row" : "document");
    for (size_t i = 0; i < row->n; i++) {
        const struct cell *c = &row->cells[i];
        buf_putc(&r->line, '\t');
        put_text(&r->line, r->names[c->slot]);
        buf_printf(&r->line, "=%s", kinds[c->kind]);
        if (c->kind == CELL_TRUE || c->kind == CELL_FALSE || c->kind == CELL_NULL)
            buf_puts(&r->line, c->kind == CELL_TRUE ? "true" : c->kind == CELL_FALSE ? "false" : "null");
        else
            put_text(&r->line, c->text);
        buf_puts(&r->line, kinds[c->kind]);
    }
    buf_putc(&r->line, '\n');
    flush(r->out, &r->line);
    return 0;
}

static bool on_text(void *ctx, uint64_t line, struct str text)
{
    struct row_dump *r = ctx;
    buf_printf(&r->line, "%" PRIu64 "\ttext\t", line);
    put_text(&r->line, text);
    buf_putc(&r->line, '\n');
    flush(r->out, &r->line);
    return true;
}

int dump_rows(FILE *out, const char *path, struct diag *d)
{
    struct source *s = source_open(path, d);
    if (!s)
        return -1;
    const char *what = NULL;
    enum syntax syntax = read_detect(source_head(s), &what);
    int status = -1;
    if (syntax == SYNTAX_COUNT) {
        diag_add(d, DIAG_NOT_RECOGNISED, (struct place){path, 0, 0},
                 "%s; expected CSV, JSON, JSON lines or text", what ? what : "this is no text");
    } else {
        struct row_dump r = {.out = out};
        struct read_layout layout = {0};
        struct row_handler h = {&r, on_key, on_row, on_text, NULL};
        uint64_t skipped = 0;
        fprintf(out, "# %s\t%s\n", path, syntax_name(syntax));
        status = read_rows(s, syntax, &layout, &h, &skipped, d);
        buf_release(&r.line);
        arena_release(&r.arena);
        free(r.names);
    }
    source_close(s);
    return status;
}

/* --- series ----------------------------------------------------------------------- */

static void put_meta(struct buf *b, const struct series *s)
{
    buf_puts(b, "# series");
    put_named_text(b, "source", s->source);
    put_named_text(b, "format", s->format);
    for (int f = 0; f < F_COUNT; f++) {
        if (!record_has(&s->meta, (enum field)f) || field_part((enum field)f) != PART_HEADER)
            continue;
        buf_printf(b, "\t%s=", field_name((enum field)f));
        if (field_kind((enum field)f) == KIND_STR)
            put_text(b, s->meta.v[f].s);
        else
            put_number(b, record_number(&s->meta, (enum field)f));
    }
    buf_printf(b, "\trows=%zu\n", s->rows);
}

static void put_event(struct buf *b, const struct event *e)
{
    buf_printf(b, "# event\t%s\trow=%zu", event_name(e->kind), e->row);
    for (int f = 0; f < F_COUNT; f++) {
        if (!record_has(&e->rec, (enum field)f) || f == F_EVENT)
            continue;
        buf_printf(b, "\t%s=", field_name((enum field)f));
        if (field_kind((enum field)f) == KIND_STR)
            put_text(b, e->rec.v[f].s);
        else
            put_number(b, record_number(&e->rec, (enum field)f));
    }
    for (size_t i = 0; i < e->n_processes; i++)
        buf_printf(b, "\tprocess=%" PRIu64 ":%" PRIu64, e->processes[i].pid, e->processes[i].bytes);
    buf_putc(b, '\n');
}

/* The columns that the series has, in the order of the schema. */
static size_t find_columns(enum field out[F_COUNT], const struct series *s)
{
    size_t n = 0;
    for (int f = 0; f < F_COUNT; f++)
        if (s->col[f])
            out[n++] = (enum field)f;
    return n;
}

static void put_row(struct buf *b, const struct series *s, const enum field *fields, size_t n, size_t row)
{
    double segment = s->segment ? column_at(s->segment, row) : NAN;
    double phase = s->phase ? column_at(s->phase, row) : NAN;
    put_number(b, s->line ? column_at(s->line, row) : NAN);
    buf_putc(b, '\t');
    put_number(b, segment);
    buf_putc(b, '\t');
    size_t code = isnan(phase) ? 0 : (size_t)phase;
    put_text(b, code < s->n_phases ? s->phases[code] : STR_LIT("-"));
    for (size_t i = 0; i < n; i++) {
        buf_putc(b, '\t');
        put_number(b, column_at(s->col[fields[i]], row));
    }
    for (size_t i = 0; i < s->n_sizes; i++) {
        buf_putc(b, '\t');
        put_number(b, column_at(s->sizes[i].column, row));
    }
    buf_putc(b, '\n');
}

static void put_series(FILE *out, const struct series *s)
{
    struct buf b = {0};
    enum field fields[F_COUNT];
    size_t n = find_columns(fields, s);
    put_meta(&b, s);
    for (size_t i = 0; i < s->n_events; i++)
        put_event(&b, &s->events[i]);
    buf_puts(&b, "line\tsegment\tphase");
    for (size_t i = 0; i < n; i++)
        buf_printf(&b, "\t%s", field_name(fields[i]));
    for (size_t i = 0; i < s->n_sizes; i++) {
        buf_putc(&b, '\t');
        put_text(&b, s->sizes[i].name);
    }
    buf_putc(&b, '\n');
    for (size_t row = 0; row < s->rows; row++) {
        put_row(&b, s, fields, n, row);
        flush(out, &b);
    }
    for (size_t i = 0; i < s->n_checkpoints; i++) {
        const struct checkpoint *c = &s->checkpoints[i];
        buf_printf(&b, "# checkpoint\trow=%zu\tlabel=", c->row);
        put_text(&b, c->label);
        put_named(&b, "step", c->step);
        put_named(&b, "allocated_bytes", c->allocated_bytes);
        put_named(&b, "peak_bytes", c->peak_bytes);
        put_named(&b, "reserved_bytes", c->reserved_bytes);
        buf_putc(&b, '\n');
    }
    flush(out, &b);
    buf_release(&b);
}

void dump_series(FILE *out, const struct series_set *set)
{
    for (size_t i = 0; i < set->n; i++)
        put_series(out, set->items[i]);
}

/* --- verdicts --------------------------------------------------------------------- */

static void put_verdict(struct buf *b, const char *what, const struct verdict *v)
{
    const char *subtype = subtype_name(v->subtype);
    buf_printf(b, "%s\t%s/%s\t%s\t%s\t", what, cause_name(v->cause), subtype ? subtype : "-",
               status_name(v->status), certainty_name(v->certainty));
    num_put_fixed(b, v->confidence, 2);
    put_named_text(b, "runner_up", v->has_runner_up ? cause_name(v->runner_up) : NULL);
    buf_putc(b, '\n');
    const struct {
        const char *name, *text;
    } texts[] = {{"summary", v->summary},
                 {"fix", v->fix},
                 {"counterfactual", v->counterfactual},
                 {"why_not", v->has_runner_up ? v->runner_up_why_not : NULL},
                 {"next_run", v->next_run}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (!texts[i].text)
            continue;
        buf_printf(b, "  %s\t", texts[i].name);
        put_text(b, str_of(texts[i].text));
        buf_putc(b, '\n');
    }
}

static void put_question(struct buf *b, const struct question *q)
{
    buf_printf(b, "  %s\t%s\n", question_name(q->id), answer_name(q->answer));
    for (size_t i = 0; i < q->n_tests; i++) {
        const struct test *t = &q->tests[i];
        buf_printf(b, "    %s", t->id);
        put_named(b, "measured", t->measured);
        put_named(b, "limit", t->limit);
        buf_printf(b, "\t%s\t%s\t", t->unit, says_name(t->says));
        put_text(b, str_of(t->text));
        if (t->where.file)
            buf_printf(b, "\t%s:%" PRIu64, t->where.file, t->where.line);
        buf_putc(b, '\n');
    }
}

void dump_verdicts(struct buf *out, const struct analysis *a)
{
    put_verdict(out, "all", &a->verdict);
    for (size_t i = 0; i < a->n_runs; i++) {
        const struct run_report *r = &a->runs[i];
        buf_puts(out, "run");
        put_named_text(out, "run", r->run);
        put_named(out, "seed", r->seed);
        put_named(out, "rank", r->rank);
        put_named(out, "capacity_bytes", r->capacity_bytes);
        put_named(out, "steps", r->steps);
        put_named_text(out, "outcome", outcome_name(r->outcome));
        buf_putc(out, '\n');
        put_verdict(out, "verdict", &r->verdict);
        for (size_t k = 0; k < Q_COUNT; k++)
            put_question(out, &r->triage[k]);
    }
    if (a->has_cross) {
        buf_printf(out, "cross_run\t%s\t", cross_says_name(a->cross.says));
        put_text(out, str_of(a->cross.text));
        buf_putc(out, '\n');
    }
    for (size_t i = 0; i < a->n_quality; i++) {
        buf_printf(out, "quality\t%s\t", a->quality[i].code);
        put_text(out, str_of(a->quality[i].text));
        buf_putc(out, '\n');
    }
}

#include "normalise/dump.h"
#include "base/num.h"
#include "base/utf8.h"
#include "normalise/converter.h"
#include <math.h>

static void put_record(void *ctx, const struct record *r, const struct process_use *processes, size_t n)
{
    struct buf *b = ctx;
    converter_put_json(b, r, ~(uint64_t)0, true);
    for (size_t i = 0; i < n; i++) {
        buf_puts(b, i ? ", " : " processes ");
        num_put_u64(b, processes[i].pid);
        buf_putc(b, '=');
        num_put_u64(b, processes[i].bytes);
    }
    buf_putc(b, '\n');
}

struct record_sink dump_records(struct buf *b)
{
    return (struct record_sink){b, put_record};
}

static void put_text(struct buf *b, const char *name, struct str text)
{
    buf_printf(b, "  %s: ", name);
    utf8_put_visible(b, text);
    buf_putc(b, '\n');
}

static void put_cell(struct buf *b, const struct column *c, size_t row)
{
    double v = column_at(c, row);
    buf_putc(b, '\t');
    if (!isnan(v))
        num_put(b, v);
}

static void put_rows(struct buf *b, const struct series *s)
{
    buf_puts(b, "  row\tline\tsegment\tphase");
    for (int f = 0; f < F_COUNT; f++)
        if (s->col[f])
            buf_printf(b, "\t%s", field_name((enum field)f));
    for (size_t i = 0; i < s->n_sizes; i++) {
        buf_putc(b, '\t');
        utf8_put_visible(b, s->sizes[i].name);
    }
    buf_puts(b, s->content ? "\tcontent\n" : "\n");
    for (size_t row = 0; row < s->rows; row++) {
        buf_printf(b, "  %zu", row);
        put_cell(b, s->line, row);
        put_cell(b, s->segment, row);
        buf_putc(b, '\t');
        utf8_put_visible(b, s->phases[(size_t)column_at(s->phase, row)]);
        for (int f = 0; f < F_COUNT; f++)
            if (s->col[f])
                put_cell(b, s->col[f], row);
        for (size_t i = 0; i < s->n_sizes; i++)
            put_cell(b, s->sizes[i].column, row);
        if (s->content)
            put_cell(b, s->content, row);
        buf_putc(b, '\n');
    }
}

static void put_events(struct buf *b, const struct series *s)
{
    for (size_t i = 0; i < s->n_events; i++) {
        const struct event *e = &s->events[i];
        buf_printf(b, "  event %s after row %zu ", event_name(e->kind), e->row);
        put_record(b, &e->rec, e->processes, e->n_processes);
    }
    for (size_t i = 0; i < s->n_checkpoints; i++) {
        const struct checkpoint *c = &s->checkpoints[i];
        buf_printf(b, "  checkpoint after row %zu: ", c->row);
        utf8_put_visible(b, c->label);
        const double v[] = {c->step, c->allocated_bytes, c->peak_bytes, c->reserved_bytes};
        for (size_t k = 0; k < sizeof v / sizeof *v; k++) {
            buf_putc(b, '\t');
            if (!isnan(v[k]))
                num_put(b, v[k]);
        }
        buf_putc(b, '\n');
    }
}

void dump_series(struct buf *b, const struct series_set *set)
{
    for (size_t i = 0; i < set->n; i++) {
        const struct series *s = set->items[i];
        buf_printf(b, "series %zu: %zu rows, %zu events\n", i + 1, s->rows, s->n_events);
        put_text(b, "source", str_of(s->source));
        put_text(b, "format", str_of(s->format));
        struct record meta = s->meta;
        struct buf json = {0};
        converter_put_json(&json, &meta, ~(uint64_t)0, false);
        put_text(b, "header", buf_view(&json));
        buf_release(&json);
        put_text(b, "peak_reset declared", s->peak_reset_declared ? STR_LIT("yes") : STR_LIT("no"));
        if (s->rows)
            put_rows(b, s);
        put_events(b, s);
    }
}

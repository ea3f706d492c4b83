#include "normalise/normalise.h"
#include "base/mem.h"
#include "normalise/rows.h"
#include "normalise/sniff.h"
#include "normalise/source_run.h"
#include "normalise/steps_from_profiler.h"
#include "normalise/steps_from_trace.h"
#include "normalise/text_rows.h"
#include "read/past_report.h"
#include "read/snapshot.h"
#include <math.h>
#include <stdlib.h>

enum {
    NOTES_MAX = 200
};

static struct place whole(const char *path)
{
    return (struct place){path, 0, 0};
}

/* --format: a name, else a file. */
static const struct mapping *named_mapping(const struct normalise_settings *s, struct arena *a,
                                           struct diag *d)
{
    const struct mapping *m = s->mappings ? mapping_set_find(s->mappings, str_of(s->format)) : NULL;
    return m ? m : mapping_load(s->format, a, d);
}

/* Names that the file does have, for the message that it has no figures. */
static const char *names_seen(const struct rows *r, struct arena *a)
{
    const char *out = "";
    size_t n = r->keys < SEEN_NAMES_MAX ? (size_t)r->keys : SEEN_NAMES_MAX;
    for (size_t i = 0; i < n; i++)
        out = arena_printf(a, "%s%s\"%.*s\"", out, i ? ", " : "", (int)r->seen[i].n, r->seen[i].p);
    if (r->keys > n)
        out = arena_printf(a, "%s and %llu more", out, (unsigned long long)(r->keys - n));
    return n ? out : "none";
}

/* True when a rule or --map found its key. */
static bool fits(const struct rows *r)
{
    for (size_t i = 0; i < r->n_slots; i++)
        for (unsigned k = 0; k < r->slots[i].n; k++)
            if (r->slots[i].b[k].target == TARGET_FIELD)
                return true;
    return false;
}

static void say_no_memory(const struct rows *r, const char *path, struct arena *a, struct diag *d)
{
    if (r->records == 0 && !isnan(r->first_step)) {
        diag_add(d, DIAG_NO_MEMORY_FIGURES, whole(path),
                 "--steps leaves nothing of this file; its steps are %.0f to %.0f", r->first_step,
                 r->last_step);
        return;
    }
    if (r->settings->format && !fits(r)) {
        diag_add(d, DIAG_NO_MEMORY_FIGURES, whole(path),
                 "the format \"%s\" does not fit: it knows none of the keys of this file: %s; leave --format "
                 "out, or name another (--list-formats)",
                 r->m->name, names_seen(r, a));
        return;
    }
    diag_add(d, DIAG_NO_MEMORY_FIGURES, whole(path),
             "no memory figure in this file; its keys: %s; say which is one with --map FIELD=COLUMN:UNIT",
             names_seen(r, a));
}

static void take_notes(struct input_info *info, const struct diag *d, size_t from, const struct rows *r,
                       struct arena *a)
{
    size_t n = d->n - from < NOTES_MAX ? d->n - from : NOTES_MAX;
    struct input_note *notes = arena_alloc(a, (n + 1) * sizeof *notes);
    for (size_t i = 0; i < n; i++) {
        const struct diag_item *item = &d->items[from + i];
        notes[i] = (struct input_note){item->at.line, diag_name(item->code),
                                       arena_strndup(a, item->text, strlen(item->text))};
    }
    if (r && r->unknown_keys)
        notes[n++] = (struct input_note){0, "unknown-keys",
                                         arena_printf(a, "%llu keys have no meaning here and were left out",
                                                      (unsigned long long)r->unknown_keys)};
    info->notes = notes;
    info->n_notes = n;
}

static struct read_layout layout_of(const struct mapping *m, const struct sniff *s)
{
    struct read_layout l = m->layout;
    if (m->layout_rows_guess)
        l.rows = s->rows_guess;
    else if (l.rows && !sniff_has(s, l.rows))
        l.rows = NULL; /* a document that is one record */
    if (m->detect.smi && s->columns) {
        l.columns = s->columns;
        l.n_columns = s->n_columns;
    }
    return l;
}

/* A source whose syntax and mapping are known. */
static int read_source(struct input_info *info, struct source *source, enum syntax syntax,
                       const struct mapping *m, const struct sniff *sniff, const struct record_sink *sink,
                       const struct normalise_settings *settings, struct arena *a, struct diag *d,
                       struct rows *rows)
{
    struct read_layout layout = layout_of(m, sniff);
    rows_init(rows, m, syntax, info->name, sniff->head, settings, sink, a, d);
    struct row_handler h = {rows, rows_key, rows_row, rows_text, rows_batch};
    read_rows(source, syntax, &layout, &h, &info->skipped, d);
    info->records = rows->records;
    info->first_step = rows->first_step;
    info->last_step = rows->last_step;
    info->has_memory = rows->has_memory;
    info->format = m->name;
    info->built_in = m->built_in;
    if (rows->has_memory)
        return 0;
    say_no_memory(rows, info->name, a, d);
    return rows->records ? 0 : -1;
}

/* A text log: whatever its lines hold. m: that format alone, or NULL. */
static int read_text_source(struct input_info *info, struct source *source, const struct mapping *m,
                            const struct record_sink *sink, const struct normalise_settings *settings,
                            struct arena *a, struct diag *d)
{
    struct text_outcome out;
    struct text_rows *t = text_rows_new(settings->mappings, m, info->name, settings, sink, a, d);
    struct row_handler h = {.ctx = t, .text = text_rows_line};
    read_rows(source, SYNTAX_TEXT, NULL, &h, &info->skipped, d);
    text_rows_end(t);
    text_rows_outcome(&out, t);
    text_rows_free(t);
    info->records = out.records;
    info->first_step = out.first_step;
    info->last_step = out.last_step;
    info->has_memory = out.has_memory;
    info->format = out.format;
    info->built_in = out.built_in;
    if (out.own)
        diag_add(d, DIAG_OWN_FORMAT, whole(info->name), "read with the format \"%s\" from %s", out.own->name,
                 out.own->origin);
    if (out.has_memory)
        return 0;
    if (m && settings->format && !out.matched) {
        diag_add(d, DIAG_NO_MEMORY_FIGURES, whole(info->name),
                 "the format \"%s\" does not fit: no line of this text is of it; leave --format out, or name "
                 "another (--list-formats)",
                 m->name);
        return out.records ? 0 : -1;
    }
    diag_add(
        d, DIAG_NO_MEMORY_FIGURES, whole(info->name),
        "no memory figure in this text: no line of a format that is known, and no out-of-memory message; "
        "--list-formats lists the formats, oomreport-formats(5) says how to describe one");
    return out.records ? 0 : -1;
}

/* Lines that a text format knows can look like a table or like records to a reader that knows none. */
static bool is_text_after_all(enum syntax syntax, const struct mapping *m, const struct mapping_set *set,
                              struct str head)
{
    struct text_outcome out;
    if (syntax == SYNTAX_TEXT || !set || (m && m->detect.score >= 50))
        return false;
    text_rows_try(&out, set, NULL, head);
    return out.matched > 0 && out.has_memory;
}

/* A memory snapshot: what it says becomes a trace, and its steps become records. */
static int read_snapshot(struct input_info *info, const struct record_sink *sink, struct source *source,
                         enum snapshot_form form, const struct normalise_settings *settings, struct arena *a,
                         struct diag *d)
{
    size_t from = d->n;
    info->trace = snapshot_read(source, form, settings->events, &info->skipped, d);
    if (info->trace) {
        info->format = "torch-snapshot";
        info->built_in = true;
        for (size_t i = 0; i < info->trace->n_devices; i++)
            info->events += info->trace->devices[i]->n;
        info->records = steps_from_trace(info->trace, settings, &info->first_step, &info->last_step, sink);
        info->has_memory = info->records > 0;
        if (!info->has_memory)
            diag_add(d, DIAG_NO_MEMORY_FIGURES, whole(info->name),
                     "a memory snapshot without segments and events");
    }
    take_notes(info, d, from, NULL, a);
    return info->has_memory ? 0 : -1;
}

/* An earlier report: its runs join in the analysis, it has no records. */
static int read_past(struct input_info *info, struct source *source, struct arena *a, struct diag *d)
{
    size_t from = d->n;
    info->past = past_report_read(source, info->name, d);
    if (info->past) {
        info->format = "oomreport";
        info->built_in = true;
        info->records = info->past->n_runs;
        info->has_memory = info->past->n_runs > 0;
        for (size_t i = 0; i < info->past->n_runs; i++) {
            info->first_step = fmin(info->first_step, info->past->runs[i].first_step);
            info->last_step = fmax(info->last_step, info->past->runs[i].last_step);
            info->past->runs[i].traits.report = info->name;
        }
        if (!info->past->mergeable)
            diag_add(
                d, DIAG_BAD_REPORT, whole(info->name),
                "a report of an older version: it has not all that a comparison with other runs needs; made "
                "again from the logs it would");
    }
    take_notes(info, d, from, NULL, a);
    return info->has_memory ? 0 : -1;
}

/* A profiler's trace: its memory events and steps become records. */
static int read_profiler(struct input_info *info, const struct record_sink *sink, struct source *source,
                         const struct normalise_settings *settings, struct arena *a, struct diag *d)
{
    size_t from = d->n;
    struct profiler_trace t;
    profiler_read(&t, source, &info->skipped, d);
    info->format = "torch-profiler";
    info->built_in = true;
    info->records = steps_from_profiler(&t, settings, &info->first_step, &info->last_step, sink);
    info->has_memory = info->records > 0;
    if (info->has_memory && !t.n_steps)
        diag_add(d, DIAG_SNAPSHOT_WINDOW, whole(info->name),
                 "a profiler trace without steps (ProfilerStep#N): one record for each device; call the "
                 "profiler's step() behind each step");
    else if (!info->has_memory && t.events)
        diag_add(
            d, DIAG_NO_MEMORY_FIGURES, whole(info->name),
            "a profiler trace with no memory event in a step that was asked for; its steps are %.0f to %.0f",
            info->first_step, info->last_step);
    else if (!info->has_memory)
        diag_add(d, DIAG_NO_MEMORY_FIGURES, whole(info->name),
                 "a profiler trace without [memory] events of a CUDA device%s; record it with "
                 "torch.profiler.profile(profile_memory=True)",
                 t.others ? " (only of others)" : "");
    take_notes(info, d, from, NULL, a);
    profiler_release(&t);
    return info->has_memory ? 0 : -1;
}

int normalise_source(struct input_info *info, const struct record_sink *sink, struct source *source,
                     const struct normalise_settings *settings, const struct mapping *m, struct arena *a,
                     struct diag *d)
{
    struct sniff sniff;
    struct rows *rows = mem_alloc(sizeof *rows);
    size_t from = d->n;
    const char *what = NULL;
    int rc = -1;
    struct str head = source_head(source);
    if (!m && !settings->format && past_report_detect(head)) {
        free(rows);
        return read_past(info, source, a, d);
    }
    enum snapshot_form form = m || settings->format ? SNAPSHOT_NONE : snapshot_detect(head);
    if (form != SNAPSHOT_NONE) {
        free(rows);
        return read_snapshot(info, sink, source, form, settings, a, d);
    }
    if (!m && !settings->format && profiler_detect(head)) {
        free(rows);
        return read_profiler(info, sink, source, settings, a, d);
    }
    enum syntax syntax = read_detect(head, &what);
    if (m && m->layout.columns && syntax == SYNTAX_TEXT)
        syntax = SYNTAX_CSV;
    if (syntax == SYNTAX_COUNT) {
        diag_add(d, DIAG_NOT_RECOGNISED, whole(info->name),
                 "this is %s; expected a log as CSV, JSON, JSONL or text", what ? what : "no text");
        take_notes(info, d, from, NULL, a);
        free(rows);
        return -1;
    }
    sniff_init(&sniff, syntax, head);
    const struct mapping *named = m;
    if (!m && settings->format)
        named = m = named_mapping(settings, a, d);
    else if (!m && syntax != SYNTAX_TEXT)
        m = settings->mappings ? sniff_choose(&sniff, settings->mappings) : NULL;
    if (named && named->n_patterns && !named->reads[syntax])
        syntax = SYNTAX_TEXT;
    if (!named && is_text_after_all(syntax, m, settings->mappings, head)) {
        syntax = SYNTAX_TEXT;
        m = NULL;
    }
    if (m && !m->n_patterns && syntax == SYNTAX_TEXT)
        m = NULL; /* errors only */
    if (syntax == SYNTAX_TEXT) {
        rc = read_text_source(info, source, m, sink, settings, a, d);
        take_notes(info, d, from, NULL, a);
        free(rows);
        sniff_release(&sniff);
        return rc;
    }
    if (!m)
        diag_add(
            d, DIAG_NOT_RECOGNISED, whole(info->name),
            "%s in no format that is known; --list-formats lists those, --format FILE gives one of your own",
            syntax_name(syntax));
    else
        rc = read_source(info, source, syntax, m, &sniff, sink, settings, a, d, rows);
    if (rc == 0 && !info->built_in)
        diag_add(d, DIAG_OWN_FORMAT, whole(info->name), "read with the format \"%s\" from %s", m->name,
                 m->origin);
    take_notes(info, d, from, rc == 0 ? rows : NULL, a);
    if (m)
        rows_release(rows);
    free(rows);
    sniff_release(&sniff);
    return rc;
}

int normalise_input(struct input_info *info, const struct record_sink *sink, const char *path,
                    const struct normalise_settings *settings, struct arena *a, struct diag *d)
{
    size_t from = d->n;
    *info = (struct input_info){
        .name = arena_strndup(a, path, strlen(path)), .first_step = NAN, .last_step = NAN};
    struct source *source = source_open(path, d);
    if (!source) {
        take_notes(info, d, from, NULL, a);
        return -1;
    }
    info->size = source_size(source);
    int rc = normalise_source(info, sink, source, settings, NULL, a, d);
    info->size = source_size(source);
    source_close(source);
    return rc;
}

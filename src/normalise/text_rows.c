#include "normalise/text_rows.h"
#include "base/mem.h"
#include "normalise/text_events.h"
#include "normalise/text_format.h"
#include "normalise/text_prefix.h"
#include "read/literals.h"
#include "read/text_match.h"
#include <math.h>
#include <stdlib.h>

enum {
    BEFORE_MAX = 160, /* [B] of the line before that are remembered */
    AFTER = 0x8000
};

struct pattern {
    const struct map_pattern *p;
    struct text_format *f;
    struct text_match *re; /* NULL until a line held one of its texts */
    int slots[TEXT_MATCH_GROUPS], set_slots[MAP_PATTERN_MAX], before_slot;
    bool broken, waits; /* waits: for one of the texts of "after" */
};

struct text_rows {
    const char *file;
    const struct normalise_settings *settings;
    struct record_sink sink;
    struct arena *a;
    struct diag *d;
    struct text_format *formats; /* n_formats, the highest score first */
    size_t n_formats;
    struct pattern *patterns; /* n_patterns, in that order */
    size_t n_patterns;
    struct literals *literals;
    struct str *texts; /* n_texts: what they look for; of events first */
    uint16_t *owner;   /* the pattern of each text; AFTER is added for one that it waits for */
    size_t n_texts;
    uint64_t *found, *wanted; /* bits of texts, of patterns */
    struct rows *event_rows;
    struct text_events events;
    struct held header; /* given so far */
    bool has_header, wants_before;
    uint64_t records_sent;

    /* the line at hand */
    uint64_t line;
    struct text_prefix prefix;
    bool has_prefix, gave; /* gave: a record, or a part of one */
    char before[BEFORE_MAX];
    size_t n_before;
};

/* --- records on their way out ------------------------------------------------------------- */

/* Formats of one file share a header: what a later one adds is merged, and how peaks are meant is said by the
 * first that gives records. */
static void send_header(struct text_rows *t, const struct record *r)
{
    struct record all = *r;
    bool news = !t->has_header;
    for (uint64_t bits = t->header.r.have; bits; bits &= bits - 1) {
        enum field f = (enum field)__builtin_ctzll(bits);
        if (!record_has(&all, f) || f == F_PEAK_RESET || f == F_FRAMEWORK) {
            all.v[f] = t->header.r.v[f];
            all.have |= (uint64_t)1 << f;
        }
    }
    for (uint64_t bits = all.have; bits && !news; bits &= bits - 1) {
        enum field f = (enum field)__builtin_ctzll(bits);
        bool declared = f == F_PEAK_RESET || f == F_FRAMEWORK;
        news = !record_same(&all, &t->header.r, f) && !(declared && t->records_sent);
    }
    if (!news)
        return;
    struct held copy = {0};
    held_set(&copy, &all);
    held_set(&t->header, &copy.r);
    held_release(&copy);
    t->has_header = true;
    t->sink.record(t->sink.ctx, &t->header.r, NULL, 0);
}

static void take_record(void *ctx, const struct record *r, const struct process_use *processes, size_t n)
{
    struct text_rows *t = ctx;
    if (record_has(r, F_OOMLOG)) {
        send_header(t, r);
        return;
    }
    if (!record_has(r, F_EVENT))
        text_events_record(&t->events, r);
    t->records_sent++;
    t->sink.record(t->sink.ctx, r, processes, n);
}

static struct rows *new_rows(struct text_rows *t, const struct mapping *m)
{
    struct rows *rows = mem_alloc(sizeof *rows);
    struct record_sink sink = {t, take_record, NULL};
    rows_init(rows, m, SYNTAX_TEXT, t->file, (struct str){NULL, 0}, t->settings, &sink, t->a, t->d);
    return rows;
}

/* --- patterns ----------------------------------------------------------------------------- */

static int slot_of(struct rows *rows, struct str key)
{
    return key.n ? rows_key(rows, key) : KEY_UNWANTED;
}

static bool ready(struct text_rows *t, struct pattern *p)
{
    const char *error;
    size_t at;
    if (p->re)
        return true;
    if (p->broken)
        return false;
    p->re = text_match_new(p->p->re, true, &error, &at, t->a);
    p->broken = !p->re;
    if (!p->re)
        return false;
    if (!p->f->rows)
        p->f->rows = new_rows(t, p->f->m);
    for (size_t i = 0; i < text_match_groups(p->re); i++)
        p->slots[i] = slot_of(p->f->rows, arena_str(t->a, text_match_group(p->re, i)));
    for (size_t i = 0; i < p->p->n_set && i < MAP_PATTERN_MAX; i++)
        p->set_slots[i] = slot_of(p->f->rows, p->p->set[i].from);
    p->before_slot = slot_of(p->f->rows, p->p->before);
    return true;
}

static void flush_formats(struct text_rows *t)
{
    for (size_t i = 0; i < t->n_formats; i++)
        text_format_flush(&t->formats[i]);
}

static void take_match(struct text_rows *t, struct pattern *p, const struct str *values)
{
    struct text_cells cells;
    struct text_origin origin = {t->line, t->prefix.rank, t->prefix.time};
    cells.n = 0;
    for (size_t i = 0; i < text_match_groups(p->re); i++)
        if (values[i].p)
            text_cells_add(&cells, p->slots[i], values[i]);
    for (size_t i = 0; i < p->p->n_set && i < MAP_PATTERN_MAX; i++)
        text_cells_add(&cells, p->set_slots[i], p->p->set[i].to);
    if (p->p->use == MAP_USE_RECORD && p->before_slot >= 0 && t->n_before)
        text_cells_add(&cells, p->before_slot, text_prefix_skip((struct str){t->before, t->n_before}));
    t->gave |= text_format_take(p->f, p->p->use, &cells, &origin);
}

static void try_pattern(struct text_rows *t, struct pattern *p, struct str text)
{
    struct str values[TEXT_MATCH_GROUPS];
    size_t from = 0;
    if (p->waits || !ready(t, p) || text_match_gave_up(p->re))
        return;
    while (text_match_next(p->re, text, &from, values)) {
        if (!t->has_prefix)
            text_prefix_read(&t->prefix, text);
        t->has_prefix = true;
        take_match(t, p, values);
    }
    if (text_match_gave_up(p->re))
        diag_add(t->d, DIAG_BAD_MAPPING, (struct place){t->file, t->line, 0},
                 "the pattern \"%.80s\" of the format \"%s\" takes too many steps on lines such as this; it "
                 "is not tried any more",
                 p->p->re.p, p->f->m->name);
}

/* --- lines -------------------------------------------------------------------------------- */

static void remember(struct text_rows *t, struct str text)
{
    if (!t->wants_before)
        return;
    t->n_before = text.n < BEFORE_MAX ? text.n : 0; /* a long line is no label */
    if (t->n_before)
        memcpy(t->before, text.p, t->n_before);
}

static void build_literals(struct text_rows *t);

/* The patterns whose texts were found; true when an event's text is among them. */
static bool which_patterns(struct text_rows *t)
{
    bool event = false, more = false;
    memset(t->wanted, 0, (t->n_patterns / 64 + 1) * sizeof *t->wanted);
    for (size_t w = 0; w <= t->n_texts / 64; w++)
        for (uint64_t bits = t->found[w]; bits; bits &= bits - 1) {
            size_t i = w * 64 + (size_t)__builtin_ctzll(bits);
            if (i < n_text_event_words)
                event = true;
            else if (t->owner[i] & AFTER)
                more = true, t->patterns[t->owner[i] & (AFTER - 1)].waits = false;
            else
                t->wanted[t->owner[i] / 64] |= (uint64_t)1 << t->owner[i] % 64;
        }
    if (more)
        build_literals(t);
    return event;
}

/* A line gives records of one format: that of the highest score whose pattern matches. */
static bool match_line(struct text_rows *t, struct str text)
{
    struct text_format *claimed = NULL;
    t->gave = false;
    for (size_t w = 0; w <= t->n_patterns / 64; w++)
        for (uint64_t bits = t->wanted[w]; bits; bits &= bits - 1) {
            struct pattern *p = &t->patterns[w * 64 + (size_t)__builtin_ctzll(bits)];
            bool gives = p->p->use == MAP_USE_RECORD;
            if ((claimed && claimed != p->f) || (gives && claimed))
                continue;
            try_pattern(t, p, text);
            if (t->gave)
                claimed = p->f;
        }
    return claimed != NULL;
}

bool text_rows_line(void *ctx, uint64_t line, struct str text)
{
    struct text_rows *t = ctx;
    bool used = false;
    t->line = line;
    t->has_prefix = false;
    memset(t->found, 0, (t->n_texts / 64 + 1) * sizeof *t->found);
    if (!literals_find(t->literals, text, t->found)) {
        text_events_other(&t->events, line, text);
        remember(t, text);
        return false;
    }
    bool event = which_patterns(t);
    used = match_line(t, text);
    if (event && !used) {
        text_prefix_read(&t->prefix, text);
        flush_formats(t);
        used = text_events_line(&t->events, line, text, t->prefix.rank);
    } else if (!used) {
        text_events_other(&t->events, line, text);
    }
    if (used)
        t->n_before = 0;
    else
        remember(t, text);
    return used;
}

void text_rows_end(struct text_rows *t)
{
    flush_formats(t);
    text_events_flush(&t->events);
}

/* --- setting up --------------------------------------------------------------------------- */

static int by_score(const void *x, const void *y)
{
    const struct text_format *a = x, *b = y;
    if (a->m->detect.score != b->m->detect.score)
        return a->m->detect.score > b->m->detect.score ? -1 : 1;
    return strcmp(a->m->name, b->m->name);
}

static void choose_formats(struct text_rows *t, const struct mapping_set *set, const struct mapping *only)
{
    size_t n = only || !set ? 1 : mapping_set_count(set);
    t->formats = mem_zero(n + 1, sizeof *t->formats);
    for (size_t i = 0; i < n; i++) {
        const struct mapping *m = only ? only : set ? mapping_set_at(set, i) : NULL;
        if (m && m->n_patterns && (only || m->detect.score))
            t->formats[t->n_formats++].m = m;
    }
    if (t->n_formats)
        qsort(t->formats, t->n_formats, sizeof *t->formats, by_score);
}

static void add_text(struct text_rows *t, struct str text, size_t owner)
{
    if (t->n_texts < LITERALS_MAX) {
        t->texts[t->n_texts] = text;
        t->owner[t->n_texts++] = (uint16_t)owner;
    }
}

/* Texts of patterns that wait are looked for only when their time has come. */
static void build_literals(struct text_rows *t)
{
    t->n_texts = 0;
    for (size_t i = 0; i < n_text_event_words; i++)
        add_text(t, text_event_words[i], 0);
    for (size_t i = 0; i < t->n_patterns; i++) {
        const struct pattern *p = &t->patterns[i];
        for (size_t h = 0; h < p->p->n_after && p->waits; h++)
            add_text(t, p->p->after[h], i | AFTER);
        for (size_t h = 0; h < p->p->n_has && !p->waits; h++)
            add_text(t, p->p->has[h], i);
    }
    literals_free(t->literals);
    t->literals = literals_new(t->texts, t->n_texts);
}

static void add_patterns(struct text_rows *t)
{
    size_t n = 0;
    for (size_t i = 0; i < t->n_formats; i++)
        n += t->formats[i].m->n_patterns;
    t->patterns = mem_zero(n + 1, sizeof *t->patterns);
    t->texts = mem_alloc(LITERALS_MAX * sizeof *t->texts);
    t->owner = mem_alloc(LITERALS_MAX * sizeof *t->owner);
    for (size_t i = 0; i < t->n_formats; i++)
        for (size_t k = 0; k < t->formats[i].m->n_patterns; k++) {
            const struct map_pattern *p = &t->formats[i].m->patterns[k];
            t->wants_before |= p->before.n > 0;
            t->patterns[t->n_patterns++] =
                (struct pattern){.p = p, .f = &t->formats[i], .waits = p->n_after > 0};
        }
    t->found = mem_zero(LITERALS_MAX / 64 + 1, sizeof *t->found);
    build_literals(t);
    t->wanted = mem_zero(t->n_patterns / 64 + 1, sizeof *t->wanted);
}

struct text_rows *text_rows_new(const struct mapping_set *set, const struct mapping *only, const char *file,
                                const struct normalise_settings *settings, const struct record_sink *sink,
                                struct arena *a, struct diag *d)
{
    static const struct mapping events = {.name = "text",
                                          .title = "out-of-memory messages in any text",
                                          .origin = "built in",
                                          .built_in = true};
    struct text_rows *t = mem_zero(1, sizeof *t);
    t->file = file;
    t->settings = settings;
    t->sink = *sink;
    t->a = a;
    t->d = d;
    choose_formats(t, set, only);
    add_patterns(t);
    t->event_rows = new_rows(t, &events);
    text_events_init(&t->events, t->event_rows);
    return t;
}

void text_rows_free(struct text_rows *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->n_formats; i++)
        text_format_release(&t->formats[i]);
    for (size_t i = 0; i < t->n_patterns; i++)
        text_match_free(t->patterns[i].re);
    rows_release(t->event_rows);
    free(t->event_rows);
    text_events_release(&t->events);
    held_release(&t->header);
    literals_free(t->literals);
    free(t->texts);
    free(t->owner);
    free(t->found);
    free(t->wanted);
    free(t->patterns);
    free(t->formats);
    free(t);
}

void text_rows_outcome(struct text_outcome *out, const struct text_rows *t)
{
    *out = (struct text_outcome){.built_in = true, .format = "text"};
    out->records = t->event_rows->records;
    out->has_memory = t->event_rows->has_memory;
    out->first_step = t->event_rows->first_step;
    out->last_step = t->event_rows->last_step;
    bool any = false;
    for (size_t i = 0; i < t->n_formats; i++) {
        const struct text_format *f = &t->formats[i];
        if (!f->rows)
            continue;
        out->first_step = fmin(out->first_step, f->rows->first_step);
        out->last_step = fmax(out->last_step, f->rows->last_step);
        if (!f->rows->records)
            continue;
        out->records += f->rows->records;
        out->matched += f->rows->records;
        out->has_memory |= f->rows->has_memory;
        out->format = any ? arena_printf(t->a, "%s, %s", out->format, f->m->name) : f->m->name;
        any = true;
        if (f->m->detect.score > out->score)
            out->score = f->m->detect.score;
        if (!f->m->built_in) {
            out->built_in = false;
            out->own = f->m;
        }
    }
}

static void drop(void *ctx, const struct record *r, const struct process_use *processes, size_t n)
{
    (void)ctx;
    (void)r;
    (void)processes;
    (void)n;
}

void text_rows_try(struct text_outcome *out, const struct mapping_set *set, const struct mapping *only,
                   struct str text)
{
    struct normalise_settings settings = {.step_from = NAN, .step_to = NAN};
    struct record_sink sink = {NULL, drop, NULL};
    struct arena a = {0};
    struct diag ignored;
    uint64_t skipped = 0;
    diag_init(&ignored);
    struct text_rows *t = text_rows_new(set, only, "head", &settings, &sink, &a, &ignored);
    struct row_handler h = {.ctx = t, .text = text_rows_line};
    struct source *source = source_of_memory("head", text);
    read_rows(source, SYNTAX_TEXT, NULL, &h, &skipped, &ignored);
    source_close(source);
    text_rows_end(t);
    text_rows_outcome(out, t);
    out->format = NULL; /* goes with the arena */
    text_rows_free(t);
    diag_release(&ignored);
    arena_release(&a);
}

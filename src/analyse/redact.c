#include "analyse/redact.h"

#include "analyse/redact_text.h"
#include "analyse/sites.h"
#include "base/mem.h"

#include <ctype.h>
#include <stdlib.h>

/* --- names and what stands for them ------------------------------------------------------ */

struct name {
    struct str from;
    const char *to;
    size_t order; /* of its first appearance */
};

/* Sorted by `from` once names_seal() has run. */
struct names {
    struct name *items; /* n items */
    size_t n, cap;
};

static void names_add(struct names *t, struct str from)
{
    if (t->n == t->cap) {
        t->cap = t->cap ? 2 * t->cap : 16;
        t->items = mem_grow(t->items, t->cap, sizeof *t->items);
    }
    t->items[t->n] = (struct name){from, NULL, t->n};
    t->n++;
}

static int by_name(const void *x, const void *y)
{
    const struct name *a = x, *b = y;
    int c = str_cmp(a->from, b->from);
    return c ? c : a->order < b->order ? -1 : a->order > b->order;
}

static int by_order(const void *x, const void *y)
{
    const struct name *a = x, *b = y;
    return a->order < b->order ? -1 : a->order > b->order;
}

/* Leaves each name once, in the order of first appearance. */
static void names_unique(struct names *t)
{
    size_t kept = 0;
    if (t->n > 0)
        qsort(t->items, t->n, sizeof *t->items, by_name);
    for (size_t i = 0; i < t->n; i++)
        if (kept == 0 || !str_eq(t->items[kept - 1].from, t->items[i].from))
            t->items[kept++] = t->items[i];
    t->n = kept;
    if (kept > 0)
        qsort(t->items, kept, sizeof *t->items, by_order);
}

static void names_seal(struct names *t)
{
    if (t->n > 0)
        qsort(t->items, t->n, sizeof *t->items, by_name);
}

static const char *names_find(const struct names *t, struct str from)
{
    size_t lo = 0, hi = t->n;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        int c = str_cmp(t->items[mid].from, from);
        if (c == 0)
            return t->items[mid].to;
        if (c < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return NULL;
}

/* "run 1", "run 2", … in the order of first appearance. */
static void names_number(struct names *t, const char *word, struct arena *a)
{
    names_unique(t);
    for (size_t i = 0; i < t->n; i++)
        t->items[i].to = arena_printf(a, "%s %zu", word, i + 1);
    names_seal(t);
}

static void inputs_table(struct names *t, const struct redactor *r)
{
    for (size_t i = 0; i < r->n_inputs; i++)
        names_add(t, str_of(r->input_names[i]));
    names_number(t, "input", r->arena);
}

/* --- before the analysis ------------------------------------------------------------------ */

static const struct redact_rules no_folder = {{NULL, 0}, false};

/* The name of a series' run, its source where it has none. */
static struct str run_of(const struct series *s)
{
    struct str run = record_text(&s->meta, F_RUN);
    return run.n ? run : str_of(s->source);
}

/* A run named by its file goes by the number of its file; copies of a log are found by that. */
static bool named_by_file(const struct series *s)
{
    struct str run = record_text(&s->meta, F_RUN);
    const char *base = s->source ? strrchr(s->source, '/') : NULL;
    base = base ? base + 1 : s->source;
    size_t stem = base ? strcspn(base, ".") : 0;
    return run.n == 0 || (stem > 0 && str_find(run, (struct str){base, stem}) != (size_t)-1);
}

static const char *source_of(const struct names *inputs, const struct series *s)
{
    const char *to = names_find(inputs, str_of(s->source));
    return to ? to : "several inputs";
}

/* Two runs that would be called the same are told apart. */
static void tell_apart(struct names *t, struct arena *a)
{
    struct names taken = {0};
    for (size_t i = 0; i < t->n; i++)
        names_add(&taken, str_of(t->items[i].to));
    names_seal(&taken);
    for (size_t i = 1, same = 1; i < taken.n; i++) {
        same = str_eq(taken.items[i].from, taken.items[i - 1].from) ? same + 1 : 1;
        if (same > 1)
            t->items[taken.items[i].order].to =
                arena_printf(a, "%s (%zu)", t->items[taken.items[i].order].to, same);
    }
    free(taken.items);
}

static void runs_table(struct names *runs, const struct redactor *r, const struct series_set *set,
                       const struct names *inputs)
{
    size_t numbered = 0;
    for (size_t i = 0; i < set->n; i++)
        names_add(runs, run_of(set->items[i]));
    names_unique(runs);
    for (size_t i = 0; i < runs->n; i++) {
        struct name *name = &runs->items[i];
        const struct series *s = set->items[name->order];
        if (r->level == REDACT_PATHS)
            name->to = redact_text(r->arena, arena_str(r->arena, name->from).p, &no_folder);
        else if (named_by_file(s))
            name->to = source_of(inputs, s);
        else
            name->to = arena_printf(r->arena, "run %zu", ++numbered);
    }
    tell_apart(runs, r->arena);
    names_seal(runs);
}

/* Phases that a framework or we ourselves name; others are the user's. */
static bool usual_phase(struct str name)
{
    static const char *const words[] = {"train", "eval",     "val",     "valid",    "validation",
                                        "test",  "warmup",   "predict", "generate", "save",
                                        "init",  "backward", "sanity",  "forward",  "optimizer"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (str_eq_nocase(name, str_of(words[i])))
            return true;
    return name.n == 0;
}

static void collect_words(struct names *phases, struct names *labels, const struct series *s)
{
    for (size_t i = 0; i < s->n_phases; i++)
        if (!usual_phase(s->phases[i]))
            names_add(phases, s->phases[i]);
    for (size_t i = 0; i < s->n_events; i++)
        if (!usual_phase(record_text(&s->events[i].rec, F_PHASE)))
            names_add(phases, record_text(&s->events[i].rec, F_PHASE));
    for (size_t i = 0; i < s->n_checkpoints; i++)
        if (i == 0 || !str_eq(s->checkpoints[i].label, s->checkpoints[i - 1].label))
            names_add(labels, s->checkpoints[i].label);
}

static void replace_words(struct series *s, const struct names *phases, const struct names *labels)
{
    const char *to;
    for (size_t i = 0; i < s->n_phases; i++)
        if ((to = names_find(phases, s->phases[i])))
            s->phases[i] = str_of(to);
    for (size_t i = 0; i < s->n_events; i++)
        if ((to = names_find(phases, record_text(&s->events[i].rec, F_PHASE))))
            record_set_s(&s->events[i].rec, F_PHASE, str_of(to));
    for (size_t i = 0; i < s->n_checkpoints; i++)
        if ((to = names_find(labels, s->checkpoints[i].label)))
            s->checkpoints[i].label = str_of(to);
}

static void redact_inputs(struct redactor *r, const struct names *inputs)
{
    for (size_t i = 0; i < r->n_inputs; i++) {
        struct input_info *in = &r->inputs[i];
        struct input_note *notes = arena_alloc(r->arena, (in->n_notes + 1) * sizeof *notes);
        for (size_t k = 0; k < in->n_notes; k++) {
            notes[k] = in->notes[k];
            notes[k].text = r->level == REDACT_ALL ? "what was found is not shown (--redact all)"
                                                   : redact_text(r->arena, notes[k].text, &no_folder);
        }
        in->notes = notes;
        if (r->level == REDACT_ALL) {
            in->name = names_find(inputs, str_of(r->input_names[i]));
            if (!in->built_in && in->format)
                in->format = "a format of one's own";
        } else {
            in->name = redact_text(r->arena, in->name, &no_folder);
            in->format = redact_text(r->arena, in->format, &no_folder);
        }
    }
}

void redact_series(struct redactor *r, struct series_set *set)
{
    struct names inputs = {0}, runs = {0}, phases = {0}, labels = {0};
    r->input_names = arena_alloc(r->arena, (r->n_inputs + 1) * sizeof *r->input_names);
    for (size_t i = 0; i < r->n_inputs; i++)
        r->input_names[i] = r->inputs[i].name ? r->inputs[i].name : "";
    if (r->level == REDACT_NONE)
        return;
    inputs_table(&inputs, r);
    runs_table(&runs, r, set, &inputs);
    for (size_t i = 0; i < set->n && r->level == REDACT_ALL; i++)
        collect_words(&phases, &labels, set->items[i]);
    names_number(&phases, "phase", r->arena);
    names_number(&labels, "checkpoint", r->arena);
    for (size_t i = 0; i < set->n; i++) {
        struct series *s = set->items[i];
        const char *run = names_find(&runs, run_of(s));
        if (record_text(&s->meta, F_RUN).n && run)
            record_set_s(&s->meta, F_RUN, str_of(run));
        s->source =
            r->level == REDACT_ALL ? source_of(&inputs, s) : redact_text(r->arena, s->source, &no_folder);
        replace_words(s, &phases, &labels);
    }
    redact_inputs(r, &inputs);
    free(inputs.items);
    free(runs.items);
    free(phases.items);
    free(labels.items);
}

/* --- after the analysis ------------------------------------------------------------------- */

/* "src/train.py" of "src/train.py:12 step". */
static struct str file_of_site(const char *site)
{
    struct str s = str_of(site), file = s;
    for (size_t i = 0; i + 1 < s.n; i++)
        if (s.p[i] == ':' && isdigit((unsigned char)s.p[i + 1])) {
            size_t k = i + 1;
            while (k < s.n && isdigit((unsigned char)s.p[k]))
                k++;
            if (k == s.n || s.p[k] == ' ')
                file.n = i;
        }
    return file;
}

static size_t folder_length(struct str path, size_t n)
{
    while (n > 0 && path.p[n - 1] != '/' && path.p[n - 1] != '\\')
        n--;
    return n;
}

/* Narrows the folder to what this frame's file shares with it, when it is the user's. */
static void share_folder(struct str *folder, bool *any, const char *site)
{
    struct str file = file_of_site(site);
    if (!site || site_frame_kind(file) != FRAME_USER || folder_length(file, file.n) == 0)
        return;
    size_t same = 0, most = *any ? folder->n : folder_length(file, file.n);
    if (!*any)
        folder->p = file.p;
    *any = true;
    while (same < most && same < file.n && folder->p[same] == file.p[same])
        same++;
    folder->n = folder_length(*folder, same);
}

/* The longest folder that all files of the user's frames share; empty when it is a root alone. */
static struct str user_folder(const struct analysis *an)
{
    struct str folder = {NULL, 0};
    bool any = false;
    for (size_t i = 0; i < an->n_runs; i++) {
        const struct run_report *r = &an->runs[i];
        for (size_t k = 0; k < r->n_holders; k++) {
            share_folder(&folder, &any, r->holders[k].site);
            for (size_t f = 0; f < r->holders[k].n_stack; f++)
                share_folder(&folder, &any, r->holders[k].stack[f]);
        }
    }
    bool root = folder.n == 1 || (folder.n == 3 && folder.p[1] == ':');
    return root ? (struct str){NULL, 0} : folder;
}

/* How the texts of one analysis are changed. */
struct texts {
    struct arena *arena; /* of the analysis */
    struct redact_rules rules;
    struct names inputs;
    bool all;
};

static void one(const struct texts *t, const char **text)
{
    *text = redact_text(t->arena, *text, &t->rules);
}

static void one_site(const struct texts *t, const char **site)
{
    if (!*site)
        return;
    struct str file = file_of_site(*site);
    if (t->all)
        *site += folder_length(file, file.n);
    else
        one(t, site);
}

static void place(const struct texts *t, struct place *at)
{
    if (!at->file)
        return;
    if (!t->all) {
        one(t, &at->file);
        return;
    }
    const char *to = names_find(&t->inputs, str_of(at->file));
    at->file = to ? to : "input";
}

static void verdict(const struct texts *t, struct verdict *v)
{
    struct advice *advice = (struct advice *)v->advice;
    one(t, &v->summary);
    one(t, &v->fix);
    for (size_t i = 0; i < v->n_advice; i++)
        one(t, &advice[i].text);
    one(t, &v->counterfactual);
    one(t, &v->runner_up_why_not);
    one(t, &v->next_run);
}

static void snapshot(const struct texts *t, struct run_report *r)
{
    for (size_t i = 0; i < r->n_holders; i++) {
        one_site(t, &r->holders[i].site);
        for (size_t k = 0; k < r->holders[i].n_stack; k++)
            one_site(t, &r->holders[i].stack[k]);
    }
    if (r->has_blame)
        one_site(t, &r->blame.site);
    one(t, &r->snapshot.alloc_conf);
}

static void run(const struct texts *t, struct run_report *r)
{
    verdict(t, &r->verdict);
    one(t, &r->device);
    for (int q = 0; q < Q_COUNT; q++)
        for (size_t i = 0; i < r->triage[q].n_tests; i++) {
            one(t, &r->triage[q].tests[i].text);
            place(t, &r->triage[q].tests[i].where);
        }
    place(t, &r->failure.where);
    one(t, &r->failure.message);
    one(t, &r->failure.batch_ids);
    for (size_t i = 0; i < r->n_checkpoints; i++)
        one(t, &r->checkpoints[i].label);
    if (t->all) {
        r->failure.message = NULL;
        r->failure.ids_hidden = true;
        if (r->format && strpbrk(r->format, "/\\."))
            r->format = "a format of one's own";
    } else {
        one(t, &r->format);
    }
    snapshot(t, r);
}

static void say_redacted(struct analysis *a)
{
    struct quality *more = arena_alloc(&a->arena, (a->n_quality + 1) * sizeof *more);
    if (a->n_quality)
        memcpy(more, a->quality, a->n_quality * sizeof *more);
    more[a->n_quality++] = (struct quality){
        "redacted", "Names of runs, inputs and labels are numbers here, and sample ids, messages and folders "
                    "are not shown (--redact all)."};
    a->quality = more;
}

void redact_analysis(const struct redactor *r, struct analysis *a)
{
    if (r->level == REDACT_NONE)
        return;
    struct str folder = user_folder(a);
    /* The texts that the folder points into are replaced one after the other. */
    struct texts t = {.arena = &a->arena, .all = r->level == REDACT_ALL};
    t.rules = (struct redact_rules){arena_str(&a->arena, folder), t.all};
    inputs_table(&t.inputs, r);
    verdict(&t, &a->verdict);
    for (size_t i = 0; i < a->n_runs; i++)
        run(&t, &a->runs[i]);
    one(&t, &a->cross.text);
    for (size_t i = 0; i < a->cross.n_shared_ids; i++)
        one(&t, &a->cross.shared_ids[i]);
    one(&t, &a->ranks_text);
    one(&t, &a->joined.text);
    one_site(&t, &a->joined.site);
    one(&t, &a->grown.text);
    for (size_t i = 0; i < a->grown.n_sites; i++)
        one_site(&t, &a->grown.sites[i].site);
    for (size_t i = 0; i < a->n_quality; i++)
        one(&t, &a->quality[i].text);
    if (t.all)
        say_redacted(a);
    free(t.inputs.items);
}

struct str redact_setting(const struct redactor *r, struct str line)
{
    static const char *const private[] = {"format = ", "map = ", "set = ", "name-pattern = ", "templates = "};
    const char *text = arena_str(r->arena, line).p;
    for (size_t i = 0; r->level == REDACT_ALL && i < sizeof private / sizeof private[0]; i++)
        if (str_starts(line, str_of(private[i])))
            return str_of(arena_printf(r->arena, "%s(not shown)", private[i]));
    return str_of(r->level == REDACT_NONE ? text : redact_text(r->arena, text, &no_folder));
}

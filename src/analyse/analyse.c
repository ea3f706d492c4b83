#include "analyse/analyse.h"

#include "analyse/copies.h"
#include "analyse/cross_run.h"
#include "analyse/merge.h"
#include "analyse/overall.h"
#include "analyse/ranks.h"
#include "analyse/rules.h"
#include "analyse/say.h"
#include "analyse/stats.h"
#include "analyse/tables.h"
#include "analyse/together.h"
#include "analyse/traits.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    TESTS = 24
};

static void (*const rules[])(struct run_ctx *) = {
#define RULE(name) rule_##name,
#include "analyse/rules.def"
#undef RULE
};

void rule_test(struct run_ctx *c, enum question_id q, const char *id, double measured, const char *unit,
               double limit, enum says says, size_t where, const char *text)
{
    struct question *k = &c->out->triage[q];
    if (k->n_tests == TESTS)
        return;
    struct test *t = &k->tests[k->n_tests++];
    *t = (struct test){
        .id = id, .measured = measured, .unit = unit, .limit = limit, .says = says, .text = text};
    if (where == ROW_FAILURE && c->f->fail)
        t->where = c->f->fail->rec.at;
    else if (where < c->f->s->rows)
        t->where = series_place(c->f->s, where);
}

/* Gives the answers to what was asked. */
static struct what_if_answer *run(struct analysis *a, struct run_report *out, const struct series *s,
                                  const struct analyse_settings *settings)
{
    struct frame f;
    frame_init(&f, s, settings->capacity_bytes);
    struct run_ctx c = {.arena = &a->arena, .f = &f, .out = out};
    for (int q = 0; q < Q_COUNT; q++) {
        out->triage[q].id = (enum question_id)q;
        out->triage[q].tests = arena_alloc(&a->arena, TESTS * sizeof *out->triage[q].tests);
    }
    tables_fill(&c);
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        rules[i](&c);
    decide(&c);
    traits_fill(out, &a->arena);
    quality_run(a, &c);
    struct what_if_answer *answers =
        settings->n_what_if ? what_if_run(&c, settings->what_if, settings->n_what_if) : NULL;
    frame_release(&f);
    return answers;
}

/* The answers of the lead run. A report has not the rows that they come from. */
static void take_answers(struct analysis *out, const struct series_set *set,
                         struct what_if_answer *const *answers, const struct analyse_settings *settings)
{
    out->n_what_if = settings->n_what_if;
    for (size_t i = 0; i < set->n; i++)
        if (set->items[i] == out->runs[out->lead].series && answers[i])
            out->what_if = answers[i];
    if (out->what_if || out->n_what_if == 0)
        return;
    out->what_if = arena_alloc(&out->arena, out->n_what_if * sizeof *out->what_if);
    for (size_t i = 0; i < out->n_what_if; i++)
        out->what_if[i] = (struct what_if_answer){
            settings->what_if[i].given,
            "This run was read from a report, which has not the rows that the answer comes "
            "from; give its log.",
            -1, NAN};
}

void analyse(struct analysis *out, const struct series_set *set, const struct analyse_settings *settings)
{
    memset(out, 0, sizeof *out);
    arena_init(&out->arena);
    struct what_if_answer **answers =
        arena_alloc(&out->arena, (set->n + 1) * sizeof(struct what_if_answer *));
    static const struct analyse_settings usual = {.capacity_bytes = NAN};
    settings = settings ? settings : &usual;
    size_t room = set->n + merge_room(settings->past, settings->n_past) + 1;
    out->runs = arena_alloc(&out->arena, room * sizeof *out->runs);
    uint64_t *digest = mem_alloc((set->n + 1) * sizeof *digest);
    for (size_t i = 0; i < set->n; i++) {
        digest[i] = set->n > 1 ? copies_digest(set->items[i]) : 0;
        size_t first = copies_first(digest, i);
        if (first < i) {
            quality_copy(out, set->items[i], set->items[first]);
            continue;
        }
        answers[i] = run(out, &out->runs[out->n_runs], set->items[i], settings);
        out->n_runs++;
    }
    free(digest);
    out->ids_hidden = settings->hide_ids;
    merge_runs(out, settings->past, settings->n_past);
    together_find(out);
    ranks_fill(out);
    overall(out);
    together_say(out);
    if (out->n_runs > 0)
        take_answers(out, set, answers, settings);
    cross_run(out);
}

void analysis_release(struct analysis *a)
{
    arena_release(&a->arena);
    memset(a, 0, sizeof *a);
}

#include "analyse/analyse.h"

#include "analyse/cross_run.h"
#include "analyse/overall.h"
#include "analyse/ranks.h"
#include "analyse/rules.h"
#include "analyse/say.h"
#include "analyse/stats.h"
#include "analyse/tables.h"
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

static void run(struct analysis *a, struct run_report *out, const struct series *s, double capacity)
{
    struct frame f;
    frame_init(&f, s, capacity);
    struct run_ctx c = {.arena = &a->arena, .f = &f, .out = out};
    for (int q = 0; q < Q_COUNT; q++) {
        out->triage[q].id = (enum question_id)q;
        out->triage[q].tests = arena_alloc(&a->arena, TESTS * sizeof *out->triage[q].tests);
    }
    tables_fill(&c);
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        rules[i](&c);
    decide(&c);
    quality_run(a, &c);
    frame_release(&f);
}

void analyse(struct analysis *out, const struct series_set *set, const struct analyse_settings *settings)
{
    memset(out, 0, sizeof *out);
    arena_init(&out->arena);
    out->n_runs = set->n;
    out->runs = arena_alloc(&out->arena, (set->n + 1) * sizeof *out->runs);
    for (size_t i = 0; i < set->n; i++)
        run(out, &out->runs[i], set->items[i], settings ? settings->capacity_bytes : NAN);
    ranks_fill(out);
    overall(out);
    cross_run(out);
}

void analysis_release(struct analysis *a)
{
    arena_release(&a->arena);
    memset(a, 0, sizeof *a);
}

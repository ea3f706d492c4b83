/* Logs and snapshots of one job, side by side. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyse/holders.h"
#include "analyse/together.h"
#include "snapshot_loop.h"

struct pair {
    struct analysis a;
    struct run_report runs[3];
    struct series *series[3];
};

static void set_up_pair(struct pair *p)
{
    *p = (struct pair){.a = {.runs = p->runs}};
}

static struct run_report *add_run(struct pair *p, const char *name)
{
    struct run_report *r = &p->runs[p->a.n_runs];
    *r = (struct run_report){.run = name, .seed = NAN, .rank = NAN, .verdict = {.cause = CAUSE_NONE}};
    r->series = p->series[p->a.n_runs++] = series_new();
    return r;
}

static struct run_report *add_log(struct pair *p, const char *name, double growth)
{
    struct run_report *r = add_run(p, name);
    r->has_leak = true;
    r->leak.slope_bytes_per_step = growth;
    r->verdict.cause = growth > 0 ? CAUSE_LEAK : CAUSE_NONE;
    return r;
}

/* The model at base, and `kept` tensors of 1 MiB from main.py:9. */
static struct run_report *add_snapshot(struct pair *p, const char *name, uint64_t base, int kept)
{
    struct run_report *r = add_run(p, name);
    struct loop l = {.t = trace_file_new(), .next = base};
    uint32_t model = frame(&l, "/home/u/main.py", 2, "build"), loss = frame(&l, "/home/u/main.py", 9, "step");
    take(&l, 3 << 20, stack(&l, &model, 1));
    for (int i = 0; i < kept; i++)
        take(&l, 1 << 20, stack(&l, &loss, 1));
    finish(&l);
    p->series[p->a.n_runs - 1]->trace = l.t;
    holders_figures(r, l.t, l.t->devices[0], &p->a.arena);
    return r;
}

static void tear_down_pair(struct pair *p)
{
    for (size_t i = 0; i < p->a.n_runs; i++)
        series_free(p->series[i]);
    arena_release(&p->a.arena);
}

static void two_snapshots_of_one_process_say_what_grew(void **state)
{
    (void)state;
    struct pair p;
    set_up_pair(&p);
    add_snapshot(&p, "late", 1 << 30, 9);
    add_snapshot(&p, "later", 1 << 30, 12);
    together_find(&p.a);
    assert_true(p.a.has_grown);
    assert_int_equal(p.a.grown.before, 0);
    assert_int_equal(p.a.grown.n_sites, 1); /* the model holds what it held */
    assert_string_equal(p.a.grown.sites[0].site, "/home/u/main.py:9 step");
    assert_true(p.a.grown.sites[0].before_bytes == 9 << 20 && p.a.grown.sites[0].after_bytes == 12 << 20);
    assert_non_null(strstr(p.a.grown.text, "grew most, by 3.00 MiB (100 % of the rise)"));
    assert_true(p.runs[0].beside && !p.runs[1].beside);
    tear_down_pair(&p);
}

static void snapshots_of_other_processes_are_not_compared(void **state)
{
    (void)state;
    struct pair p;
    set_up_pair(&p);
    add_snapshot(&p, "one", 1 << 30, 9);
    add_snapshot(&p, "two", 7ll << 33, 12);
    together_find(&p.a);
    assert_false(p.a.has_grown);
    assert_false(p.runs[0].beside || p.runs[1].beside);
    tear_down_pair(&p);
}

static void the_share_of_a_logs_growth_is_told(void **state)
{
    (void)state;
    struct pair p;
    set_up_pair(&p);
    add_log(&p, "job", 4 << 20);
    struct run_report *s = add_snapshot(&p, "job.pickle", 1 << 30, 3);
    s->verdict.cause = CAUSE_LEAK;
    s->snapshot.growth_bytes_per_step = 3 << 20;
    s->has_blame = true;
    s->blame = (struct blame){.site = "main.py:9 step", .growth_bytes_per_step = 3 << 20};
    together_find(&p.a);
    assert_true(p.a.has_joined && p.a.joined.log == 0 && p.a.joined.snapshot == 1);
    assert_true(p.a.joined.share == 0.75);
    assert_non_null(strstr(p.a.joined.text, "75 % of it: main.py:9 step by 3.00 MiB"));
    assert_true(p.runs[0].beside && !p.runs[1].beside);
    tear_down_pair(&p);
}

static void growth_that_no_line_has_lies_outside_the_allocator(void **state)
{
    (void)state;
    struct pair p;
    set_up_pair(&p);
    add_log(&p, "job", 4 << 20);
    add_snapshot(&p, "other-name.pickle", 1 << 30, 3)->snapshot.growth_bytes_per_step = 0;
    together_find(&p.a);
    assert_true(p.a.has_joined); /* the only log there is */
    assert_non_null(strstr(p.a.joined.text, "outside PyTorch's allocator"));
    assert_true(!p.runs[0].beside && p.runs[1].beside); /* the log knows something */
    tear_down_pair(&p);
}

static void of_several_logs_the_one_with_the_same_name_is_joined(void **state)
{
    (void)state;
    struct pair p;
    set_up_pair(&p);
    add_log(&p, "run1", 0);
    add_log(&p, "run2", 0);
    add_snapshot(&p, "dumps/run2.pickle", 1 << 30, 3);
    together_find(&p.a);
    assert_true(p.a.has_joined && p.a.joined.log == 1);
    tear_down_pair(&p);
}

static void a_log_of_another_rank_is_not_joined(void **state)
{
    (void)state;
    struct pair p;
    set_up_pair(&p);
    add_log(&p, "job", 0)->rank = 1;
    add_snapshot(&p, "job.pickle", 1 << 30, 3)->rank = 0;
    together_find(&p.a);
    assert_false(p.a.has_joined);
    tear_down_pair(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_snapshots_of_one_process_say_what_grew),
        cmocka_unit_test(snapshots_of_other_processes_are_not_compared),
        cmocka_unit_test(the_share_of_a_logs_growth_is_told),
        cmocka_unit_test(growth_that_no_line_has_lies_outside_the_allocator),
        cmocka_unit_test(of_several_logs_the_one_with_the_same_name_is_joined),
        cmocka_unit_test(a_log_of_another_rank_is_not_joined),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

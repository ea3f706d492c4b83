/* Runs with other batch sizes against the memory law. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyse_run.h"

/* 5 GiB and `each` a sample of 500 tokens or so; fails at once where it does not fit into 24 GiB. */
static struct series *sized(const char *name, double batch, double each, bool vary)
{
    struct series *s = run_new(24 * GIB);
    record_set_s(&s->meta, F_RUN, str_of(name));
    for (size_t i = 0; i < 100; i++) {
        double len = 500 + (vary ? floor(100 * wobble(i)) : 0), peak = 5 * GIB + batch * each * len / 500;
        if (peak > 23 * GIB) {
            run_oom(s, (struct oom){.step = (double)i,
                                    .requested = 2 * GIB,
                                    .allocated = 22 * GIB,
                                    .batch = batch,
                                    .len = len});
            return s;
        }
        run_step(s, (struct step){
                        .step = (double)i, .allocated = 5 * GIB, .peak = peak, .batch = batch, .len = len});
    }
    return s;
}

/* The sentence has these words, or lacks `word` when `has` is false. */
static void expect(struct series *x, struct series *y, const char *word, bool has)
{
    struct series *both[] = {x, y};
    struct series_set set = {.items = both, .n = 2};
    struct analysis a;
    series_seal(x);
    series_seal(y);
    analyse(&a, &set, NULL);
    if (!a.cross.text || (strstr(a.cross.text, word) != NULL) != has)
        fail_msg("\"%s\" %s \"%s\"", a.cross.text, has ? "lacks" : "has", word);
    analysis_release(&a);
    series_free(x);
    series_free(y);
}

static void what_the_batch_explains_is_said_with_both_figures(void **state)
{
    (void)state;
    expect(sized("a", 8, GIB, true), sized("b", 12, GIB, true), "by the law fitted at batch 8 (measured 1",
           true);
    expect(sized("a", 8, GIB, false), sized("b", 16, GIB, false), "batch 16 needs 21.0 GiB", true);
    expect(sized("a", 8, GIB, false), sized("b", 32, GIB, false), "batch 32 needs 37.0 GiB", true);
}

static void what_it_does_not_explain_is_said_too(void **state)
{
    (void)state;
    expect(sized("a", 4, GIB, true), sized("b", 8, 2 * GIB, true),
           "something besides the batch's size differs", true);
}

static void runs_of_one_batch_size_are_not_compared(void **state)
{
    (void)state;
    expect(sized("a", 8, GIB, true), sized("b", 8, 1.01 * GIB, true), "law", false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_batch_explains_is_said_with_both_figures),
        cmocka_unit_test(what_it_does_not_explain_is_said_too),
        cmocka_unit_test(runs_of_one_batch_size_are_not_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyse_run.h"

/* n steps of batches that differ by 3 %, a counter that is never reset, `climb` [B/step] kept, and
 * activations that vary by `noise` of themselves for no logged reason. */
static void expect(size_t n, double climb, double noise, bool leaks)
{
    struct series *s = run_new(24 * GIB);
    struct analysis a;
    double high = 0;
    record_set_s(&s->meta, F_PEAK_RESET, STR_LIT("never"));
    for (size_t i = 0; i < n; i++) {
        double len = 400 + floor(12 * wobble(i));
        double act = 8 * GIB * len / 400 * (1 + noise * wobble(5 * i + 3));
        high = fmax(high, 6 * GIB + act + climb * (double)i);
        run_step(s, (struct step){.step = (double)i, .peak = high, .batch = 8, .len = len});
    }
    run_end(s);
    const struct run_report *r = run_judge(&a, s);
    if ((r->verdict.cause == CAUSE_LEAK) != leaks)
        fail_msg("%s: %s", cause_name(r->verdict.cause), r->verdict.summary);
    run_done(&a, s);
}

static void records_by_batches_no_larger_are_growth(void **state)
{
    (void)state;
    expect(800, 3 * MIB, 0, true);
    expect(800, 3 * MIB, 0.01, true);
}

static void records_by_larger_batches_and_by_noise_are_not(void **state)
{
    (void)state;
    expect(800, 0, 0, false);
    expect(800, 0, 0.01, false);
    expect(800, 0, 0.05, false);
}

static void a_few_records_prove_nothing(void **state)
{
    (void)state;
    expect(12, 3 * MIB, 0.05, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_by_batches_no_larger_are_growth),
        cmocka_unit_test(records_by_larger_batches_and_by_noise_are_not),
        cmocka_unit_test(a_few_records_prove_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

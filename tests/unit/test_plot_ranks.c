/* The heat map of ranks: classes, gaps, rows that several ranks share. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyse_run.h"
#include "base/buf.h"
#include "draw/draw.h"

#include <stdlib.h>

enum {
    STEPS = 60
};

/* A job whose ranks peak at share[i] of 10 GiB; from gap[i] on rank i logs nothing more. */
static void job(struct buf *out, const double *share, const size_t *end, size_t n)
{
    struct series_set set = {.items = calloc(n, sizeof(struct series *)), .n = n, .cap = n};
    for (size_t i = 0; i < n; i++) {
        struct series *s = set.items[i] = run_new(10 * GIB);
        record_set_u(&s->meta, F_RANK, i);
        for (size_t step = 0; step < (end ? end[i] : STEPS); step++)
            run_step(s, (struct step){.step = (double)step,
                                      .allocated = 2 * GIB,
                                      .peak = share[i] * 10 * GIB - (double)(i + step) * 512});
        series_seal(s);
    }
    struct analysis a;
    analyse(&a, &set, NULL);
    draw_dump(out, &a);
    analysis_release(&a);
    for (size_t i = 0; i < n; i++)
        series_free(set.items[i]);
    free(set.items);
}

static const char *plot_of(const struct buf *b)
{
    const char *at = b->p ? strstr(b->p, "plot ranks ") : NULL;
    return at ? at : "";
}

static void each_rank_has_the_class_of_its_peak(void **state)
{
    (void)state;
    struct buf b = {0};
    job(&b, (const double[]){0.5, 0.86, 0.99}, NULL, 3);
    const char *plot = plot_of(&b);
    /* 240 cells across, 8 down for each rank; steps count up, so every bucket is filled */
    if (!strstr(plot, "of each level: 0 1920 0 0 0 1920 0 0 1920\n"))
        fail_msg("%.600s", plot);
    assert_null(strstr(plot, "not logged"));
    buf_release(&b);
}

static void what_a_rank_did_not_log_is_hatched(void **state)
{
    (void)state;
    struct buf b = {0};
    job(&b, (const double[]){0.5, 0.5}, (const size_t[]){STEPS, STEPS / 2}, 2);
    const char *plot = plot_of(&b);
    assert_non_null(strstr(plot, "cells hatch"));
    assert_non_null(strstr(plot, "not logged"));
    buf_release(&b);
}

static void more_ranks_than_rows_share_rows_and_none_is_lost(void **state)
{
    (void)state;
    enum {
        RANKS = 130
    };
    double share[RANKS];
    struct buf b = {0};
    for (size_t i = 0; i < RANKS; i++)
        share[i] = i == 77 ? 0.99 : 0.5;
    job(&b, share, NULL, RANKS);
    const char *plot = plot_of(&b);
    assert_non_null(strstr(plot, "3 ranks share a line"));
    assert_non_null(strstr(plot, "the fullest is rank 77"));
    if (!strstr(plot, "of each level: 0 20640 0 0 0 0 0 0 480\n")) /* one row of two cells down */
        fail_msg("%.900s", plot);
    buf_release(&b);
}

static void one_rank_has_no_heat_map(void **state)
{
    (void)state;
    struct buf b = {0};
    job(&b, (const double[]){0.5}, NULL, 1);
    assert_string_equal(plot_of(&b), "");
    buf_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_rank_has_the_class_of_its_peak),
        cmocka_unit_test(what_a_rank_did_not_log_is_hatched),
        cmocka_unit_test(more_ranks_than_rows_share_rows_and_none_is_lost),
        cmocka_unit_test(one_rank_has_no_heat_map),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

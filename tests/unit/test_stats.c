#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyse/fit.h"
#include "analyse/stats.h"
#include <math.h>

/* Reference values: numpy 1.24 (quantile, lstsq) and the textbook sums written out in Python, unless a
 * test says otherwise. */

static const double sample[] = {3.1, 0.2, 9.9, 4.4, 7.5, 1.0, 2.2, 8.8, 6.1, 5.0};

static void near(double is, double ought)
{
    if (!(fabs(is - ought) <= 1e-9 * (1 + fabs(ought))))
        fail_msg("%.17g is not %.17g", is, ought);
}

static void quantiles_are_those_of_numpy(void **state)
{
    (void)state;
    static const double q[] = {0, 0.25, 0.5, 0.9, 0.99, 1}, ought[] = {0.2, 2.425, 4.7, 8.91, 9.801, 9.9};
    for (size_t i = 0; i < 6; i++) {
        near(stats_quantile_of(sample, 10, q[i]), ought[i]);
        double copy[10];
        for (size_t k = 0; k < 10; k++)
            copy[k] = sample[k];
        near(stats_quantile(copy, 10, q[i]), ought[i]);
    }
    assert_true(isnan(stats_quantile_of(sample, 0, 0.5)));
}

static void a_quantile_leaves_missing_values_out(void **state)
{
    (void)state;
    const double v[] = {NAN, 3, NAN, 1, 2};
    near(stats_quantile_of(v, 5, 0.5), 2);
    near(stats_max(v, 5, NULL), 3);
    near(stats_min(v, 5, NULL), 1);
}

static void selection_is_right_among_equal_values(void **state)
{
    (void)state;
    double v[1000];
    for (size_t i = 0; i < 1000; i++)
        v[i] = (double)(i % 3);
    near(stats_select(v, 1000, 0), 0);
    near(stats_select(v, 1000, 333), 0);
    near(stats_select(v, 1000, 334), 1);
    near(stats_select(v, 1000, 999), 2);
}

static void mad_is_scaled_to_a_standard_deviation(void **state)
{
    (void)state;
    near(stats_mad_sd(sample, 10), 3.92889);
    assert_true(isnan(stats_mad_sd(sample, 1)));
}

static void theil_sen_ignores_an_outlier(void **state)
{
    (void)state;
    const double x[] = {0, 1, 2, 3, 4, 5, 6, 7}, y[] = {1.0, 3.2, 2.9, 6.8, 9.1, 10.4, 60.0, 15.2};
    double intercept, slope = stats_theil_sen(x, y, 8, &intercept);
    near(slope, 2.0666666666666664);
    near(intercept, 0.7833333333333341);
}

static void slope_of_one_point_is_nan(void **state)
{
    (void)state;
    const double x[] = {4, 4}, y[] = {1, 2};
    double intercept;
    assert_true(isnan(stats_theil_sen(x, y, 1, &intercept)));
    assert_true(isnan(stats_theil_sen(x, y, 2, &intercept)));
    assert_true(isnan(stats_slope_error(x, y, 2, 0, 0)));
}

static void slope_error_is_that_of_least_squares(void **state)
{
    (void)state;
    const double x[] = {0, 1, 2, 3, 4, 5, 6, 7}, y[] = {2.1, 3.9, 6.2, 7.8, 10.1, 12.2, 13.8, 16.1};
    /* slope, intercept and error from numpy.linalg.lstsq; the residuals alternate, so nothing widens it */
    double e = stats_slope_error(x, y, 8, 1.9976190476190476, 2.0333333333333333);
    assert_true(fabs(e - 0.027800444266884158) < 1e-9);
}

static void slope_error_widens_with_autocorrelation(void **state)
{
    (void)state;
    double x[40], rough[40], smooth[40];
    for (int i = 0; i < 40; i++) {
        x[i] = i;
        rough[i] = i % 2 ? 1 : -1;
        smooth[i] = i / 5 % 2 ? 1 : -1;
    }
    assert_true(stats_slope_error(x, smooth, 40, 0, 0) > 1.5 * stats_slope_error(x, rough, 40, 0, 0));
}

static void tau_counts_pairs(void **state)
{
    (void)state;
    const double v[] = {1, 3, 2, 5, 4, 6, 7}, up[] = {1, 2, 3}, flat[] = {2, 2, 2};
    near(stats_trend_tau(v, 7), 17.0 / 21); /* 19 pairs rise, 2 fall */
    near(stats_trend_tau(up, 3), 1);
    near(stats_trend_tau(flat, 3), 0);
    assert_true(isnan(stats_trend_tau(v, 1)));
}

static void sums_give_the_residuals_of_a_line(void **state)
{
    (void)state;
    struct stats_sums s = {0}, head = {0};
    for (int i = 0; i < 10; i++) {
        double y = 3 + 2 * i + (i == 4 ? 1 : 0);
        stats_sums_add(&s, i, y);
        if (i < 5)
            stats_sums_add(&head, i, y);
    }
    double slope;
    assert_true(stats_sums_line(stats_sums_minus(s, head), &slope) < 1e-9);
    near(slope, 2);
    assert_true(stats_sums_line(s, NULL) > 0.5 && stats_sums_line(s, NULL) < 1);
}

static void change_point_is_at_the_largest_shift(void **state)
{
    (void)state;
    const double v[] = {1, 1, 1, 1, 5, 5, 5, 5, 5, 5};
    double shift;
    assert_int_equal(stats_change_point(v, 10, 2, &shift), 4);
    near(shift, 4);
    assert_int_equal(stats_change_point(v, 3, 2, &shift), 0);
}

static void bins_cover_all_pairs_and_skip_missing_ones(void **state)
{
    (void)state;
    double x[100], y[100];
    for (int i = 0; i < 100; i++) {
        x[i] = i;
        y[i] = i < 20 ? NAN : i;
    }
    struct stats_bins b;
    stats_bin(&b, x, y, 100, 10);
    assert_int_equal(b.n, 8);
    near(b.x[0], 24.5);
    near(b.mid[0], 24.5);
    near(b.low[0], 20);
    assert_int_equal(b.first[b.n], 100);
}

static void a_quadratic_law_is_found_exactly(void **state)
{
    (void)state;
    double t[40], q[40], y[40];
    for (int i = 0; i < 40; i++) {
        t[i] = 100 * (i + 1);
        q[i] = t[i] * t[i];
        y[i] = 5e9 + 2e5 * t[i] + 30 * q[i];
    }
    const double *x[] = {t, q};
    struct fit f;
    assert_true(fit_huber(&f, x, y, 40, 2, 0));
    assert_true(fabs(f.base - 5e9) < 1e3 && fabs(f.c[0] - 2e5) < 1 && fabs(f.c[1] - 30) < 1e-3);
    assert_true(f.r2 > 0.999999);
}

static void a_law_is_robust_against_a_few_wild_rows(void **state)
{
    (void)state;
    double t[60], y[60];
    for (int i = 0; i < 60; i++) {
        t[i] = i;
        y[i] = 10 + 3 * i + (i % 2 ? 0.1 : -0.1) + (i % 15 == 7 ? 500 : 0);
    }
    const double *x[] = {t};
    struct fit f;
    assert_true(fit_huber(&f, x, y, 60, 1, 0));
    assert_true(fabs(f.c[0] - 3) < 0.05);
}

/* What defines Huber's estimate (1964): the clipped residuals are at right angles to each column. */
static void a_fit_solves_the_estimating_equations(void **state)
{
    (void)state;
    enum {
        N = 400
    };
    double x[N], y[N], r[N], sorted[N];
    const double *columns[] = {x};
    struct fit f;
    for (size_t i = 0; i < N; i++) {
        x[i] = (double)(i * 37 % 101);
        y[i] = 50 + 3 * x[i] + (double)(i * 71 % 23) - 11 + (i % 19 == 0 ? 300 : 0);
    }
    assert_true(fit_huber(&f, columns, y, N, 1, 0));
    for (size_t i = 0; i < N; i++) {
        r[i] = y[i] - fit_at(&f, &x[i]);
        sorted[i] = r[i] < 0 ? -r[i] : r[i];
    }
    double limit = 1.345 * 1.4826 * stats_median(sorted, N), sum = 0, along = 0;
    for (size_t i = 0; i < N; i++) {
        double clipped = r[i] > limit ? limit : r[i] < -limit ? -limit : r[i];
        sum += clipped / limit / N;
        along += clipped / limit * (x[i] - 50) / 29 / N;
    }
    assert_true(fabs(sum) < 1e-3);
    assert_true(fabs(along) < 1e-3);
    assert_true(f.c[0] > 2.95 && f.c[0] < 3.05);
}

static void memory_that_falls_with_size_gets_no_law(void **state)
{
    (void)state;
    double t[30], y[30];
    for (int i = 0; i < 30; i++) {
        t[i] = i;
        y[i] = 100 - i;
    }
    const double *x[] = {t};
    struct fit f;
    assert_true(fit_huber(&f, x, y, 30, 1, 0));
    near(f.c[0], 0);
    assert_true(fit_huber(&f, x, y, 30, 1, 1)); /* unless a negative coefficient is allowed */
    near(f.c[0], -1);
}

static void a_repeated_column_does_no_harm(void **state)
{
    (void)state;
    double t[30], y[30];
    for (int i = 0; i < 30; i++) {
        t[i] = i;
        y[i] = 5 + 2 * i;
    }
    const double *x[] = {t, t};
    struct fit f;
    double at[] = {10, 10};
    assert_true(fit_huber(&f, x, y, 30, 2, 0));
    assert_true(fabs(fit_at(&f, at) - 25) < 1e-6);
}

static void nothing_that_varies_is_no_fit(void **state)
{
    (void)state;
    double t[30], y[30];
    for (int i = 0; i < 30; i++)
        t[i] = 7, y[i] = i;
    const double *x[] = {t};
    struct fit f;
    assert_false(fit_huber(&f, x, y, 30, 1, 0));
    assert_false(fit_huber(&f, x, y, 3, 1, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles_are_those_of_numpy),
        cmocka_unit_test(a_quantile_leaves_missing_values_out),
        cmocka_unit_test(selection_is_right_among_equal_values),
        cmocka_unit_test(mad_is_scaled_to_a_standard_deviation),
        cmocka_unit_test(theil_sen_ignores_an_outlier),
        cmocka_unit_test(slope_of_one_point_is_nan),
        cmocka_unit_test(slope_error_is_that_of_least_squares),
        cmocka_unit_test(slope_error_widens_with_autocorrelation),
        cmocka_unit_test(tau_counts_pairs),
        cmocka_unit_test(sums_give_the_residuals_of_a_line),
        cmocka_unit_test(change_point_is_at_the_largest_shift),
        cmocka_unit_test(bins_cover_all_pairs_and_skip_missing_ones),
        cmocka_unit_test(a_quadratic_law_is_found_exactly),
        cmocka_unit_test(a_law_is_robust_against_a_few_wild_rows),
        cmocka_unit_test(a_fit_solves_the_estimating_equations),
        cmocka_unit_test(memory_that_falls_with_size_gets_no_law),
        cmocka_unit_test(a_repeated_column_does_no_harm),
        cmocka_unit_test(nothing_that_varies_is_no_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

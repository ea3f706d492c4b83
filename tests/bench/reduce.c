/* reduce: ms of CPU time that 10 million rows of one field take to be reduced to pixels, drawing's only
 * pass over the data; prints the median of nine. */
#include "draw/reduce.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    ROWS = 10000000,
    ROUNDS = 9
};

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

int main(void)
{
    static const enum field fields[] = {F_ALLOCATED};
    struct series *s = series_new();
    struct record r;
    double taken[ROUNDS];
    uint64_t x = 88172645463325252u;
    for (size_t i = 0; i < ROWS; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        record_clear(&r);
        record_set_u(&r, F_STEP, i);
        record_set_u(&r, F_ALLOCATED, 30000000000u + x % 4000000000u);
        series_append(s, &r);
    }
    series_seal(s);
    for (size_t i = 0; i < ROUNDS; i++) {
        struct arena a = {0};
        struct reduced out;
        struct reduce_spec spec = {X_STEP, 0, ROWS, 1600, fields, 1, -1};
        double start = now_ms();
        reduce(&out, &a, s, &spec);
        taken[i] = now_ms() - start;
        arena_release(&a);
    }
    qsort(taken, ROUNDS, sizeof *taken, ascending);
    printf("%.1f\n", taken[ROUNDS / 2]);
    series_free(s);
    return 0;
}

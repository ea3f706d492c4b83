#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/pool.h"
#include "cli/dump.h"
#include "normalise/mapping.h"
#include "normalise/read_ahead.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    FILES = 12
};

struct files {
    char dir[64];
    char path[FILES][96];
    struct named_input inputs[FILES];
};

static void write_file(struct files *f, size_t i, const char *name, const char *text)
{
    snprintf(f->path[i], sizeof f->path[i], "%s/%s", f->dir, name);
    FILE *out = fopen(f->path[i], "w");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
    f->inputs[i] = (struct named_input){f->path[i], strrchr(f->path[i], '/') + 1};
}

/* Ranks of a run, a run that goes on in a second file, a text, an empty file, one that is not there. */
static int setup(void **state)
{
    static struct files f;
    strcpy(f.dir, "/tmp/oomreport-test-XXXXXX");
    assert_non_null(mkdtemp(f.dir));
    for (unsigned i = 0; i < FILES; i++) {
        struct buf text = {0};
        char name[32];
        unsigned first = i == 7 ? 100 : 0;
        snprintf(name, sizeof name, "run_rank%u.jsonl", i);
        buf_printf(&text, "{\"oomlog\":1,\"run\":\"%s\",\"rank\":%u}\n", i < 6 ? "ranks" : "long",
                   i < 6 ? i : 0);
        for (unsigned step = first; step < first + 50 + i; step++)
            buf_printf(&text, "{\"step\":%u,\"allocated_bytes\":%u,\"batch_ids\":[\"s%u\"]}\n", step,
                       1000 * i + step * step % 97, step * i % 31);
        if (i == 8)
            buf_clear(&text);
        if (i == 9)
            buf_puts(&text, "junk\n{\"step\":1\n{\"step\":9,\"allocated_bytes\":-1}\n");
        write_file(&f, i, name, text.n ? text.p : "");
        buf_release(&text);
    }
    unlink(f.path[10]);
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    struct files *f = *state;
    for (size_t i = 0; i < FILES; i++)
        unlink(f->path[i]);
    return rmdir(f->dir);
}

/* What reading gives, as text. threads 0: one file after the other. */
static char *read_all(struct files *f, size_t threads)
{
    struct diag d;
    struct arena a = {0};
    struct series_set set;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    diag_init(&d);
    struct mapping_set *mappings = mapping_set_new(NULL, NULL, &d);
    struct normalise_settings settings = {.mappings = mappings, .step_from = NAN, .step_to = NAN};
    struct builder *b = builder_new(NULL);
    struct read_ahead *r = threads ? read_ahead_new(f->inputs, FILES, threads, &settings, NULL) : NULL;
    for (size_t i = 0; i < FILES; i++) {
        struct input_info info;
        int status;
        diag_release(&d);
        if (r) {
            status = read_ahead_next(r, b, &info, &d);
        } else {
            struct record_sink sink = builder_sink(b, f->inputs[i].path, f->inputs[i].name, &d);
            status = normalise_input(&info, &sink, f->inputs[i].path, &settings, &a, &d);
            builder_input_end(b, &info);
        }
        fprintf(out, "%d %s %s %llu %llu %zu\n", status, info.name, info.format ? info.format : "-",
                (unsigned long long)info.records, (unsigned long long)info.skipped, info.n_notes);
        diag_print(&d, out, DIAG_NOTE);
    }
    builder_finish(&set, b);
    dump_series(out, &set);
    fclose(out);
    series_set_release(&set);
    builder_free(b);
    read_ahead_free(r);
    mapping_set_free(mappings);
    arena_release(&a);
    diag_release(&d);
    return text;
}

static void inputs_read_at_once_give_what_they_give_one_after_the_other(void **state)
{
    static const size_t threads[] = {1, 2, 3, 12};
    char *want = read_all(*state, 0);
    assert_non_null(strstr(want, "ranks"));
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        char *got = read_all(*state, threads[i]);
        assert_string_equal(want, got);
        free(got);
    }
    free(want);
}

static void reading_ahead_can_be_given_up(void **state)
{
    struct files *f = *state;
    struct diag d;
    diag_init(&d);
    struct mapping_set *mappings = mapping_set_new(NULL, NULL, &d);
    struct normalise_settings settings = {.mappings = mappings, .step_from = NAN, .step_to = NAN};
    struct builder *b = builder_new(NULL);
    struct read_ahead *r = read_ahead_new(f->inputs, FILES, 3, &settings, NULL);
    struct input_info info;
    assert_int_equal(read_ahead_next(r, b, &info, &d), 0);
    read_ahead_free(r);
    builder_free(b);
    mapping_set_free(mappings);
    diag_release(&d);
}

struct jobs {
    int runs[100];
};

static void count_job(void *ctx, size_t i)
{
    ((struct jobs *)ctx)->runs[i]++;
}

static void a_pool_runs_each_job_once(void **state)
{
    (void)state;
    for (size_t threads = 1; threads <= 5; threads++) {
        struct jobs jobs = {{0}};
        struct pool *p = pool_new(threads, 100, 3, count_job, &jobs);
        for (size_t i = 0; i < 100; i++) {
            pool_wait(p, i);
            assert_int_equal(jobs.runs[i], 1);
        }
        pool_free(p);
    }
    assert_true(pool_processors() >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(inputs_read_at_once_give_what_they_give_one_after_the_other, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(reading_ahead_can_be_given_up, setup, teardown),
        cmocka_unit_test(a_pool_runs_each_job_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

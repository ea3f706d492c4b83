#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "read/csv_sniff.h"
#include "read/read.h"

struct example {
    const char *bytes;
    enum syntax syntax;
    const char *what; /* words that name what it is */
};

static const struct example EXAMPLES[] = {
    {"{\"step\": 1}\n{\"step\": 2}\n", SYNTAX_JSONL, NULL},
    {"\n\n{\"step\": 1}\r\n{\"step\": 2}", SYNTAX_JSONL, NULL},
    {"{\"step\": 1}\n{\"step\": 2, \"lo", SYNTAX_JSONL, NULL},
    {"{\"step\": 1}\nTraceback (most recent call last):\n", SYNTAX_JSONL, NULL},
    {"starting run 7\n{\"step\": 1}\n{\"step\": 2}\n", SYNTAX_JSONL, NULL},
    {"ss\": 0.5}\n{\"step\": 1}\n{\"step\": 2}\n", SYNTAX_JSONL, NULL},
    {"{\"loss\": NaN}\n{\"loss\": Infinity}\n", SYNTAX_JSONL, NULL},
    {"{\"step\": 1} {\"step\": 2}\n{\"step\": 3}\n", SYNTAX_JSONL, NULL},
    {"{\"gpu_0_memory_used_MB\": 600, \"epoch\": 3}", SYNTAX_JSON, NULL},
    {"{\n  \"log_history\": [\n    {\"step\": 1}\n  ]\n}\n", SYNTAX_JSON, NULL},
    {"{ \"log_history\": [\n    {\"step\": 1},\n", SYNTAX_JSON, NULL},
    {"{\"a\": 1, \"b", SYNTAX_JSON, NULL},
    {"[\n{\"step\": 1},\n{\"step\": 2}\n]\n", SYNTAX_JSON, NULL},
    {"[{\"step\": 1}, {\"step\": 2}]", SYNTAX_JSON, NULL},
    {"{\n\"a\": 1\n}\n{\n\"a\": 2\n}\n", SYNTAX_JSON, NULL},

    {"step,loss\n0,1.5\n1,1.4\n", SYNTAX_CSV, NULL},
    {"step;loss;mem\r\n0;1,5;3\r\n1;1,4;4\r\n", SYNTAX_CSV, NULL},
    {"step\tloss\n0\t1.5\n1\t1.4\n", SYNTAX_CSV, NULL},
    {"step,allocated_bytes,loss\n", SYNTAX_CSV, NULL},
    {",d_model,mem\n0,16,100.0\n1,32,200.0\n", SYNTAX_CSV, NULL},
    {"epoch,step,val_loss,train_loss\n0,49,,7.6\n0,99,,7.5\n0,99,6.9,\n", SYNTAX_CSV, NULL},
    {"\"Step\",\"mem\"\n\"0\",\"0.75\"\n\"1\",\"0.5\"\n", SYNTAX_CSV, NULL},
    {"timestamp, memory.used [MiB], utilization.gpu [%]\n2026/02/12 17:26:20.325, 473 MiB, 0 %\n", SYNTAX_CSV,
     NULL},
    {"2026/02/12 17:26:20.325, 0, NVIDIA RTX A6000, 473 MiB, [N/A]\n"
     "2026/02/12 17:26:21.325, 0, NVIDIA RTX A6000, 473 MiB, [N/A]\n",
     SYNTAX_CSV, NULL},
    {"Wed Jan  5 17:01:16 2026\n+-----+\n| GPU  Name | Bus-Id |\n+-----+\nindex, memory.used [MiB]\n0, 5 "
     "MiB\n0, 6 "
     "MiB\n",
     SYNTAX_CSV, NULL},
    {"seq_len,mem,error\n16,100,\n32,200,\n64,,Out of Memory\n", SYNTAX_CSV, NULL},
    {"2nd,!mem,(x)\nx,1,2\ny,3,4\n", SYNTAX_CSV, NULL},
    {"a,b,\n1,2,\n3,,\n", SYNTAX_CSV, NULL},
    {"a,b,c\nx,1.5MiB \xc2\xb1 0.0MiB,y\n", SYNTAX_CSV, NULL},
    {"epoch   loss   mem\n1   0.5   100\n2   0.4   100\n", SYNTAX_CSV, NULL},

    {"     0/299     11.8G   0.06979   0.05\n     1/299     11.8G   0.05979   0.05\n", SYNTAX_TEXT, NULL},
    {"[Rank 0] (after 10 iterations) memory (MB) | allocated: 1.5 | max allocated: 2.5 | reserved: 3\n"
     " iteration       10/     100 | consumed samples:          160 | elapsed time per iteration (ms): 1.0 "
     "|\n",
     SYNTAX_TEXT, NULL},
    {"2026-01-01 10:00:00,123 - mmdet - INFO - Epoch [1][50/620]\tlr: 1e-3, eta: 1:00, time: 0.5, memory: "
     "270, "
     "loss: 1.5\n"
     "2026-01-01 10:00:30,456 - mmdet - INFO - Epoch [1][100/620]\tlr: 1e-3, eta: 1:00, time: 0.5, memory: "
     "270, "
     "loss: 1.4\n",
     SYNTAX_TEXT, NULL},
    {"2026-01-01 10:00:00,123 INFO start\n2026-01-01 10:00:01,123 INFO step one done now and on we go to "
     "it\n",
     SYNTAX_TEXT, NULL},
    {"Traceback (most recent call last):\n  File \"train.py\", line 10, in main\n  File \"model.py\", line "
     "20, in "
     "forward\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n",
     SYNTAX_TEXT, NULL},
    {"\r  0%|          | 0/100 [00:00<?, ?it/s]\r  1%|1| 1/100 [00:01<01:40, 1.0it/s, loss=2.5]\r",
     SYNTAX_TEXT, NULL},
    {"{'loss': 0.6, 'learning_rate': 2e-05, 'epoch': 0.1}\n{'loss': 0.5, 'learning_rate': 2e-05, 'epoch': "
     "0.2}\n",
     SYNTAX_TEXT, NULL},
    {"[2026-01-19 08:21:59,758] [INFO] [axolotl] memory usage: 25.701GB (+0.079GB cache, +1.045GB misc)\n",
     SYNTAX_TEXT, NULL},
    {"[1] 12345\n[rank0]: Traceback\n", SYNTAX_TEXT, NULL},
    {"[INFO] start\n[INFO] end\n", SYNTAX_TEXT, NULL},
    {"import os, sys\nimport time, json\nx = [1, 2]\n", SYNTAX_TEXT, NULL},
    {"Hello, world\n", SYNTAX_TEXT, NULL},
    {"Dear all, the run died.\nBest, Ann\n", SYNTAX_TEXT, NULL},
    {"train_inner | {\"loss\": \"5.1\", \"gb_free\": \"9.9\"}\ntrain_inner | {\"loss\": \"5.0\", "
     "\"gb_free\": "
     "\"9.9\"}\n",
     SYNTAX_TEXT, NULL},
    {"TrainArgs(\n  lr=0.1,\n  steps=100,\n  betas=(0.9, 0.95),\n)\n", SYNTAX_TEXT, NULL},
    {"3\n4\n5\n", SYNTAX_TEXT, NULL},
    {"\n", SYNTAX_TEXT, NULL},

    {"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n", SYNTAX_COUNT, "git-lfs"},
    {"\x80\x04\x95 dictionary", SYNTAX_COUNT, "pickle"},
    {"(dp0\nS'segments'\np1\n", SYNTAX_COUNT, "pickle"},
    {"PK\x03\x04 archive", SYNTAX_COUNT, "zip"},
    {"\x7f"
     "ELF\x02\x01\x01",
     SYNTAX_COUNT, "ELF"},
    {"  <!DOCTYPE HTML>\n<html></html>", SYNTAX_COUNT, "HTML"},
    {"\x89PNG\r\n\x1a\n", SYNTAX_COUNT, "PNG"},
    {"\x1f\x8b\x08 again", SYNTAX_COUNT, "gzip"},
    {"\x01\x02\x03\x04\x05\x06\x0e\x0f\x10\x11", SYNTAX_COUNT, "binary"},
    {"", SYNTAX_COUNT, NULL},
};

static void every_example_is_recognised(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof EXAMPLES / sizeof *EXAMPLES; i++) {
        const struct example *e = &EXAMPLES[i];
        const char *what;
        enum syntax found = read_detect(str_of(e->bytes), &what);
        if (found != e->syntax)
            fail_msg("%s instead of %s: %s", syntax_name(found), syntax_name(e->syntax), e->bytes);
        if (e->what && (!what || !strstr(what, e->what)))
            fail_msg("named \"%s\": %s", what ? what : "(nothing)", e->bytes);
        if (!e->what)
            assert_null(what);
    }
}

static void the_header_is_found_behind_a_banner(void **state)
{
    (void)state;
    struct csv_shape s = csv_sniff(STR_LIT("+---+\n| x |\n\nstep,mem\n1,2\n3,4\n"), true, 0);
    assert_true(s.found);
    assert_int_equal(s.header, 4);
    assert_int_equal(s.columns, 2);
    assert_int_equal(s.delimiter, ',');
}

static void rows_of_figures_have_no_header(void **state)
{
    (void)state;
    struct csv_shape s = csv_sniff(STR_LIT("1;2;3\n4;5;6\n"), true, 0);
    assert_true(s.found);
    assert_int_equal(s.header, 0);
    assert_int_equal(s.columns, 3);
    assert_int_equal(s.delimiter, ';');
}

static void figures_are_told_from_names(void **state)
{
    (void)state;
    static const char *const FIGURES[] = {"1",        "-2.5e-3",
                                          ".5",       "34 %",
                                          "1234 MiB", "2026/01/03 15:36:53.507",
                                          "NaN",      "33.09 W",
                                          "12.5GB",   "2026-01-03T15:36:53Z"};
    static const char *const NAMES[] = {"step", "memory.used [MiB]", "gpu_id: 0/memory.used (MB)", "# step",
                                        "\xc3\xa9poque"};
    for (size_t i = 0; i < sizeof FIGURES / sizeof *FIGURES; i++)
        if (!csv_is_figure(str_of(FIGURES[i])) || csv_is_name(str_of(FIGURES[i])))
            fail_msg("%s is a figure", FIGURES[i]);
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (csv_is_figure(str_of(NAMES[i])) || !csv_is_name(str_of(NAMES[i])))
            fail_msg("%s is a name", NAMES[i]);
    assert_false(csv_is_name(STR_LIT("loss: 0.5")));
    assert_false(csv_is_name(STR_LIT("OOM")));
    assert_false(csv_is_figure(STR_LIT("[N/A]")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_example_is_recognised),
        cmocka_unit_test(the_header_is_found_behind_a_banner),
        cmocka_unit_test(rows_of_figures_have_no_header),
        cmocka_unit_test(figures_are_told_from_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "cli/options_table.h"

#include "cli/options.h"

#include <getopt.h>

static const struct option_row table[] = {
#define GROUP(title)
#define OPTION(id, name, letter, arg, help) {name, arg, letter, help},
#include "cli/options.def"
#undef OPTION
#undef GROUP
};

/* getopt_long's values of options without a letter, out of the way of letters. */
enum {
    OPTIONS = sizeof table / sizeof table[0],
    LONG_BASE = 256
};

const struct option_row *options_table(size_t *n)
{
    if (n)
        *n = OPTIONS;
    return table;
}

static size_t option_of(int value)
{
    for (size_t i = 0; i < OPTIONS; i++)
        if (value == LONG_BASE + (int)i || (table[i].letter && value == table[i].letter))
            return i;
    return OPTIONS;
}

static const char *unknown_option(int argc, char **argv, struct arena *a)
{
    const char *names[OPTIONS];
    for (size_t i = 0; i < OPTIONS; i++)
        names[i] = table[i].name;
    if (optopt > 0 && optopt < LONG_BASE)
        return arena_printf(a, "unknown option -%c; see oomreport --help", optopt);
    const char *word = optind > 0 && optind <= argc ? argv[optind - 1] : "";
    if (optopt >= LONG_BASE)
        return arena_printf(a, "--%s takes no value", table[optopt - LONG_BASE].name);
    word += strspn(word, "-");
    word = arena_strndup(a, word, strcspn(word, "="));
    const char *near = options_nearest(word, names, OPTIONS);
    if (near)
        return arena_printf(a, "unknown option --%s; did you mean --%s?", word, near);
    return arena_printf(a, "unknown or ambiguous option --%s; see oomreport --help", word);
}

int options_next(struct option_use *out, int argc, char **argv, bool first, const char **why, struct arena *a)
{
    struct option longs[OPTIONS + 1] = {{0}};
    char letters[2 * OPTIONS + 2] = ":";
    size_t n = 1;
    for (size_t i = 0; i < OPTIONS; i++) {
        longs[i] = (struct option){table[i].name, table[i].arg ? required_argument : no_argument, NULL,
                                   LONG_BASE + (int)i};
        if (table[i].letter) {
            letters[n++] = (char)table[i].letter;
            if (table[i].arg)
                letters[n++] = ':';
        }
    }
    opterr = 0;
    if (first)
        optind = 0; /* glibc: start over */
    int value = getopt_long(argc, argv, letters, longs, NULL);
    if (value == -1)
        return 0;
    if (value == '?') {
        *why = unknown_option(argc, argv, a);
        return -1;
    }
    if (value == ':') {
        const struct option_row *row = &table[option_of(optopt)];
        *why = arena_printf(a, "--%s needs a value (%s)", row->name, row->arg);
        return -1;
    }
    size_t option = option_of(value);
    *out = (struct option_use){option, table[option].arg ? optarg : NULL};
    return 1;
}

size_t options_scan(struct option_use *out, int argc, char **argv, struct arena *a)
{
    size_t n = 0;
    const char *why;
    while (n < (size_t)argc && options_next(&out[n], argc, argv, n == 0, &why, a) > 0)
        n++;
    return n;
}

bool options_command_only(size_t option)
{
    static const char *const names[] = {"config",  "print-config", "to",          "provenance",
                                        "dump",    "list-formats", "show-format", "check-format",
                                        "explain", "help",         "version",     "logger"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(table[option].name, names[i]) == 0)
            return true;
    return false;
}

#include "cli/config.h"

#include "base/mem.h"
#include "cli/options.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    FILE_MAX = 1 << 20 /* [B] more is no file of settings */
};

static const char default_file[] = "oomreport.conf", prefix[] = "OOMREPORT_", from_options[] = "command line";

extern char **environ;

/* --- one setting ----------------------------------------------------------------------- */

static bool repeats(const struct option_row *row)
{
    return strcmp(row->name, "map") == 0 || strcmp(row->name, "set") == 0 ||
           strcmp(row->name, "what-if") == 0;
}

static bool loudness(const struct option_row *row)
{
    return strcmp(row->name, "quiet") == 0 || strcmp(row->name, "verbose") == 0;
}

/* A later layer's setting of y takes the place of one of x. */
static bool replaces(size_t x, size_t y)
{
    const struct option_row *table = options_table(NULL);
    return x == y || (loudness(&table[x]) && loudness(&table[y]));
}

static void add(struct config *c, size_t option, const char *value, const char *where)
{
    if (c->n == c->cap) {
        c->cap = c->cap ? 2 * c->cap : 16;
        c->items = mem_grow(c->items, c->cap, sizeof *c->items);
    }
    c->items[c->n++] = (struct setting){option, value, where};
}

/* Drops what the items from `from` on replace among those before; returns where these begin now. */
static void settle(struct config *c, size_t from)
{
    size_t kept = 0;
    for (size_t i = 0; i < c->n; i++) {
        bool replaced = false;
        for (size_t k = from; k < c->n && i < from; k++)
            replaced = replaced || replaces(c->items[i].option, c->items[k].option);
        if (!replaced)
            c->items[kept++] = c->items[i];
    }
    c->n = kept;
}

static const char *flag_value(const char *text)
{
    static const char *const yes[] = {"yes", "true", "on", "1"}, *const no[] = {"no", "false", "off", "0"};
    for (size_t i = 0; i < sizeof yes / sizeof yes[0]; i++) {
        if (str_eq_nocase(str_of(text), str_of(yes[i])))
            return "yes";
        if (str_eq_nocase(str_of(text), str_of(no[i])))
            return "no";
    }
    return NULL;
}

static char *argument(const struct setting *s, struct arena *a)
{
    const struct option_row *row = &options_table(NULL)[s->option];
    return (char *)(row->arg ? arena_printf(a, "--%s=%s", row->name, s->value)
                             : arena_printf(a, "--%s", row->name));
}

/* NULL, or what is wrong with a setting by itself, without its place. */
static const char *check(struct setting *s, struct arena *a)
{
    const struct option_row *row = &options_table(NULL)[s->option];
    if (options_command_only(s->option))
        return arena_printf(a, "%s belongs on the command line", row->name);
    if (!row->arg) {
        const char *flag = flag_value(s->value);
        if (!flag)
            return arena_printf(a, "%s: \"%s\" is neither yes nor no", row->name, s->value);
        s->value = flag;
    } else if (*s->value == '\0') {
        return arena_printf(a, "%s needs a value (%s)", row->name, row->arg);
    }
    struct options scratch;
    return options_try(&scratch, s->option, s->value, a);
}

static const char *add_checked(struct config *c, size_t option, const char *value, const char *where,
                               struct arena *a)
{
    struct setting s = {option, value, where};
    const char *why = check(&s, a);
    if (why)
        return arena_printf(a, "%s: %s", where, why);
    add(c, option, s.value, where);
    return NULL;
}

static const char *unknown(const char *where, const char *key, struct arena *a)
{
    size_t n;
    const struct option_row *table = options_table(&n);
    const char **names = arena_alloc(a, n * sizeof *names);
    for (size_t i = 0; i < n; i++)
        names[i] = table[i].name;
    const char *near = options_nearest(key, names, n);
    return near ? arena_printf(a, "%s: unknown key \"%s\"; did you mean %s?", where, key, near)
                : arena_printf(a, "%s: unknown key \"%s\"; keys are the long names of options", where, key);
}

static size_t find_option(struct str key)
{
    size_t n, i = 0;
    const struct option_row *table = options_table(&n);
    while (i < n && !str_is(key, table[i].name))
        i++;
    return i;
}

/* --- the file -------------------------------------------------------------------------- */

static const char *read_line(struct config *c, struct str line, const char *where, struct arena *a)
{
    size_t n, equals = str_find(line, STR_LIT("="));
    options_table(&n);
    if (equals == (size_t)-1)
        return arena_printf(a, "%s: no \"key = value\"", where);
    struct str key = str_trim((struct str){line.p, equals});
    struct str value = str_trim((struct str){line.p + equals + 1, line.n - equals - 1});
    size_t option = find_option(key);
    if (option == n)
        return unknown(where, arena_str(a, key).p, a);
    for (size_t i = 0; i < c->n; i++)
        if (c->items[i].option == option && !repeats(&options_table(NULL)[option]))
            return arena_printf(a, "%s: %s stands at %s already", where, arena_str(a, key).p,
                                c->items[i].where);
    return add_checked(c, option, arena_str(a, value).p, where, a);
}

static const char *read_text(struct config *c, struct str text, const char *name, struct arena *a)
{
    size_t number = 0;
    if (str_starts(text, STR_LIT("\xEF\xBB\xBF")))
        text = (struct str){text.p + 3, text.n - 3};
    while (text.n > 0) {
        size_t end = str_find(text, STR_LIT("\n"));
        struct str line = {text.p, end == (size_t)-1 ? text.n : end};
        size_t used = line.n + (end != (size_t)-1);
        const char *where = arena_printf(a, "%s:%zu", name, ++number);
        text = (struct str){text.p + used, text.n - used};
        line = str_trim(line);
        if (line.n && memchr(line.p, '\0', line.n))
            return arena_printf(a, "%s: a NUL byte; this is no text file", where);
        const char *why = line.n == 0 || line.p[0] == '#' ? NULL : read_line(c, line, where, a);
        if (why)
            return why;
    }
    return NULL;
}

/* named: the user said so; else the file need not be there. */
static const char *read_file(struct config *c, const char *name, bool named, struct arena *a)
{
    FILE *f = fopen(name, "rb");
    if (!f && !named && errno == ENOENT)
        return NULL;
    if (!f)
        return arena_printf(a, "--config: %s: %s", name, strerror(errno));
    struct buf text = {0};
    size_t n = fread(buf_room(&text, FILE_MAX + 1), 1, FILE_MAX + 1, f);
    const char *why = ferror(f)      ? arena_printf(a, "--config: %s: %s", name, strerror(errno))
                      : n > FILE_MAX ? arena_printf(a, "--config: %s is larger than 1 MiB", name)
                                     : NULL;
    fclose(f);
    if (!why)
        why = read_text(c, (struct str){text.p, n}, name, a);
    buf_release(&text);
    return why;
}

/* --- the environment ------------------------------------------------------------------- */

static bool is_variable(const char *entry, const char *name)
{
    size_t i = strlen(prefix);
    for (const char *p = name; *p; p++, i++)
        if (entry[i] != (*p == '-' ? '_' : toupper((unsigned char)*p)))
            return false;
    return entry[i] == '=';
}

static const char *read_variable(struct config *c, const char *entry, struct arena *a)
{
    size_t n, length = strcspn(entry, "="), i = 0;
    const struct option_row *table = options_table(&n);
    const char *where = arena_strndup(a, entry, length), *value = entry + length + (entry[length] == '=');
    while (i < n && !is_variable(entry, table[i].name))
        i++;
    if (i < n && (*value == '\0' || strcmp(table[i].name, "config") == 0))
        return NULL;
    if (i < n)
        return add_checked(c, i, value, where, a);
    char *key = arena_strndup(a, where + strlen(prefix), length - strlen(prefix));
    for (char *p = key; *p; p++)
        *p = *p == '_' ? '-' : (char)tolower((unsigned char)*p);
    return unknown(where, key, a);
}

static int by_text(const void *x, const void *y)
{
    return strcmp(*(char *const *)x, *(char *const *)y);
}

/* In the order of names, so that of several mistakes the same one is told. */
static const char *read_environment(struct config *c, struct arena *a)
{
    size_t n = 0, all = 0;
    while (environ && environ[all])
        all++;
    char **mine = arena_alloc(a, (all + 1) * sizeof *mine);
    for (size_t i = 0; i < all; i++)
        if (strncmp(environ[i], prefix, strlen(prefix)) == 0)
            mine[n++] = environ[i];
    qsort(mine, n, sizeof *mine, by_text);
    const char *why = NULL;
    for (size_t i = 0; i < n && !why; i++)
        why = read_variable(c, mine[i], a);
    return why;
}

/* --- all layers ------------------------------------------------------------------------ */

static const char *value_of(const struct config *c, const char *option)
{
    const char *value = NULL;
    for (size_t i = 0; i < c->n; i++)
        if (strcmp(options_table(NULL)[c->items[i].option].name, option) == 0)
            value = c->items[i].value;
    return value;
}

static void put_argv(struct config *c, size_t lower, int argc, char **argv, struct arena *a)
{
    size_t n = 0;
    c->argv = arena_alloc(a, (lower + (size_t)argc + 1) * sizeof *c->argv);
    c->argv[n++] = argv[0];
    for (size_t i = 0; i < lower; i++)
        if (options_table(NULL)[c->items[i].option].arg || strcmp(c->items[i].value, "yes") == 0)
            c->argv[n++] = argument(&c->items[i], a);
    for (int i = 1; i < argc; i++)
        c->argv[n++] = argv[i];
    c->argc = (int)n;
}

const char *config_read(struct config *c, int argc, char **argv, struct arena *a)
{
    struct config own = {0};
    struct option_use *uses = arena_alloc(a, ((size_t)argc + 1) * sizeof *uses);
    size_t n_uses = options_scan(uses, argc, argv, a);
    for (size_t i = 0; i < n_uses; i++)
        add(&own, uses[i].option, uses[i].value ? uses[i].value : "yes", from_options);
    *c = (struct config){.argc = argc, .argv = argv};
    const char *why = NULL, *named = value_of(&own, "config"), *variable = getenv("OOMREPORT_CONFIG");
    if (!named && variable && *variable)
        named = variable;
    if (!value_of(&own, "help") && !value_of(&own, "version")) {
        if (!named || strcmp(named, "none") != 0)
            why = read_file(c, named ? named : default_file, named != NULL, a);
        size_t from = c->n;
        if (!why)
            why = read_environment(c, a);
        settle(c, from);
    }
    size_t from = c->n;
    for (size_t i = 0; i < own.n; i++)
        add(c, own.items[i].option, own.items[i].value, own.items[i].where);
    free(own.items);
    settle(c, from);
    size_t lower = 0;
    while (lower < c->n && c->items[lower].where != from_options)
        lower++;
    put_argv(c, lower, argc, argv, a);
    return why;
}

void config_release(struct config *c)
{
    free(c->items);
    *c = (struct config){0};
}

/* --- --print-config ------------------------------------------------------------------------ */

static const char *default_of(const struct option_row *row)
{
    static const char *const defaults[][2] = {
        {"output", "oomreport-report"}, {"redact", "paths"},         {"plots", "both"}, {"color", "auto"},
        {"fail-on", "never"},           {"min-confidence", "likely"}};
    for (size_t i = 0; i < sizeof defaults / sizeof defaults[0]; i++)
        if (strcmp(row->name, defaults[i][0]) == 0)
            return defaults[i][1];
    return row->arg ? NULL : "no";
}

static void put_row(struct buf *out, size_t option, const struct config *c)
{
    const struct option_row *row = &options_table(NULL)[option];
    bool any = false;
    for (size_t i = 0; i < c->n; i++) {
        if (c->items[i].option != option)
            continue;
        buf_printf(out, "# %s\n%s = %s\n", c->items[i].where, row->name, c->items[i].value);
        any = true;
    }
    const char *usual = default_of(row);
    if (!any && usual)
        buf_printf(out, "# default\n%s = %s\n", row->name, usual);
    else if (!any)
        buf_printf(out, "# %s is not set (%s)\n", row->name, row->arg);
}

void config_print(struct buf *out, const struct config *c)
{
    size_t n;
    options_table(&n);
    for (size_t i = 0; i < n; i++)
        if (!options_command_only(i))
            put_row(out, i, c);
}

#include "cli/formats.h"

#include "base/mem.h"
#include "cli/options.h"

#include <stdlib.h>
#include <sys/stat.h>

static bool is_directory(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static const char *system_directory(struct arena *a)
{
    const char *dirs = getenv("XDG_DATA_DIRS");
    if (!dirs || !*dirs)
        dirs = "/usr/local/share:/usr/share";
    while (*dirs) {
        size_t n = strcspn(dirs, ":");
        const char *path = arena_printf(a, "%.*s/oomreport/formats", (int)n, dirs);
        if (path[0] == '/' && is_directory(path))
            return path;
        dirs += n + (dirs[n] == ':');
    }
    return NULL;
}

static const char *user_directory(struct arena *a)
{
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    const char *path = NULL;
    if (data && data[0] == '/')
        path = arena_printf(a, "%s/oomreport/formats", data);
    else if (home && home[0] == '/')
        path = arena_printf(a, "%s/.local/share/oomreport/formats", home);
    return path && is_directory(path) ? path : NULL;
}

struct mapping_set *formats_load(struct diag *d)
{
    struct arena a;
    arena_init(&a);
    struct mapping_set *set = mapping_set_new(system_directory(&a), user_directory(&a), d);
    arena_release(&a);
    return set;
}

void formats_list(FILE *out, const struct mapping_set *set)
{
    struct arena a;
    arena_init(&a);
    for (size_t i = 0; i < mapping_set_count(set); i++) {
        const struct mapping *m = mapping_set_at(set, i);
        fprintf(out, "%-20s %-16s peak: %-14s %s", m->name, mapping_readers(m, &a), mapping_peak(m),
                m->title);
        if (!m->built_in)
            fprintf(out, " (%s)", m->origin);
        putc('\n', out);
    }
    arena_release(&a);
}

static const char *unknown(const struct mapping_set *set, const char *option, const char *name,
                           struct arena *a)
{
    size_t n = mapping_set_count(set);
    const char **names = mem_zero(n, sizeof *names);
    for (size_t i = 0; i < n; i++)
        names[i] = mapping_set_at(set, i)->name;
    const char *near = options_nearest(name, names, n);
    free(names);
    if (near)
        return arena_printf(a, "%s: unknown format \"%s\"; did you mean %s?", option, name, near);
    return arena_printf(a, "%s: unknown format \"%s\"; --list-formats names those that are known", option,
                        name);
}

const char *formats_show(FILE *out, const struct mapping_set *set, const char *name, struct arena *a)
{
    const struct mapping *m = mapping_set_find(set, str_of(name));
    if (!m)
        return unknown(set, "--show-format", name, a);
    fwrite(m->text.p, 1, m->text.n, out);
    if (m->text.n == 0 || m->text.p[m->text.n - 1] != '\n')
        putc('\n', out);
    return NULL;
}

const char *formats_check(FILE *out, const char *path, struct diag *d, struct arena *a)
{
    const struct mapping *m = mapping_load(path, a, d);
    if (!m)
        return arena_printf(a, "%s is no mapping", path);
    if (!mapping_check(m, a, d))
        return arena_printf(a, "%s: samples do not give their records", path);
    fprintf(out, "%s: %zu sample%s hold%s\n", path, m->n_samples, m->n_samples == 1 ? "" : "s",
            m->n_samples == 1 ? "s" : "");
    return NULL;
}

const char *formats_known(const struct mapping_set *set, const char *name, struct arena *a)
{
    struct stat st;
    if (mapping_set_find(set, str_of(name)) || (stat(name, &st) == 0 && !S_ISDIR(st.st_mode)))
        return NULL;
    return unknown(set, "--format", name, a);
}

#include "normalise/mapping.h"
#include "base/buf.h"
#include "base/embed.h"
#include "base/mem.h"
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    MAPPING_SIZE_MAX = 4 * 1024 * 1024,
    MAPPINGS_MAX = 4096
};

struct mapping_set {
    struct arena arena;
    const struct mapping **items; /* n, ascending by name */
    size_t n, cap;
};

static void add(struct mapping_set *set, const struct mapping *m)
{
    size_t at = 0;
    while (at < set->n && strcmp(set->items[at]->name, m->name) < 0)
        at++;
    if (at < set->n && !strcmp(set->items[at]->name, m->name)) {
        set->items[at] = m;
        return;
    }
    if (set->n == set->cap) {
        set->cap = set->cap ? set->cap * 2 : 32;
        set->items = mem_grow(set->items, set->cap, sizeof *set->items);
    }
    memmove(set->items + at + 1, set->items + at, (set->n - at) * sizeof *set->items);
    set->items[at] = m;
    set->n++;
}

static void add_built_in(struct mapping_set *set, struct diag *d)
{
    for (size_t i = 0; i < embed_count; i++) {
        struct str name = str_of(embed_table[i].name);
        if (!str_starts(name, STR_LIT("formats/")))
            continue;
        struct mapping *m = mapping_parse(embed_table[i].name, embed_table[i].bytes, &set->arena, d);
        if (m) {
            m->built_in = true;
            add(set, m);
        }
    }
}

static bool read_file(struct buf *out, const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return false;
    size_t n;
    do {
        n = fread(buf_room(out, 65536), 1, 65536, f);
        out->n += n;
    } while (n == 65536 && out->n <= MAPPING_SIZE_MAX);
    bool ok = !ferror(f);
    if (out->n > MAPPING_SIZE_MAX) {
        errno = EFBIG;
        ok = false;
    }
    int saved = errno;
    fclose(f);
    errno = saved;
    return ok;
}

struct mapping *mapping_load(const char *path, struct arena *a, struct diag *d)
{
    struct buf text = {0};
    struct mapping *m = NULL;
    if (read_file(&text, path)) {
        struct str bytes = buf_view(&text);
        if (str_starts(bytes, STR_LIT("\xEF\xBB\xBF")))
            bytes = (struct str){bytes.p + 3, bytes.n - 3};
        m = mapping_parse(arena_strndup(a, path, strlen(path)), arena_str(a, bytes), a, d);
    } else {
        diag_add(d, DIAG_CANNOT_OPEN, (struct place){arena_strndup(a, path, strlen(path)), 0, 0},
                 "cannot read the format: %s", strerror(errno));
    }
    buf_release(&text);
    return m;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Every *.json of a folder, by name, so that a listing order of the file system never shows. */
static void add_folder(struct mapping_set *set, const char *dir, struct diag *d)
{
    DIR *folder = dir ? opendir(dir) : NULL;
    if (!folder)
        return;
    char **names = NULL;
    size_t n = 0;
    for (struct dirent *e; n < MAPPINGS_MAX && (e = readdir(folder));) {
        size_t length = strlen(e->d_name);
        if (e->d_name[0] == '.' || length < 6 || strcmp(e->d_name + length - 5, ".json"))
            continue;
        names = mem_grow(names, n + 1, sizeof *names);
        names[n++] = arena_strndup(&set->arena, e->d_name, length);
    }
    closedir(folder);
    if (n)
        qsort(names, n, sizeof *names, by_text);
    for (size_t i = 0; i < n; i++) {
        const struct mapping *m =
            mapping_load(arena_printf(&set->arena, "%s/%s", dir, names[i]), &set->arena, d);
        if (m)
            add(set, m);
    }
    free(names);
}

struct mapping_set *mapping_set_new(const char *system_dir, const char *user_dir, struct diag *d)
{
    struct mapping_set *set = mem_zero(1, sizeof *set);
    arena_init(&set->arena);
    add_built_in(set, d);
    add_folder(set, system_dir, d);
    add_folder(set, user_dir, d);
    return set;
}

void mapping_set_free(struct mapping_set *set)
{
    if (!set)
        return;
    free(set->items);
    arena_release(&set->arena);
    free(set);
}

size_t mapping_set_count(const struct mapping_set *set)
{
    return set->n;
}

const struct mapping *mapping_set_at(const struct mapping_set *set, size_t i)
{
    return set->items[i];
}

const struct mapping *mapping_set_find(const struct mapping_set *set, struct str name)
{
    for (size_t i = 0; i < set->n; i++)
        if (str_is(name, set->items[i]->name))
            return set->items[i];
    return NULL;
}

const char *mapping_peak(const struct mapping *m)
{
    return m->peak_reset.n ? m->peak_reset.p : "from the data";
}

const char *mapping_readers(const struct mapping *m, struct arena *a)
{
    const char *out = "";
    for (int s = 0; s < SYNTAX_COUNT; s++)
        if (m->reads[s])
            out = arena_printf(a, "%s%s%s", out, *out ? ", " : "", syntax_name((enum syntax)s));
    return out;
}

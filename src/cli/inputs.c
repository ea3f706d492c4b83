#define _XOPEN_SOURCE 700 /* realpath */

#include "cli/inputs.h"

#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static void add(struct input_list *list, const char *path, bool from_dir)
{
    if (list->n == list->cap) {
        list->cap = list->cap ? 2 * list->cap : 16;
        list->items = mem_grow(list->items, list->cap, sizeof *list->items);
    }
    list->items[list->n++] = (struct input){.path = path, .from_dir = from_dir};
}

static const char *add_directory(struct input_list *list, const char *path, struct arena *a)
{
    DIR *dir = opendir(path);
    if (!dir)
        return arena_printf(a, "%s: cannot open the directory: %s", path, strerror(errno));
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    const char *why = NULL;
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(dir);
        if (!entry) {
            if (errno != 0)
                why = arena_printf(a, "%s: cannot read the directory: %s", path, strerror(errno));
            break;
        }
        if (entry->d_name[0] == '.')
            continue;
        bool root = length == 1 && path[0] == '/';
        const char *full = arena_printf(a, "%.*s%s%s", (int)length, path, root ? "" : "/", entry->d_name);
        struct stat st;
        if (stat(full, &st) == 0 && S_ISREG(st.st_mode))
            add(list, full, true);
    }
    closedir(dir);
    return why;
}

static const char *add_path(struct input_list *list, const char *path, struct arena *a)
{
    struct stat st;
    if (strcmp(path, "-") == 0) {
        add(list, path, false);
        return NULL;
    }
    if (stat(path, &st) != 0)
        return arena_printf(a, "%s: %s", path, strerror(errno));
    if (S_ISDIR(st.st_mode))
        return add_directory(list, path, a);
    add(list, path, false);
    return NULL;
}

/* A path, or a pattern: 'logs/seed*.jsonl' in quotes, or where the shell found nothing. */
static const char *add_operand(struct input_list *list, const char *operand, struct arena *a)
{
    struct stat st;
    if (strcmp(operand, "-") == 0 || stat(operand, &st) == 0 || !strpbrk(operand, "*?["))
        return add_path(list, operand, a);
    glob_t found;
    int status = glob(operand, 0, NULL, &found);
    if (status == GLOB_NOMATCH)
        return arena_printf(a, "%s: no file matches this pattern", operand);
    if (status != 0)
        return arena_printf(a, "%s: cannot expand the pattern", operand);
    const char *why = NULL;
    for (size_t i = 0; i < found.gl_pathc && !why; i++)
        why = add_path(list, arena_strndup(a, found.gl_pathv[i], strlen(found.gl_pathv[i])), a);
    globfree(&found);
    return why;
}

static const char *add_files_from(struct input_list *list, const char *name, struct arena *a)
{
    bool is_stdin = strcmp(name, "-") == 0;
    FILE *f = is_stdin ? stdin : fopen(name, "r");
    if (!f)
        return arena_printf(a, "--files-from: %s: %s", name, strerror(errno));
    char *line = NULL;
    size_t size = 0;
    ssize_t n;
    const char *why = NULL;
    while (!why && (n = getline(&line, &size, f)) >= 0) {
        while (n > 0 && (line[n - 1] == '\n' || line[n - 1] == '\r'))
            n--;
        if (n == 0)
            continue;
        const char *path = arena_strndup(a, line, (size_t)n);
        if (is_stdin && strcmp(path, "-") == 0)
            why = "--files-from: standard input cannot be the list and an input in it";
        else
            why = add_operand(list, path, a);
    }
    if (!why && ferror(f))
        why = arena_printf(a, "--files-from: %s: %s", name, strerror(errno));
    free(line);
    if (!is_stdin)
        fclose(f);
    return why;
}

struct known {
    char *real; /* where the path leads, links resolved */
    size_t index;
};

static int by_real(const void *x, const void *y)
{
    const struct known *a = x, *b = y;
    int c = strcmp(a->real, b->real);
    if (c)
        return c;
    return a->index < b->index ? -1 : a->index > b->index;
}

static int by_name(const void *x, const void *y)
{
    const struct input *a = x, *b = y;
    bool a_stdin = strcmp(a->path, "-") == 0, b_stdin = strcmp(b->path, "-") == 0;
    if (a_stdin != b_stdin)
        return a_stdin ? -1 : 1;
    int c = str_cmp_natural(str_of(a->name), str_of(b->name));
    if (c == 0)
        c = strcmp(a->path, b->path);
    return c ? c : (int)a->from_dir - (int)b->from_dir;
}

/* A file that several paths lead to ("latest.jsonl", a linked folder) is read once, under the first
 * of them that is no link, else the first. Hard links are names of their own: nobody makes them unmeant. */
static void drop_repeated(struct input_list *list)
{
    struct known *known = mem_zero(list->n, sizeof *known);
    size_t n = 0, kept = 0;
    for (size_t i = 0; i < list->n; i++) {
        char *real = strcmp(list->items[i].path, "-") == 0 ? NULL : realpath(list->items[i].path, NULL);
        if (real)
            known[n++] = (struct known){real, i};
    }
    qsort(known, n, sizeof *known, by_real);
    for (size_t i = 0, end; i < n; i = end) {
        size_t best = known[i].index;
        bool named = false, best_is_link = true;
        for (end = i; end < n && strcmp(known[end].real, known[i].real) == 0; end++) {
            const struct input *input = &list->items[known[end].index];
            struct stat st;
            named |= !input->from_dir;
            if (best_is_link && lstat(input->path, &st) == 0 && !S_ISLNK(st.st_mode)) {
                best = known[end].index;
                best_is_link = false;
            }
        }
        for (size_t k = i; k < end; k++)
            if (known[k].index != best)
                list->items[known[k].index].path = NULL;
        list->items[best].from_dir = !named;
    }
    for (size_t i = 0; i < n; i++)
        free(known[i].real);
    free(known);
    for (size_t i = 0; i < list->n; i++)
        if (list->items[i].path)
            list->items[kept++] = list->items[i];
    list->n = kept;
}

/* Length of the folders at the front, up to and with the last slash before byte n. */
static size_t folder(const char *path, size_t n)
{
    while (n > 0 && path[n - 1] != '/')
        n--;
    return n;
}

/* The path from the root, the same however it was spelt: links to folders resolved, the last name kept. */
static const char *whole_path(const char *path, struct arena *a)
{
    size_t n = folder(path, strlen(path));
    char *real = realpath(n ? arena_strndup(a, path, n) : ".", NULL);
    if (!real)
        return path;
    const char *whole = arena_printf(a, "%s/%s", real, path + n);
    free(real);
    return whole;
}

/* The folder that holds the homes, or one above: names relative to it would begin with a user's name, and
 * not look like it. */
static bool above_homes(const char *path, size_t n)
{
    static const char *const homes[] = {"/home/", "/Users/"};
    for (size_t i = 0; i < sizeof homes / sizeof homes[0]; i++)
        if (n <= strlen(homes[i]) && strncmp(path, homes[i], n) == 0)
            return true;
    return false;
}

/* The folders that all inputs share say nothing of the logs, and who the user is. */
static void name_inputs(struct input_list *list, struct arena *a)
{
    const char *first = NULL;
    size_t common = 0;
    for (size_t i = 0; i < list->n; i++) {
        struct input *input = &list->items[i];
        input->name = input->path;
        if (strcmp(input->path, "-") == 0)
            continue;
        input->name = whole_path(input->path, a);
        if (!first) {
            first = input->name;
            common = folder(first, strlen(first));
        }
        size_t same = 0;
        while (same < common && input->name[same] == first[same])
            same++;
        common = folder(first, same);
    }
    if (first && above_homes(first, common))
        common = 0;
    for (size_t i = 0; i < list->n; i++)
        if (strcmp(list->items[i].path, "-") != 0)
            list->items[i].name += common;
}

const char *inputs_expand(struct input_list *out, const char *const *operands, size_t n,
                          const char *files_from, struct arena *a)
{
    const char *why = NULL;
    for (size_t i = 0; i < n && !why; i++)
        why = add_operand(out, operands[i], a);
    if (!why && files_from)
        why = add_files_from(out, files_from, a);
    if (why)
        return why;
    if (out->n == 0)
        return "no input file found";
    name_inputs(out, a);
    qsort(out->items, out->n, sizeof *out->items, by_name);
    drop_repeated(out);
    size_t from_stdin = 0;
    while (from_stdin < out->n && strcmp(out->items[from_stdin].path, "-") == 0)
        from_stdin++;
    if (from_stdin > 1 || (from_stdin == 1 && files_from && strcmp(files_from, "-") == 0))
        return "standard input (-) can be given once";
    return NULL;
}

void inputs_release(struct input_list *list)
{
    free(list->items);
    *list = (struct input_list){0};
}

const char *inputs_inside(const struct input_list *list, const char *dir)
{
    char *outer = realpath(dir, NULL);
    if (!outer)
        return NULL; /* what is not there holds nothing */
    size_t length = strlen(outer);
    const char *found = NULL;
    for (size_t i = 0; i < list->n && !found; i++) {
        char *inner = strcmp(list->items[i].path, "-") == 0 ? NULL : realpath(list->items[i].path, NULL);
        if (inner && strncmp(inner, outer, length) == 0 &&
            (inner[length] == '/' || inner[length] == '\0' || length == 1))
            found = list->items[i].path;
        free(inner);
    }
    free(outer);
    return found;
}

#include "report/manifest.h"
#include "base/num.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static const char HEAD[] =
    "oomreport directory 1: files written by oomreport, with their sizes; only these are replaced\n";

enum {
    MANIFEST_MAX = 1 << 20,
    NAMES_MAX = 4096
};

void manifest_put(struct buf *out, const struct dir_file *files, size_t n)
{
    buf_puts(out, HEAD);
    for (size_t i = 0; i < n; i++) {
        num_put_u64(out, files[i].bytes.n);
        buf_printf(out, " %s\n", files[i].name);
    }
}

bool manifest_name_ok(struct str name)
{
    if (name.n == 0 || name.n > 255)
        return false;
    for (size_t at = 0; at <= name.n;) { /* each part between slashes */
        size_t end = at;

        while (end < name.n && name.p[end] != '/') {
            unsigned char c = (unsigned char)name.p[end++];
            if (c < 0x20 || c == 0x7F)
                return false;
        }
        struct str part = {name.p + at, end - at};
        if (part.n == 0 || str_is(part, ".") || str_is(part, ".."))
            return false;
        at = end + 1;
    }
    return true;
}

static void parse(struct manifest *m, struct str text)
{
    m->names = arena_alloc(&m->arena, NAMES_MAX * sizeof *m->names);
    while (text.n && m->n < NAMES_MAX) {
        size_t end = str_find(text, STR_LIT("\n"));
        struct str line = {text.p, end == (size_t)-1 ? text.n : end};
        size_t blank = str_find(line, STR_LIT(" "));
        size_t used = line.n < text.n ? line.n + 1 : line.n;

        text.p += used;
        text.n -= used;
        if (blank == (size_t)-1)
            continue;
        struct str name = {line.p + blank + 1, line.n - blank - 1};
        if (manifest_name_ok(name))
            m->names[m->n++] = arena_str(&m->arena, name).p;
    }
}

int manifest_read(struct manifest *out, int dir)
{
    struct stat st;
    struct buf text = {0};
    int rc = 0;

    *out = (struct manifest){0};
    arena_init(&out->arena);
    int fd = openat(dir, MANIFEST_NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT || errno == ELOOP ? 0 : -1;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size <= MANIFEST_MAX) {
        ssize_t got = 1;

        while (got > 0 && text.n <= MANIFEST_MAX) {
            got = read(fd, buf_room(&text, 65536), 65536);
            text.n += got > 0 ? (size_t)got : 0;
        }
        struct str head = STR_LIT(HEAD);
        if (got < 0) {
            rc = -1;
        } else if (text.n && str_starts(buf_view(&text), head)) {
            parse(out, (struct str){text.p + head.n, text.n - head.n});
            rc = 1;
        }
    }
    int saved = errno;
    close(fd);
    buf_release(&text);
    errno = saved;
    return rc;
}

void manifest_release(struct manifest *m)
{
    arena_release(&m->arena);
    *m = (struct manifest){0};
}

bool manifest_has(const struct manifest *m, const char *name)
{
    for (size_t i = 0; i < m->n; i++)
        if (strcmp(m->names[i], name) == 0)
            return true;
    return strcmp(name, MANIFEST_NAME) == 0;
}

bool manifest_has_folder(const struct manifest *m, const char *name)
{
    size_t n = strlen(name);

    for (size_t i = 0; i < m->n; i++)
        if (strncmp(m->names[i], name, n) == 0 && m->names[i][n] == '/')
            return true;
    return false;
}

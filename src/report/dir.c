#define _GNU_SOURCE /* renameat2(), flock() */
#include "report/dir.h"
#include "report/dir_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* In DIR.old: this is a directory that we moved out of the way, not a copy that somebody keeps. */
#define MOVED_NAME ".oomreport-moved"

struct job {
    struct arena arena;
    const char *shown; /* the target as the user gave it */
    int parent;        /* the directory that the target is in */
    const char *base;  /* the target's name there */
    const char *tmp;   /* the new directory's name there, NULL until it is made */
    int old, made;     /* the target and the new directory, or -1 */
    struct manifest was, is;
    const struct dir_file *files; /* n_files */
    size_t n_files;
    bool force;
    struct diag *d;
};

static int fail(struct job *j, const char *what)
{
    diag_add(j->d, DIAG_CANNOT_WRITE, (struct place){j->shown, 0, 0}, "%s: %s; the report was not written",
             what, strerror(errno));
    return -1;
}

static int refuse(struct job *j, const char *why)
{
    diag_add(j->d, DIAG_FOREIGN_DIRECTORY, (struct place){j->shown, 0, 0}, "%s", why);
    return -1;
}

static int open_dir(int parent, const char *name)
{
    return openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* --- which directory ------------------------------------------------------------------ */

/* Makes the missing folders above the target. */
static int make_parents(char *path)
{
    for (char *p = path + 1; *p; p++) {
        if (*p != '/')
            continue;
        *p = '\0';
        int rc = mkdir(path, 0777);
        *p = '/';
        if (rc != 0 && errno != EEXIST)
            return -1;
    }
    return mkdir(path, 0777) != 0 && errno != EEXIST ? -1 : 0;
}

/* Opens the parent and names the target in it, through a symbolic link if the target is one. */
static int locate(struct job *j)
{
    char *real = realpath(j->shown, NULL);
    char *path = real ? arena_strndup(&j->arena, real, strlen(real)) : NULL;

    free(real);
    if (!path) {
        if (errno != ENOENT)
            return fail(j, "cannot reach it");
        path = arena_strndup(&j->arena, j->shown, strlen(j->shown));
        for (size_t n = strlen(path); n > 1 && path[n - 1] == '/';)
            path[--n] = '\0';
    }
    char *slash = strrchr(path, '/');
    j->base = slash ? slash + 1 : path;
    if (*j->base == '\0' || strcmp(j->base, ".") == 0 || strcmp(j->base, "..") == 0)
        return refuse(j, "cannot be exchanged for a new directory; name one with -o DIR");
    const char *parent = !slash ? "." : slash == path ? "/" : path;
    if (slash && slash != path) {
        *slash = '\0';
        if (make_parents(path) != 0)
            return fail(j, "cannot make the folder it is to be in");
    }
    j->parent = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return j->parent < 0 ? fail(j, "cannot open the folder it is to be in") : 0;
}

/* Whether the working directory is `dir` or lies below it: exchanged away, it would vanish under the user. */
static bool holds_working_directory(int dir)
{
    struct stat target, here, up;
    int at = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool holds = false;

    if (at < 0 || fstat(dir, &target) != 0 || fstat(at, &here) != 0) {
        if (at >= 0)
            close(at);
        return false;
    }
    for (int i = 0; i < PATH_MAX && !holds; i++) {
        holds = here.st_dev == target.st_dev && here.st_ino == target.st_ino;
        int above = openat(at, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        close(at);
        at = above;
        if (at < 0 || fstat(at, &up) != 0 || (up.st_dev == here.st_dev && up.st_ino == here.st_ino))
            break;
        here = up;
    }
    if (at >= 0)
        close(at);
    return holds;
}

/* What stands at the target: nothing (old stays -1), ours, empty, or refused. */
static int examine(struct job *j)
{
    j->old = open_dir(j->parent, j->base);
    if (j->old < 0)
        return errno == ENOENT    ? 0
               : errno == ENOTDIR ? refuse(j, "is a file, not a directory; use another -o")
                                  : fail(j, "cannot open it");
    int found = manifest_read(&j->was, j->old);
    if (found < 0)
        return fail(j, "cannot read " MANIFEST_NAME " in it");
    if (!found && !j->force && !tree_is_empty(j->old, NULL))
        return refuse(j, "not an oomreport directory; use --force or another -o");
    if (holds_working_directory(j->old))
        return refuse(j,
                      "is, or holds, the working directory and would be exchanged away; run from elsewhere");
    return 0;
}

/* --- what earlier calls left ------------------------------------------------------------ */

static bool has_name(int dir, const char *name)
{
    struct stat st;

    return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* A call that died between its two renames left the target as DIR.old. */
static int restore(struct job *j)
{
    const char *name = arena_printf(&j->arena, "%s.old", j->base);
    int old = open_dir(j->parent, name);

    if (old < 0)
        return 0;
    if (has_name(old, MOVED_NAME)) {
        if (!has_name(j->parent, j->base)) {
            if (renameat(j->parent, name, j->parent, j->base) != 0) {
                close(old);
                return fail(j, "cannot put back the directory that an interrupted call moved away");
            }
            unlinkat(old, MOVED_NAME, 0);
        } else {
            int now = open_dir(j->parent, j->base);
            unlinkat(old, MOVED_NAME, 0);
            tree_retire(j->parent, name, now);
            if (now >= 0)
                close(now);
        }
    }
    close(old);
    return 0;
}

/* The process behind DIR.tmp-PID: its lock tells also where process numbers do not mean ours
 * (containers); the number tells in the moment before the lock is taken. */
static bool is_stale(int dir, const char *pid_text)
{
    char *end;
    long pid = strtol(pid_text, &end, 10);

    if (*end != '\0' || pid <= 0 || pid > INT_MAX)
        return false;
    if (pid != (long)getpid() && (kill((pid_t)pid, 0) == 0 || errno != ESRCH))
        return false;
    return flock(dir, LOCK_EX | LOCK_NB) == 0 || errno == ENOLCK || errno == EOPNOTSUPP;
}

static void sweep(struct job *j)
{
    const char *prefix = arena_printf(&j->arena, "%s.tmp-", j->base);
    int fd = openat(j->parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *s = fd < 0 ? NULL : fdopendir(fd);

    if (!s && fd >= 0)
        close(fd);
    for (struct dirent *e; s && (e = readdir(s)) != NULL;) {
        if (strncmp(e->d_name, prefix, strlen(prefix)) != 0)
            continue;
        int dir = open_dir(j->parent, e->d_name);
        if (dir < 0)
            continue;
        struct manifest m;
        /* a call that was killed at once left it empty, or with the list not yet written */
        bool ours = manifest_read(&m, dir) == 1 || tree_is_empty(dir, MANIFEST_NAME);
        manifest_release(&m);
        if (ours && is_stale(dir, e->d_name + strlen(prefix))) {
            int now = open_dir(j->parent, j->base);
            tree_retire(j->parent, e->d_name, now);
            if (now >= 0)
                close(now);
        }
        close(dir);
    }
    if (s)
        closedir(s);
}

/* --- building ---------------------------------------------------------------------------- */

/* 0 also where the file system knows no syncing. */
static int sync_fd(int fd)
{
    return fsync(fd) != 0 && errno != EINVAL && errno != EROFS && errno != ENOTSUP ? -1 : 0;
}

static int write_all(int fd, struct str s)
{
    while (s.n > 0) {
        ssize_t n = write(fd, s.p, s.n);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        s.p += n;
        s.n -= (size_t)n;
    }
    return 0;
}

static int write_file(int dir, const char *name, struct str bytes)
{
    int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);

    if (fd < 0)
        return -1;
    int rc = write_all(fd, bytes) || sync_fd(fd) ? -1 : 0;
    int saved = errno;
    if (close(fd) != 0 && rc == 0) {
        saved = errno;
        rc = -1;
    }
    errno = saved;
    return rc;
}

/* One file, in its folder (of one level) if it has one. */
static int write_entry(struct job *j, const struct dir_file *f)
{
    const char *slash = strchr(f->name, '/');

    if (!slash)
        return write_file(j->made, f->name, f->bytes);
    const char *folder = arena_strndup(&j->arena, f->name, (size_t)(slash - f->name));
    if (mkdirat(j->made, folder, 0777) != 0 && errno != EEXIST)
        return -1;
    int dir = open_dir(j->made, folder);
    if (dir < 0)
        return -1;
    int rc = write_file(dir, slash + 1, f->bytes) || sync_fd(dir) ? -1 : 0;
    int saved = errno;
    close(dir);
    errno = saved;
    return rc;
}

static int make_tmp(struct job *j)
{
    struct stat st;
    const char *name = arena_printf(&j->arena, "%s.tmp-%ld", j->base, (long)getpid());

    if (mkdirat(j->parent, name, 0777) != 0)
        return fail(j, "cannot make a directory beside it");
    j->tmp = name;
    j->made = open_dir(j->parent, name);
    if (j->made < 0)
        return fail(j, "cannot open the new directory");
    flock(j->made,
          LOCK_EX | LOCK_NB); /* tells other calls that we live; without locks the process number does */
    if (j->old >= 0 && fstat(j->old, &st) == 0)
        fchmod(j->made, (st.st_mode & 07777) | S_IRWXU);
    return 0;
}

static int build(struct job *j)
{
    struct buf text = {0}, at = {0};
    int rc = 0;

    manifest_put(&text, j->files, j->n_files);
    /* the manifest first: from then on the directory is known as ours */
    if (write_file(j->made, MANIFEST_NAME, buf_view(&text)) != 0)
        rc = fail(j, "cannot write " MANIFEST_NAME);
    buf_release(&text);
    for (size_t i = 0; i < j->n_files && rc == 0; i++)
        if (write_entry(j, &j->files[i]) != 0)
            rc = fail(j, arena_printf(&j->arena, "cannot write %s", j->files[i].name));
    if (rc == 0 && manifest_read(&j->is, j->made) != 1)
        rc = fail(j, "cannot read " MANIFEST_NAME " back");
    if (rc == 0 && j->old >= 0 && tree_link_foreign(j->old, j->made, &j->was, &j->is, j->force, &at) != 0) {
        if (errno == EEXIST)
            rc = refuse(j,
                        arena_printf(&j->arena,
                                     "%s in it is not ours and in the way; use --force or another -o", at.p));
        else
            rc = fail(j, arena_printf(&j->arena, "cannot keep %s of it", at.p ? at.p : "the files"));
    }
    if (rc == 0 && sync_fd(j->made) != 0)
        rc = fail(j, "cannot sync the new directory");
    buf_release(&at);
    return rc;
}

/* --- exchanging ---------------------------------------------------------------------------- */

/* Without an exchange in one step: out of the way, then in. */
static int two_renames(struct job *j)
{
    const char *away = arena_printf(&j->arena, "%s.old", j->base);

    if (has_name(j->parent, away))
        return refuse(j, arena_printf(&j->arena, "%s is in the way; rename it", away));
    int mark = openat(j->old, MOVED_NAME, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (mark < 0 || close(mark) != 0)
        return fail(j, "cannot mark the old directory");
    if (renameat(j->parent, j->base, j->parent, away) != 0) {
        unlinkat(j->old, MOVED_NAME, 0);
        return fail(j, "cannot move the old directory away");
    }
    if (renameat(j->parent, j->tmp, j->parent, j->base) != 0) {
        int saved = errno;
        if (renameat(j->parent, away, j->parent, j->base) == 0)
            unlinkat(j->old, MOVED_NAME, 0);
        errno = saved;
        return fail(j, "cannot move the new directory in");
    }
    unlinkat(j->old, MOVED_NAME, 0);
    j->tmp = away;
    return 0;
}

/* Afterwards j->tmp names the old directory, or is NULL when there was none. */
static int exchange(struct job *j)
{
    if (j->old < 0) {
        if (renameat2(j->parent, j->tmp, j->parent, j->base, RENAME_NOREPLACE) != 0 &&
            (errno == EEXIST || renameat(j->parent, j->tmp, j->parent, j->base) != 0))
            return fail(j, "cannot give the new directory its name");
        j->tmp = NULL;
    } else if (renameat2(j->parent, j->tmp, j->parent, j->base, RENAME_EXCHANGE) != 0) {
        if (errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP)
            return fail(j, "cannot exchange the old directory for the new one");
        if (two_renames(j) != 0)
            return -1;
    }
    sync_fd(j->parent); /* the exchange has happened; a failure here changes nothing that we could undo */
    return 0;
}

int dir_write(const char *path, const struct dir_file *files, size_t n, bool force,
              const struct dir_ready *ready, struct diag *d)
{
    struct job j = {.shown = path,
                    .parent = -1,
                    .old = -1,
                    .made = -1,
                    .files = files,
                    .n_files = n,
                    .force = force,
                    .d = d};
    int rc = -1;

    if (locate(&j) == 0 && restore(&j) == 0 && examine(&j) == 0) {
        sweep(&j);
        if (make_tmp(&j) == 0 && build(&j) == 0 && (!ready || ready->call(ready->ctx, j.made) == 0))
            rc = exchange(&j);
        if (rc == 0 && j.tmp)
            tree_retire(j.parent, j.tmp, j.made);
        else if (rc != 0 && j.tmp)
            tree_remove(j.parent, j.tmp);
    }
    if (j.made >= 0)
        close(j.made);
    if (j.old >= 0)
        close(j.old);
    if (j.parent >= 0)
        close(j.parent);
    manifest_release(&j.was);
    manifest_release(&j.is);
    arena_release(&j.arena);
    return rc;
}

bool dir_holds(const char *path, const char *file)
{
    char *dir = realpath(path, NULL), *in = realpath(file, NULL);
    size_t n = dir ? strlen(dir) : 0;
    bool holds = dir && in && strncmp(in, dir, n) == 0 && in[n] == '/';

    free(dir);
    free(in);
    return holds;
}

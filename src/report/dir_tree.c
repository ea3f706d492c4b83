#include "report/dir_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static int open_dir(int parent, const char *name)
{
    return openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* A stream over an open directory that leaves dir's own descriptor alone. */
static DIR *stream_of(int dir)
{
    int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *s = fd < 0 ? NULL : fdopendir(fd);

    if (!s && fd >= 0)
        close(fd);
    return s;
}

static bool dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static bool is_dir(int dir, const char *name)
{
    struct stat st;

    return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

static void remove_within(int parent, const char *name, int depth)
{
    int dir = open_dir(parent, name);
    DIR *s = dir < 0 ? NULL : stream_of(dir);

    for (struct dirent *e; s && depth < TREE_DEPTH && (e = readdir(s)) != NULL;) {
        if (dots(e->d_name))
            continue;
        if (unlinkat(dir, e->d_name, 0) != 0 && is_dir(dir, e->d_name))
            remove_within(dir, e->d_name, depth + 1);
    }
    if (s)
        closedir(s);
    if (dir >= 0)
        close(dir);
    unlinkat(parent, name, AT_REMOVEDIR);
}

void tree_remove(int parent, const char *name)
{
    remove_within(parent, name, 0);
}

/* --- linking ------------------------------------------------------------------------ */

struct linking {
    const struct manifest *ours, *keep;
    bool force;
    struct buf *at; /* path of the entry in hand */
    dev_t device;
};

static int link_within(struct linking *l, int from, int to, int depth);

/* The folder `name` of `to`, made if it is not there. */
static int make_folder(int to, const char *name, mode_t mode)
{
    if (mkdirat(to, name, mode & 07777) != 0 && errno != EEXIST)
        return -1;
    return open_dir(to, name);
}

static int link_folder(struct linking *l, int from, int to, const char *name, const struct stat *st,
                       int depth)
{
    int rc = -1, in = -1, out = -1;

    if (st->st_dev != l->device) {
        errno = EXDEV;
        return -1;
    }
    if (depth == TREE_DEPTH) {
        errno = ELOOP;
        return -1;
    }
    if ((in = open_dir(from, name)) >= 0 && (out = make_folder(to, name, st->st_mode)) >= 0)
        rc = link_within(l, in, out, depth + 1);
    int saved = errno;
    if (in >= 0)
        close(in);
    if (out >= 0)
        close(out);
    if (rc == 0 && manifest_has_folder(l->ours, l->at->p) && !manifest_has_folder(l->keep, l->at->p))
        unlinkat(to, name, AT_REMOVEDIR); /* was ours, and stays only if it holds foreign files */
    errno = saved;
    return rc;
}

static int link_entry(struct linking *l, int from, int to, const char *name, int depth)
{
    struct stat st;

    if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? 0 : -1;
    if (S_ISDIR(st.st_mode)) {
        if (manifest_has(l->keep, l->at->p)) { /* a folder where a file of ours must stand */
            errno = EEXIST;
            return -1;
        }
        return link_folder(l, from, to, name, &st, depth);
    }
    if (manifest_has(l->ours, l->at->p))
        return 0;
    if (manifest_has(l->keep, l->at->p) || manifest_has_folder(l->keep, l->at->p)) {
        errno = EEXIST;
        return l->force && !manifest_has_folder(l->keep, l->at->p) ? 0 : -1;
    }
    if (linkat(from, name, to, name, 0) == 0 || errno == ENOENT)
        return 0;
    return errno == EIO || errno == ENOSPC || errno == EROFS || errno == EDQUOT ? -1 : 0;
}

static int link_within(struct linking *l, int from, int to, int depth)
{
    DIR *s = stream_of(from);
    int rc = s ? 0 : -1;
    size_t length = l->at->n;

    for (struct dirent *e; rc == 0 && (e = readdir(s)) != NULL;) {
        if (dots(e->d_name))
            continue;
        buf_printf(l->at, "%s%s", length ? "/" : "", e->d_name);
        rc = link_entry(l, from, to, e->d_name, depth);
        if (rc == 0) {
            l->at->n = length;
            l->at->p[length] = '\0';
        }
    }
    int saved = errno;
    if (s)
        closedir(s);
    errno = saved;
    return rc;
}

int tree_link_foreign(int from, int to, const struct manifest *ours, const struct manifest *keep, bool force,
                      struct buf *at)
{
    struct stat st;
    struct linking l = {ours, keep, force, at, 0};

    if (fstat(from, &st) != 0)
        return -1;
    l.device = st.st_dev;
    return link_within(&l, from, to, 0);
}

/* --- taking an old directory down ---------------------------------------------------- */

struct retiring {
    struct manifest was, is; /* of the old directory, of the present one */
    struct buf at;
};

static void retire_within(struct retiring *r, int old, int now, int depth);

static void retire_folder(struct retiring *r, int old, int now, const char *name, int depth)
{
    int in = open_dir(old, name);
    int out = now < 0 ? -1 : open_dir(now, name);

    if (out < 0 && now >= 0 && !manifest_has_folder(&r->was, r->at.p)) {
        /* a folder that appeared after the links were made: moved as a whole */
        if (renameat(old, name, now, name) == 0) {
            if (in >= 0)
                close(in);
            return;
        }
    }
    if (in >= 0 && depth < TREE_DEPTH)
        retire_within(r, in, out, depth + 1);
    if (in >= 0)
        close(in);
    if (out >= 0)
        close(out);
    unlinkat(old, name, AT_REMOVEDIR);
}

static void retire_file(struct retiring *r, int old, int now, const char *name, const struct stat *was)
{
    struct stat is;
    bool there = now >= 0 && fstatat(now, name, &is, AT_SYMLINK_NOFOLLOW) == 0;

    if (manifest_has(&r->was, r->at.p) || manifest_has(&r->is, r->at.p) ||
        (there && is.st_dev == was->st_dev && is.st_ino == was->st_ino))
        unlinkat(old, name, 0);
    else if (now >= 0 && !there)
        renameat(old, name, now, name);
}

static void retire_within(struct retiring *r, int old, int now, int depth)
{
    DIR *s = stream_of(old);
    size_t length = r->at.n;

    for (struct dirent *e; s && (e = readdir(s)) != NULL;) {
        struct stat st;

        if (dots(e->d_name) || (depth == 0 && strcmp(e->d_name, MANIFEST_NAME) == 0) ||
            fstatat(old, e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        buf_printf(&r->at, "%s%s", length ? "/" : "", e->d_name);
        if (S_ISDIR(st.st_mode))
            retire_folder(r, old, now, e->d_name, depth);
        else
            retire_file(r, old, now, e->d_name, &st);
        r->at.n = length;
        r->at.p[length] = '\0';
    }
    if (s)
        closedir(s);
}

bool tree_is_empty(int dir, const char *but)
{
    DIR *s = stream_of(dir);
    bool empty = s != NULL;

    for (struct dirent *e; empty && (e = readdir(s)) != NULL;)
        empty = dots(e->d_name) || (but && strcmp(e->d_name, but) == 0);
    if (s)
        closedir(s);
    return empty;
}

void tree_retire(int parent, const char *name, int now)
{
    struct retiring r = {0};
    int old = open_dir(parent, name);

    if (old < 0)
        return;
    manifest_read(&r.was, old);
    if (now >= 0)
        manifest_read(&r.is, now);
    retire_within(&r, old, now, 0);
    if (tree_is_empty(old, MANIFEST_NAME))
        unlinkat(old, MANIFEST_NAME, 0); /* last: until then the directory is known as ours */
    close(old);
    unlinkat(parent, name, AT_REMOVEDIR);
    manifest_release(&r.was);
    manifest_release(&r.is);
    buf_release(&r.at);
}

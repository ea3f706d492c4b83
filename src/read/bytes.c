#include "read/bytes.h"
#include "base/mem.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum {
    RAW_SIZE = 64 * 1024
};

enum gzip_state {
    GZIP_NONE,   /* not compressed */
    GZIP_INSIDE, /* in a member */
    GZIP_BETWEEN,
    GZIP_OVER
};

struct bytes {
    const char *path; /* to see whether the file was replaced; NULL: memory or standard input */
    int fd;           /* -1: memory */
    struct str memory;
    struct stat opened;
    uint64_t size;      /* at the opening [B]; 0 for a pipe */
    uint64_t n_read;    /* stored bytes read so far [B] */
    bool at_end;        /* the stored bytes are all read */
    int error;          /* errno of a failed read */
    unsigned char *raw; /* stored bytes not yet handed on: raw_n from raw_at */
    size_t raw_at, raw_n;
    enum gzip_state gzip;
    z_stream z;
    const char *gzip_error; /* what is wrong with the compressed data */
    uint64_t n_unpacked;
};

static size_t read_stored(struct bytes *b, void *p, size_t n)
{
    if (b->at_end)
        return 0;
    size_t got = 0;
    if (b->fd < 0) {
        size_t left = b->memory.n - (size_t)b->n_read;
        got = n < left ? n : left;
        if (got)
            memcpy(p, b->memory.p + b->n_read, got);
    } else {
        ssize_t r;
        do
            r = read(b->fd, p, n);
        while (r < 0 && errno == EINTR);
        if (r < 0)
            b->error = errno;
        else
            got = (size_t)r;
    }
    b->n_read += got;
    if (got == 0)
        b->at_end = true;
    return got;
}

/* Fills raw from its front until at least `least` bytes are there or the input ends. */
static void refill(struct bytes *b, size_t least)
{
    if (b->raw_n)
        memmove(b->raw, b->raw + b->raw_at, b->raw_n);
    b->raw_at = 0;
    while (b->raw_n < least) {
        size_t got = read_stored(b, b->raw + b->raw_n, RAW_SIZE - b->raw_n);
        if (got == 0)
            return;
        b->raw_n += got;
    }
}

static bool is_gzip_magic(const unsigned char *p, size_t n)
{
    return n >= 3 && p[0] == 0x1f && p[1] == 0x8b && p[2] == 8;
}

static void start(struct bytes *b)
{
    b->raw = mem_alloc(RAW_SIZE);
    refill(b, 3);
    if (!is_gzip_magic(b->raw, b->raw_n))
        return;
    if (inflateInit2(&b->z, 15 + 16) != Z_OK) {
        b->gzip = GZIP_OVER;
        b->gzip_error = "zlib cannot be started";
        return;
    }
    b->gzip = GZIP_INSIDE;
}

struct bytes *bytes_open(const char *path, struct diag *d)
{
    bool is_stdin = strcmp(path, "-") == 0;
    int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    struct stat st;
    int error = 0;
    if (fd < 0 || fstat(fd, &st) != 0)
        error = errno;
    else if (S_ISDIR(st.st_mode))
        error = EISDIR;
    if (error) {
        diag_add(d, DIAG_CANNOT_OPEN, (struct place){path, 0, 0}, "cannot open it: %s", strerror(error));
        if (fd >= 0 && !is_stdin)
            close(fd);
        return NULL;
    }
    struct bytes *b = mem_zero(1, sizeof *b);
    b->fd = fd;
    b->opened = st;
    b->path = is_stdin ? NULL : path;
    if (S_ISREG(st.st_mode))
        b->size = (uint64_t)st.st_size;
    start(b);
    return b;
}

struct bytes *bytes_of_memory(struct str memory)
{
    struct bytes *b = mem_zero(1, sizeof *b);
    b->fd = -1;
    b->memory = memory;
    b->size = memory.n;
    start(b);
    return b;
}

void bytes_close(struct bytes *b)
{
    if (!b)
        return;
    if (b->gzip != GZIP_NONE)
        inflateEnd(&b->z);
    if (b->fd > STDIN_FILENO)
        close(b->fd);
    free(b->raw);
    free(b);
}

static void end_gzip(struct bytes *b, const char *error)
{
    b->gzip = GZIP_OVER;
    b->gzip_error = error;
}

/* Between two members: zero padding is skipped, anything else but a member is an error. */
static void next_member(struct bytes *b)
{
    for (;;) {
        while (b->raw_n && b->raw[b->raw_at] == 0) {
            b->raw_at++;
            b->raw_n--;
        }
        if (b->raw_n >= 3)
            break;
        size_t before = b->raw_n;
        refill(b, 3);
        if (b->raw_n == before)
            break;
    }
    if (b->raw_n == 0)
        end_gzip(b, NULL);
    else if (!is_gzip_magic(b->raw + b->raw_at, b->raw_n) || inflateReset(&b->z) != Z_OK)
        end_gzip(b, "other data follows the compressed data; it is left out");
    else
        b->gzip = GZIP_INSIDE;
}

static size_t unpack(struct bytes *b, char *p, size_t n)
{
    size_t got = 0;
    while (got < n && b->gzip != GZIP_OVER) {
        if (b->gzip == GZIP_BETWEEN) {
            next_member(b);
            continue;
        }
        if (b->raw_n == 0)
            refill(b, 1);
        if (b->raw_n == 0) {
            end_gzip(b, "the compressed data breaks off; what could be unpacked is used");
            break;
        }
        size_t room = n - got < (1u << 30) ? n - got : 1u << 30;
        b->z.next_in = b->raw + b->raw_at;
        b->z.avail_in = (uInt)b->raw_n;
        b->z.next_out = (Bytef *)p + got;
        b->z.avail_out = (uInt)room;
        int r = inflate(&b->z, Z_NO_FLUSH);
        b->raw_at += b->raw_n - b->z.avail_in;
        b->raw_n = b->z.avail_in;
        got += room - b->z.avail_out;
        if (r == Z_STREAM_END)
            b->gzip = GZIP_BETWEEN;
        else if (r != Z_OK && r != Z_BUF_ERROR)
            end_gzip(b, "the compressed data is damaged; what could be unpacked before is used");
    }
    b->n_unpacked += got;
    return got;
}

size_t bytes_read(struct bytes *b, char *p, size_t n)
{
    if (b->gzip != GZIP_NONE)
        return unpack(b, p, n);
    size_t got = b->raw_n < n ? b->raw_n : n;
    if (got) {
        memcpy(p, b->raw + b->raw_at, got);
        b->raw_at += got;
        b->raw_n -= got;
    }
    while (got < n) {
        size_t r = read_stored(b, p + got, n - got);
        if (r == 0)
            break;
        got += r;
    }
    return got;
}

uint64_t bytes_size(const struct bytes *b)
{
    return b->size ? b->size : b->n_read;
}

bool bytes_broken(const struct bytes *b)
{
    return b->error != 0 || b->gzip_error != NULL;
}

bool bytes_read_error(const struct bytes *b)
{
    return b->error != 0;
}

static void tell_change(const struct bytes *b, struct place at, struct diag *d)
{
    struct stat now;
    if (b->fd < 0 || !S_ISREG(b->opened.st_mode) || b->size == 0 || !b->at_end)
        return;
    if (b->n_read < b->size)
        diag_add(d, DIAG_CHANGED_WHILE_READ, at,
                 "the file became shorter while it was read: %" PRIu64 " of %" PRIu64 " bytes were there",
                 b->n_read, b->size);
    else if (b->n_read > b->size || (fstat(b->fd, &now) == 0 && (uint64_t)now.st_size != b->size))
        diag_add(d, DIAG_CHANGED_WHILE_READ, at,
                 "the file grew while it was read: the first %" PRIu64 " bytes are used", b->n_read);
    else if (b->path && stat(b->path, &now) == 0 &&
             (now.st_ino != b->opened.st_ino || now.st_dev != b->opened.st_dev))
        diag_add(d, DIAG_CHANGED_WHILE_READ, at,
                 "the file was replaced while it was read: the old one is used");
}

void bytes_tell(const struct bytes *b, const char *name, struct diag *d)
{
    struct place at = {name, 0, 0};
    if (b->error)
        diag_add(d, DIAG_CANNOT_READ, at, "cannot read on after %" PRIu64 " bytes: %s", b->n_read,
                 strerror(b->error));
    if (b->gzip_error)
        diag_add(d, DIAG_BAD_GZIP, at, "%s (%" PRIu64 " bytes)", b->gzip_error, b->n_unpacked);
    if (!b->error)
        tell_change(b, at, d);
}

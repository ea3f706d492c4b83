#include "cli/dump.h"
#include "cli/session.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* The unfinished output of --to: a signal takes it away. Set once before, and
 * cleared once after it is there; NULL otherwise. */
static const char *volatile unfinished;

const char *session_unfinished(void)
{
    return unfinished;
}

int session_convert_to(struct session *s, FILE *out)
{
    struct destination to = {.converter = converter_new(out, s->o.to, s->o.provenance)};
    int result = session_read_inputs(s, &to);
    if (converter_close(to.converter) != 0 && result == EXIT_OK)
        result = session_fail(EXIT_USAGE, "cannot write %s: %s",
                              s->o.output ? s->o.output : "standard output", strerror(errno));
    uint64_t records = 0;
    for (size_t i = 0; i < s->n_infos; i++)
        records += s->infos[i].records;
    if (result == EXIT_OK && records == 0)
        result = session_fail(EXIT_USAGE, "no input with records; nothing to convert");
    return result;
}

/* What is no regular file (a pipe, a device) is written to, never replaced. */
static bool is_special(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && !S_ISREG(st.st_mode);
}

/* --to with -o: a regular file is there whole or not at all. */
int session_convert_to_file(struct session *s)
{
    const char *output = s->o.output, *inside = inputs_inside(&s->inputs, output);
    if (inside)
        return session_fail(EXIT_USAGE, "%s is an input; choose another -o", inside);
    bool special = is_special(output);
    const char *part = special ? output : arena_printf(&s->arena, "%s.tmp-%ld", output, (long)getpid());
    unfinished = special ? NULL : part;
    int fd = open(part, special ? O_WRONLY : O_WRONLY | O_CREAT | O_EXCL, 0666);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
    if (!f) {
        unfinished = NULL;
        return session_fail(EXIT_USAGE, "cannot write %s: %s", part, strerror(errno));
    }
    int result = session_convert_to(s, f);
    bool good = fflush(f) == 0 && (special || fsync(fd) == 0);
    good = fclose(f) == 0 && good;
    if (result == EXIT_OK && (!good || (!special && rename(part, output) != 0)))
        result = session_fail(EXIT_USAGE, "cannot write %s: %s", output, strerror(errno));
    if (result != EXIT_OK && !special)
        unlink(part);
    unfinished = NULL;
    return result;
}

int session_dump_each_row(struct session *s)
{
    int result = EXIT_OK;
    for (size_t i = 0; i < s->inputs.n; i++) {
        struct diag d;
        diag_init(&d);
        int status = dump_rows(stdout, s->inputs.items[i].path, &d);
        term_diag(&s->term, &d, true);
        diag_release(&d);
        if (status != 0 && !s->inputs.items[i].from_dir)
            result = session_fail(EXIT_USAGE, "%s: cannot be read", s->inputs.items[i].path);
    }
    return result;
}

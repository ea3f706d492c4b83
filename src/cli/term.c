#include "cli/term.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool wants_colour(enum colour colour, int fd)
{
    const char *no_color = getenv("NO_COLOR"), *terminal = getenv("TERM");
    if (colour != COLOUR_AUTO)
        return colour == COLOUR_ALWAYS;
    return isatty(fd) && !(no_color && *no_color) && terminal && strcmp(terminal, "dumb") != 0;
}

void term_init(struct term *t, const struct options *o)
{
    *t = (struct term){.out_colour = wants_colour(o->colour, STDOUT_FILENO),
                       .err_colour = wants_colour(o->colour, STDERR_FILENO),
                       .progress = !o->no_progress && !o->quiet && isatty(STDERR_FILENO),
                       .quiet = o->quiet,
                       .started = now()};
}

void term_put(FILE *f, const char *text)
{
    for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
        if (*p < 0x20 || *p == 0x7f)
            fprintf(f, "\\x%02x", *p);
        else
            putc(*p, f);
    }
}

void term_progress(struct term *t, size_t i, size_t n, const char *name)
{
    if (!t->progress || now() - t->started < 1)
        return;
    fprintf(stderr, "\r\033[Kreading %zu of %zu: ", i + 1, n);
    term_put(stderr, name);
    fflush(stderr);
    t->shown = true;
}

void term_clear(struct term *t)
{
    if (t->shown)
        fputs("\r\033[K", stderr);
    t->shown = false;
}

static void put_coloured(char *line)
{
    static const struct {
        const char *word, *colour;
    } levels[] = {{": error: ", "31"}, {": warning: ", "33"}, {": note: ", "36"}};
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        char *at = strstr(line, levels[i].word);
        if (!at)
            continue;
        size_t n = strlen(levels[i].word);
        fprintf(stderr, "%.*s: \033[1;%sm%.*s\033[0m: %s\n", (int)(at - line), line, levels[i].colour,
                (int)n - 4, at + 2, at + n);
        return;
    }
    fprintf(stderr, "%s\n", line);
}

void term_diag(struct term *t, const struct diag *d, bool all)
{
    enum diag_level least = all ? DIAG_NOTE : t->quiet ? DIAG_ERROR : DIAG_WARNING;
    term_clear(t);
    if (!t->err_colour) {
        diag_print(d, stderr, least);
        return;
    }
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (!f) {
        diag_print(d, stderr, least);
        return;
    }
    diag_print(d, f, least);
    fclose(f);
    for (char *line = text; line && *line;) {
        char *end = strchr(line, '\n');
        if (end)
            *end = '\0';
        put_coloured(line);
        line = end ? end + 1 : NULL;
    }
    free(text);
}

#include "base/mem.h"
#include "base/pool.h"
#include "cli/session.h"
#include "model/trace.h"
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>

int session_fail(int status, const char *fmt, ...)
{
    struct buf b = {0};
    va_list ap;
    va_start(ap, fmt);
    buf_vprintf(&b, fmt, ap);
    va_end(ap);
    fputs("oomreport: ", stderr);
    term_put(stderr, b.p);
    putc('\n', stderr);
    buf_release(&b);
    return status;
}

void session_print(struct session *s, const struct buf *text)
{
    if (text->n > 0 && fwrite(text->p, 1, text->n, stdout) != text->n && !s->write_error)
        s->write_error = errno;
}

static bool is_log(const struct input_info *info, int status)
{
    return status == 0 && info->format && info->records > 0;
}

/* Reads one input, or takes over what was read ahead. As normalise_input. */
static int normalise_one(struct session *s, const struct input *input, const struct destination *to,
                         struct input_info *info, struct diag *d)
{
    if (s->ahead)
        return read_ahead_next(s->ahead, to->builder, info, d);
    struct record_sink sink =
        to->builder ? builder_sink(to->builder, input->path, input->name, d) : converter_sink(to->converter);
    int status = normalise_input(info, &sink, input->path, &s->normalise, &s->arena, d);
    if (to->builder)
        builder_input_end(to->builder, info);
    return status;
}

/* Reads one input. 0, or the exit status when all has to stop. */
static int read_input(struct session *s, const struct input *input, const struct destination *to)
{
    struct diag d;
    diag_init(&d);
    struct input_info *info = &s->infos[s->n_infos];
    int status = normalise_one(s, input, to, info, &d);
    if (info->past && to->builder)
        s->past[s->n_past++] = info->past;
    else if (info->past) {
        past_report_free(info->past);
        info->records = 0;
        info->has_memory = false;
        diag_add(&d, DIAG_BAD_REPORT, (struct place){input->path, 0, 0},
                 "a report holds no records to convert; give the log");
    }
    info->past = NULL;
    trace_file_free(info->trace); /* what the series need of it they share */
    info->trace = NULL;
    int result = EXIT_OK;
    if (input->from_dir && !is_log(info, status)) {
        s->passed_over++;
        if (s->o.verbose)
            term_diag(&s->term, &d, true);
    } else {
        term_diag(&s->term, &d, s->o.verbose);
        s->n_infos++;
        if (!info->has_memory && s->skipped++ == 0)
            s->first_skipped = input->path;
        if (s->o.verbose) {
            term_put(stderr, input->path);
            fputs(": ", stderr);
            term_put(stderr, info->format ? info->format : "not recognised");
            fprintf(stderr, ", %llu records, %llu skipped\n", (unsigned long long)info->records,
                    (unsigned long long)info->skipped);
        }
        if (to->builder)
            info->name = input->name;
        if (d.seen[DIAG_CANNOT_OPEN])
            result = session_fail(EXIT_USAGE, "%s: cannot be opened", input->path);
    }
    diag_release(&d);
    return result;
}

/* Options that name what no input has. 0, or the exit status. */
static int check_against_options(struct session *s)
{
    for (size_t i = 0; i < s->o.n_maps; i++)
        if (!s->normalise.map_found[i])
            return session_fail(EXIT_USAGE, "--map %s: no input has a column \"%.*s\"",
                                field_name(s->o.maps[i].field), (int)s->o.maps[i].column.n,
                                s->o.maps[i].column.p);
    if (!isnan(s->o.event_from) || !isnan(s->o.event_to)) {
        uint64_t events = 0;
        for (size_t i = 0; i < s->n_infos; i++)
            events += s->infos[i].events;
        if (!events)
            return session_fail(EXIT_USAGE,
                                "--events: no input is a memory snapshot with events in that range");
    }
    if (isnan(s->o.step_from) && isnan(s->o.step_to))
        return EXIT_OK;
    double first = NAN, last = NAN, from = s->o.step_from, to = s->o.step_to;
    for (size_t i = 0; i < s->n_infos; i++) {
        first = fmin(first, s->infos[i].first_step);
        last = fmax(last, s->infos[i].last_step);
    }
    if (last < from || first > to) {
        const char *a = isnan(from) ? "" : arena_printf(&s->arena, "%.0f", from);
        const char *b = isnan(to) ? "" : arena_printf(&s->arena, "%.0f", to);
        return session_fail(EXIT_USAGE, "--steps: no step in %s:%s; the logs have %.0f to %.0f", a, b, first,
                            last);
    }
    return EXIT_OK;
}

/* Inputs of so many bytes in all are worth threads. */
enum {
    WORTH_THREADS = 8 * 1024 * 1024
};

/* Begins to read several inputs at once where that pays, or was asked for. */
static void begin_ahead(struct session *s)
{
    size_t n = s->inputs.n, threads = s->o.jobs ? s->o.jobs : pool_processors();
    uint64_t bytes = 0;
    if (n < 2 || threads < 2)
        return;
    struct named_input *inputs = arena_alloc(&s->arena, n * sizeof *inputs);
    for (size_t i = 0; i < n; i++) {
        struct stat st;
        inputs[i] = (struct named_input){s->inputs.items[i].path, s->inputs.items[i].name};
        if (stat(inputs[i].path, &st) == 0)
            bytes += (uint64_t)st.st_size;
    }
    if (s->o.jobs || bytes >= WORTH_THREADS)
        s->ahead = read_ahead_new(inputs, n, threads < n ? threads : n, &s->normalise, s->o.name_pattern);
}

/* Reads all inputs. 0, or the exit status. */
int session_read_inputs(struct session *s, const struct destination *to)
{
    if (to->builder)
        begin_ahead(s);
    s->infos = arena_alloc(&s->arena, (s->inputs.n + 1) * sizeof *s->infos);
    s->past = arena_alloc(&s->arena, (s->inputs.n + 1) * sizeof(struct past_report *));
    for (size_t i = 0; i < s->inputs.n; i++) {
        term_progress(&s->term, i, s->inputs.n, s->inputs.items[i].path);
        int status = read_input(s, &s->inputs.items[i], to);
        if (status != EXIT_OK)
            return status;
    }
    term_clear(&s->term);
    if (s->passed_over && !s->o.quiet)
        fprintf(stderr, "oomreport: %zu file%s in directories passed over: not recognised as logs\n",
                s->passed_over, s->passed_over == 1 ? "" : "s");
    return check_against_options(s);
}

/* Finds the inputs and reads them into series. 0, or the exit status. */
int session_read_series(struct session *s, struct series_set *set)
{
    struct destination to = {.builder = builder_new(s->o.name_pattern)};
    int status = session_read_inputs(s, &to);
    if (status == EXIT_OK)
        builder_finish(set, to.builder);
    builder_free(to.builder);
    return status;
}

void session_release_past(struct session *s)
{
    for (size_t i = 0; i < s->n_past; i++)
        past_report_free(s->past[i]);
    s->n_past = 0;
}

bool session_any_memory(const struct session *s)
{
    for (size_t i = 0; i < s->n_infos; i++)
        if (s->infos[i].has_memory)
            return true;
    return false;
}

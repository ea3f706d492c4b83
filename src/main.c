/* The stages in order: read and normalise -> analyse -> draw -> report; and the exit status.
 *
 * Standard output has the result only; all else goes to standard error, where
 * the reason for an exit status other than 0 is the last line. */
#include "analyse/analyse.h"
#include "analyse/redact.h"
#include "base/embed.h"
#include "base/mem.h"
#include "base/pool.h"
#include "cli/config.h"
#include "cli/dump.h"
#include "cli/explain.h"
#include "cli/formats.h"
#include "cli/gates.h"
#include "cli/inputs.h"
#include "cli/logger.h"
#include "cli/options.h"
#include "cli/result.h"
#include "cli/term.h"
#include "draw/draw.h"
#include "model/trace.h"
#include "normalise/normalise.h"
#include "normalise/read_ahead.h"
#include "report/report.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct session {
    struct options o;
    struct config config;
    struct arena arena;
    struct term term;
    struct input_list inputs;
    struct mapping_set *mappings;
    struct normalise_settings normalise;
    struct read_ahead *ahead; /* NULL: inputs are read one after the other */
    struct input_info *infos; /* n_infos, in the order of inputs */
    size_t n_infos;
    size_t skipped; /* inputs that were named and gave no memory figure */
    const char *first_skipped;
    const char *templates_shown; /* --templates as the report names it */
    struct past_report **past;   /* n_past inputs that are earlier reports */
    size_t n_past;
    size_t passed_over; /* files of a directory that are no logs */
    int write_error;    /* errno of the first failed write to standard output */
};

/* The unfinished output of --to: a signal takes it away. Set once before, and
 * cleared once after it is there; NULL otherwise. */
static const char *volatile unfinished;

/* Says why, as the last line on standard error. */
static int fail(int status, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static int fail(int status, const char *fmt, ...)
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

/* Standard output keeps that a write failed, not why. */
static void put_out(struct session *s, const struct buf *text)
{
    if (text->n > 0 && fwrite(text->p, 1, text->n, stdout) != text->n && !s->write_error)
        s->write_error = errno;
}

static void on_signal(int sig)
{
    static const char interrupted[] = "\noomreport: interrupted\n", terminated[] = "oomreport: terminated\n",
                      wrong[] = "oomreport: internal error; please report it\n";
    const char *partial = unfinished;
    if (partial)
        unlink(partial);
    ssize_t n = sig == SIGINT    ? write(STDERR_FILENO, interrupted, sizeof interrupted - 1)
                : sig == SIGTERM ? write(STDERR_FILENO, terminated, sizeof terminated - 1)
                                 : write(STDERR_FILENO, wrong, sizeof wrong - 1);
    (void)n; /* nothing is left to be done about it */
    _exit(sig == SIGABRT ? EXIT_INTERNAL : 128 + sig);
}

static void catch_signals(void)
{
    struct sigaction act = {.sa_handler = on_signal}, old;
    sigfillset(&act.sa_mask);
    static const int caught[] = {SIGINT, SIGTERM, SIGABRT};
    for (size_t i = 0; i < sizeof caught / sizeof caught[0]; i++)
        if (sigaction(caught[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(caught[i], &act, NULL);
    act.sa_handler = SIG_IGN; /* a closed pipe and a file too large are write errors like others */
    sigaction(SIGPIPE, &act, NULL);
    sigaction(SIGXFSZ, &act, NULL);
}

/* --- reading ---------------------------------------------------------------------- */

/* Where the records of the inputs go: to a builder, or else to a converter. */
struct destination {
    struct builder *builder;
    struct converter *converter;
};

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
            result = fail(EXIT_USAGE, "%s: cannot be opened", input->path);
    }
    diag_release(&d);
    return result;
}

/* Options that name what no input has. 0, or the exit status. */
static int check_against_options(struct session *s)
{
    for (size_t i = 0; i < s->o.n_maps; i++)
        if (!s->normalise.map_found[i])
            return fail(EXIT_USAGE, "--map %s: no input has a column \"%.*s\"",
                        field_name(s->o.maps[i].field), (int)s->o.maps[i].column.n, s->o.maps[i].column.p);
    if (!isnan(s->o.event_from) || !isnan(s->o.event_to)) {
        uint64_t events = 0;
        for (size_t i = 0; i < s->n_infos; i++)
            events += s->infos[i].events;
        if (!events)
            return fail(EXIT_USAGE, "--events: no input is a memory snapshot with events in that range");
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
        return fail(EXIT_USAGE, "--steps: no step in %s:%s; the logs have %.0f to %.0f", a, b, first, last);
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
static int read_inputs(struct session *s, const struct destination *to)
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
static int read_series(struct session *s, struct series_set *set)
{
    struct destination to = {.builder = builder_new(s->o.name_pattern)};
    int status = read_inputs(s, &to);
    if (status == EXIT_OK)
        builder_finish(set, to.builder);
    builder_free(to.builder);
    return status;
}

static void release_past(struct session *s)
{
    for (size_t i = 0; i < s->n_past; i++)
        past_report_free(s->past[i]);
    s->n_past = 0;
}

static bool any_memory(const struct session *s)
{
    for (size_t i = 0; i < s->n_infos; i++)
        if (s->infos[i].has_memory)
            return true;
    return false;
}

/* --- report ----------------------------------------------------------------------- */

/* What stands on standard output has to be there before an older report goes: 0, or -1. */
static int flush_out(struct session *s)
{
    if (fflush(stdout) != 0 && !s->write_error)
        s->write_error = errno;
    return ferror(stdout) ? -1 : 0;
}

struct result_lines {
    struct session *s;
    const struct analysis *analysis;
    const char *dir;
};

/* The lines of the result, printed while the new report waits to take its place. */
static int put_result(void *ctx, int made)
{
    const struct result_lines *r = ctx;
    const struct options *o = &r->s->o;
    if (!o->stdout_format) {
        result_verdict(&r->s->term, &r->analysis->verdict, o->quiet);
        result_what_if(&r->s->term, r->analysis);
        if (!o->quiet)
            result_where(r->dir, made, o->parts);
    }
    return flush_out(r->s);
}

/* A signal waits while the directory is written: it is replaced whole or not at
 * all, and nothing half-made is left beside it. */
static int write_report(const struct session *s, const char *dir, const struct report_content *content,
                        const struct report_settings *settings, struct diag *d)
{
    (void)s;
    sigset_t waiting, before;
    sigemptyset(&waiting);
    sigaddset(&waiting, SIGINT);
    sigaddset(&waiting, SIGTERM);
    sigprocmask(SIG_BLOCK, &waiting, &before);
    int status = report_write(dir, content, settings, d);
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    if (status == 0) { /* too late: the report is there, and the exit status has to say so */
        sigaction(SIGINT, &ignore, NULL);
        sigaction(SIGTERM, &ignore, NULL);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    return status;
}

static int deliver(struct session *s, const struct report_content *content)
{
    const struct options *o = &s->o;
    struct report_settings settings = {.parts = o->parts,
                                       .label = o->label,
                                       .templates_dir = o->templates,
                                       .templates_shown = s->templates_shown,
                                       .timestamp = o->timestamp,
                                       .force = o->force,
                                       .settings_lines = o->given,
                                       .n_settings = o->n_given};
    if (o->stdout_format) {
        struct buf text = {0};
        if (report_render(&text, o->stdout_format, content, &settings) != 0) {
            buf_release(&text);
            return fail(EXIT_USAGE, "cannot render %s", o->stdout_format);
        }
        put_out(s, &text);
        buf_release(&text);
        if (!o->output)
            return EXIT_OK;
    }
    const char *dir = o->output ? o->output : "oomreport-report";
    struct result_lines lines = {s, content->analysis, dir};
    struct dir_ready ready = {put_result, &lines};
    settings.ready = &ready;
    struct diag d;
    diag_init(&d);
    int status = write_report(s, dir, content, &settings, &d), result = EXIT_OK;
    term_diag(&s->term, &d, status != 0 || o->verbose);
    if (status != 0 && ferror(stdout))
        result = fail(EXIT_USAGE, "cannot write to standard output: %s; no report written to %s",
                      s->write_error ? strerror(s->write_error) : "write error", dir);
    else if (status != 0)
        result = fail(EXIT_USAGE, "no report written to %s", dir);
    diag_release(&d);
    return result;
}

/* Figures that cannot be are warned of before anybody builds on what follows from them. */
static void warn_of_impossible(struct session *s, const struct analysis *analysis)
{
    struct diag d;
    diag_init(&d);
    for (size_t i = 0; i < analysis->n_quality; i++)
        if (strcmp(analysis->quality[i].code, diag_name(DIAG_IMPOSSIBLE_VALUE)) == 0)
            diag_add(&d, DIAG_IMPOSSIBLE_VALUE, (struct place){0}, "%s", analysis->quality[i].text);
    term_diag(&s->term, &d, false);
    diag_release(&d);
}

/* What the report will say; the series lose the names that it shall not. */
static void find_verdicts(struct session *s, struct analysis *analysis, struct series_set *set)
{
    const struct options *o = &s->o;
    struct redactor redactor = {
        .level = o->redact, .inputs = s->infos, .n_inputs = s->n_infos, .arena = &s->arena};
    struct analyse_settings settings = {o->capacity_bytes,
                                        o->what_ifs,
                                        o->n_what_ifs,
                                        o->redact == REDACT_ALL,
                                        (const struct past_report *const *)s->past,
                                        s->n_past};
    redact_series(&redactor, set);
    analyse(analysis, set, &settings);
    redact_analysis(&redactor, analysis);
    for (size_t i = 0; i < o->n_given; i++)
        o->given[i] = redact_setting(&redactor, o->given[i]);
    if (o->templates)
        s->templates_shown =
            o->redact == REDACT_ALL ? "(not shown)" : redact_setting(&redactor, str_of(o->templates)).p;
    if (o->redact == REDACT_ALL)
        s->o.label = NULL;
}

static int draw_and_deliver(struct session *s, const struct analysis *analysis)
{
    struct draw_settings draw = {.card = s->o.parts & PART_PNG, .font = embed_find("font.ttf")};
    bool pictures = s->o.parts & (PART_HTML | PART_SINGLE | PART_PNG);
    if (s->o.stdout_format && !s->o.output)
        pictures = false;
    draw.themes[THEME_LIGHT] = s->o.light;
    draw.themes[THEME_DARK] = s->o.dark;
    struct gallery gallery = {0};
    if (pictures && draw_all(&gallery, analysis, &draw) != 0)
        return fail(EXIT_INTERNAL, "cannot draw: %s", strerror(errno));
    struct report_content content = {analysis, &gallery, s->infos, s->n_infos};
    int result = deliver(s, &content);
    gallery_release(&gallery);
    return result;
}

static int make_report(struct session *s)
{
    const char *dir = s->o.output ? s->o.output : "oomreport-report";
    bool writes = s->o.output || !s->o.stdout_format;
    const char *inside = writes ? inputs_inside(&s->inputs, dir) : NULL;
    if (inside)
        return fail(EXIT_USAGE, "%s lies inside the output directory %s; choose another -o", inside, dir);
    struct series_set set = {0};
    int result = read_series(s, &set);
    if (result == EXIT_OK && !any_memory(s))
        result = fail(EXIT_USAGE, "no input with memory figures; nothing to report "
                                  "(--map names a column that holds them)");
    if (result == EXIT_OK && s->n_past > 0 && s->o.redact == REDACT_ALL)
        result = fail(EXIT_USAGE,
                      "--redact all: what an earlier report names cannot be taken out of it here; make that "
                      "report from its logs with --redact all, and merge without it");
    if (result == EXIT_OK) {
        struct analysis analysis;
        find_verdicts(s, &analysis, &set);
        warn_of_impossible(s, &analysis);
        if (!gates_run(&analysis, &s->o.gates, &s->term))
            result =
                fail(EXIT_USAGE, "--baseline: %s cannot be used; no report written", s->o.gates.baseline);
        else
            result = draw_and_deliver(s, &analysis);
        const char *why;
        int status = result == EXIT_OK ? gates_status(&why, &analysis, &s->o.gates) : EXIT_OK;
        if (status != EXIT_OK)
            result = fail(status, "%s", why);
        analysis_release(&analysis);
    }
    series_set_release(&set);
    release_past(s);
    if (result == EXIT_OK && s->o.strict && s->skipped > 0)
        result = fail(EXIT_SKIPPED, "--strict: %zu input%s skipped, first %s", s->skipped,
                      s->skipped == 1 ? " was" : "s were", s->first_skipped);
    return result;
}

/* --- instead of a report ---------------------------------------------------------- */

static int convert_to(struct session *s, FILE *out)
{
    struct destination to = {.converter = converter_new(out, s->o.to, s->o.provenance)};
    int result = read_inputs(s, &to);
    if (converter_close(to.converter) != 0 && result == EXIT_OK)
        result = fail(EXIT_USAGE, "cannot write %s: %s", s->o.output ? s->o.output : "standard output",
                      strerror(errno));
    uint64_t records = 0;
    for (size_t i = 0; i < s->n_infos; i++)
        records += s->infos[i].records;
    if (result == EXIT_OK && records == 0)
        result = fail(EXIT_USAGE, "no input with records; nothing to convert");
    return result;
}

/* What is no regular file (a pipe, a device) is written to, never replaced. */
static bool is_special(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && !S_ISREG(st.st_mode);
}

/* --to with -o: a regular file is there whole or not at all. */
static int convert_to_file(struct session *s)
{
    const char *output = s->o.output, *inside = inputs_inside(&s->inputs, output);
    if (inside)
        return fail(EXIT_USAGE, "%s is an input; choose another -o", inside);
    bool special = is_special(output);
    const char *part = special ? output : arena_printf(&s->arena, "%s.tmp-%ld", output, (long)getpid());
    unfinished = special ? NULL : part;
    int fd = open(part, special ? O_WRONLY : O_WRONLY | O_CREAT | O_EXCL, 0666);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
    if (!f) {
        unfinished = NULL;
        return fail(EXIT_USAGE, "cannot write %s: %s", part, strerror(errno));
    }
    int result = convert_to(s, f);
    bool good = fflush(f) == 0 && (special || fsync(fd) == 0);
    good = fclose(f) == 0 && good;
    if (result == EXIT_OK && (!good || (!special && rename(part, output) != 0)))
        result = fail(EXIT_USAGE, "cannot write %s: %s", output, strerror(errno));
    if (result != EXIT_OK && !special)
        unlink(part);
    unfinished = NULL;
    return result;
}

static int dump_each_row(struct session *s)
{
    int result = EXIT_OK;
    for (size_t i = 0; i < s->inputs.n; i++) {
        struct diag d;
        diag_init(&d);
        int status = dump_rows(stdout, s->inputs.items[i].path, &d);
        term_diag(&s->term, &d, true);
        diag_release(&d);
        if (status != 0 && !s->inputs.items[i].from_dir)
            result = fail(EXIT_USAGE, "%s: cannot be read", s->inputs.items[i].path);
    }
    return result;
}

static int dump_stage(struct session *s)
{
    if (s->o.dump == DUMP_ROWS)
        return dump_each_row(s);
    if (s->o.dump == DUMP_RECORDS) {
        s->o.to = CONVERT_JSONL;
        return convert_to(s, stdout);
    }
    struct series_set set = {0};
    int result = read_series(s, &set);
    if (result == EXIT_OK && s->o.dump == DUMP_SERIES)
        dump_series(stdout, &set);
    if (result == EXIT_OK && s->o.dump != DUMP_SERIES) {
        struct analysis analysis;
        struct buf text = {0};
        find_verdicts(s, &analysis, &set);
        if (s->o.dump == DUMP_VERDICTS)
            dump_verdicts(&text, &analysis);
        else
            draw_dump(&text, &analysis);
        put_out(s, &text);
        buf_release(&text);
        analysis_release(&analysis);
    }
    series_set_release(&set);
    release_past(s);
    return result;
}

/* --- the whole -------------------------------------------------------------------- */

/* The events from A up to B, both included. */
static struct trace_window events_wanted(const struct options *o)
{
    double from = isnan(o->event_from) ? 0 : o->event_from;
    double n = isnan(o->event_to) ? 0 : o->event_to - from + 1;
    return (struct trace_window){(uint64_t)from, (uint64_t)n};
}

/* A folder of templates that is not there would leave the built-in ones, unsaid. */
static const char *templates_wrong(struct session *s)
{
    struct stat st;
    const char *dir = s->o.templates;
    int error = !dir || stat(dir, &st) == 0 ? 0 : errno;
    if (dir && error == 0 && !S_ISDIR(st.st_mode))
        error = ENOTDIR;
    return error ? arena_printf(&s->arena, "--templates: %s: %s", dir, strerror(error)) : NULL;
}

/* What needs inputs. */
static int run_on_inputs(struct session *s)
{
    const char *why = s->o.format ? formats_known(s->mappings, s->o.format, &s->arena) : NULL;
    if (!why)
        why = templates_wrong(s);
    if (!why)
        why = inputs_expand(&s->inputs, s->o.inputs, s->o.n_inputs, s->o.files_from, &s->arena);
    if (why)
        return fail(EXIT_USAGE, "%s", why);
    s->normalise = (struct normalise_settings){.mappings = s->mappings,
                                               .format = s->o.format,
                                               .maps = s->o.maps,
                                               .n_maps = s->o.n_maps,
                                               .map_found = arena_alloc(&s->arena, s->o.n_maps + 1),
                                               .sets = s->o.sets,
                                               .n_sets = s->o.n_sets,
                                               .events = events_wanted(&s->o),
                                               .step_from = s->o.step_from,
                                               .step_to = s->o.step_to};
    if (s->o.action == ACTION_DUMP)
        return dump_stage(s);
    if (s->o.action == ACTION_CONVERT)
        return s->o.output ? convert_to_file(s) : convert_to(s, stdout);
    return make_report(s);
}

/* What only prints. */
static int print_text(struct session *s)
{
    struct buf text = {0};
    int result = EXIT_OK;
    if (s->o.action == ACTION_HELP)
        options_help(&text);
    else if (s->o.action == ACTION_VERSION)
        options_version(&text);
    else if (s->o.action == ACTION_LOGGER)
        logger_print(&text, s->o.subject);
    else if (s->o.action == ACTION_PRINT_CONFIG)
        config_print(&text, &s->config);
    else {
        const char *why = explain(&text, s->o.subject, &s->arena);
        if (why)
            result = fail(EXIT_USAGE, "%s", why);
    }
    put_out(s, &text);
    buf_release(&text);
    return result;
}

static int run(struct session *s, int argc, char **argv)
{
    const char *why = config_read(&s->config, argc, argv, &s->arena);
    if (!why)
        why = options_parse(&s->o, s->config.argc, s->config.argv, &s->arena);
    if (!why)
        why = options_timestamp(&s->o, &s->arena);
    if (why)
        return fail(EXIT_USAGE, "%s", why);
    term_init(&s->term, &s->o);
    if (s->o.action == ACTION_HELP || s->o.action == ACTION_VERSION || s->o.action == ACTION_EXPLAIN ||
        s->o.action == ACTION_PRINT_CONFIG || s->o.action == ACTION_LOGGER)
        return print_text(s);
    struct diag d;
    diag_init(&d);
    int result = EXIT_OK;
    s->mappings = formats_load(&d);
    if (s->o.action == ACTION_LIST_FORMATS)
        formats_list(stdout, s->mappings);
    else if (s->o.action == ACTION_SHOW_FORMAT)
        why = formats_show(stdout, s->mappings, s->o.subject, &s->arena);
    else if (s->o.action == ACTION_CHECK_FORMAT)
        why = formats_check(stdout, s->o.subject, &d, &s->arena);
    term_diag(&s->term, &d, s->o.verbose);
    diag_release(&d);
    if (why)
        result = fail(EXIT_USAGE, "%s", why);
    else if (s->o.action == ACTION_REPORT || s->o.action == ACTION_CONVERT || s->o.action == ACTION_DUMP)
        result = run_on_inputs(s);
    read_ahead_free(s->ahead); /* before what it reads with */
    mapping_set_free(s->mappings);
    return result;
}

int main(int argc, char **argv)
{
    struct session s = {0};
    catch_signals();
    int result = run(&s, argc, argv);
    inputs_release(&s.inputs);
    config_release(&s.config);
    arena_release(&s.arena);
    if (fflush(stdout) != 0 && !s.write_error)
        s.write_error = errno;
    bool failed = ferror(stdout) != 0;
    if ((fclose(stdout) != 0 || failed) && result == EXIT_OK)
        result = fail(EXIT_USAGE, "cannot write to standard output: %s",
                      s.write_error ? strerror(s.write_error) : "write error");
    return result;
}

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
#include "cli/session.h"
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

static void on_signal(int sig)
{
    static const char interrupted[] = "\noomreport: interrupted\n", terminated[] = "oomreport: terminated\n",
                      wrong[] = "oomreport: internal error; please report it\n";
    const char *partial = session_unfinished();
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
            return session_fail(EXIT_USAGE, "cannot render %s", o->stdout_format);
        }
        session_print(s, &text);
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
        result = session_fail(EXIT_USAGE, "cannot write to standard output: %s; no report written to %s",
                              s->write_error ? strerror(s->write_error) : "write error", dir);
    else if (status != 0)
        result = session_fail(EXIT_USAGE, "no report written to %s", dir);
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
        return session_fail(EXIT_INTERNAL, "cannot draw: %s", strerror(errno));
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
        return session_fail(EXIT_USAGE, "%s lies inside the output directory %s; choose another -o", inside,
                            dir);
    struct series_set set = {0};
    int result = session_read_series(s, &set);
    if (result == EXIT_OK && !session_any_memory(s))
        result = session_fail(EXIT_USAGE, "no input with memory figures; nothing to report "
                                          "(--map names a column that holds them)");
    if (result == EXIT_OK && s->n_past > 0 && s->o.redact == REDACT_ALL)
        result = session_fail(
            EXIT_USAGE,
            "--redact all: what an earlier report names cannot be taken out of it here; make that "
            "report from its logs with --redact all, and merge without it");
    if (result == EXIT_OK) {
        struct analysis analysis;
        find_verdicts(s, &analysis, &set);
        warn_of_impossible(s, &analysis);
        if (!gates_run(&analysis, &s->o.gates, &s->term))
            result = session_fail(EXIT_USAGE, "--baseline: %s cannot be used; no report written",
                                  s->o.gates.baseline);
        else
            result = draw_and_deliver(s, &analysis);
        const char *why;
        int status = result == EXIT_OK ? gates_status(&why, &analysis, &s->o.gates) : EXIT_OK;
        if (status != EXIT_OK)
            result = session_fail(status, "%s", why);
        analysis_release(&analysis);
    }
    series_set_release(&set);
    session_release_past(s);
    if (result == EXIT_OK && s->o.strict && s->skipped > 0)
        result = session_fail(EXIT_SKIPPED, "--strict: %zu input%s skipped, first %s", s->skipped,
                              s->skipped == 1 ? " was" : "s were", s->first_skipped);
    return result;
}

/* --- a stage, for looking at ------------------------------------------------------ */

static int dump_stage(struct session *s)
{
    if (s->o.dump == DUMP_ROWS)
        return session_dump_each_row(s);
    if (s->o.dump == DUMP_RECORDS) {
        s->o.to = CONVERT_JSONL;
        return session_convert_to(s, stdout);
    }
    struct series_set set = {0};
    int result = session_read_series(s, &set);
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
        session_print(s, &text);
        buf_release(&text);
        analysis_release(&analysis);
    }
    series_set_release(&set);
    session_release_past(s);
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
        return session_fail(EXIT_USAGE, "%s", why);
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
        return s->o.output ? session_convert_to_file(s) : session_convert_to(s, stdout);
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
            result = session_fail(EXIT_USAGE, "%s", why);
    }
    session_print(s, &text);
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
        return session_fail(EXIT_USAGE, "%s", why);
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
        result = session_fail(EXIT_USAGE, "%s", why);
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
        result = session_fail(EXIT_USAGE, "cannot write to standard output: %s",
                              s.write_error ? strerror(s.write_error) : "write error");
    return result;
}

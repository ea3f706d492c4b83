#include "cli/gates.h"

#include "cli/options.h"
#include "read/past_report.h"

#include <stdio.h>

/* The file's own name and the folder that it is in: no more of the path gets into a report. */
static const char *short_name(const char *path)
{
    const char *at = path + strlen(path);
    for (int slashes = 0; at > path; at--)
        if (at[-1] == '/' && at[0] != '\0' && ++slashes == 2)
            break;
    return at;
}

bool gates_run(struct analysis *a, const struct gate_options *g, struct term *t)
{
    struct diag d;
    struct past_report *past = NULL;
    if (g->baseline) {
        diag_init(&d);
        past = past_report_open(g->baseline, &d);
        term_diag(t, &d, false);
        diag_release(&d);
        if (!past)
            return false;
        baseline_compare(a, past, short_name(g->baseline));
    }
    gates_check(a, &g->settings);
    past_report_free(past);
    return true;
}

static const char *line_of(struct analysis *a, const struct gate *g)
{
    return arena_printf(&a->arena, "gate %s %s: %s", g->id,
                        g->result == GATE_FAIL ? "failed" : "is not testable", g->text);
}

int gates_status(const char **why, struct analysis *a, const struct gate_options *g)
{
    const struct gate *worst = NULL;
    *why = NULL;
    for (size_t i = 0; i < a->n_gates; i++)
        if (a->gates[i].result > (worst ? worst->result : GATE_PASS))
            worst = &a->gates[i];
    for (size_t i = 0; i < a->n_gates; i++) {
        const struct gate *at = &a->gates[i];
        if (at->result == GATE_PASS || (at == worst && !g->warn_only))
            continue;
        fputs(g->warn_only ? "oomreport: warning: " : "oomreport: ", stderr);
        term_put(stderr, line_of(a, at));
        putc('\n', stderr);
    }
    if (!worst || g->warn_only)
        return EXIT_OK;
    *why = line_of(a, worst);
    return worst->result == GATE_FAIL ? EXIT_GATE : EXIT_USAGE;
}

/* report: everything -> a directory.
 *
 * Builds all files in memory, writes them to a new directory beside the target,
 * and exchanges the two in one step: an older report is replaced whole or not
 * at all; a directory that is not ours is refused. May not know of options. */
#ifndef OOMREPORT_REPORT_REPORT_H
#define OOMREPORT_REPORT_REPORT_H

#include "draw/draw.h"
#include "model/input.h"
#include "model/verdict.h"
#include "report/dir.h"

enum report_part {
    PART_HTML = 1,      /* index.html, style.css, plots/ */
    PART_SINGLE = 2,    /* oomreport.html */
    PART_PNG = 4,       /* verdict.png */
    PART_JSON = 8,      /* report.json, report.schema.json, data/series.json */
    PART_MD = 16,       /* summary.md */
    PART_TXT = 32,      /* summary.txt */
    PART_JUNIT = 64,    /* junit.xml */
    PART_METRICS = 128, /* metrics.txt */
    PART_ALL = 255
};

struct report_settings {
    unsigned parts;              /* of enum report_part */
    const char *label;           /* --label, or NULL: from the runs */
    const char *templates_dir;   /* --templates, or NULL */
    const char *templates_shown; /* the same as the page names it, or NULL */
    const char *timestamp;       /* printed as creation time, or NULL */
    bool force;
    const struct str
        *settings_lines; /* n_settings "name = value" lines in force, for the page's last section */
    size_t n_settings;
    const struct dir_ready *ready; /* before the new report takes the older one's place, or NULL */
};

struct report_content {
    const struct analysis *analysis;
    const struct gallery *gallery;
    const struct input_info *inputs; /* n_inputs */
    size_t n_inputs;
};

/* Writes the directory. 0, or -1 with a diagnostic in d; an older report is then untouched. */
int report_write(const char *dir, const struct report_content *c, const struct report_settings *s,
                 struct diag *d);
/* One document into a buf, for --stdout; format "md", "txt" or "json". -1 on another. */
int report_render(struct buf *out, const char *format, const struct report_content *c,
                  const struct report_settings *s);

#endif

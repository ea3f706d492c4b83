#include "cli/result.h"

#include "base/num.h"
#include "report/report.h"

#include <fcntl.h>
#include <sys/stat.h>

void result_verdict(const struct term *t, const struct verdict *v, bool brief)
{
    const char *bold = t->out_colour ? "\033[1m" : "", *plain = t->out_colour ? "\033[0m" : "";
    printf("%s%s (%s)%s: ", bold, cause_name(v->cause), certainty_name(v->certainty), plain);
    term_put(stdout, v->summary);
    putchar('\n');
    if (!brief && v->fix && *v->fix) {
        fputs("try first: ", stdout);
        term_put(stdout, v->fix);
        putchar('\n');
    }
}

void result_what_if(const struct term *t, const struct analysis *a)
{
    const char *bold = t->out_colour ? "\033[1m" : "", *plain = t->out_colour ? "\033[0m" : "";
    for (size_t i = 0; i < a->n_what_if; i++) {
        printf("%swhat if ", bold);
        term_put(stdout, a->what_if[i].change);
        printf(":%s ", plain);
        term_put(stdout, a->what_if[i].text);
        putchar('\n');
    }
}

static void put_path(const char *what, const char *dir, const char *file)
{
    size_t length = strlen(dir);
    fputs(what, stdout);
    term_put(stdout, dir);
    printf("%s%s", length && dir[length - 1] == '/' ? "" : "/", file);
}

static void put_size(int made, const char *file)
{
    struct buf size = {0};
    struct stat st;
    if (fstatat(made, file, &st, 0) == 0) {
        num_put_bytes(&size, (double)st.st_size);
        printf(" (%s)", size.p);
    }
    buf_release(&size);
}

void result_where(const char *dir, int made, unsigned parts)
{
    static const struct {
        enum report_part part;
        const char *file;
    } mains[] = {{PART_HTML, "index.html"}, {PART_SINGLE, "oomreport.html"}, {PART_MD, "summary.md"},
                 {PART_TXT, "summary.txt"}, {PART_JSON, "report.json"},      {PART_PNG, "verdict.png"}};
    size_t i = 0;
    while (!(parts & mains[i].part))
        i++; /* --only names at least one part */
    put_path("report: ", dir, mains[i].file);
    if (parts & PART_SINGLE) {
        put_path("   share: ", dir, "oomreport.html");
        put_size(made, "oomreport.html");
    }
    putchar('\n');
}

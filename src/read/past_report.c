#include "read/past_report.h"

#include "base/mem.h"
#include "read/past_json.h"
#include "read/source.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>

enum {
    RUNS_MAX = 65536,
    RANKS_MAX = 1 << 20,
    QUALITY_MAX = 256
};

/* Behind a "schema" key, the text from its value on; NULL. */
static const char *schema_value(struct str text)
{
    static const char key[] = "\"schema\"", value[] = "\"oomreport/";
    size_t at;
    while ((at = str_find(text, STR_LIT(key))) != (size_t)-1) {
        text.p += at + sizeof key - 1;
        text.n -= at + sizeof key - 1;
        struct str rest = str_trim(text);
        if (rest.n == 0 || rest.p[0] != ':')
            continue;
        rest = str_trim((struct str){rest.p + 1, rest.n - 1});
        if (str_starts(rest, STR_LIT(value)) && rest.n > sizeof value - 1 &&
            isdigit((unsigned char)rest.p[sizeof value - 1]))
            return rest.p;
    }
    return NULL;
}

bool past_report_detect(struct str head)
{
    struct str text = str_trim(head);
    return text.n > 0 && text.p[0] == '{' && schema_value(text) != NULL;
}

static void read_runs(struct past_report *p, const cJSON *root)
{
    size_t n, m;
    const cJSON *list = past_array(root, "runs", &n, RUNS_MAX), *v;
    const cJSON *ranks = past_array(root, "ranks", &m, RANKS_MAX);
    p->runs = arena_alloc(&p->arena, (n + 1) * sizeof *p->runs);
    p->ranks = arena_alloc(&p->arena, (m + 1) * sizeof *p->ranks);
    p->mergeable = true;
    cJSON_ArrayForEach(v, list)
    {
        bool merged;
        if (!cJSON_IsObject(v) || p->n_runs == n)
            continue;
        past_run(&p->runs[p->n_runs++], &merged, &p->arena, v);
        p->mergeable = p->mergeable && merged;
    }
    cJSON_ArrayForEach(v, ranks)
    {
        static const char *const outcomes[] = {"oom", "killed", "completed", "unknown"};
        const char *run = past_text(&p->arena, v, "run");
        if (p->n_ranks < m)
            p->ranks[p->n_ranks++] = (struct rank_row){
                .run = run ? run : "",
                .rank = past_number(v, "rank"),
                .outcome = (enum outcome)past_word(v, "outcome", outcomes, 4, OUTCOME_UNKNOWN),
                .last_step = past_number(v, "last_step"),
                .peak_bytes = past_number(v, "peak_bytes"),
                .headroom_bytes = past_number(v, "headroom_bytes"),
                .slope_bytes_per_step = past_number(v, "slope_bytes_per_step")};
    }
}

static void read_quality(struct past_report *p, const cJSON *root)
{
    size_t n;
    const cJSON *list = past_array(root, "quality", &n, QUALITY_MAX), *v;
    p->quality = arena_alloc(&p->arena, (n + 1) * sizeof *p->quality);
    cJSON_ArrayForEach(v, list)
    {
        struct quality q = {past_text(&p->arena, v, "code"), past_text(&p->arena, v, "text")};
        if (q.code && q.text && p->n_quality < n)
            p->quality[p->n_quality++] = q;
    }
}

static struct past_report *read_root(const cJSON *root, const char *name, struct diag *d)
{
    const cJSON *schema = cJSON_GetObjectItemCaseSensitive(root, "schema");
    const char *text = cJSON_IsString(schema) ? schema->valuestring : "";
    size_t n;
    char *end;
    if (strncmp(text, "oomreport/", 10) != 0) {
        diag_add(d, DIAG_BAD_REPORT, (struct place){name, 0, 0},
                 "no report of oomreport: expected \"schema\": \"oomreport/1\"");
        return NULL;
    }
    if (strtol(text + 10, &end, 10) != 1 || (*end != '\0' && *end != '.')) {
        diag_add(d, DIAG_BAD_REPORT, (struct place){name, 0, 0},
                 "its schema is %.40s; this version reads oomreport/1: use the version of oomreport that "
                 "wrote it, or "
                 "make the report again from the logs",
                 text);
        return NULL;
    }
    if (!past_array(root, "runs", &n, RUNS_MAX)) {
        diag_add(d, DIAG_BAD_REPORT, (struct place){name, 0, 0}, "a report without \"runs\"");
        return NULL;
    }
    struct past_report *p = mem_zero(1, sizeof *p);
    static const char *const says[] = {"data", "schedule", "deterministic", "neither"};
    const cJSON *cross = past_object(root, "cross_run");
    p->same_batch_ratio = past_word(cross, "says", says, 4, -1) < 0
                              ? NAN
                              : past_bool(past_object(cross, "failing_batch"), "reproducible");
    read_runs(p, root);
    read_quality(p, root);
    return p;
}

struct past_report *past_report_read(struct source *s, const char *name, struct diag *d)
{
    struct line text;
    if (!source_rest(s, &text, PAST_REPORT_MAX, d))
        return NULL;
    cJSON *root = cJSON_ParseWithLength(text.text.p, text.text.n);
    struct past_report *p = NULL;
    if (root)
        p = read_root(root, name, d);
    else
        diag_add(d, DIAG_BAD_REPORT, (struct place){name, 0, 0},
                 "a report that is no whole JSON document: it was cut or changed");
    cJSON_Delete(root);
    return p;
}

struct past_report *past_report_open(const char *path, struct diag *d)
{
    struct arena a = {0};
    struct stat st;
    const char *file = path;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        file = arena_printf(&a, "%s/report.json", path);
    struct source *s = source_open(file, d);
    struct past_report *p = s ? past_report_read(s, path, d) : NULL;
    if (s)
        source_close(s);
    arena_release(&a);
    return p;
}

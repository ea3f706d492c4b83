/* Rows of nvidia-smi without a header line: which cell is what. */
#include "normalise/sniff.h"
#include "normalise/stamp.h"
#include <math.h>
#include <stdlib.h>

enum {
    CELLS_MAX = 24,
    ROWS_MAX = 64,
    STAMPS_MAX = 256
};

/* What a column's cells looked like over the rows seen. */
struct smi_column {
    bool stamp, mib, percent, watt, pstate, uuid, bus, text, number;
    double least, most; /* of its numbers */
    bool whole;         /* all of them are */
};

struct smi_table {
    struct smi_column col[CELLS_MAX];
    size_t n, rows;
};

static bool next_line(struct str *rest, struct str *line)
{
    if (!rest->n)
        return false;
    const char *nl = memchr(rest->p, '\n', rest->n);
    size_t n = nl ? (size_t)(nl - rest->p) : rest->n;
    *line = str_trim((struct str){rest->p, n});
    *rest = nl ? (struct str){nl + 1, rest->n - n - 1} : (struct str){NULL, 0};
    return true;
}

static bool next_cell(struct str *rest, struct str *cell)
{
    if (!rest->p)
        return false;
    const char *comma = rest->n ? memchr(rest->p, ',', rest->n) : NULL;
    size_t n = comma ? (size_t)(comma - rest->p) : rest->n;
    *cell = str_trim((struct str){rest->p, n});
    *rest = comma ? (struct str){comma + 1, rest->n - n - 1} : (struct str){NULL, 0};
    return true;
}

static void look_at(struct smi_column *c, struct str cell)
{
    double v;
    struct unit unit;
    if (cell.n >= 19 && stamp_parse(cell, &v)) {
        c->stamp = true;
    } else if (str_starts(cell, STR_LIT("GPU-"))) {
        c->uuid = true;
    } else if (cell.n > 8 && cell.p[cell.n - 2] == '.' && memchr(cell.p, ':', cell.n)) {
        c->bus = true;
    } else if (cell.n && cell.n <= 3 && cell.p[0] == 'P') {
        c->pstate = true;
    } else if (unit_cell(cell, &v, &unit) == CELL_VALUE_NUMBER) {
        c->mib |= str_ends(cell, " MiB");
        c->percent |= str_ends(cell, " %");
        c->watt |= str_ends(cell, " W");
        c->number |= unit.kind == UNIT_KIND_NONE;
        c->whole &= v == floor(v);
        c->least = fmin(c->least, v);
        c->most = fmax(c->most, v);
    } else if (!unit_is_missing(cell)) {
        c->text = true;
    }
}

static bool fill_table(struct smi_table *t, struct str head)
{
    struct str line, cell;
    *t = (struct smi_table){.n = 0};
    for (size_t i = 0; i < CELLS_MAX; i++)
        t->col[i] = (struct smi_column){.least = INFINITY, .most = -INFINITY, .whole = true};
    while (t->rows < ROWS_MAX && next_line(&head, &line)) {
        struct str rest = line;
        size_t n = 0;
        if (!line.n || !head.p)
            continue; /* the last line of the head may be cut */
        while (n < CELLS_MAX && next_cell(&rest, &cell))
            look_at(&t->col[n++], cell);
        if (t->rows && n != t->n)
            return false;
        t->n = n;
        t->rows++;
    }
    return t->rows > 0 && t->n >= 2;
}

/* Of three sizes per row the total is the largest; used + free is at most the total. */
static void name_sizes(const char **names, const struct smi_table *t, const size_t *at, size_t n)
{
    if (n == 1) {
        names[at[0]] = "memory.used [MiB]";
        return;
    }
    size_t total = 0;
    for (size_t i = 1; i < n; i++)
        if (t->col[at[i]].most > t->col[at[total]].most)
            total = i;
    names[at[total]] = "memory.total [MiB]";
    bool used = false;
    for (size_t i = 0; i < n; i++)
        if (i != total) {
            /* nvidia-smi's own help and all logs seen name used before free */
            names[at[i]] = used ? "memory.free [MiB]" : "memory.used [MiB]";
            used = true;
        }
}

static const char *plain_name(const struct smi_column *c)
{
    if (c->stamp)
        return "timestamp";
    if (c->uuid)
        return "uuid";
    if (c->bus)
        return "pci.bus_id";
    if (c->pstate)
        return "pstate";
    if (c->watt)
        return "power.draw [W]";
    if (c->percent)
        return "utilization.gpu [%]";
    return c->text ? "name" : NULL;
}

/* Without units: sizes are whole numbers beyond every temperature, percentage and clock, or cells beside a
 * constant of that size. */
static bool is_size(const struct smi_column *c, double largest)
{
    return c->number && c->whole && !c->text && !c->stamp && largest >= 2000 &&
           (c->most > 1000 || (c->most > 100 && largest > 4000));
}

const char *const *smi_columns(struct str head, size_t *n, struct arena *a)
{
    struct smi_table *t = arena_alloc(a, sizeof *t);
    *n = 0;
    if (head.n > 32 * 1024)
        head.n = 32 * 1024;
    if (!fill_table(t, head))
        return NULL;
    const char **names = arena_alloc(a, t->n * sizeof *names);
    size_t sizes[CELLS_MAX], n_sizes = 0;
    bool stamp = false, index = false;
    double largest = 0;
    for (size_t i = 0; i < t->n; i++) {
        const struct smi_column *c = &t->col[i];
        if (c->text && (c->mib || c->stamp || c->percent || c->number))
            return NULL; /* a header line */
        names[i] = plain_name(c);
        stamp |= c->stamp;
        if (c->mib)
            sizes[n_sizes++] = i;
        if (c->number)
            largest = fmax(largest, c->most);
    }
    if (n_sizes == 0 && stamp)
        for (size_t i = 0; i < t->n; i++)
            if (!names[i] && is_size(&t->col[i], largest))
                sizes[n_sizes++] = i;
    if (!n_sizes || !(stamp || t->col[sizes[0]].mib))
        return NULL;
    name_sizes(names, t, sizes, n_sizes);
    for (size_t i = 0; i < t->n; i++) {
        const struct smi_column *c = &t->col[i];
        if (names[i])
            continue;
        bool small = c->number && c->whole && c->least >= 0 && c->most < 16;
        names[i] = small && !index ? "index" : arena_printf(a, "column %zu", i + 1);
        index |= small;
    }
    *n = t->n;
    return names;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* The distance between turns: of up to 16 GPUs at least one gap in sixteen is one between turns, and a
 * pause of the logger is rarer still. [s] */
static double turn_distance(const double *at, size_t n)
{
    double gaps[STAMPS_MAX];
    for (size_t i = 1; i < n; i++)
        gaps[i - 1] = at[i] - at[i - 1];
    qsort(gaps, n - 1, sizeof *gaps, by_value);
    return gaps[(n - 1) * 19 / 20];
}

unsigned smi_turns(struct str head, double *gap_seconds)
{
    double at[STAMPS_MAX];
    size_t n = 0;
    struct str line, cell;
    while (n < STAMPS_MAX && next_line(&head, &line)) {
        struct str rest = line;
        while (next_cell(&rest, &cell))
            if (cell.n >= 19 && stamp_parse(cell, &at[n])) {
                n++;
                break;
            }
    }
    *gap_seconds = 0;
    if (n < 4)
        return 1;
    *gap_seconds = turn_distance(at, n) / 4;
    unsigned turn = 0, run = 1; /* every turn but the last has the same number of rows */
    for (size_t i = 1; i < n; i++) {
        if (at[i] - at[i - 1] < *gap_seconds) {
            run++;
            continue;
        }
        if (turn && run != turn)
            return 1;
        turn = run;
        run = 1;
    }
    return turn ? turn : 1;
}

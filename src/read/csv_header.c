#include "base/mem.h"
#include "read/csv_reader.h"
#include <stdio.h>
#include <stdlib.h>

static int by_name(const void *a, const void *b)
{
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

/* The names of the fields at hand, ascending, in *a. */
static struct str *sorted_names(const struct csv *c, struct arena *a)
{
    size_t n = csv_kept(c);
    struct str *names = arena_alloc(a, (n + 1) * sizeof *names);
    for (size_t i = 0; i < n; i++)
        names[i] = arena_str(a, c->field[i].text);
    qsort(names, n, sizeof *names, by_name);
    return names;
}

static void set_columns(struct csv *c, size_t n)
{
    c->n_columns = n < COLUMNS_MAX ? n : COLUMNS_MAX;
    c->slots = mem_grow(c->slots, c->n_columns, sizeof *c->slots);
    c->cells = mem_grow(c->cells, c->n_columns, sizeof *c->cells);
    c->wanted = mem_grow(c->wanted, c->n_columns, sizeof *c->wanted);
    c->ends = mem_grow(c->ends, c->n_columns, sizeof *c->ends);
    c->n_wanted = 0;
}

static void set_column(struct csv *c, size_t i, struct str name)
{
    c->slots[i] = name.n ? c->h->key(c->h->ctx, name) : KEY_UNWANTED;
    if (c->slots[i] >= 0)
        c->wanted[c->n_wanted++] = (uint32_t)i;
}

void csv_header_set(struct csv *c, uint64_t line)
{
    size_t n = c->n_fields;
    while (n > 1 && n <= COLUMNS_MAX && c->field[n - 1].text.n == 0) /* "a,b," */
        n--;
    if (n > COLUMNS_MAX)
        diag_add(c->d, DIAG_TOO_MANY_FIELDS, (struct place){c->name, line, 0},
                 "%zu columns; those after the first %d are left out", n, COLUMNS_MAX);
    set_columns(c, n);
    arena_release(&c->arena);
    arena_init(&c->arena);
    for (size_t i = 0; i < c->n_columns; i++) {
        struct str *name = &c->field[i].text;
        if (i == 0 && name->n > 1 && name->p[0] == '#') /* "# step,loss" */
            *name = str_trim((struct str){name->p + 1, name->n - 1});
        set_column(c, i, *name);
    }
    c->names = sorted_names(c, &c->arena);
    c->n_names = csv_kept(c);
    for (size_t i = 1; i < c->n_names; i++)
        if (c->names[i].n && str_eq(c->names[i - 1], c->names[i]))
            diag_add(c->d, DIAG_DUPLICATE_KEY, (struct place){c->name, line, 0},
                     "two columns are named \"%.*s\"; where both have a value the later one counts",
                     c->names[i].n < 80 ? (int)c->names[i].n : 80, c->names[i].p);
}

void csv_header_number(struct csv *c, const struct read_layout *layout, size_t n)
{
    set_columns(c, layout->n_columns ? layout->n_columns : n);
    for (size_t i = 0; i < c->n_columns; i++) {
        char number[24];
        snprintf(number, sizeof number, "%zu", i + 1);
        set_column(c, i, str_of(layout->n_columns ? layout->columns[i] : number));
    }
}

bool csv_header_again(struct csv *c)
{
    size_t n = csv_kept(c), known = 0;
    if (!c->names || n < 2)
        return false;
    for (size_t i = 0; i < n; i++)
        if (!csv_is_name(c->field[i].text) && !(i == 0 && c->field[i].text.n == 0) &&
            !(i == n - 1 && c->field[i].text.n == 0))
            return false;
    struct arena a = {0};
    struct str *names = sorted_names(c, &a);
    bool distinct = true;
    for (size_t i = 0; i < n; i++) {
        known += names[i].n && bsearch(&names[i], c->names, c->n_names, sizeof *names, by_name) != NULL;
        distinct = distinct && (i == 0 || !str_eq(names[i], names[i - 1]));
    }
    arena_release(&a);
    return distinct && (known * 2 >= n || known * 2 >= c->n_names || (known > 0 && n != c->n_columns));
}

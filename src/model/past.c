#include "model/past.h"

#include <stdlib.h>

void past_report_free(struct past_report *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->n_runs; i++)
        series_free((struct series *)p->runs[i].series);
    arena_release(&p->arena);
    free(p);
}

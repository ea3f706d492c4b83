#include "report/json_snapshot.h"

static void put_joined(struct json *j, const struct analysis *an)
{
    const struct joined *k = &an->joined;

    if (!an->has_joined) {
        json_null(j, "joined");
        return;
    }
    json_open(j, "joined", '{');
    json_text(j, "log", an->runs[k->log].run);
    json_text(j, "snapshot", an->runs[k->snapshot].run);
    json_number(j, "log_growth_bytes_per_step", k->log_growth);
    json_number(j, "sites_growth_bytes_per_step", k->sites_growth);
    json_number(j, "share_explained", k->share);
    json_text(j, "site", k->site);
    json_number(j, "site_growth_bytes_per_step", k->site_growth);
    json_text(j, "text", k->text);
    json_close(j, '}');
}

static void put_grown(struct json *j, const struct analysis *an)
{
    const struct grown *g = &an->grown;

    if (!an->has_grown) {
        json_null(j, "grown");
        return;
    }
    json_open(j, "grown", '{');
    json_text(j, "before", an->runs[g->before].run);
    json_text(j, "after", an->runs[g->after].run);
    json_whole(j, "before_bytes", g->before_bytes);
    json_whole(j, "after_bytes", g->after_bytes);
    json_open(j, "sites", '[');
    for (size_t i = 0; i < g->n_sites; i++) {
        json_open_flat(j, NULL, '{');
        json_text(j, "site", g->sites[i].site);
        json_whole(j, "before_bytes", g->sites[i].before_bytes);
        json_whole(j, "after_bytes", g->sites[i].after_bytes);
        json_close(j, '}');
    }
    json_close(j, ']');
    json_text(j, "text", g->text);
    json_close(j, '}');
}

void json_together(struct json *j, const struct analysis *an)
{
    put_joined(j, an);
    put_grown(j, an);
}

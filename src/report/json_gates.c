/* "gates" and "baseline" of report.json. */
#include "report/json.h"

void json_gates(struct json *j, const struct analysis *an)
{
    json_open(j, "gates", '[');
    for (size_t i = 0; i < an->n_gates; i++) {
        const struct gate *g = &an->gates[i];

        json_open(j, NULL, '{');
        json_text(j, "id", g->id);
        json_number(j, "measured", g->measured);
        json_number(j, "limit", g->limit);
        json_text(j, "unit", g->unit);
        json_text(j, "result", gate_result_name(g->result));
        json_text(j, "text", g->text);
        json_close(j, '}');
    }
    json_close(j, ']');
    if (!an->has_baseline) {
        json_null(j, "baseline");
        return;
    }
    const struct baseline *b = &an->baseline;
    json_open(j, "baseline", '{');
    json_text(j, "name", b->name);
    json_bool(j, "comparable", b->comparable);
    json_text(j, "why_not", b->why_not);
    json_open(j, "metrics", '[');
    for (size_t i = 0; i < b->n_metrics; i++) {
        json_open_flat(j, NULL, '{');
        json_text(j, "id", b->metrics[i].id);
        json_number(j, "before", b->metrics[i].before);
        json_number(j, "now", b->metrics[i].now);
        json_text(j, "says", baseline_says_name(b->metrics[i].says));
        json_close(j, '}');
    }
    json_close(j, ']');
    json_close(j, '}');
}

#include "report/json_snapshot.h"

static void put_figures(struct json *j, const struct snapshot_figures *s)
{
    json_open(j, "snapshot", '{');
    json_whole(j, "device", s->device);
    json_whole(j, "events", s->events);
    json_whole(j, "unmatched_frees", s->unmatched_frees);
    json_bool(j, "truncated", s->truncated);
    json_whole(j, "steps_found", s->steps_found);
    json_text(j, "steps_by", steps_by_name(s->steps_by));
    json_whole(j, "peak_bytes", s->peak_bytes);
    json_whole(j, "peak_event", s->peak_event);
    json_whole(j, "live_bytes_at_end", s->live_bytes_at_end);
    json_whole(j, "allocated_bytes", s->allocated_bytes);
    json_whole(j, "reserved_bytes", s->reserved_bytes);
    json_whole(j, "inactive_split_bytes", s->inactive_split_bytes);
    json_whole(j, "largest_free_block_bytes", s->largest_free_block_bytes);
    if (s->has_oom) {
        json_open_flat(j, "oom", '{');
        json_whole(j, "event", s->oom_event);
        json_whole(j, "requested_bytes", s->oom_requested_bytes);
        json_whole(j, "device_free_bytes", s->oom_device_free_bytes);
        json_whole(j, "live_bytes", s->oom_live_bytes);
        json_close(j, '}');
    } else {
        json_null(j, "oom");
    }
    json_close(j, '}');
}

static void put_holder(struct json *j, const struct holder *h)
{
    json_open(j, NULL, '{');
    json_text(j, "at", holder_at_name(h->at));
    json_text(j, "site", h->site);
    json_open(j, "stack", '[');
    for (size_t i = 0; i < h->n_stack; i++)
        json_text(j, NULL, h->stack[i]);
    json_close(j, ']');
    json_whole(j, "bytes", h->bytes);
    json_whole(j, "count", h->count);
    json_number(j, "share", h->share);
    json_number(j, "growth_bytes_per_step", h->growth_bytes_per_step);
    json_text(j, "category", category_name(h->category));
    json_close(j, '}');
}

void json_snapshot(struct json *j, const struct run_report *r)
{
    if (!r->has_snapshot) {
        json_null(j, "snapshot");
        json_null(j, "memory_holders");
        json_null(j, "blame");
        return;
    }
    put_figures(j, &r->snapshot);
    json_open(j, "memory_holders", '[');
    for (size_t i = 0; i < r->n_holders; i++)
        put_holder(j, &r->holders[i]);
    json_close(j, ']');
    if (r->has_blame) {
        json_open_flat(j, "blame", '{');
        json_text(j, "site", r->blame.site);
        json_whole(j, "bytes", r->blame.bytes);
        json_number(j, "share", r->blame.share);
        json_number(j, "growth_bytes_per_step", r->blame.growth_bytes_per_step);
        json_close(j, '}');
    } else {
        json_null(j, "blame");
    }
}

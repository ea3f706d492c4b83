#include "report/facts.h"
#include "report/page.h"

#include <math.h>

struct ruled_out {
    struct page *p;
    struct tnode *root, *list; /* list: NULL until there is a cause to put in */
    unsigned n;
};

static void put_ruled_out(void *context, const char *cause, const char *reason)
{
    struct ruled_out *r = context;
    struct arena *a = &r->p->arena;

    if (r->n == 3)
        return;
    if (!r->list)
        r->list = tnode_item(a, r->root, "ruled_out");
    struct tnode *item = tnode_item(a, r->list, "causes");

    tnode_text(a, item, "separator", r->n ? "; " : "");
    tnode_text(a, item, "cause", cause);
    tnode_text(a, item, "reason", words_short(a, reason, 130));
    r->n++;
}

/* Asked and free at the failure; of a run that lives, what room is left. */
static void fact_request(struct page *p, struct tnode *root, const struct run_report *r, double peak)
{
    struct arena *a = &p->arena;

    if (r->has_failure && (!isnan(r->failure.requested_bytes) || !isnan(r->failure.free_bytes)))
        page_fact(p, root, "facts", "Asked / free",
                  words_bytes_pair(a, r->failure.requested_bytes, r->failure.free_bytes));
    else if (r->outcome == OUTCOME_OOM || r->outcome == OUTCOME_KILLED)
        page_fact(p, root, "facts", "Asked / free", "not in the log");
    else if (isnan(peak) || isnan(r->capacity_bytes))
        page_fact(p, root, "facts", "Headroom", "unknown");
    else
        page_fact(p, root, "facts", "Headroom",
                  words_signed_bytes(a, r->capacity_bytes - peak) + (r->capacity_bytes > peak));
}

static const char *card_class(const struct verdict *v)
{
    if (v->status == STATUS_FAILED)
        return "v failed";
    if (v->status == STATUS_AT_RISK)
        return "v risk";
    return v->status == STATUS_OK ? "v ok" : "v open";
}

static const char *status_words(const struct verdict *v)
{
    switch (v->status) {
    case STATUS_FAILED:
        return "failed";
    case STATUS_AT_RISK:
        return "no failure yet, at risk";
    case STATUS_OK:
        return "no failure";
    default:
        return "outcome not known";
    }
}

bool section_verdict(struct page *p, struct tnode *root)
{
    struct arena *a = &p->arena;
    const struct verdict *v = &p->analysis->verdict;
    const char *what = "";

    tnode_text(a, root, "class", card_class(v));
    tnode_text(a, root, "headline", headline(a, v));
    tnode_text(a, root, "tail", headline_tail(v));
    tnode_text(a, root, "status", status_words(v));
    page_rich(p, root, "evidence", v->summary ? v->summary : "No finding.");
    page_rich(p, root, "agreement", facts_agreement(a, p->analysis));
    if (v->fix)
        page_rich(p, tnode_item(a, root, "fix"), "text", v->fix);
    else if (v->next_run)
        page_rich(p, tnode_item(a, root, "settle"), "text", v->next_run);
    if (p->lead) {
        double peak = facts_peak(p->lead, &what);
        const char *where = facts_where(a, p->analysis, p->lead, &what);

        page_fact(p, root, "facts", "Peak / capacity", words_bytes_pair(a, peak, p->lead->capacity_bytes));
        page_fact(p, root, "facts", what, where);
        fact_request(p, root, p->lead, peak);
        page_fact(p, root, "facts", "Same batch fails", facts_same_batch_text(a, p->analysis));
    }
    struct ruled_out context = {p, root, NULL, 0};
    facts_ruled_out(a, p->analysis, put_ruled_out, &context);
    return true;
}

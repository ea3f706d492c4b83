#include "report/page.h"

static const char *question_words(enum question_id q)
{
    static const char *const words[Q_COUNT] = {
        "Does memory grow?", "Does the failing step carry an outlier batch?",
        "Does it land on evaluation or an epoch boundary?", "Is the device too small for ordinary steps?"};

    return words[q];
}

static const char *topic_words(enum question_id q)
{
    static const char *const words[Q_COUNT] = {"Growth", "An outlier batch",
                                               "Evaluation and epoch boundaries", "Capacity"};

    return words[q];
}

static const char *answer_words(enum answer a)
{
    return a == ANSWER_YES ? "yes" : a == ANSWER_NO ? "no" : "not testable";
}

static void put_test(struct page *p, struct tnode *group, const struct question *q, const struct test *t)
{
    struct arena *a = &p->arena;
    struct tnode *row = tnode_item(a, group, "tests");
    const char *measured = words_measure(a, t->measured, t->limit, t->unit);
    const char *limit = words_measure(a, t->limit, t->measured, t->unit);

    tnode_text(a, row, "name", words_id(a, t->id));
    page_optional(p, row, "sentence", "text", t->text);
    page_optional(p, row, "place", "where", words_place(a, t->where));
    bool outweighed = q->answer == ANSWER_NO && t->says == SAYS_FOR;
    tnode_text(a, row, "measured",
               measured                  ? measured
               : t->says == SAYS_NOTHING ? "not testable"
                                         : "\xE2\x80\x93");
    tnode_text(a, row, "limit", limit ? limit : "\xE2\x80\x93");
    tnode_text(a, row, "says",
               outweighed ? arena_printf(a, "%s, outweighed", words_says(q->id, t->says))
                          : words_says(q->id, t->says));
    tnode_text(a, row, "says_class",
               outweighed                ? "nothing"
               : t->says == SAYS_FOR     ? "for"
               : t->says == SAYS_AGAINST ? "against"
                                         : "nothing");
}

/* What would overturn the verdict: the run that would settle it, else what its kind can be refuted by. */
static const char *change_words(const struct verdict *v)
{
    if (v->next_run)
        return v->next_run;
    switch (v->cause) {
    case CAUSE_LEAK:
        return "A longer run in which memory after the step stops rising would show warm-up, not a leak.";
    case CAUSE_PEAK:
        return "A second run with another seed that fails at the same step on another batch would speak "
               "against the batch.";
    case CAUSE_EVAL:
        return "A run without evaluation that fails at the same step would speak against evaluation.";
    case CAUSE_CAPACITY:
        return "A run on a device with more room that fails too would show growth or an outlier batch.";
    case CAUSE_NONE:
        return "A failure in a later run, or a larger batch than any seen so far.";
    default:
        return "A log with memory after each step, the step's peak and the batch's shape.";
    }
}

bool section_why(struct page *p, struct tnode *root)
{
    struct arena *a = &p->arena;
    size_t n = 0;

    if (!p->lead)
        return false;
    for (int i = 0; i < Q_COUNT; i++) {
        const struct question *q = &p->lead->triage[i];
        struct tnode *group = tnode_item(a, root, "questions");

        tnode_text(a, group, "question", question_words(q->id));
        tnode_text(a, group, "answer", answer_words(q->answer));
        for (size_t k = 0; k < q->n_tests; k++, n++)
            put_test(p, group, q, &q->tests[k]);
        if (q->n_tests == 0)
            tnode_item(a, group, "no_tests");
        if (q->answer == ANSWER_NOT_TESTABLE)
            page_not_tested(p, topic_words(q->id),
                            q->n_tests && q->tests[0].text ? q->tests[0].text
                                                           : "the log lacks the fields for it.");
    }
    tnode_printf(a, root, "run", "%s", p->lead->run ? p->lead->run : "");
    page_rich(p, root, "change", change_words(&p->analysis->verdict));
    if (p->analysis->verdict.counterfactual)
        page_rich(p, tnode_item(a, root, "without"), "text", p->analysis->verdict.counterfactual);
    return true;
}

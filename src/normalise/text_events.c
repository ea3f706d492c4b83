#include "normalise/text_events.h"
#include "base/num.h"
#include "read/oom_other.h"
#include <math.h>

enum {
    HOLD_LINES = 400,  /* an error's aftermath: a table of the allocator, a traceback */
    OTHER_LINES = 8,   /* lines that are no traceback, after which the same error is a new one */
    MESSAGE_MAX = 8192 /* [B] */
};

const struct str text_event_words[] = {{"of memory", 9},
                                       {"ut of mem", 9},
                                       {"utOfMemory", 10},
                                       {"Allocation on dev", 17},
                                       {"ESOURCE_EXHAUSTED", 17},
                                       {"esource exhausted", 17},
                                       {"when allocating tensor", 22},
                                       {"ALLOC_FAILED", 12},
                                       {"OUT_OF_MEMORY", 13},
                                       {"Killed", 6},
                                       {"code 137", 8},
                                       {"code: 137", 9},
                                       {"xitcode", 7},
                                       {"code = -9", 9},
                                       {"code -9", 7},
                                       {"status 137", 10},
                                       {"ignal 9", 7},
                                       {"oom_kill", 8},
                                       {"oom-kill", 8},
                                       {"TERM_MEMLIMIT", 13},
                                       {"Reducing to batch", 17},
                                       {"kipping batch", 13},
                                       {"recover from OOM", 16},
                                       {"kipping this batch", 18},
                                       {"outofmemory", 11},
                                       {"CUDA calloc", 11}};
const size_t n_text_event_words = sizeof text_event_words / sizeof text_event_words[0];

void text_events_init(struct text_events *e, struct rows *rows)
{
    memset(e, 0, sizeof *e);
    e->rows = rows;
}

void text_events_release(struct text_events *e)
{
    buf_release(&e->text);
}

void text_events_flush(struct text_events *e)
{
    if (!e->pending)
        return;
    e->pending = false;
    emit_oom(e->rows, &e->message, e->line, e->rank, e->recovered);
}

/* Ranks count only in a log whose records have them; else all is one series. Where the records are of one
 * rank alone, errors are told in its series. */
static double known_rank(const struct text_events *e, double rank)
{
    bool known = rank >= 0 && rank < 4096 && (e->ranks[(size_t)rank / 64] >> ((size_t)rank % 64) & 1);
    size_t n = 0, only = 0;
    if (known || e->rankless)
        return known ? rank : NAN;
    for (size_t i = 0; i < 64; i++)
        for (uint64_t bits = e->ranks[i]; bits; bits &= bits - 1) {
            only = i * 64 + (size_t)__builtin_ctzll(bits);
            n++;
        }
    return n == 1 ? (double)only : NAN;
}

static bool told_already(const struct text_events *e, const struct text_recent *x)
{
    for (size_t i = 0; i < e->n_recent; i++) {
        const struct text_recent *y = &e->recent[i];
        bool ranks = isnan(x->rank) || isnan(y->rank) || x->rank == y->rank;
        if (ranks && num_same(x->requested, y->requested) && num_same(x->total, y->total) &&
            num_same(x->free, y->free) && num_same(x->allocated, y->allocated) &&
            num_same(x->reserved, y->reserved) && num_same(x->device, y->device))
            return true;
        /* a wrapper that repeats the error without its figures; libraries that say no more than a size, by
         * several layers and in several roundings */
        if (ranks && isnan(x->total) && (isnan(x->requested) || isnan(y->total)))
            return true;
    }
    return false;
}

static void hold(struct text_events *e, const struct oom_message *m, uint64_t line, double rank,
                 bool recovered)
{
    text_events_flush(e);
    struct str text = {m->text.p, m->text.n < MESSAGE_MAX ? m->text.n : MESSAGE_MAX};
    buf_clear(&e->text);
    buf_str(&e->text, text);
    e->message = *m;
    e->message.text = buf_view(&e->text);
    e->pending = true;
    e->recovered = recovered;
    e->line = e->last_line = line;
    e->rank = known_rank(e, rank);
}

static bool take_message(struct text_events *e, const struct oom_message *m, uint64_t line, double rank,
                         bool survived)
{
    struct text_recent x = {m->requested, m->total, m->free, m->allocated, m->reserved, m->device, rank};
    if (e->others > OTHER_LINES)
        e->n_recent = 0;
    e->others = 0;
    if (!survived && told_already(e, &x))
        return true;
    if (e->n_recent == TEXT_RECENT_MAX)
        e->n_recent = 0;
    e->recent[e->n_recent++] = x;
    hold(e, m, line, rank, survived);
    return true;
}

/* "Reducing to batch=8", "skipping batch": the error before it was survived; without one it is an event
 * itself. */
static bool survived(struct text_events *e, uint64_t line, struct str text, double rank, bool has_message)
{
    if (e->pending && !has_message) {
        e->recovered = true;
        text_events_flush(e);
        return true;
    }
    if (has_message || !oom_says_memory(text) || e->n_recent)
        return false;
    struct oom_message m;
    oom_message_find(&m, (struct str){NULL, 0}, 0); /* clears it */
    m.text = str_trim(text);
    return take_message(e, &m, line, rank, true);
}

bool text_events_line(struct text_events *e, uint64_t line, struct str text, double rank)
{
    struct oom_message m;
    bool used = false, goes_on = oom_survived(text);
    for (size_t from = 0; from < text.n && oom_message_find(&m, text, from);) {
        take_message(e, &m, line, rank, goes_on);
        used = true;
        from = m.end > from ? m.end : text.n;
    }
    if (goes_on)
        used |= survived(e, line, text, rank, used);
    if (!used && oom_kill_find(text)) {
        bool aftermath = e->n_recent && e->others <= OTHER_LINES; /* launchers kill what an error left */
        if (!e->killed && !aftermath) {
            text_events_flush(e);
            emit_kill(e->rows, str_trim(text), line, known_rank(e, rank));
        }
        e->killed = used = true;
    }
    if (!used)
        text_events_other(e, line, text);
    return used;
}

/* Lines between an error and its repetition by the same run. */
static bool is_traceback(struct str t)
{
    static const char *const start[] = {"Traceback", "During handling", "The above exception", "File \"",
                                        "["};
    bool boxed = t.n > 2 && (str_starts(t, STR_LIT("\xe2\x94")) || str_starts(t, STR_LIT("\xe2\x95")) ||
                             str_starts(t, STR_LIT("\xe2\x96")) || str_starts(t, STR_LIT("\xe2\x9d\xb1")));
    if (!t.n || t.p[0] == ' ' || t.p[0] == '\t' || boxed)
        return true;
    for (size_t i = 0; i < sizeof start / sizeof start[0]; i++)
        if (str_starts(t, str_of(start[i])))
            return true;
    return str_find((struct str){t.p, t.n < 80 ? t.n : 80}, STR_LIT("Error")) != (size_t)-1;
}

void text_events_other(struct text_events *e, uint64_t line, struct str text)
{
    if (e->pending && line > e->last_line + HOLD_LINES)
        text_events_flush(e);
    if (e->n_recent || e->killed) {
        e->others += !is_traceback(text);
        if (e->others > 10 * OTHER_LINES)
            e->killed = false;
    }
}

void text_events_record(struct text_events *e, const struct record *r)
{
    double rank = record_number(r, F_RANK);
    text_events_flush(e);
    if (!record_has(r, F_LABEL)) {
        e->n_recent = 0;
        e->killed = false;
        e->others = 0;
    }
    if (isnan(rank))
        e->rankless = true;
    else if (rank < 4096)
        e->ranks[(size_t)rank / 64] |= (uint64_t)1 << ((size_t)rank % 64);
}

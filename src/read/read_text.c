/* A text log, line by line. Carriage returns of progress bars break lines too,
 * colours are taken out, and an out-of-memory message that the log wrapped over
 * several lines is handed out in one piece under the line where it began. */
#include "read/literals.h"
#include "read/oom_message.h"
#include "read/readers.h"
#include "read/source.h"
#include "read/wrapped.h"
#include "base/buf.h"

enum {
    JOIN_LINES = 12,        /* lines that one message may be wrapped over */
    JOIN_BYTES = 16 * 1024, /* [B] by which a line may grow */
    ESCAPE_MAX = 64         /* [B] of one escape sequence */
};

static const struct str message_words[] = {{"ut of mem", 9}, {"Allocation on device", 20}};

/* True when a message may begin in the line, also one that breaks off within its first words. */
static bool may_hold_message(const struct literals *words, struct str t)
{
    static const struct {
        char last;
        const char *text;
    } opening[] = {{'A', "CUDA"},
                   {'o', "CUDAo"},
                   {'u', "CUDAou"},
                   {'t', "CUDAout"},
                   {'o', "CUDAouto"},
                   {'f', "CUDAoutof"},
                   {'m', "CUDAoutofm"},
                   {'e', "CUDAoutofme"},
                   {'t', "HIPout"},
                   {'f', "HIPoutof"},
                   {'n', "Allocation"},
                   {'n', "Allocationon"},
                   {':', "OutOfMemoryError:"}};
    uint64_t found = 0;
    if (literals_find(words, t, &found))
        return true;
    size_t end = t.n;
    while (end > 0 && (t.p[end - 1] == ' ' || t.p[end - 1] == '|' || (t.p[end - 1] & 0x80)))
        end--;
    for (size_t k = 0; k < sizeof opening / sizeof opening[0]; k++)
        if (end > 0 && t.p[end - 1] == opening[k].last &&
            wrapped_match_back(t, end, opening[k].text) != (size_t)-1)
            return true;
    return false;
}

/* Length of the escape sequence at i (CSI, OSC or two bytes). */
static size_t escape(struct str t, size_t i)
{
    size_t end = t.n - i < ESCAPE_MAX ? t.n : i + ESCAPE_MAX;
    if (i + 1 >= end)
        return 1;
    char kind = t.p[i + 1];
    for (size_t k = i + 2; k < end; k++) {
        if (kind == '[' && t.p[k] >= 0x40 && t.p[k] <= 0x7E)
            return k + 1 - i;
        if (kind == ']' && t.p[k] == '\a')
            return k + 1 - i;
    }
    return kind == '[' || kind == ']' ? 1 : 2;
}

/* The text without escape sequences; a view of t when it has none. */
static struct str plain(struct buf *b, struct str t)
{
    const char *esc = t.n ? memchr(t.p, 0x1B, t.n) : NULL;
    if (!esc)
        return t;
    buf_clear(b);
    size_t i = 0;
    while (esc) {
        size_t at = (size_t)(esc - t.p);
        buf_put(b, t.p + i, at - i);
        i = at + escape(t, at);
        esc = i < t.n ? memchr(t.p + i, 0x1B, t.n - i) : NULL;
    }
    buf_put(b, t.p + i, t.n - i);
    return buf_view(b);
}

/* A word of a message, to tell a wrap at a blank from one within a word. */
static bool is_word(struct str w)
{
    static const char *const word[] = {"CUDA",      "HIP",
                                       "non",       "out",
                                       "of",        "memory",
                                       "Tried",     "to",
                                       "allocate",  "GPU",
                                       "has",       "a",
                                       "total",     "capacity",
                                       "already",   "allocated",
                                       "free",      "cached",
                                       "reserved",  "in",
                                       "by",        "PyTorch",
                                       "which",     "is",
                                       "Process",   "use",
                                       "Including", "this",
                                       "process",   "Of",
                                       "the",       "and",
                                       "but",       "unallocated",
                                       "If",        "GiB",
                                       "MiB",       "KiB",
                                       "bytes",     "allowed",
                                       "private",   "pools",
                                       "with",      "setting",
                                       "try",       "avoid",
                                       "large",     "fragmentation",
                                       "See",       "documentation",
                                       "for",       "Memory",
                                       "Management"};
    for (size_t k = 0; k < sizeof word / sizeof word[0]; k++)
        if (str_is(w, word[k]))
            return true;
    return false;
}

/* Whether a blank was lost between the end of `left` and the start of `right`, which are not blank. */
static bool blank_between(struct str left, struct str right)
{
    char a = left.p[left.n - 1], b = right.p[0];
    if (!ascii_letter(a) || !ascii_letter(b)) {
        bool digits = a >= '0' && a <= '9' && (b == '.' || (b >= '0' && b <= '9'));
        bool fraction = a == '.' && b >= '0' && b <= '9' && left.n > 1 && left.p[left.n - 2] >= '0' &&
                        left.p[left.n - 2] <= '9';
        return !digits && !fraction && a != '(' && a != '-' && a != '_' && a != '/' && b != ';' && b != '.' &&
               b != ',' && b != ')' && b != '_' && b != '-' && b != '/';
    }
    size_t l = 0, r = 0;
    while (l < left.n && ascii_letter(left.p[left.n - 1 - l]))
        l++;
    while (r < right.n && ascii_letter(right.p[r]))
        r++;
    return is_word((struct str){left.p + left.n - l, l}) && is_word((struct str){right.p, r});
}

/* Appends one wrapped line to the sentence: bars and padding at its ends go, a lost blank comes back. */
static void append_wrapped(struct buf *b, struct str part)
{
    struct wrapped c = {part.p, part.n, 0};
    bool boxed = false;
    if (b->n > 0) {
        while (c.i < c.n && wrapped_ornament(c.p, c.n, c.i) == 0 && c.p[c.i] == ' ')
            c.i++;
        boxed = c.i < c.n && wrapped_ornament(c.p, c.n, c.i) > 0;
        wrapped_skip(&c);
    }
    part = (struct str){part.p + c.i, part.n - c.i};
    size_t end = part.n;
    while (end > 0 && (part.p[end - 1] == ' ' || part.p[end - 1] == '\r' || part.p[end - 1] == '|' ||
                       (end > 2 && wrapped_ornament(part.p, end, end - 3) == 3)))
        end -= part.p[end - 1] & 0x80 ? 3 : 1;
    bool blank_kept = end < part.n && part.p[end] == ' ';
    if (end == 0)
        return;
    if (b->n > 0 && b->p[b->n - 1] != ' ' && (boxed || blank_between(buf_view(b), part)))
        buf_putc(b, ' ');
    buf_put(b, part.p, end);
    if (blank_kept)
        buf_putc(b, ' ');
}

struct text_reader {
    struct source *source;
    const struct row_handler *h;
    struct diag *d;
    struct literals *words; /* of messages */
    struct buf plain, sentence;
};

static void hand_out(struct text_reader *r, uint64_t number, struct str text)
{
    text = plain(&r->plain, text);
    if (text.n > 0)
        r->h->text(r->h->ctx, number, text);
}

/* Number of line ends from offset i to `end`. */
static size_t line_ends(struct str t, size_t i, size_t end)
{
    size_t n = 0;
    for (; i < end && i < t.n; i++)
        n += t.p[i] == '\n';
    return n;
}

/* How many of the following lines belong to the message that begins in the
 * piece of *l from offset `from`; 0: none. *l is the line alone afterwards. */
static size_t lines_joined(struct text_reader *r, struct line *l, size_t from)
{
    struct oom_message m;
    size_t own = l->text.n, limit = own + JOIN_BYTES, n = 0;
    int joined = 0;
    while (joined < JOIN_LINES && source_line_join(r->source, l, limit, r->d))
        joined++;
    struct str piece = {l->text.p + from, l->text.n - from};
    for (size_t at = 0; oom_message_find(&m, piece, at); at = m.end) {
        if ((size_t)(m.text.p - piece.p) > own - from)
            break; /* one that begins on a later line */
        n += line_ends(piece, at, m.end);
    }
    if (joined > 0)
        source_line_unjoin(r->source, l);
    return n;
}

static void message_lines(struct text_reader *r, struct line *l, size_t from, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if (!source_line_join(r->source, l, l->text.n + JOIN_BYTES, r->d))
            break;
    struct str t = plain(&r->plain, (struct str){l->text.p + from, l->text.n - from});
    buf_clear(&r->sentence);
    for (size_t i = 0; i < t.n;) {
        const char *end = memchr(t.p + i, '\n', t.n - i);
        size_t stop = end ? (size_t)(end - t.p) : t.n;
        append_wrapped(&r->sentence, (struct str){t.p + i, stop - i});
        i = stop + 1;
    }
    r->h->text(r->h->ctx, l->number, str_trim(buf_view(&r->sentence)));
}

/* The pieces of one line between carriage returns; only the last can go on in the next line. */
static void one_line(struct text_reader *r, struct line *l)
{
    size_t from = 0;
    while (from < l->text.n) {
        const char *cr = memchr(l->text.p + from, '\r', l->text.n - from);
        if (!cr)
            break;
        size_t stop = (size_t)(cr - l->text.p);
        hand_out(r, l->number, (struct str){l->text.p + from, stop - from});
        from = stop + 1;
    }
    struct str last = {l->text.p + from, l->text.n - from};
    size_t joined = may_hold_message(r->words, last) ? lines_joined(r, l, from) : 0;
    if (joined > 0)
        message_lines(r, l, from, joined);
    else
        hand_out(r, l->number, (struct str){l->text.p + from, l->text.n - from});
}

int read_text(struct source *s, const struct read_layout *layout, const struct row_handler *h,
              uint64_t *skipped, struct diag *d)
{
    (void)layout;
    (void)skipped; /* most lines of a text log are no records */
    if (!h->text)
        return 0;
    struct text_reader r = {.source = s, .h = h, .d = d};
    r.words = literals_new(message_words, sizeof message_words / sizeof message_words[0]);
    struct line l;
    while (source_line(s, &l, d))
        one_line(&r, &l);
    buf_release(&r.plain);
    buf_release(&r.sentence);
    literals_free(r.words);
    return source_failed(s) ? -1 : 0;
}

#include "read/source.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "read/bytes.h"
#include <inttypes.h>
#include <stdlib.h>

enum {
    SNIFF = 1024,            /* bytes that the encoding is told from */
    UTF16_CHUNK = 32 * 1024, /* bytes transcoded at a time */
    WINDOW_MIN = 4 * 1024,
    REFILL = 8 * 1024,   /* do not ask for less at a time */
    READ_MAX = 64 * 1024 /* nor for more: what was read stays in the processor's cache */
};

enum encoding {
    ENC_UTF8,
    ENC_UTF16LE,
    ENC_UTF16BE
};

struct source {
    char *name;
    struct bytes *in;
    enum encoding encoding;
    char sniff[SNIFF]; /* bytes read to tell the encoding: sniff_n from sniff_at */
    size_t sniff_at, sniff_n;
    char *unit_buf;    /* UTF16_CHUNK bytes of UTF-16 */
    unsigned char odd; /* first half of a split code unit */
    bool has_odd;
    uint32_t high;       /* high surrogate that waits for its low one, or 0 */
    uint64_t bad_units;  /* unpaired surrogates, odd last byte */
    char *w;             /* the window: decoded bytes [at, end), then SOURCE_PAD zero bytes */
    size_t cap, at, end; /* cap without the pad */
    bool eof;            /* nothing more will come into the window */
    uint64_t base;       /* offset of w[0] in the decoded input */
    uint64_t line;       /* number of the last line given */
    uint64_t nul_n, nul_line;
    bool told;
    bool binary; /* bytes are handed on as they are */
};

/* --- decoding ------------------------------------------------------------------ */

static size_t take(struct source *s, char *p, size_t n)
{
    size_t got = s->sniff_n < n ? s->sniff_n : n;
    if (got) {
        memcpy(p, s->sniff + s->sniff_at, got);
        s->sniff_at += got;
        s->sniff_n -= got;
    }
    return got < n ? got + bytes_read(s->in, p + got, n - got) : got;
}

static enum encoding guess_encoding(const char *p, size_t n)
{
    if (n >= 2 && memcmp(p, "\xff\xfe", 2) == 0)
        return ENC_UTF16LE;
    if (n >= 2 && memcmp(p, "\xfe\xff", 2) == 0)
        return ENC_UTF16BE;
    size_t zero[2] = {0, 0}, pairs = n / 2;
    for (size_t i = 0; i < pairs * 2; i++)
        zero[i & 1] += p[i] == 0;
    /* A log in Latin letters: one half of nearly each unit is zero and the other never. */
    if (pairs >= 4 && zero[0] == 0 && zero[1] * 10 >= pairs * 9)
        return ENC_UTF16LE;
    if (pairs >= 4 && zero[1] == 0 && zero[0] * 10 >= pairs * 9)
        return ENC_UTF16BE;
    return ENC_UTF8;
}

static void sniff_encoding(struct source *s)
{
    s->sniff_n = bytes_read(s->in, s->sniff, SNIFF);
    s->binary =
        s->sniff_n >= 2 && s->sniff[0] == '\x80' && s->sniff[1] >= 1 && s->sniff[1] <= 5; /* a pickle */
    s->encoding = s->binary ? ENC_UTF8 : guess_encoding(s->sniff, s->sniff_n);
    size_t bom = 0;
    if (s->encoding == ENC_UTF8 && s->sniff_n >= 3 && memcmp(s->sniff, "\xef\xbb\xbf", 3) == 0)
        bom = 3;
    else if (s->encoding != ENC_UTF8 && (s->sniff[0] == '\xff' || s->sniff[0] == '\xfe'))
        bom = 2;
    s->sniff_at = bom;
    s->sniff_n -= bom;
    if (s->encoding != ENC_UTF8)
        s->unit_buf = mem_alloc(UTF16_CHUNK);
}

static char *put_char(char *to, uint32_t c)
{
    if (c < 0x80) {
        *to++ = (char)c;
    } else if (c < 0x800) {
        *to++ = (char)(0xc0 | c >> 6);
        *to++ = (char)(0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
        *to++ = (char)(0xe0 | c >> 12);
        *to++ = (char)(0x80 | (c >> 6 & 0x3f));
        *to++ = (char)(0x80 | (c & 0x3f));
    } else {
        *to++ = (char)(0xf0 | c >> 18);
        *to++ = (char)(0x80 | (c >> 12 & 0x3f));
        *to++ = (char)(0x80 | (c >> 6 & 0x3f));
        *to++ = (char)(0x80 | (c & 0x3f));
    }
    return to;
}

static char *put_unit(struct source *s, char *to, uint32_t unit)
{
    bool low = unit >= 0xdc00 && unit < 0xe000;
    if (s->high && low) {
        to = put_char(to, 0x10000 + ((s->high - 0xd800) << 10) + (unit - 0xdc00));
        s->high = 0;
        return to;
    }
    if (s->high) {
        to = put_char(to, 0xfffd);
        s->bad_units++;
        s->high = 0;
    }
    if (unit >= 0xd800 && unit < 0xdc00) {
        s->high = unit;
    } else if (low) {
        to = put_char(to, 0xfffd);
        s->bad_units++;
    } else {
        to = put_char(to, unit);
    }
    return to;
}

/* Transcodes into room for n bytes (n >= 16). Returns how many; 0 at the end. */
static size_t read_utf16(struct source *s, char *p, size_t n)
{
    size_t want = n / 3 * 2 - 8; /* three bytes a unit, and what was left over */
    if (want > UTF16_CHUNK)
        want = UTF16_CHUNK;
    char *to = p;
    const unsigned char *from = (const unsigned char *)s->unit_buf;
    size_t got = take(s, s->unit_buf, want);
    for (size_t i = 0; i < got; i++) {
        if (!s->has_odd) {
            s->odd = from[i];
            s->has_odd = true;
            continue;
        }
        s->has_odd = false;
        uint32_t a = s->odd, b = from[i];
        to = put_unit(s, to, s->encoding == ENC_UTF16LE ? a | b << 8 : a << 8 | b);
    }
    if (got < want && (s->high || s->has_odd)) { /* the end, within a character */
        to = put_char(to, 0xfffd);
        s->bad_units++;
        s->high = 0;
        s->has_odd = false;
    }
    if (to == p && got == want) /* a lone half: not the end yet */
        return read_utf16(s, p, n);
    return (size_t)(to - p);
}

static uint64_t count_newlines(const char *p, const char *end)
{
    uint64_t n = 0;
    while ((p = memchr(p, '\n', (size_t)(end - p))) != NULL) {
        n++;
        p++;
    }
    return n;
}

/* Takes the NULs out of n new bytes at w + end; returns how many stay. */
static size_t drop_nuls(struct source *s, size_t n)
{
    char *p = s->w + s->end, *stop = p + n;
    char *to = memchr(p, 0, n);
    if (!to)
        return n;
    if (s->nul_n == 0)
        s->nul_line = s->line + 1 + count_newlines(s->w + s->at, to);
    for (char *q = to; q < stop; q++)
        if (*q)
            *to++ = *q;
    s->nul_n += (uint64_t)(stop - to);
    return (size_t)(to - p);
}

/* Brings more bytes into the window, at least one unless the input ends. Bytes
 * before `keep` may go: returns by how much everything moved to the front. */
static size_t fill(struct source *s, size_t keep)
{
    size_t shift = 0;
    if (keep && (s->cap - s->end < REFILL || keep == s->end)) {
        shift = keep;
        memmove(s->w, s->w + keep, s->end - keep);
        s->at -= keep;
        s->end -= keep;
        s->base += keep;
    }
    if (s->cap - s->end < REFILL) {
        s->cap = s->cap * 2;
        s->w = mem_grow(s->w, s->cap + SOURCE_PAD, 1);
    }
    size_t room = s->cap - s->end, added = 0;
    room = room < READ_MAX ? room : READ_MAX;
    while (added == 0 && !s->eof) {
        size_t n;
        if (s->encoding == ENC_UTF8) {
            n = take(s, s->w + s->end, room);
            s->eof = n < room;
        } else {
            n = read_utf16(s, s->w + s->end, room);
            s->eof = n == 0;
        }
        added = s->binary ? n : drop_nuls(s, n);
    }
    s->end += added;
    memset(s->w + s->end, 0, SOURCE_PAD);
    return shift;
}

/* --- opening -------------------------------------------------------------------- */

static struct source *source_new(const char *name, struct bytes *in)
{
    struct source *s = mem_zero(1, sizeof *s);
    size_t n = strlen(name);
    s->name = mem_alloc(n + 1);
    memcpy(s->name, name, n + 1);
    s->in = in;
    uint64_t size = bytes_size(in) + REFILL;
    s->cap = size > SOURCE_HEAD ? SOURCE_HEAD : (size_t)size;
    if (s->cap < WINDOW_MIN + REFILL)
        s->cap = WINDOW_MIN + REFILL;
    s->w = mem_alloc(s->cap + SOURCE_PAD);
    sniff_encoding(s);
    while (s->end < SOURCE_HEAD && !s->eof)
        fill(s, 0);
    memset(s->w + s->end, 0, SOURCE_PAD);
    return s;
}

struct source *source_of_memory(const char *name, struct str bytes)
{
    return source_new(name, bytes_of_memory(bytes));
}

/* Said once, at the end of the input. */
static void tell(struct source *s, struct diag *d)
{
    if (s->told)
        return;
    s->told = true;
    bytes_tell(s->in, s->name, d);
    if (s->nul_n)
        diag_add(d, DIAG_NUL_BYTES, (struct place){s->name, s->nul_line, 0},
                 "%" PRIu64 " NUL bytes (a hole, as a crash or a network file system leaves it) were "
                 "taken out, the first of them here",
                 s->nul_n);
    if (s->bad_units)
        diag_add(d, DIAG_BAD_ENCODING, (struct place){s->name, 0, 0},
                 "%" PRIu64 " broken UTF-16 characters were read as U+FFFD", s->bad_units);
}

struct source *source_open(const char *path, struct diag *d)
{
    struct bytes *in = bytes_open(path, d);
    if (!in)
        return NULL;
    struct source *s = source_new(path, in);
    if (s->end > 0)
        return s;
    uint64_t errors = diag_errors(d);
    tell(s, d);
    if (diag_errors(d) == errors)
        diag_add(d, DIAG_EMPTY_INPUT, (struct place){path, 0, 0}, "%s",
                 s->nul_n ? "it holds nothing but NUL bytes"
                          : "it is empty: nothing was logged, or not flushed");
    source_close(s);
    return NULL;
}

void source_close(struct source *s)
{
    if (!s)
        return;
    bytes_close(s->in);
    free(s->unit_buf);
    free(s->w);
    free(s->name);
    free(s);
}

const char *source_name(const struct source *s)
{
    return s->name;
}

uint64_t source_size(const struct source *s)
{
    return bytes_size(s->in);
}

struct str source_head(struct source *s)
{
    size_t n = s->end - s->at;
    return (struct str){s->w + s->at, n < SOURCE_HEAD ? n : SOURCE_HEAD};
}

bool source_failed(const struct source *s)
{
    return bytes_read_error(s->in);
}

bool source_cut_off(const struct source *s)
{
    return bytes_broken(s->in);
}

/* --- lines ---------------------------------------------------------------------- */

/* End of the line that holds offset *scan, as an offset: of its '\n', or of the
 * end of the input (*ended false). Reads on as needed; *start and *scan move
 * with the window. False when the line becomes longer than limit. */
static bool find_end(struct source *s, size_t *start, size_t scan, size_t limit, size_t *line_end,
                     bool *ended)
{
    for (;;) {
        const char *nl = memchr(s->w + scan, '\n', s->end - scan);
        *line_end = nl ? (size_t)(nl - s->w) : s->end;
        *ended = nl != NULL;
        if (*line_end - *start > limit)
            return false;
        if (nl || s->eof)
            return true;
        scan = s->end;
        size_t shift = fill(s, *start);
        *start -= shift;
        scan -= shift;
    }
}

/* Leaves out the rest of the line at s->at, whatever its length [B], which is returned. */
static uint64_t skip_line(struct source *s)
{
    uint64_t n = 0;
    for (;;) {
        const char *nl = memchr(s->w + s->at, '\n', s->end - s->at);
        if (nl) {
            n += (uint64_t)(nl - (s->w + s->at));
            s->at = (size_t)(nl - s->w) + 1;
            return n;
        }
        n += s->end - s->at;
        s->at = s->end;
        if (s->eof)
            return n;
        fill(s, s->at);
    }
}

static struct str without_cr(const char *p, size_t n)
{
    return (struct str){p, n && p[n - 1] == '\r' ? n - 1 : n};
}

struct str source_window(const struct source *s)
{
    return (struct str){s->w + s->at, s->end - s->at};
}

void source_take(struct source *s, size_t n, uint64_t lines)
{
    s->at += n;
    s->line += lines;
}

uint64_t source_next_line(const struct source *s)
{
    return s->line + 1;
}

bool source_more(struct source *s)
{
    size_t n = s->end - s->at;
    if (s->eof || n > SOURCE_HEAD / 2 || memchr(s->w + s->at, '\n', n))
        return false;
    fill(s, s->at);
    return true;
}

size_t source_raw(struct source *s, char *p, size_t n)
{
    size_t held = s->end - s->at < n ? s->end - s->at : n;
    memcpy(p, s->w + s->at, held);
    s->at += held;
    return held < n && !s->eof ? held + take(s, p + held, n - held) : held;
}

void source_end(struct source *s, struct diag *d)
{
    tell(s, d);
}

bool source_line(struct source *s, struct line *out, struct diag *d)
{
    for (;;) {
        size_t start = s->at, end;
        bool ended;
        bool fits = find_end(s, &start, start, SOURCE_LINE_MAX, &end, &ended);
        s->at = start;
        if (!fits) {
            uint64_t n = skip_line(s);
            s->line++;
            diag_add(d, DIAG_LINE_TOO_LONG, (struct place){s->name, s->line, 0},
                     "the line has %" PRIu64 " bytes; lines up to %d are read, this one is left out", n,
                     SOURCE_LINE_MAX);
            continue;
        }
        if (start == end && !ended) {
            tell(s, d);
            return false;
        }
        s->at = ended ? end + 1 : end;
        out->number = ++s->line;
        /* files that were joined: a byte order mark in the middle */
        if (end - start >= 3 && s->w[start] == '\xef' && memcmp(s->w + start, "\xef\xbb\xbf", 3) == 0)
            start += 3;
        out->text = ended ? without_cr(s->w + start, end - start) : (struct str){s->w + start, end - start};
        out->offset = s->base + start;
        out->ended = ended;
        return true;
    }
}

bool source_line_join(struct source *s, struct line *l, size_t limit, struct diag *d)
{
    (void)d;
    size_t start = (size_t)(l->text.p - s->w), end;
    bool ended = true, fits = false;
    if (l->ended) {
        /* the next line is looked at from its own beginning, the window keeps ours */
        size_t scan = s->at;
        fits = find_end(s, &start, scan, limit, &end, &ended);
        l->text.p = s->w + start;
    }
    if (!fits || (end == s->at && !ended))
        return false;
    s->at = ended ? end + 1 : end;
    s->line++;
    l->text = ended ? without_cr(s->w + start, end - start) : (struct str){s->w + start, end - start};
    l->ended = ended;
    return true;
}

void source_line_unjoin(struct source *s, struct line *l)
{
    size_t start = (size_t)(l->text.p - s->w);
    const char *nl = memchr(l->text.p, '\n', s->at - start);
    if (!nl)
        return;
    s->at = (size_t)(nl - s->w) + 1;
    s->line = l->number;
    l->text = without_cr(l->text.p, (size_t)(nl - l->text.p));
    l->ended = true;
}

bool source_rest(struct source *s, struct line *out, size_t limit, struct diag *d)
{
    while (!s->eof && s->end - s->at <= limit)
        fill(s, s->at);
    if (s->end - s->at > limit) {
        diag_add(d, DIAG_CANNOT_READ, (struct place){s->name, 0, 0},
                 "the document is longer than %zu MiB, which must be held in memory; write one record a "
                 "line (JSONL) instead",
                 limit >> 20);
        return false;
    }
    tell(s, d);
    out->text = (struct str){s->w + s->at, s->end - s->at};
    out->offset = s->base + s->at;
    out->number = s->line + 1;
    out->ended = out->text.n && out->text.p[out->text.n - 1] == '\n';
    s->at = s->end;
    return true;
}

#include "model/column.h"
#include "base/mem.h"
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#if defined(__SSE2__) && !defined(OOMREPORT_SCALAR)
#include <emmintrin.h>
#endif

/* A packed block. Whole numbers are min + an offset of `width` little-endian
 * bytes; the offset with all bits set is "missing". Decimal fractions, as logs round them, are
 * such numbers divided by a power of ten, if that gives each double exactly. Where there
 * is another value the block keeps the doubles as they are (raw). */
struct block {
    double min, scale;   /* scale: the power of ten, 1 for whole numbers */
    unsigned char width; /* 0: all rows are min, or all missing when min is NAN */
    bool raw;
    unsigned char *data; /* rows * width [B]; NULL when width is 0 */
};

struct column {
    struct column_store *store;
    struct block *blocks; /* n_blocks, each of COLUMN_BLOCK rows but the last */
    size_t n_blocks, cap_blocks;
    double *stage; /* n_stage values behind the packed blocks */
    size_t n_stage, cap_stage;
    size_t tail; /* rows of the last packed block when it is short, else 0 */
    size_t rows;
    size_t packed_bytes;
};

void column_store_release(struct column_store *s)
{
    for (size_t i = 0; i < s->n_chunks; i++)
        free(s->chunks[i]);
    free(s->chunks);
    *s = (struct column_store){0};
}

enum {
    CHUNK_MIN = 16 * 1024,
    CHUNK_MAX = 8 * 1024 * 1024
};

static unsigned char *store(struct column_store *s, size_t n)
{
    if (s->left < n) {
        s->size = s->size * 2 < CHUNK_MIN ? CHUNK_MIN : s->size * 2 < CHUNK_MAX ? s->size * 2 : CHUNK_MAX;
        while (s->size < n)
            s->size *= 2;
        s->chunks = mem_grow(s->chunks, s->n_chunks + 1, sizeof *s->chunks);
        s->at = s->chunks[s->n_chunks++] = mem_run(s->size);
        s->left = s->size;
    }
    unsigned char *p = s->at;
    s->at += n;
    s->left -= n;
    return p;
}

struct column *column_new(struct column_store *s)
{
    struct column *c = mem_zero(1, sizeof *c);
    c->store = s;
    return c;
}

void column_free(struct column *c)
{
    if (!c)
        return;
    free(c->blocks);
    free(c->stage);
    free(c);
}

/* Whole, exact as a double, and not -0 (which an offset cannot tell from 0). */
static inline bool whole(double v)
{
    return fabs(v) < 9007199254740992.0 && (double)(int64_t)v == v && (v != 0 || !signbit(v));
}

/* Adding 1.5 * 2^52 to a number of at most 2^51 rounds it to a whole one: what is whole stays as it is. */
#define ROUNDER 6755399441055744.0
#define ROUNDER_MAX 2251799813685248.0
/* A whole number below 2^52 added to 2^52 stands in the low bits of the sum. */
#define CARRIER 4503599627370496.0

#if !defined(__SSE2__) || defined(OOMREPORT_SCALAR)
static inline uint64_t bits_of(double v)
{
    uint64_t u;
    memcpy(&u, &v, sizeof u);
    return u;
}
#endif

/* What the values of a block are like. */
struct range {
    double min, max; /* of those that are there; min > max: none is */
    bool all_whole, any_missing;
};

/* The usual values, none of them negative: a pass without branches over an even number of them. False: look
 * again, one by one. */
static bool find_range_quick(struct range *r, const double *v, size_t n)
{
#if defined(__SSE2__) && !defined(OOMREPORT_SCALAR)
    const __m128d rounder = _mm_set1_pd(ROUNDER);
    __m128d min = _mm_set1_pd(INFINITY), max = _mm_set1_pd(-INFINITY), signs = _mm_setzero_pd(),
            odd = _mm_setzero_pd(), missing = _mm_setzero_pd();
    for (size_t i = 0; i < n; i += 2) {
        __m128d x = _mm_loadu_pd(v + i), gone = _mm_cmpunord_pd(x, x);
        min = _mm_min_pd(x, min); /* the second where one is no number */
        max = _mm_max_pd(x, max);
        signs = _mm_or_pd(signs, x);
        odd = _mm_or_pd(odd,
                        _mm_andnot_pd(gone, _mm_cmpneq_pd(_mm_sub_pd(_mm_add_pd(x, rounder), rounder), x)));
        missing = _mm_or_pd(missing, gone);
    }
    double least[2], most[2];
    _mm_storeu_pd(least, min);
    _mm_storeu_pd(most, max);
    r->min = least[0] < least[1] ? least[0] : least[1];
    r->max = most[0] > most[1] ? most[0] : most[1];
    r->all_whole = !_mm_movemask_pd(odd);
    r->any_missing = _mm_movemask_pd(missing);
    return !_mm_movemask_pd(signs) && r->max <= ROUNDER_MAX;
#else
    uint64_t signs = 0;
    bool odd = false;
    *r = (struct range){INFINITY, -INFINITY, true, false};
    for (size_t i = 0; i < n; i++) {
        double x = v[i];
        bool gone = isnan(x);
        r->min = x < r->min ? x : r->min;
        r->max = x > r->max ? x : r->max;
        signs |= bits_of(x);
        odd |= !gone & ((x + ROUNDER) - ROUNDER != x);
        r->any_missing |= gone;
    }
    r->all_whole = !odd;
    return signs >> 63 == 0 && r->max <= ROUNDER_MAX;
#endif
}

/* True when it was the quick way. */
static bool find_range(struct range *r, const double *v, size_t n)
{
    if (n % 2 == 0 && find_range_quick(r, v, n))
        return true;
    *r = (struct range){INFINITY, -INFINITY, true, false};
    for (size_t i = 0; i < n; i++) {
        double x = v[i];
        if (isnan(x)) {
            r->any_missing = true;
            continue;
        }
        r->min = x < r->min ? x : r->min;
        r->max = x > r->max ? x : r->max;
        r->all_whole = whole(x);
        if (!r->all_whole)
            return false; /* the doubles are kept: nothing else needs to be known */
    }
    /* Offsets must be exact as doubles too. */
    r->all_whole = !(r->max - r->min >= 9007199254740992.0);
    return false;
}

/* Bytes needed for offsets up to `range` with one more code kept free for "missing". */
static unsigned char width_for(uint64_t range)
{
    unsigned char w = 1;
    while (w < 8 && range >= ((uint64_t)1 << (8 * w)) - 1)
        w++;
    return w;
}

static uint64_t missing_code(unsigned w)
{
    return w == 8 ? UINT64_MAX : ((uint64_t)1 << (8 * w)) - 1;
}

/* Codes are written and read eight bytes at a time, whatever their width: behind the
 * codes of a block there is room for that. Compilers make one move of each. */
enum {
    CODE_PAD = 8
};

static inline void put_code(unsigned char *p, uint64_t code)
{
    for (unsigned i = 0; i < 8; i++)
        p[i] = (unsigned char)(code >> (8 * i));
}

static inline uint64_t get_code(const unsigned char *p)
{
    return (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24 |
           (uint64_t)p[4] << 32 | (uint64_t)p[5] << 40 | (uint64_t)p[6] << 48 | (uint64_t)p[7] << 56;
}

/* Offsets below 2^52 from b->min, for an even number of values. */
static void encode_quick(struct block *b, const double *v, size_t n)
{
    unsigned w = b->width;
    unsigned char *p = b->data;
    uint64_t missing = missing_code(w);
#if defined(__SSE2__) && !defined(OOMREPORT_SCALAR)
    const __m128d min = _mm_set1_pd(b->min), carrier = _mm_set1_pd(CARRIER);
    const __m128i none = _mm_set1_epi64x((long long)missing);
    for (size_t i = 0; i < n; i += 2, p += 2 * (size_t)w) {
        __m128d x = _mm_loadu_pd(v + i);
        __m128i gone = _mm_castpd_si128(_mm_cmpunord_pd(x, x));
        __m128i code = _mm_sub_epi64(_mm_castpd_si128(_mm_add_pd(_mm_sub_pd(x, min), carrier)),
                                     _mm_castpd_si128(carrier));
        code = _mm_or_si128(_mm_andnot_si128(gone, code), _mm_and_si128(gone, none));
        _mm_storel_epi64((__m128i *)(void *)p, code);
        _mm_storel_epi64((__m128i *)(void *)(p + w), _mm_unpackhi_epi64(code, code));
    }
#else
    for (size_t i = 0; i < n; i++, p += w)
        put_code(p, isnan(v[i]) ? missing : bits_of(v[i] - b->min + CARRIER) - bits_of(CARRIER));
#endif
}

static void encode(struct column_store *s, struct block *b, const double *v, size_t n, const struct range *r)
{
    unsigned w = b->width;
    uint64_t missing = missing_code(w);
    b->data = store(s, n * w + CODE_PAD);
    if (n % 2 == 0 && r->max - b->min < CARRIER) {
        encode_quick(b, v, n);
        return;
    }
    unsigned char *p = b->data;
    for (size_t i = 0; i < n; i++, p += w)
        put_code(p, isnan(v[i]) ? missing : (uint64_t)(int64_t)(v[i] - b->min));
}

/* The values times a power of ten, up to 10^6, into out, when all are whole then and come back from
 * there exactly: that power; else 0. None of them is negative or large. */
static double find_decimals(double *out, const double *v, size_t n)
{
    size_t i = 0;
    for (double scale = 10; scale <= 1e6; scale *= 10) {
        for (i = 0; i < n; i++) {
            out[i] = (v[i] * scale + ROUNDER) - ROUNDER;
            if (!(out[i] / scale == v[i]) && !isnan(v[i]))
                break;
        }
        if (i == n)
            return scale;
    }
    return 0;
}

static void keep_raw(struct column_store *s, struct block *b, const double *v, size_t n)
{
    b->raw = true;
    b->width = sizeof(double);
    b->data = store(s, n * sizeof(double));
    memcpy(b->data, v, n * sizeof(double));
}

static void pack(struct column *c, const double *v, size_t n)
{
    struct range r;
    double scaled[COLUMN_BLOCK];
    struct block b = {.scale = 1};
    if (find_range(&r, v, n) && !r.all_whole && r.max < ROUNDER_MAX / 1e6) {
        double scale = find_decimals(scaled, v, n);
        if (scale > 0) {
            b.scale = scale;
            v = scaled;
            find_range(&r, v, n);
        }
    }
    b.min = r.min <= r.max ? r.min : NAN;
    if (!r.all_whole && r.min <= r.max) {
        keep_raw(c->store, &b, v, n);
    } else if (r.min <= r.max && (r.max > r.min || r.any_missing)) {
        b.width = width_for((uint64_t)(r.max - r.min));
        encode(c->store, &b, v, n, &r);
    }
    if (c->n_blocks == c->cap_blocks) {
        c->cap_blocks = c->cap_blocks ? c->cap_blocks * 2 : 1;
        c->blocks = mem_grow(c->blocks, c->cap_blocks, sizeof *c->blocks);
    }
    c->blocks[c->n_blocks++] = b;
    c->packed_bytes += n * b.width;
}

static void unpack(const struct block *b, size_t first, size_t n, double *out)
{
    if (b->raw) {
        memcpy(out, b->data + first * sizeof(double), n * sizeof(double));
        return;
    }
    if (!b->width) {
        for (size_t i = 0; i < n; i++)
            out[i] = b->min / b->scale;
        return;
    }
    uint64_t missing = missing_code(b->width);
    const unsigned char *p = b->data + first * b->width;
    for (size_t i = 0; i < n; i++, p += b->width) {
        uint64_t code = get_code(p) & missing;
        out[i] = code == missing ? NAN : b->min + (double)code;
    }
    for (size_t i = 0; i < n && b->scale > 1; i++)
        out[i] /= b->scale;
}

/* Takes a short last block back into the stage, so that appending may go on. */
static void unseal(struct column *c)
{
    size_t n = c->tail;
    c->tail = 0;
    c->cap_stage = n > 64 ? n : 64;
    c->stage = mem_grow(c->stage, c->cap_stage, sizeof *c->stage);
    struct block *b = &c->blocks[--c->n_blocks];
    unpack(b, 0, n, c->stage);
    c->packed_bytes -= n * b->width;
    c->n_stage = n;
}

/* Rows of the stage that are packed last, so that column_cut finds the last rows as they came. */
enum {
    STAGE_MAX = COLUMN_BLOCK + COLUMN_CUT_MAX
};

/* Room for n more values in the stage, of which there is always some; returns for how many. */
static size_t room(struct column *c, size_t n)
{
    if (c->tail)
        unseal(c);
    if (c->n_stage == STAGE_MAX) {
        pack(c, c->stage, COLUMN_BLOCK);
        c->n_stage = COLUMN_CUT_MAX;
        memcpy(c->stage, c->stage + COLUMN_BLOCK, COLUMN_CUT_MAX * sizeof *c->stage);
    }
    if (n > STAGE_MAX - c->n_stage)
        n = STAGE_MAX - c->n_stage;
    if (c->cap_stage - c->n_stage < n) {
        while (c->cap_stage - c->n_stage < n)
            c->cap_stage = c->cap_stage ? c->cap_stage * 2 : 64;
        c->cap_stage = c->cap_stage < STAGE_MAX ? c->cap_stage : STAGE_MAX;
        c->stage = mem_grow(c->stage, c->cap_stage, sizeof *c->stage);
    }
    return n;
}

size_t column_rows(const struct column *c)
{
    return c->rows;
}

static void push_missing(struct column *c, size_t row)
{
    while (c->rows < row) {
        size_t n = room(c, row - c->rows);
        for (size_t i = 0; i < n; i++)
            c->stage[c->n_stage + i] = NAN;
        c->n_stage += n;
        c->rows += n;
    }
}

void column_append(struct column *c, size_t row, const double *v, size_t n)
{
    if (c->rows < row)
        push_missing(c, row);
    while (n) {
        size_t take = room(c, n);
        memcpy(c->stage + c->n_stage, v, take * sizeof *v);
        c->n_stage += take;
        c->rows += take;
        v += take;
        n -= take;
    }
}

void column_set_next(struct column *c, size_t row, double v)
{
    if (c->rows < row)
        push_missing(c, row);
    if (c->n_stage == c->cap_stage || c->n_stage == STAGE_MAX)
        room(c, 1);
    c->stage[c->n_stage++] = v;
    c->rows++;
}

void column_cut(struct column *c, size_t rows)
{
    if (c->rows <= rows)
        return;
    c->n_stage -= c->rows - rows;
    c->rows = rows;
}

void column_seal(struct column *c)
{
    size_t first = c->n_stage > COLUMN_BLOCK ? COLUMN_BLOCK : 0;
    if (first)
        pack(c, c->stage, first);
    if (c->n_stage > first) {
        c->tail = (c->n_stage - first) % COLUMN_BLOCK;
        pack(c, c->stage + first, c->n_stage - first);
    }
    c->n_stage = c->cap_stage = 0;
    free(c->stage);
    c->stage = NULL;
}

void column_read(const struct column *c, size_t first, size_t n, double *out)
{
    size_t full = c->n_blocks - (c->tail ? 1 : 0), packed = full * COLUMN_BLOCK + c->tail;
    while (n) {
        size_t take = 1;
        if (first < packed) {
            size_t within = first % COLUMN_BLOCK, left = packed - first;
            take = COLUMN_BLOCK - within;
            take = take < left ? take : left;
            take = take < n ? take : n;
            unpack(&c->blocks[first / COLUMN_BLOCK], within, take, out);
        } else if (first - packed < c->n_stage) {
            take = c->n_stage - (first - packed);
            take = take < n ? take : n;
            memcpy(out, c->stage + (first - packed), take * sizeof *out);
        } else {
            *out = NAN;
        }
        first += take, n -= take, out += take;
    }
}

double column_at(const struct column *c, size_t row)
{
    double v;
    column_read(c, row, 1, &v);
    return v;
}

size_t column_bytes(const struct column *c)
{
    return sizeof *c + c->cap_blocks * sizeof *c->blocks + c->packed_bytes + c->cap_stage * sizeof *c->stage;
}

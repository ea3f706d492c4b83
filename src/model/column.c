#include "model/column.h"
#include "base/mem.h"
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A packed block. Whole numbers are min + an offset of `width` little-endian
 * bytes; the offset with all bits set is "missing". Where a value is no whole
 * number below 2^53 the block keeps the doubles as they are (raw). */
struct block {
    double min;
    unsigned char width; /* 0: all rows are min, or all missing when min is NAN */
    bool raw;
    unsigned char *data; /* rows * width [B]; NULL when width is 0 */
};

struct column {
    struct block *blocks; /* n_blocks, each of COLUMN_BLOCK rows but the last */
    size_t n_blocks, cap_blocks;
    double *stage; /* n_stage values behind the packed blocks */
    size_t n_stage, cap_stage;
    size_t tail; /* rows of the last packed block when it is short, else 0 */
    size_t rows;
    size_t packed_bytes;
};

struct column *column_new(void)
{
    return mem_zero(1, sizeof(struct column));
}

void column_free(struct column *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->n_blocks; i++)
        free(c->blocks[i].data);
    free(c->blocks);
    free(c->stage);
    free(c);
}

/* Whole, exact as a double, and not -0 (which an offset cannot tell from 0). */
static inline bool whole(double v)
{
    return fabs(v) < 9007199254740992.0 && (double)(int64_t)v == v && (v != 0 || !signbit(v));
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

static void encode(struct block *b, const double *v, size_t n)
{
    unsigned w = b->width;
    uint64_t missing = missing_code(w);
    b->data = mem_alloc(n * w + CODE_PAD);
    unsigned char *p = b->data;
    for (size_t i = 0; i < n; i++, p += w)
        put_code(p, isnan(v[i]) ? missing : (uint64_t)(int64_t)(v[i] - b->min));
}

static void pack(struct column *c, const double *v, size_t n)
{
    double min = INFINITY, max = -INFINITY;
    bool all_whole = true, any_missing = false;
    for (size_t i = 0; i < n; i++) {
        double x = v[i];
        if (isnan(x)) {
            any_missing = true;
            continue;
        }
        min = x < min ? x : min;
        max = x > max ? x : max;
        all_whole = whole(x);
        if (!all_whole)
            break; /* the doubles are kept: nothing else needs to be known */
    }
    /* Offsets must be exact as doubles too. */
    all_whole = all_whole && !(max - min >= 9007199254740992.0);
    struct block b = {.min = min <= max ? min : NAN};
    if (!all_whole) {
        b.raw = true;
        b.width = sizeof(double);
        b.data = mem_alloc(n * sizeof(double));
        memcpy(b.data, v, n * sizeof(double));
    } else if (min <= max && (max > min || any_missing)) {
        b.width = width_for((uint64_t)(max - min));
        encode(&b, v, n);
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
            out[i] = b->min;
        return;
    }
    uint64_t missing = missing_code(b->width);
    const unsigned char *p = b->data + first * b->width;
    for (size_t i = 0; i < n; i++, p += b->width) {
        uint64_t code = get_code(p) & missing;
        out[i] = code == missing ? NAN : b->min + (double)code;
    }
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
    free(b->data);
    c->n_stage = n;
}

static void push(struct column *c, double v)
{
    if (c->n_stage == c->cap_stage) {
        c->cap_stage = c->cap_stage ? c->cap_stage * 2 : 64;
        c->stage = mem_grow(c->stage, c->cap_stage, sizeof *c->stage);
    }
    c->stage[c->n_stage++] = v;
    c->rows++;
    if (c->n_stage == COLUMN_BLOCK) {
        pack(c, c->stage, c->n_stage);
        c->n_stage = 0;
    }
}

size_t column_rows(const struct column *c)
{
    return c->rows;
}

void column_set_next(struct column *c, size_t row, double v)
{
    if (c->tail)
        unseal(c);
    while (c->rows < row)
        push(c, NAN);
    push(c, v);
}

void column_seal(struct column *c)
{
    if (c->n_stage) {
        c->tail = c->n_stage;
        pack(c, c->stage, c->n_stage);
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

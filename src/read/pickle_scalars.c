/* Numbers and strings of the pickle machine, and the opcodes that it refuses. */
#include "base/num.h"
#include "base/utf8.h"
#include "read/pickle_machine.h"

/* --- numbers and strings ------------------------------------------------------------ */

uint64_t pk_little(const unsigned char *p, size_t n)
{
    uint64_t v = 0;
    for (size_t i = 0; i < n; i++)
        v |= (uint64_t)p[i] << 8 * i;
    return v;
}

/* n argument bytes, used up; NULL at the end of the input. */
const unsigned char *pk_take(struct machine *m, size_t n)
{
    if (m->in->end - m->in->at < n && !raw_want(m->in, n)) {
        pk_cut(m);
        return NULL;
    }
    m->in->at += n;
    return m->in->w + m->in->at - n;
}

static void skip(struct machine *m, uint64_t n)
{
    if (!raw_skip(m->in, n))
        pk_cut(m);
}

void pk_op_long(struct machine *m, uint64_t n)
{
    if (n > 9) {
        skip(m, n);
        pk_push_tag(m, SNAP_OPAQUE, 0);
        return;
    }
    const unsigned char *p = pk_take(m, (size_t)n);
    if (!p)
        return;
    uint64_t v = pk_little(p, n < 8 ? (size_t)n : 8);
    if (n > 0 && n < 8 && p[n - 1] & 0x80)
        v |= UINT64_MAX << 8 * n;
    pk_push_tag(m, n == 9 && p[8] ? SNAP_OPAQUE : SNAP_INT, v);
}

void pk_op_float(struct machine *m)
{
    const unsigned char *p = pk_take(m, 8);
    if (!p)
        return;
    uint64_t bits = 0;
    for (int i = 0; i < 8; i++)
        bits = bits << 8 | p[i];
    pk_push_tag(m, SNAP_FLOAT, bits);
}

void pk_op_string(struct machine *m, uint64_t n)
{
    if (n > STRING_MAX) {
        skip(m, n);
        pk_push_tag(m, SNAP_OPAQUE, 0);
        return;
    }
    const unsigned char *p = pk_take(m, (size_t)n);
    if (p)
        pk_push(m, snap_string(m->b, (struct str){(const char *)p, (size_t)n}));
}

void pk_op_bytes(struct machine *m, uint64_t n)
{
    skip(m, n);
    pk_push_tag(m, SNAP_OPAQUE, 0);
}

/* A line of arguments (protocol 0), without its end; false when stopped. A line longer than
 * STRING_MAX gives its first bytes. */
static bool line(struct machine *m, struct str *out)
{
    struct raw *in = m->in;
    for (size_t n = 0;;) {
        const unsigned char *nl = memchr(in->w + in->at + n, '\n', in->end - in->at - n);
        if (nl) {
            *out = (struct str){(const char *)in->w + in->at, (size_t)(nl - in->w) - in->at};
            in->at = (size_t)(nl - in->w) + 1;
            if (out->n && out->p[out->n - 1] == '\r')
                out->n--;
            return true;
        }
        n = in->end - in->at;
        if (n > STRING_MAX) {
            in->at = in->end - 1; /* too long for anything that counts */
            n = 1;
        }
        if (!raw_want(in, n + 1)) {
            pk_cut(m);
            return false;
        }
    }
}

static void push_number(struct machine *m, struct str s)
{
    double d;
    uint64_t u;
    bool minus = s.n && s.p[0] == '-';
    struct str digits = {s.p + minus, s.n - minus};
    if (num_parse_u64(digits, &u))
        pk_push_tag(m, SNAP_INT, minus ? 0 - u : u);
    else if (num_parse(s, &d)) {
        memcpy(&u, &d, sizeof u);
        pk_push_tag(m, SNAP_FLOAT, u);
    } else {
        pk_damaged(m, "a number that is none");
    }
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* One escape at s.p[0] = '\\'; returns its length, 0 when it is none that counts. */
static size_t escape(struct buf *to, struct str s, bool quoted)
{
    size_t digits = s.n < 2 ? 0 : s.p[1] == 'x' ? 2 : s.p[1] == 'u' ? 4 : s.p[1] == 'U' ? 8 : 0;
    static const char FROM[] = "ntr\\'\"", TO[] = "\n\t\r\\'\"";
    const char *known = s.n > 1 && s.p[1] ? strchr(FROM, s.p[1]) : NULL;
    if (quoted && known) {
        buf_putc(to, TO[known - FROM]);
        return 2;
    }
    if (digits == 0 || s.n < 2 + digits || (digits == 2 && !quoted))
        return 0;
    uint32_t code = 0;
    for (size_t k = 0; k < digits; k++) {
        int h = hex_digit(s.p[2 + k]);
        if (h < 0)
            return 0;
        code = code << 4 | (uint32_t)h;
    }
    utf8_put(to, code < 0x110000 ? code : 0xfffd);
    return 2 + digits;
}

/* 'V' raw-unicode-escape, or what stands between quotes after 'S'. */
static void push_text(struct machine *m, struct str s, bool quoted)
{
    struct buf text = {0};
    if (quoted) {
        s = str_trim(s);
        if (s.n < 2 || (s.p[0] != '\'' && s.p[0] != '"') || s.p[s.n - 1] != s.p[0]) {
            pk_damaged(m, "a string without quotes");
            return;
        }
        s = (struct str){s.p + 1, s.n - 2};
    }
    for (size_t i = 0; i < s.n;) {
        size_t n = s.p[i] == '\\' ? escape(&text, (struct str){s.p + i, s.n - i}, quoted) : 0;
        if (n == 0) {
            unsigned char c = (unsigned char)s.p[i];
            if (c < 0x80)
                buf_putc(&text, (char)c);
            else
                utf8_put(&text, c); /* Latin-1 */
            n = 1;
        }
        i += n;
    }
    pk_push(m, snap_string(m->b, buf_view(&text)));
    buf_release(&text);
}

void pk_op_text(struct machine *m, int op)
{
    struct str s;
    if (!line(m, &s))
        return;
    if (op == 'I' && str_is(s, "00"))
        pk_push_tag(m, SNAP_BOOL, 0);
    else if (op == 'I' && str_is(s, "01"))
        pk_push_tag(m, SNAP_BOOL, 1);
    else if (op == 'L' && s.n && s.p[s.n - 1] == 'L')
        push_number(m, (struct str){s.p, s.n - 1});
    else if (op == 'I' || op == 'L' || op == 'F')
        push_number(m, s);
    else
        push_text(m, s, op == 'S');
}

void pk_op_memo_line(struct machine *m, bool put)
{
    struct str s;
    uint64_t i;
    if (!line(m, &s))
        return;
    if (!num_parse_u64(s, &i))
        pk_damaged(m, "a memo index that is no number");
    else if (put)
        pk_memoize(m, i);
    else
        pk_fetch(m, i);
}

/* --- what is refused ---------------------------------------------------------------- */

static struct str string_below(struct machine *m, size_t depth)
{
    if (m->sp < depth || m->stack[m->sp - depth].tag != SNAP_STR)
        return (struct str){NULL, 0};
    return trace_string_at(&m->b->file->names, (uint32_t)m->stack[m->sp - depth].v);
}

/* GLOBAL and INST name what they import in two lines. */
static void refuse_global(struct machine *m, const char *op)
{
    struct str s;
    struct buf module = {0};
    if (line(m, &s)) {
        buf_put(&module, s.p, s.n);
        if (line(m, &s))
            pk_refuse(m, op, buf_view(&module), s);
    }
    if (!m->why || m->end == PICKLE_CUT) {
        m->why = NULL;
        pk_refuse(m, op, buf_view(&module), (struct str){NULL, 0});
    }
    buf_release(&module);
}

void pk_refuse_op(struct machine *m, int op)
{
    static const struct {
        unsigned char op;
        const char *name;
    } REFUSED[] = {
        {'R', "REDUCE"},      {'b', "BUILD"},      {'o', "OBJ"},          {0x81, "NEWOBJ"},
        {0x92, "NEWOBJ_EX"},  {0x82, "EXT1"},      {0x83, "EXT2"},        {0x84, "EXT4"},
        {'P', "PERSID"},      {'Q', "BINPERSID"},  {0x97, "NEXT_BUFFER"}, {0x98, "READONLY_BUFFER"},
        {0x96, "BYTEARRAY8"}, {0x8f, "EMPTY_SET"}, {0x90, "ADDITEMS"},    {0x91, "FROZENSET"}};
    static const struct str NOTHING = {NULL, 0};
    if (op == 'c')
        refuse_global(m, "GLOBAL");
    else if (op == 'i')
        refuse_global(m, "INST");
    else if (op == 0x93)
        pk_refuse(m, "STACK_GLOBAL", string_below(m, 2), string_below(m, 1));
    for (size_t i = 0; i < sizeof REFUSED / sizeof *REFUSED; i++)
        if (REFUSED[i].op == op)
            pk_refuse(m, REFUSED[i].name, NOTHING, NOTHING);
    if (!m->why)
        pk_damaged(m, arena_printf(m->arena, "unknown opcode 0x%02x", (unsigned)op));
}

/* The page that torch.cuda._memory_viz trace_plot writes: the pickle in base64 inside
 * `const local_files = [{"name": "snapshot.pickle", "base64": "…"}]`. */
#include "read/snapshot_forms.h"

static const char MARK[] = "\"base64\":";

struct decoder {
    struct raw page;
    bool ended;
    unsigned bits, n_bits;
};

bool snapshot_is_html(struct str head)
{
    return str_find(head, STR_LIT("local_files")) != (size_t)-1 && str_find(head, str_of(MARK)) != (size_t)-1;
}

static int digit(unsigned char c)
{
    return c >= 'A' && c <= 'Z'   ? c - 'A'
           : c >= 'a' && c <= 'z' ? c - 'a' + 26
           : c >= '0' && c <= '9' ? c - '0' + 52
           : c == '+' || c == '-' ? 62
           : c == '/' || c == '_' ? 63
                                  : -1;
}

static size_t decode(void *ctx, char *p, size_t n)
{
    struct decoder *d = ctx;
    size_t out = 0;
    while (out < n && !d->ended) {
        struct raw *r = &d->page;
        if (r->at == r->end && !raw_fill(r))
            break;
        int v = digit(r->w[r->at++]);
        if (v < 0) { /* '=', the closing quote, or no base64 */
            d->ended = r->w[r->at - 1] != '\n' && r->w[r->at - 1] != '\r';
            continue;
        }
        d->bits = (d->bits << 6 | (unsigned)v) & 0xffff;
        d->n_bits += 6;
        if (d->n_bits >= 8) {
            d->n_bits -= 8;
            p[out++] = (char)(d->bits >> d->n_bits);
        }
    }
    return out;
}

bool snapshot_html(struct source *s, struct snap_build *b, struct diag *d)
{
    struct decoder page = {0};
    raw_init(&page.page, snapshot_source_read, s);
    struct raw *r = &page.page;
    while (raw_want(r, sizeof MARK + 8)) {
        struct str rest = {(const char *)r->w + r->at, r->end - r->at};
        size_t at = str_find(rest, str_of(MARK));
        if (at != (size_t)-1) {
            r->at += at + sizeof MARK - 1;
            break;
        }
        r->at = r->end - sizeof MARK; /* it may stand across the window's end */
    }
    while (raw_want(r, 1) && (r->w[r->at] == ' ' || r->w[r->at] == '"'))
        r->at++;
    struct raw in;
    raw_init(&in, decode, &page);
    bool found = snapshot_pickle(&in, b, s, d);
    raw_release(&in);
    raw_release(&page.page);
    return found;
}

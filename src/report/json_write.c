#include "report/json_write.h"
#include "base/num.h"
#include "report/escape.h"

#include <math.h>

static void begin(struct json *j, const char *key)
{
    bool flat = j->flat && j->depth >= j->flat;

    if (!j->empty)
        buf_puts(j->out, flat ? ", " : ",");
    if (j->depth && !flat) {
        buf_putc(j->out, '\n');
        for (unsigned i = 0; i < j->depth; i++)
            buf_puts(j->out, "  ");
    }
    if (key) {
        escape_json(j->out, str_of(key));
        buf_puts(j->out, ": ");
    }
    j->empty = false;
}

void json_open(struct json *j, const char *key, char bracket)
{
    begin(j, key);
    buf_putc(j->out, bracket);
    j->depth++;
    j->empty = true;
}

void json_open_flat(struct json *j, const char *key, char bracket)
{
    json_open(j, key, bracket);
    if (!j->flat)
        j->flat = j->depth;
}

void json_close(struct json *j, char bracket)
{
    bool flat = j->flat && j->depth >= j->flat, empty = j->empty;

    if (j->flat == j->depth)
        j->flat = 0;
    j->depth--;
    if (!flat && !empty) {
        buf_putc(j->out, '\n');
        for (unsigned i = 0; i < j->depth; i++)
            buf_puts(j->out, "  ");
    }
    buf_putc(j->out, bracket);
    j->empty = false;
}

void json_null(struct json *j, const char *key)
{
    begin(j, key);
    buf_puts(j->out, "null");
}

void json_bool(struct json *j, const char *key, bool v)
{
    begin(j, key);
    buf_puts(j->out, v ? "true" : "false");
}

void json_text(struct json *j, const char *key, const char *text)
{
    begin(j, key);
    if (text)
        escape_json(j->out, str_of(text));
    else
        buf_puts(j->out, "null");
}

void json_u64(struct json *j, const char *key, uint64_t v)
{
    begin(j, key);
    num_put_u64(j->out, v);
}

void json_whole(struct json *j, const char *key, double v)
{
    begin(j, key);
    if (isfinite(v) && fabs(v) <= 9007199254740992.0)
        num_put_fixed(j->out, round(v), 0);
    else
        buf_puts(j->out, "null");
}

void json_number(struct json *j, const char *key, double v)
{
    begin(j, key);
    if (isfinite(v))
        num_put(j->out, v);
    else
        buf_puts(j->out, "null");
}

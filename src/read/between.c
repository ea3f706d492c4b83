#include "read/between.h"

#include <inttypes.h>

/* A word, then blanks or a colon with blanks, then another: what no table and no JSON has outside quotes. */
static bool has_two_words(struct str line)
{
    size_t words = 0;
    for (size_t i = 0; i < line.n; i++)
        if (ascii_letter(line.p[i]) && (i == 0 || line.p[i - 1] == ' ' || line.p[i - 1] == '\t'))
            words++;
    return words >= 2;
}

bool between_is_text(struct str line)
{
    bool indented = line.n > 1 && (line.p[0] == ' ' || line.p[0] == '\t');
    line = str_trim(line);
    if (line.n == 0 || memchr("{}[]\",:;", line.p[0], 8))
        return false;
    if (str_find(line, STR_LIT("\":")) != (size_t)-1)
        return false;
    if (line.p[0] == '^' || line.p[0] == '~' || line.p[0] == '=' || line.p[0] == '#')
        return true;
    return ascii_letter(line.p[0]) && (indented || has_two_words(line) || line.p[line.n - 1] == ':');
}

void between_add(struct between *b, uint64_t line)
{
    if (b->lines++ == 0)
        b->first = line;
}

void between_say(const struct between *b, const char *name, struct diag *d)
{
    if (b->lines == 0)
        return;
    diag_add(d, DIAG_TEXT_BETWEEN, (struct place){name, b->first, 0},
             "%" PRIu64 " line%s of text between the records, left out; only an out-of-memory message in "
             "such lines is used",
             b->lines, b->lines == 1 ? "" : "s");
}

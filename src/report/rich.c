#include "report/rich.h"

/* Length of a number at the front ("+3.1", "11874"); 0 if there is none. */
static size_t number(struct str s)
{
    size_t i = s.n && (s.p[0] == '+' || s.p[0] == '-');
    size_t from = i;

    while (i < s.n && (ascii_digit(s.p[i]) || (s.p[i] == '.' && i + 1 < s.n && ascii_digit(s.p[i + 1]))))
        i++;
    return i > from ? i : 0;
}

/* Length of "GiB", "MiB/step", "%" at the front, with what follows up to a blank; 0 otherwise. */
static size_t unit(struct str s)
{
    static const char *const units[] = {"GiB", "MiB", "KiB", "B", "%"};

    for (size_t u = 0; u < sizeof units / sizeof units[0]; u++) {
        size_t n = strlen(units[u]);

        if (s.n < n || memcmp(s.p, units[u], n) != 0)
            continue;
        if (n < s.n && s.p[n] == '/')
            for (n++; n < s.n && s.p[n] >= 'a' && s.p[n] <= 'z';)
                n++;
        if (n == s.n || strchr(" ,.;:)", s.p[n]))
            return n;
    }
    return 0;
}

static struct str from(struct str s, size_t n)
{
    return (struct str){s.p + n, s.n - n};
}

/* Length of "3.1 MiB/step", "2.12 / 0.71 GiB" or "5 of 5 seeds" at the front; 0 otherwise. */
static size_t strong(struct str s)
{
    size_t n = number(s);

    if (!n || n + 1 >= s.n || s.p[n] != ' ')
        return 0;
    size_t u = unit(from(s, n + 1));
    if (u)
        return n + 1 + u;
    if (str_starts(from(s, n + 1), STR_LIT("of "))) {
        size_t total = number(from(s, n + 4));
        size_t end = n + 4 + total;

        if (!total)
            return 0;
        if (end + 1 < s.n && s.p[end] == ' ' && (u = unit(from(s, end + 1))) > 0)
            return end + 1 + u;
        static const char *const nouns[] = {" seeds", " runs", " ranks"};
        for (size_t i = 0; i < 3; i++)
            if (str_starts(from(s, end), str_of(nouns[i])))
                return end + strlen(nouns[i]);
        return end;
    }
    return 0;
}

/* Length of a word of code at the front: "loss.item()", "train.py:212", "a_b=c", "--fail-on". */
static size_t code(struct str s)
{
    size_t n = 0;

    if (s.n == 0 || s.p[0] == '(')
        return 0;
    bool looks = str_starts(s, STR_LIT("--"));

    while (n < s.n && s.p[n] != ' ' && s.p[n] != '\n')
        n++;
    while (n && strchr(",.;:", s.p[n - 1]))
        n--;
    struct str word = {s.p, n};
    if (n && s.p[n - 1] == ')' && str_find(word, STR_LIT("(")) == (size_t)-1)
        word.n = --n;
    if (n < 3 || n > 120)
        return 0;
    for (size_t i = 0; i + 1 < n; i++)
        looks |= (word.p[i] == '(' && word.p[i + 1] == ')') || word.p[i] == '_' ||
                 (i > 0 && word.p[i] == ':' && ascii_digit(word.p[i + 1]) && !ascii_digit(word.p[i - 1]));
    return looks ? n : 0;
}

bool rich_next(struct str *part, enum rich_kind *kind, struct str *rest, bool word_begins)
{
    struct str s = *rest;

    if (s.n == 0)
        return false;
    for (size_t i = 0; i < s.n; i++, word_begins = strchr(" (\n", s.p[i - 1]) != NULL) {
        size_t n_strong = word_begins ? strong(from(s, i)) : 0;
        size_t n = n_strong ? n_strong : word_begins ? code(from(s, i)) : 0;

        if (!n)
            continue;
        *kind = i > 0 ? RICH_PLAIN : n_strong ? RICH_STRONG : RICH_CODE;
        *part = (struct str){s.p, i > 0 ? i : n};
        *rest = from(s, part->n);
        return true;
    }
    *kind = RICH_PLAIN;
    *part = s;
    *rest = (struct str){NULL, 0};
    return true;
}

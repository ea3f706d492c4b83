#include "normalise/text_prefix.h"
#include "normalise/stamp.h"
#include <math.h>

enum {
    LOOK = 160,         /* [B] of a line that its prefix may take */
    RANK_MAX = 1000000, /* larger numbers are process ids */
    PREFIXES_MAX = 8
};

/* Digits at i, up to a rank's size; NAN when there are none. *i moves behind them. */
static double number_at(struct str s, size_t *i)
{
    double v = 0;
    size_t k = *i;
    while (k < s.n && ascii_digit(s.p[k]) && v <= RANK_MAX)
        v = v * 10 + (s.p[k++] - '0');
    if (k == *i || v > RANK_MAX)
        return NAN;
    *i = k;
    return v;
}

/* "rank3", "Rank 3", "RANK:5", "rank=1", not within a word. */
static double named_rank(struct str s)
{
    for (size_t i = 0; i + 5 <= s.n; i++) {
        if (!str_eq_nocase((struct str){s.p + i, 4}, STR_LIT("rank")))
            continue;
        char before = i ? s.p[i - 1] : '[';
        size_t k = i + 4;
        if (before != '[' && before != '(' && before != ' ')
            continue;
        if (k < s.n && (s.p[k] == ' ' || s.p[k] == ':' || s.p[k] == '='))
            k++;
        double v = number_at(s, &k);
        if (!isnan(v) && k < s.n && (s.p[k] == ']' || s.p[k] == ')' || s.p[k] == ':' || s.p[k] == ' '))
            return v;
    }
    return NAN;
}

/* "6: " of srun, "[node:3]: " of torchrun and mpirun. */
static double launcher_rank(struct str s)
{
    size_t i = 0;
    if (s.n && ascii_digit(s.p[0])) {
        double v = number_at(s, &i);
        return i + 1 < s.n && s.p[i] == ':' && s.p[i + 1] == ' ' ? v : NAN;
    }
    if (!s.n || s.p[0] != '[')
        return NAN;
    while (i < s.n && s.p[i] != ']' && s.p[i] != ' ')
        i++;
    size_t end = i, k = i;
    while (k > 1 && ascii_digit(s.p[k - 1]))
        k--;
    if (end + 1 >= s.n || s.p[end] != ']' || s.p[end + 1] != ':' || k == end)
        return NAN;
    bool node = s.p[k - 1] == ':' && k > 2 && ascii_letter(s.p[1]);
    bool group = str_starts((struct str){s.p + 1, s.n - 1}, STR_LIT("default")) && k == 8;
    return node || group ? number_at(s, &k) : NAN;
}

static bool stamp_at(struct str s, size_t i)
{
    static const char shape[] = "dddd?dd?dd?dd:dd:dd";
    if (s.n - i < sizeof shape - 1)
        return false;
    for (size_t k = 0; k < sizeof shape - 1; k++) {
        char c = s.p[i + k], want = shape[k];
        if (want == 'd'   ? !ascii_digit(c)
            : want == ':' ? c != ':'
                          : c != '-' && c != '/' && c != ' ' && c != 'T')
            return false;
    }
    return true;
}

static double time_of(struct str s)
{
    char text[32];
    double v;
    for (size_t i = 0; i + 19 <= s.n; i++) {
        if (!ascii_digit(s.p[i]) || (i && ascii_digit(s.p[i - 1])) || !stamp_at(s, i))
            continue;
        size_t n = 19;
        if (i + n + 1 < s.n && (s.p[i + n] == ',' || s.p[i + n] == '.') && ascii_digit(s.p[i + n + 1]))
            for (n++; i + n < s.n && n < sizeof text && ascii_digit(s.p[i + n]);)
                n++;
        memcpy(text, s.p + i, n);
        if (n > 19)
            text[19] = '.';
        return stamp_parse((struct str){text, n}, &v) ? v : NAN;
    }
    return NAN;
}

void text_prefix_read(struct text_prefix *out, struct str line)
{
    struct str s = {line.p, line.n < LOOK ? line.n : LOOK};
    out->rank = named_rank(s);
    if (isnan(out->rank))
        out->rank = launcher_rank(s);
    out->time = time_of(s);
}

/* Length of one prefix at the front: "[…]", "[…]:", "name-1: ". 0: none. */
static size_t prefix_length(struct str s)
{
    size_t i = 0;
    if (s.n && s.p[0] == '[') {
        while (i < s.n && i < 60 && s.p[i] != ']')
            i++;
        if (i == s.n || s.p[i] != ']')
            return 0;
        i++;
        return i < s.n && s.p[i] == ':' ? i + 1 : i;
    }
    bool digit = false;
    while (i < s.n && i < 40 &&
           (ascii_letter(s.p[i]) || ascii_digit(s.p[i]) || s.p[i] == '-' || s.p[i] == '.'))
        digit |= ascii_digit(s.p[i++]);
    return digit && i + 1 < s.n && s.p[i] == ':' && s.p[i + 1] == ' ' ? i + 1 : 0;
}

struct str text_prefix_skip(struct str line)
{
    line = str_trim(line);
    for (int k = 0; k < PREFIXES_MAX; k++) {
        size_t n = prefix_length(line);
        if (n == 0 || n >= line.n)
            break;
        line = str_trim((struct str){line.p + n, line.n - n});
    }
    return line;
}

#include "normalise/stamp.h"
#include <stdint.h>

/* What is left to read; every step moves p on, or fails for good. */
struct scan {
    const char *p, *end;
    bool ok;
};

static int64_t scan_digits(struct scan *s, int least, int most)
{
    int64_t v = 0;
    int n = 0;
    while (n < most && s->p < s->end && *s->p >= '0' && *s->p <= '9') {
        v = v * 10 + (*s->p++ - '0');
        n++;
    }
    if (n < least)
        s->ok = false;
    return v;
}

static bool scan_char(struct scan *s, const char *set)
{
    if (s->p < s->end && *s->p && strchr(set, *s->p)) {
        s->p++;
        return true;
    }
    return false;
}

static void scan_need(struct scan *s, const char *set)
{
    if (!scan_char(s, set))
        s->ok = false;
}

/* Up to six decimals as whole units of 1 / *scale second; further ones are dropped. */
static int64_t scan_fraction(struct scan *s, int64_t *scale)
{
    int64_t v = 0;
    *scale = 1;
    if (!scan_char(s, ".,"))
        return 0;
    while (s->p < s->end && *s->p >= '0' && *s->p <= '9') {
        if (*scale < 1000000) {
            v = v * 10 + (*s->p - '0');
            *scale *= 10;
        }
        s->p++;
    }
    return v;
}

/* One rounding only, so that the text of the double is the text of the stamp. */
static double seconds_of(int64_t whole, int64_t fraction, int64_t scale)
{
    return (double)(whole * scale + fraction) / (double)scale;
}

/* Days since 1970-01-01 of a Gregorian date (Howard Hinnant's days_from_civil). */
static int64_t days_from_civil(int64_t y, int64_t m, int64_t d)
{
    y -= m <= 2;
    int64_t era = (y >= 0 ? y : y - 399) / 400;
    int64_t yoe = y - era * 400;
    int64_t doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
    int64_t doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
    return era * 146097 + doe - 719468;
}

static int64_t scan_zone(struct scan *s)
{
    scan_char(s, " ");
    if (scan_char(s, "Zz"))
        return 0;
    int64_t sign = 0;
    if (scan_char(s, "+"))
        sign = 1;
    else if (scan_char(s, "-"))
        sign = -1;
    else
        return 0;
    int64_t h = scan_digits(s, 2, 2);
    scan_char(s, ":");
    int64_t m = s->p < s->end ? scan_digits(s, 2, 2) : 0;
    return sign * (h * 3600 + m * 60);
}

static bool parse_date(struct str text, double *seconds)
{
    struct scan s = {text.p, text.p + text.n, true};
    int64_t y = scan_digits(&s, 4, 4);
    scan_need(&s, "-/");
    int64_t mo = scan_digits(&s, 1, 2);
    scan_need(&s, "-/");
    int64_t d = scan_digits(&s, 1, 2);
    scan_need(&s, "Tt _");
    int64_t h = scan_digits(&s, 1, 2);
    scan_need(&s, ":");
    int64_t mi = scan_digits(&s, 2, 2);
    int64_t sec = scan_char(&s, ":") ? scan_digits(&s, 2, 2) : 0;
    int64_t scale, fraction = scan_fraction(&s, &scale);
    int64_t zone = scan_zone(&s);
    if (!s.ok || s.p != s.end || mo < 1 || mo > 12 || d < 1 || d > 31 || h > 24 || mi > 59 || sec > 60)
        return false;
    *seconds =
        seconds_of(days_from_civil(y, mo, d) * 86400 + h * 3600 + mi * 60 + sec - zone, fraction, scale);
    return true;
}

static bool parse_duration(struct str text, double *seconds)
{
    size_t at = str_find(text, STR_LIT("day"));
    struct scan s = {text.p, text.p + text.n, true};
    int64_t days = 0;
    if (at != (size_t)-1) {
        days = scan_digits(&s, 1, 6);
        scan_need(&s, " ");
        if (s.p != text.p + at)
            return false;
        s.p += 3;
        scan_char(&s, "s");
        scan_char(&s, ",");
        scan_char(&s, " ");
    }
    int64_t h = scan_digits(&s, 1, 6);
    scan_need(&s, ":");
    int64_t m = scan_digits(&s, 2, 2);
    scan_need(&s, ":");
    int64_t sec = scan_digits(&s, 2, 2);
    int64_t scale, fraction = scan_fraction(&s, &scale);
    if (!s.ok || s.p != s.end || m > 59 || sec > 59)
        return false;
    *seconds = seconds_of(days * 86400 + h * 3600 + m * 60 + sec, fraction, scale);
    return true;
}

bool stamp_parse(struct str text, double *seconds)
{
    text = str_trim(text);
    return parse_date(text, seconds) || parse_duration(text, seconds);
}

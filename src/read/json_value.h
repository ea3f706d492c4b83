/* json_value: values within a JSON text, validated and passed over; inline where it is the readers' hot path.
 *
 * Internal to the JSON readers; json_scan.h says what is accepted. */
#ifndef OOMREPORT_READ_JSON_VALUE_H
#define OOMREPORT_READ_JSON_VALUE_H

#include "base/num_scan.h"
#include "read/json_scan.h"
#if defined(__SSE2__) && !defined(OOMREPORT_SCALAR)
#include <emmintrin.h>
#endif

/* Behind a value that stands `depth` levels deep, or NULL with t->what. */
const char *json_skip_below(struct json_text *t, const char *p, unsigned depth);
/* Behind that word, or NULL with t->what. */
const char *json_word(struct json_text *t, const char *p, const char *word);

static inline const char *json_blanks(const struct json_text *t, const char *p)
{
    while (p < t->end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'))
        p++;
    return p;
}

/* The first byte from p on that is a quote, a backslash, a control character or not ASCII. */
static inline const char *json_special(const char *p)
{
#if defined(__SSE2__) && !defined(OOMREPORT_SCALAR)
    /* stops within the pad at the latest; signed: bytes from 0x80 are below 0x20 too */
    for (;; p += 16) {
        __m128i b = _mm_loadu_si128((const __m128i *)(const void *)p);
        __m128i hit = _mm_or_si128(
            _mm_cmpeq_epi8(b, _mm_set1_epi8('"')),
            _mm_or_si128(_mm_cmpeq_epi8(b, _mm_set1_epi8('\\')), _mm_cmplt_epi8(b, _mm_set1_epi8(0x20))));
        unsigned mask = (unsigned)_mm_movemask_epi8(hit);
        if (mask)
            return p + __builtin_ctz(mask);
    }
#else
    while (*p != '"' && *p != '\\' && (unsigned char)*p >= 0x20 && (unsigned char)*p < 0x80)
        p++;
    return p;
#endif
}

static inline bool json_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline const char *json_number(struct json_text *t, const char *p)
{
    if (*p == '-')
        p++;
    if (!json_is_digit(*p)) {
        if (*p == 'I')
            return json_word(t, p, "Infinity");
        return json_fail(t, p, "expected a digit");
    }
    if (*p++ != '0')
        p = num_skip_digits(p);
    if (*p == '.') {
        if (!json_is_digit(*++p))
            return json_fail(t, p, "expected a digit after the decimal point");
        p = num_skip_digits(p);
    }
    if (*p == 'e' || *p == 'E') {
        p++;
        if (*p == '+' || *p == '-')
            p++;
        if (!json_is_digit(*p))
            return json_fail(t, p, "expected a digit in the exponent");
        p = num_skip_digits(p);
    }
    return p;
}

/* A value that is no list and no object. */
static inline const char *json_scalar(struct json_text *t, const char *p, bool *escaped)
{
    *escaped = false;
    if (*p == '"')
        return json_skip_string(t, p, escaped);
    if (json_is_digit(*p) || *p == '-')
        return json_number(t, p);
    switch (*p) {
    case 't':
        return json_word(t, p, "true");
    case 'f':
        return json_word(t, p, "false");
    case 'N':
        return json_word(t, p, "NaN");
    case 'I':
        return json_word(t, p, "Infinity");
    default:
        return json_word(t, p, "null");
    }
}

/* A list of strings and whole numbers without escapes and beyond ASCII, as batch ids are logged. Behind it,
 * or NULL when it is not as simple as that: then it is for skip_below. p is behind '['. */
static inline const char *json_plain_list(const struct json_text *t, const char *p)
{
    for (;;) {
        if (*p == '"') {
            p = json_special(p + 1);
            if (*p != '"')
                return NULL;
            if (memcmp(p, "\",\"", 3) == 0) { /* the usual way on; compilers make one comparison of it */
                p += 2;
                continue;
            }
            p++;
        } else {
            const char *start = p;
            p = num_skip_digits(p);
            if (p == start || *start == '0')
                return NULL;
        }
        if (*p == ']')
            return p < t->end ? p + 1 : NULL;
        if (*p != ',' || p >= t->end)
            return NULL;
        p++;
        p += *p == ' ';
    }
}

#endif

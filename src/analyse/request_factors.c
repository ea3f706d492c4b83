#include "analyse/request_factors.h"

#include <math.h>
#include <stddef.h>

/* Vocabularies of usual tokenisers, and sizes they are padded to. */
static const double vocabularies[] = {30522,  30528,  32000,  32064,  32100,  32128,  50257,  50265,  50272,
                                      50304,  50368,  51200,  65024,  100277, 100352, 128256, 129280, 151643,
                                      151936, 152064, 250002, 250112, 250880, 256000, 256128, 262144};
static const double heads[] = {6, 8, 12, 16, 20, 24, 25, 32, 40, 48, 56, 64, 96, 128};

/* Relative error: of a size printed with two decimals in its unit half of the last; else it is exact, but for
 * rounding up to 512 bytes. */
static double rounding(double bytes)
{
    double unit = bytes >= 0x1p30 ? 0x1p30 : 0x1p20, printed = round(bytes / unit * 100) / 100 * unit;
    return (fabs(bytes - printed) <= 1 ? 0.005 * unit : 512) / bytes;
}

/* How many of the factors make up the request; the last that does in *hit. */
static size_t matches(double *hit, double *width, double requested, double rest, const double *factors,
                      size_t n)
{
    size_t found = 0;
    for (double bytes = 2; bytes <= 4; bytes += 2)
        for (size_t i = 0; i < n; i++)
            if (fabs(rest * factors[i] * bytes / requested - 1) <= rounding(requested)) {
                *hit = factors[i];
                *width = bytes;
                found++;
            }
    return found;
}

const char *request_factors(struct arena *a, double requested, double batch, double len)
{
    double word = 0, head = 0, word_width = 0, head_width = 0;
    if (!(requested >= 0x1p26) || !(batch >= 1) || !(len >= 16) || rounding(requested) > 0.001)
        return NULL; /* small or coarse figures match anything */
    size_t logits = matches(&word, &word_width, requested, batch * len, vocabularies,
                            sizeof vocabularies / sizeof *vocabularies);
    size_t scores =
        matches(&head, &head_width, requested, batch * len * len, heads, sizeof heads / sizeof *heads);
    if (logits == 0 && scores == 2 && head_width == 4)
        return arena_printf(
            a,
            "%.0f x %.0f x %.0f x %.0f bytes: batch x length x length x heads (%.0f of 2 bytes or %.0f "
            "of 4), as attention scores are that are stored",
            batch, len, len, 4 * head, 2 * head, head);
    if (logits + scores != 1)
        return NULL;
    return logits
               ? arena_printf(a,
                              "%.0f x %.0f x %.0f x %.0f bytes: batch x length x a vocabulary of %.0f, as "
                              "logits are",
                              batch, len, word, word_width, word)
               : arena_printf(a,
                              "%.0f x %.0f x %.0f x %.0f x %.0f bytes: batch x heads x length x length, as "
                              "attention scores are that are stored",
                              batch, head, len, len, head_width);
}

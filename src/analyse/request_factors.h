/* request_factors: a giant request as the product that it is.
 *
 * One allocation of a known size is often one tensor: the logits (batch x len x vocabulary) or the scores of
 * an attention that stores them (batch x heads x len x len), of 4 or 2 bytes. With the failing batch's shape
 * known the missing factor must be a whole number that is usual there; anything else is a guess and is not
 * said. May not know of causes. */
#ifndef OOMREPORT_ANALYSE_REQUEST_FACTORS_H
#define OOMREPORT_ANALYSE_REQUEST_FACTORS_H

#include "base/arena.h"

/* "8 x 4096 x 32000 x 4 bytes: batch x length x a vocabulary of 32000, as logits are", in the arena. NULL
 * when no product, or more than one, is within what a message with two decimals rounds away. */
const char *request_factors(struct arena *a, double requested, double batch, double len);

#endif

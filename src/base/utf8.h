/* utf8: bytes that claim to be UTF-8, one character at a time. Knows nothing of what they say. */
#ifndef OOMREPORT_BASE_UTF8_H
#define OOMREPORT_BASE_UTF8_H

#include "base/buf.h"
#include "base/str.h"
#include <stdint.h>

/* Length [B] of the valid character at the front of s (1..4) with its code point, or 0 when the
 * first byte begins none (also overlong forms, surrogates, beyond U+10FFFF); s must not be empty. */
size_t utf8_next(uint32_t *code, struct str s);
bool utf8_valid(struct str s);
/* Appends a code point below 0x110000; a surrogate becomes U+FFFD. */
void utf8_put(struct buf *b, uint32_t code);
/* True for characters that are invisible or that hide or reorder the text around them: controls, soft hyphen,
 * zero-width and bidirectional ones, tags, non-characters. */
bool utf8_unsafe(uint32_t code);
/* Appends s fit for a terminal, a log and one line: unsafe characters and bytes that are no UTF-8 as \xNN. */
void utf8_put_visible(struct buf *b, struct str s);

#endif

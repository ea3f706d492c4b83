/* id_list: a JSON list of sample ids -> the ids in CSV form, as batch_ids is held: joined by ';', with '\;'
 * and
 * '\\' inside an id. Internal to this layer. */
#ifndef OOMREPORT_NORMALISE_ID_LIST_H
#define OOMREPORT_NORMALISE_ID_LIST_H

#include "base/buf.h"

/* Any list of texts and numbers, in place of what b holds; nested lists are flattened. 16 bytes behind the
 * list may be read. */
void id_list_put(struct buf *b, struct str list);
/* ["a","b"] or [1,2] as loggers write it, without escapes and nested lists, in one go and appended to b;
 * false, and nothing added, when it is not like that. */
bool id_list_plain(struct buf *b, struct str list);

#endif

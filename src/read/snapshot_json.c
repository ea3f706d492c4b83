#include "read/snapshot_forms.h"

bool snapshot_is_json(struct str head)
{
    (void)head;
    return false;
}

bool snapshot_json(struct source *s, struct snap_build *b, struct diag *d)
{
    (void)s;
    (void)b;
    (void)d;
    return false;
}

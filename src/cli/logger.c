#include "cli/logger.h"

#include "base/arena.h"
#include "base/embed.h"

void logger_print(struct buf *out, const char *name)
{
    struct arena a = {0};
    buf_str(out, embed_find("templates/logger_core.py"));
    buf_str(out, embed_find(arena_printf(&a, "templates/logger_%s.py", name)));
    arena_release(&a);
}

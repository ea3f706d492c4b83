#include "base/embed.h"

struct str embed_find(const char *name)
{
    size_t lo = 0, hi = embed_count;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int c = strcmp(embed_table[mid].name, name);
        if (c == 0)
            return embed_table[mid].bytes;
        if (c < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return (struct str){NULL, 0};
}

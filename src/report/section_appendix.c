#include "report/page.h"

#include <math.h>

/* With many ranks the first screens say which is out of line; what follows is of one of them. */

bool section_appendix(struct page *p, struct tnode *root)
{
    struct arena *a = &p->arena;

    if (p->analysis->n_ranks < 2 || !p->lead || isnan(p->lead->rank))
        return false;
    tnode_text(a, root, "rank", words_number(a, p->lead->rank));
    tnode_printf(a, root, "total", "%zu", p->analysis->n_ranks);
    return true;
}

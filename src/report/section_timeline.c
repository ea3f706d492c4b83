#include "report/page.h"

bool section_timeline(struct page *p, struct tnode *root)
{
    if (page_figure(p, root, "figure", "timeline", "why", "Numbers as a table"))
        return true;
    page_not_tested(p, "Memory over time", "too few rows with a memory figure to draw.");
    return false;
}

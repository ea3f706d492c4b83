#include "draw/site_words.h"
#include "model/trace.h"

enum {
    SWATCH = 9 /* [px] */
};

struct fill_ink site_ink(size_t i, bool blamed)
{
    static const struct fill_ink inks[] = {{INK_ALLOCATED, .85}, {INK_EVAL, .55},      {INK_RESERVED, .80},
                                           {INK_OTHER, .50},     {INK_ALLOCATED, .40}, {INK_EVAL, .85},
                                           {INK_RESERVED, .40},  {INK_OTHER, .80}};
    return blamed ? (struct fill_ink){INK_PEAK, .95} : inks[i % (sizeof inks / sizeof *inks)];
}

const char *site_short(const char *site)
{
    if (!site)
        return "blocks without a stack";
    if (strncmp(site, "??:0 ", 5) == 0) /* C++ without its source */
        return site + 5;
    const char *colon = strrchr(site, ':'), *from = site;
    for (const char *p = site; p < colon; p++)
        if (*p == '/' || *p == '\\')
            from = p + 1;
    return from;
}

uint32_t site_blamed(const struct run_report *r)
{
    return r->has_blame ? r->blame.frame : TRACE_NONE;
}

void site_swatch(struct canvas *c, double x, double y, struct fill_ink ink)
{
    canvas_rect(c, x, y - SWATCH / 2.0, x + SWATCH, y + SWATCH / 2.0, ink.ink, ink.alpha);
}

const struct trace_device *site_trace(const struct run_report *r)
{
    const struct series *s = r ? r->series : NULL;
    return r && r->has_snapshot && s && s->trace && s->trace_device < s->trace->n_devices
               ? s->trace->devices[s->trace_device]
               : NULL;
}

/* --help and --version, made from options.def. */
#include "cli/options.h"

static const char intro[] =
    "oomreport: why did training run out of GPU memory? Reads step logs, writes a report.\n"
    "  oomreport run1.jsonl run2.jsonl -o report/     a report in report/index.html\n"
    "  oomreport logs/ --capacity 79.2GiB             every log in a directory\n"
    "  oomreport --stdout txt train.log               the verdict as text, no directory\n"
    "\n"
    "usage: oomreport [OPTION]... FILE|DIR|-...\n";

static const char outro[] =
    "\nExit status: 0 report written (also when an OOM was found), 1 a gate failed, 2 usage or nothing to\n"
    "report, 3 --strict and an input was skipped, 70 internal error, 130/143 interrupted.\n";

static void put_option(struct buf *out, const char *name, int letter, const char *arg, const char *help)
{
    struct buf left = {0};
    if (letter)
        buf_printf(&left, "-%c, ", letter);
    else
        buf_puts(&left, "    ");
    buf_printf(&left, "--%s%s%s", name, arg ? " " : "", arg ? arg : "");
    buf_printf(out, "  %-26s %s\n", left.p, help);
    buf_release(&left);
}

void options_help(struct buf *out)
{
    buf_puts(out, intro);
#define GROUP(title) buf_puts(out, title ":\n");
#define OPTION(id, name, letter, arg, help) put_option(out, name, letter, arg, help);
#include "cli/options.def"
#undef OPTION
#undef GROUP
    buf_puts(out, outro);
}

void options_version(struct buf *out)
{
    buf_puts(out,
             "oomreport " OOMREPORT_VERSION "\n"
             "Licence: MIT. No warranty.\n"
             "Built-in font: DejaVu Sans. Fonts are (c) Bitstream; DejaVu changes are in public domain.\n"
             "Bitstream Vera is a trademark of Bitstream, Inc. The font's full licence stands in the file\n"
             "LICENSE of the source and at https://dejavu-fonts.github.io/License.html.\n");
}

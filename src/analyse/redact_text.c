#include "analyse/redact_text.h"

#include "base/buf.h"

#include <ctype.h>

static bool separates(char c)
{
    return c == '/' || c == '\\';
}

/* What may stand before a path in a text, or behind it. */
static bool delimits(char c)
{
    return isspace((unsigned char)c) || c == '\0' || (c != '\0' && strchr("\"'`()[]{}<>,;|=", c));
}

static bool drive(struct str s)
{
    return s.n > 2 && isalpha((unsigned char)s.p[0]) && s.p[1] == ':' && separates(s.p[2]);
}

/* Of "~/" and "~name/" the length; 0 where s begins otherwise. */
static size_t tilde(struct str s)
{
    size_t n = 1;
    if (s.n < 2 || s.p[0] != '~' || isdigit((unsigned char)s.p[1]))
        return 0;
    while (n < s.n && !separates(s.p[n]) && !delimits(s.p[n]))
        n++;
    return n < s.n && separates(s.p[n]) ? n + 1 : 0;
}

/* \\x1b is no path: of backslashes two are needed. */
static bool absolute(struct str s)
{
    return drive(s) || tilde(s) > 0 || (s.n > 1 && s.p[0] == '/' && !isspace((unsigned char)s.p[1])) ||
           (s.n > 2 && s.p[0] == '\\' && s.p[1] == '\\');
}

/* Length of the name at the front, up to a separator or the path's end. Names of Windows may hold
 * blanks where a backslash follows. */
static size_t name_length(struct str s, bool backslashes)
{
    size_t n = 0, blank = 0;
    while (n < s.n && !separates(s.p[n]) && s.p[n] != ':') {
        if (s.p[n] == ' ' && backslashes)
            blank = blank ? blank : n;
        else if (delimits(s.p[n]))
            break;
        n++;
    }
    return blank && (n == s.n || s.p[n] != '\\') ? blank : n;
}

static bool holds_homes(struct str name)
{
    return str_eq_nocase(name, STR_LIT("home")) || str_eq_nocase(name, STR_LIT("users")) ||
           str_is(name, "Documents and Settings");
}

size_t redact_home(struct str s)
{
    if (!absolute(s))
        return 0;
    bool backslashes = drive(s) || s.p[0] == '\\', first = true;
    size_t at = drive(s) ? 2 : 0, found = 0;
    if (tilde(s))
        return tilde(s);
    while (at < s.n && separates(s.p[at])) {
        while (at < s.n && separates(s.p[at]))
            at++;
        struct str name = {s.p + at, name_length((struct str){s.p + at, s.n - at}, backslashes)};
        at += name.n;
        bool whole = first && str_is(name, "root");
        if (holds_homes(name)) {
            size_t user = at;
            while (user < s.n && separates(s.p[user]))
                user++;
            size_t n = name_length((struct str){s.p + user, s.n - user}, backslashes);
            if (user > at && n > 0) {
                at = user + n;
                whole = true;
            }
        }
        first = false;
        if (whole && !found) {
            found = at;
            while (found < s.n && separates(s.p[found]))
                found++;
        }
    }
    return found;
}

/* Length of the path at the front. */
static size_t path_length(struct str s)
{
    bool backslashes = drive(s) || s.p[0] == '\\';
    size_t at = drive(s) ? 2 : 0;
    while (at < s.n && (separates(s.p[at]) || !delimits(s.p[at])) && s.p[at] != ':') {
        while (at < s.n && separates(s.p[at]))
            at++;
        size_t n = name_length((struct str){s.p + at, s.n - at}, backslashes);
        if (n == 0)
            break;
        at += n;
    }
    return at;
}

/* Up to and with the folder that holds installed packages. */
static size_t package_folder(struct str path)
{
    static const char *const folders[] = {"site-packages", "dist-packages"};
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        size_t at = str_find(path, str_of(folders[i])), end = at + strlen(folders[i]);
        if (at != (size_t)-1 && end + 1 < path.n && separates(path.p[end]))
            return end + 1;
    }
    return 0;
}

static size_t last_name(struct str path)
{
    size_t at = path.n;
    while (at > 0 && !separates(path.p[at - 1]))
        at--;
    return at;
}

static size_t cut_of(struct str path, const struct redact_rules *rules)
{
    if (rules->bare)
        return last_name(path);
    size_t package = package_folder(path);
    if (package)
        return package;
    if (rules->folder.n && str_starts(path, rules->folder) && path.n > rules->folder.n)
        return rules->folder.n;
    return redact_home(path);
}

/* An absolute path begins here, or one in the folder of the user's files. */
static bool begins(struct str s, char before, const struct redact_rules *rules)
{
    if (!delimits(before) && before != ':' && before != '@')
        return false;
    if (before == ':' && s.n > 2 && s.p[0] == '/' && s.p[1] == '/')
        return s.p[2] == '/'; /* file:///home, and no other address */
    return absolute(s) || (rules->folder.n && str_starts(s, rules->folder));
}

const char *redact_text(struct arena *a, const char *text, const struct redact_rules *rules)
{
    struct buf out = {0};
    struct str s = str_of(text);
    size_t kept = 0; /* bytes of s that are in out, or left out */
    if (!text || (!strpbrk(text, "/\\") && rules->folder.n == 0))
        return text;
    for (size_t i = 0; i < s.n;) {
        struct str rest = {s.p + i, s.n - i};
        if (!begins(rest, i ? s.p[i - 1] : '\0', rules)) {
            i++;
            continue;
        }
        struct str path = {rest.p, path_length(rest)};
        size_t cut = cut_of(path, rules);
        if (cut > 0) {
            buf_put(&out, s.p + kept, i - kept);
            if (cut >= path.n)
                buf_putc(&out, '~');
            kept = i + cut;
        }
        i += path.n ? path.n : 1;
    }
    if (kept == 0 && out.n == 0) {
        buf_release(&out);
        return text;
    }
    buf_put(&out, s.p + kept, s.n - kept);
    const char *result = arena_strndup(a, out.p ? out.p : "", out.n);
    buf_release(&out);
    return result;
}

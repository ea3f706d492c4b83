# completions.awk: completions for a shell from the options table, at build time.
#   awk -v shell=bash|zsh|fish -v formats="a b" -f completions.awk options.def glossary.def
# An ARG of lower-case words with | between them lists its values; FILE and DIR are paths.

# The n-th "string" of a line.
function text(line, n,   i, parts) {
    gsub(/\\"/, "\001", line)
    split(line, parts, "\"")
    gsub(/\001/, "\"", parts[2 * n])
    return parts[2 * n]
}

FILENAME ~ /glossary/ {
    if (/^CAUSE\(/)
        classes = classes " " text($0, 1)
    else if (/^SUBTYPE\(/)
        classes = classes " " text($0, 1) "/" text($0, 2)
    next
}

/^OPTION\(/ {
    n++
    name[n] = text($0, 1)
    letter[n] = match($0, /'[a-z]'/) ? substr($0, RSTART + 1, 1) : ""
    if ($0 ~ /, NULL, "/) {
        arg[n] = ""
        help[n] = text($0, 2)
    } else {
        arg[n] = text($0, 2)
        help[n] = text($0, 3)
    }
}

# The values of option i, blanks between them.
function values(i,   v) {
    if (name[i] == "explain")
        return substr(classes, 2)
    if (name[i] == "show-format")
        return formats
    v = arg[i]
    gsub(/(FILE|DIR|NAME)\|?/, "", v)
    if (name[i] == "format")
        return formats
    if (v !~ /^[a-z|]+$/)
        return ""
    gsub(/\|/, " ", v)
    return v
}

function bash(   i, v) {
    print "# bash completion of oomreport, made from its table of options"
    print "_oomreport() {"
    print "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}"
    print "    if [[ $cur == = ]]; then cur=; elif [[ $prev == = ]]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi"
    print "    COMPREPLY=()"
    print "    case $prev in"
    for (i = 1; i <= n; i++) {
        if (arg[i] == "")
            continue
        v = values(i)
        printf "    --%s%s) ", name[i], (letter[i] ? "|-" letter[i] : "")
        if (v != "" && arg[i] ~ /FILE/)
            printf "mapfile -t COMPREPLY < <(compgen -W '%s' -- \"$cur\"; compgen -f -- \"$cur\"); return ;;\n", v
        else if (v != "")
            printf "mapfile -t COMPREPLY < <(compgen -W '%s' -- \"$cur\"); return ;;\n", v
        else if (arg[i] ~ /FILE/)
            print "mapfile -t COMPREPLY < <(compgen -f -- \"$cur\"); return ;;"
        else if (arg[i] ~ /DIR/)
            print "mapfile -t COMPREPLY < <(compgen -d -- \"$cur\"); return ;;"
        else
            print "return ;;"
    }
    print "    esac"
    print "    if [[ $cur == -* ]]; then"
    printf "        mapfile -t COMPREPLY < <(compgen -W '"
    for (i = 1; i <= n; i++)
        printf "%s--%s%s", (i > 1 ? " " : ""), name[i], (letter[i] ? " -" letter[i] : "")
    print "' -- \"$cur\")"
    print "    else"
    print "        mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")"
    print "    fi"
    print "}"
    print "complete -o filenames -F _oomreport oomreport"
}

function zsh_word(s) {
    gsub(/'/, "'\\''", s)
    gsub(/\[/, "\\[", s)
    gsub(/\]/, "\\]", s)
    gsub(/:/, "\\:", s)
    return s
}

function zsh(   i, v, what) {
    print "#compdef oomreport"
    print "# zsh completion of oomreport, made from its table of options"
    print "_arguments -s \\"
    for (i = 1; i <= n; i++) {
        v = values(i)
        what = ""
        if (arg[i] != "") {
            what = ":" zsh_word(arg[i]) ":"
            if (v != "" && arg[i] ~ /FILE/)
                what = what "{compadd -- " v "; _files}"
            else if (v != "")
                what = what "(" v ")"
            else if (arg[i] ~ /FILE/)
                what = what "_files"
            else if (arg[i] ~ /DIR/)
                what = what "_files -/"
            else
                what = what " "
        }
        if (letter[i])
            printf "    '-%s[%s]%s' \\\n", letter[i], zsh_word(help[i]), what
        printf "    '%s--%s%s[%s]%s' \\\n", (help[i] ~ /may be repeated/ ? "*" : ""), name[i],
               (arg[i] != "" ? "=" : ""), zsh_word(help[i]), what
    }
    print "    '*:input:_files'"
}

function fish(   i, v, h) {
    print "# fish completion of oomreport, made from its table of options"
    for (i = 1; i <= n; i++) {
        v = values(i)
        h = help[i]
        gsub(/\\/, "\\\\", h)
        gsub(/'/, "\\'", h)
        printf "complete -c oomreport -l %s%s", name[i], (letter[i] ? " -s " letter[i] : "")
        if (arg[i] != "") {
            printf " -r%s", (arg[i] ~ /FILE/ ? "" : " -f")
            if (v != "")
                printf " -a '%s'", v
            else if (arg[i] ~ /DIR/)
                printf " -a '(__fish_complete_directories)'"
        }
        printf " -d '%s'\n", h
    }
}

END {
    if (n == 0)
        exit 1
    if (shell == "bash")
        bash()
    else if (shell == "zsh")
        zsh()
    else
        fish()
}

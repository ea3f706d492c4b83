#!/bin/bash
# lint.sh: the conventions that a compiler does not check. Prints each breach;
# exit status 1 when there is one. Long files are named but are no breach.
set -u
LC_ALL=C
export LC_ALL
bad=0
say() {
    echo "lint: $*"
    bad=1
}
sources=$(find src tests -name '*.[ch]' | sort)
product=$(find src -name '*.[ch]' | sort)

# A file includes its own layer and layers to its left.
rank_of() {
    local i=0 l
    for l in $LAYERS; do
        [ "$l" != "$1" ] || { echo $i && return; }
        i=$((i + 1))
    done
    echo 99
}
for f in $product; do
    layer=$(echo "$f" | cut -d/ -f2)
    mine=$(rank_of "$layer")
    while IFS=: read -r line header; do
        other=${header%%/*}
        theirs=$(rank_of "$other")
        if [ "$theirs" -eq 99 ]; then
            say "$f:$line: \"$header\" is no header of a layer"
        elif [ "$theirs" -gt "$mine" ]; then
            say "$f:$line: layer $layer may not include layer $other ($header)"
        fi
    done < <(grep -nE '^ *# *include +"' "$f" | sed -E 's/^([0-9]+): *# *include +"([^"]*)".*/\1:\2/')
done

# A third-party header has one home.
home() { # HEADER-REGEX FILE-REGEX
    local found
    found=$(grep -lE "^ *# *include +[<\"]($1)[>\"]" $product | grep -vE "^src/($2)$")
    [ -z "$found" ] || say "$1 is included outside its home: "$found
}
home 'csv\.h' 'read/read_csv\.c'
home 'pcre2\.h' 'read/text_match\.c'
home 'cairo[a-z-]*\.h|ft2build\.h' 'draw/canvas_cairo\.c'
home 'png\.h' 'draw/png\.c'
home 'zlib\.h' '(read/bytes|draw/png)\.c'
home '(cjson/)?cJSON\.h' '(read|normalise|report)/[a-z_]*json[a-z_]*\.[ch]|normalise/mapping[a-z_]*\.[ch]'

# Headers compile alone, and open with what they are for.
work=$BUILD/lint
mkdir -p "$work"
for f in $(find src -name '*.h' | sort); do
    ${CC:-cc} -std=c11 -D_POSIX_C_SOURCE=200809L -Isrc "@$BUILD/pkg.cflags" -Wall -Wextra -Werror -fsyntax-only -x c "$f" \
        2>"$work/header.log" || {
        say "$f does not compile alone"
        head -n 5 "$work/header.log"
    }
    head -c 2 "$f" | grep -q '^/\*' || say "$f does not open with what it is for"
done

for f in $sources; do
    n=$(wc -l <"$f")
    [ "$n" -le 500 ] || echo "lint: note: $f has $n lines"
done

found=$(git ls-files 2>/dev/null || find . -type f ! -path './build*')
found=$(echo "$found" | grep -vE '^tests/tools/lint\.sh$|\.png$|^tests/fuzz/corpus/')
for word in 'TODO' 'FIXME' 'XXX'; do
    hits=$(echo "$found" | xargs -d '\n' grep -nw "$word" 2>/dev/null | head -n 5)
    [ -z "$hits" ] || say "unfinished: $hits"
done
# Paths of somebody's machine.
hits=$(echo "$found" | xargs -d '\n' grep -nE '(^|[^A-Za-z0-9._-])/(work|root|home/[a-z]+)/[a-z]' 2>/dev/null |
    grep -vE '^(fixtures|formats|tests)/[^:]*:[0-9]+:.*/(home|root)/' | head -n 5)
[ -z "$hits" ] || say "a path of somebody's machine: $hits"

if command -v clang-format >/dev/null; then
    clang-format --dry-run -Werror $sources 2>"$work/format.log" || {
        say "layout: run make format"
        grep error "$work/format.log" | head -n 10
    }
else
    say "clang-format is missing: make deps lint"
fi
if command -v cppcheck >/dev/null; then
    cppcheck --quiet --std=c11 --enable=warning,portability --inline-suppr --suppress=missingInclude \
        --suppress=missingIncludeSystem --suppress=unknownEvaluationOrder --suppress=uninitvar --suppress=legacyUninitvar \
        --suppress=integerOverflowCond --error-exitcode=1 -D_POSIX_C_SOURCE=200809L -DOOMREPORT_VERSION='"0"' -Isrc \
        -j "$(nproc)" src 2>"$work/cppcheck.log" || {
        say "cppcheck"
        head -n 20 "$work/cppcheck.log"
    }
fi

# The manual knows every diagnostic and every option; no page has a fault.
for name in $(sed -nE 's/^DIAG\([A-Z_0-9]+, "([a-z-]+)".*/\1/p' src/base/diag.def); do
    grep -qE "^\.It (Sy )?$name\$" src/oomreport.1 || say "oomreport.1 lacks diagnostic $name"
done
for name in $(sed -nE 's/^OPTION\([A-Z_0-9]+, "([a-z-]+)".*/\1/p' src/cli/options.def); do
    grep -qE "Fl -$name( |\$)" src/oomreport.1 || say "oomreport.1 lacks option --$name"
done
for page in src/oomreport.1 src/oomreport-formats.5; do
    if command -v mandoc >/dev/null; then
        mandoc -Tlint -W warning "$page" || say "$page: mandoc"
    else
        groff -mandoc -Tutf8 -ww -z "$page" 2>&1 | grep . && say "$page: groff"
    fi
done

# The README's map is true: what it names is there, and every folder of src is named.
map=$(sed -n '/^## Map of the tree/,/^## /p' README.md | sed -n '/^```/,/^```/p' | grep -v '^```')
[ -n "$map" ] || say "README.md has no map of the tree"
while read -r path _; do
    [ -e "$path" ] || say "README.md: the map names $path, which is not there"
done < <(echo "$map" | grep -v '^ ' | grep .)
for l in $LAYERS; do
    echo "$map" | grep -q "^src/$l/" || say "README.md: the map lacks src/$l/"
done
for d in $(find . -maxdepth 1 -mindepth 1 -type d ! -name '.*' ! -name 'build*' ! -name oomreport-report | sed 's|^\./||'); do
    echo "$map" | grep -q "^$d/" || say "README.md: the map lacks $d/"
done

for script in $(find tests src .ci -name '*.sh' -o -path '.ci/run' | sort); do
    bash -n "$script" || say "$script: syntax"
done
[ $bad -eq 0 ] && echo "lint: good"
exit $bad

#!/bin/sh
# embed.sh [NAME=]FILE...: a C file with the table of base/embed.h on standard
# output. The assembler takes the bytes in (.incbin), so that neither a large C
# array has to be compiled nor any tool but the compiler is needed.
set -eu
LC_ALL=C
export LC_ALL

for arg in "$@"; do
    case $arg in
    *=*) printf '%s\t%s\n' "${arg%%=*}" "${arg#*=}" ;;
    *) printf '%s\t%s\n' "$arg" "$arg" ;;
    esac
done | sort | {
    tab=$(printf '\t')
    n=0
    table=
    echo '/* Made by src/base/embed.sh. */'
    echo '#include "base/embed.h"'
    while IFS=$tab read -r name file; do
        size=$(wc -c <"$file")
        size=$((size))
        cat <<END
extern const char embed_bytes_$n[];
__asm__(".pushsection .rodata\n.global embed_bytes_$n\nembed_bytes_$n:\n"
        ".incbin \"$file\"\n.byte 0\n.popsection\n");
END
        table="$table    {\"$name\", {embed_bytes_$n, $size}},
"
        n=$((n + 1))
    done
    printf 'const struct embedded embed_table[] = {\n%s    {0}};\n' "$table"
    printf 'const size_t embed_count = %d;\n' "$n"
}

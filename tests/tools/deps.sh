#!/bin/sh
# deps.sh GOAL...: installs the Debian or Ubuntu packages that the goals need and
# that are not there; says what it does. Elsewhere it says what is needed.
set -eu

want="gcc pkg-config libc6-dev libcjson-dev libcsv-dev libcairo2-dev libpng-dev libfreetype-dev
      libpcre2-dev zlib1g-dev libcmocka-dev fonts-dejavu-core"
has_goal() {
    for g in $goals; do
        for w in "$@"; do
            [ "$g" = "$w" ] && return 0
        done
    done
    return 1
}
goals=$*
if has_goal check asan golden coverage check-corpus distcheck; then
    want="$want python3 python3-jsonschema chromium tidy"
fi
if has_goal score; then
    want="$want python3"
fi
if has_goal fuzz; then
    want="$want clang libclang-rt-dev"
fi
if has_goal lint format; then
    want="$want clang clang-format cppcheck groff-base python3"
fi
if has_goal bench; then
    want="$want python3 python3-pandas python3-matplotlib"
fi

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    echo "deps: this is neither Debian nor Ubuntu. Please install what these packages hold:" >&2
    echo "     " $want >&2
    echo "deps: (a C compiler, make, pkg-config; cJSON, libcsv, cairo, libpng, freetype, pcre2, zlib, cmocka;" >&2
    echo "deps: DejaVu Sans, or name another font with FONT=)" >&2
    if pkg-config --exists libcjson cairo cairo-ft libpng freetype2 libpcre2-8 zlib 2>/dev/null; then
        exit 0 # most of it is there: let the build say the rest
    fi
    exit 1
fi

installed() {
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}
missing=
for p in $want; do
    case $p in # pkgconf has taken over pkg-config's name in newer releases
    pkg-config) command -v pkg-config >/dev/null && continue ;;
    gcc) command -v gcc >/dev/null && continue ;;
    esac
    installed "$p" || missing="$missing $p"
done
if [ -z "$missing" ]; then
    echo "deps: all there"
    exit 0
fi

sudo=
if [ "$(id -u)" -ne 0 ]; then
    sudo=sudo
    command -v sudo >/dev/null || {
        echo "deps: missing:$missing" >&2
        echo "deps: neither root nor sudo: please install them, then run make again" >&2
        exit 1
    }
fi
known() {
    apt-cache show "$1" >/dev/null 2>&1
}
for p in $missing; do
    known "$p" || {
        echo "deps: apt-get update"
        $sudo apt-get update -qq
        break
    }
done
# libclang-rt-dev is part of libclang-common-*-dev in older releases.
install=
for p in $missing; do
    if [ "$p" = libclang-rt-dev ] && ! known "$p"; then
        continue
    fi
    install="$install $p"
done
[ -n "$install" ] || exit 0
echo "deps: apt-get install$install"
get() {
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $install >/dev/null
}
get || {
    echo "deps: apt-get update, and once more"
    $sudo apt-get update -qq
    get
}

#!/bin/sh
# distcheck.sh NAME DIR: DIR/NAME.tar.gz builds and passes its tests out of tree
# from a source folder that is not written to; installs, uninstalls without a rest;
# packs itself again; and two builds in different folders are the same bytes.
set -eu
name=$1
dir=$(realpath "$2")
work=$dir/distcheck
rm -rf "$work"
mkdir "$work"
trap 'chmod -R u+w "$work" 2>/dev/null; rm -rf "$work"' EXIT
cd "$work"
tar xzf "$dir/$name.tar.gz"
cp -r "$name" again
find "$name" -type f | sort | xargs sha256sum >before
MAKEFLAGS=
export MAKEFLAGS
make -C "$name" -j2 BUILD="$work/b1" check
make -C "$name" BUILD="$work/b1" DESTDIR="$work/root" prefix=/usr install
"$work/root/usr/bin/oomreport" --version >/dev/null
[ "$(find root -type f | wc -l)" -eq 6 ]
make -C "$name" BUILD="$work/b1" DESTDIR="$work/root" prefix=/usr uninstall
[ "$(find root -type f | wc -l)" -eq 0 ] || {
    echo "distcheck: uninstall left files" >&2
    exit 1
}
find "$name" -type f | sort | xargs sha256sum | cmp - before || {
    echo "distcheck: the build wrote into the source folder" >&2
    exit 1
}
make -C again -j2 >/dev/null
cmp again/build/oomreport b1/oomreport || {
    echo "distcheck: two builds in different folders differ" >&2
    exit 1
}
echo "distcheck: $name.tar.gz is good"

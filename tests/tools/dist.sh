#!/bin/sh
# dist.sh NAME DIR: DIR/NAME.tar.gz, the same bytes from the same tree: names
# sorted, owner root, one time (of the last commit, or SOURCE_DATE_EPOCH).
set -eu
LC_ALL=C
export LC_ALL
name=$1
dir=$2
if [ -d .git ]; then
    time=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
    git ls-files >"$dir/dist.list"
else
    time=${SOURCE_DATE_EPOCH:-0}
    find . -type f ! -path './build*' ! -path './oomreport-report/*' | sed 's|^\./||' >"$dir/dist.list"
fi
sort -o "$dir/dist.list" "$dir/dist.list"
tar --create --format=ustar --owner=0 --group=0 --numeric-owner --mtime="@$time" --mode='u+rw,go=rX' \
    --no-recursion --transform="s|^|$name/|" --files-from="$dir/dist.list" | gzip -n -9 >"$dir/$name.tar.gz.new"
mv "$dir/$name.tar.gz.new" "$dir/$name.tar.gz"
echo "$dir/$name.tar.gz"

#!/bin/bash
# run.sh [--update] [CASE...]: the golden tests. A folder is a case:
#   cmd      a bash script, run in an empty folder; $OOMREPORT is the program,
#            $CASE the case's folder, $ROOT the repository
#   out      expected standard output     (absent: not compared)
#   err      expected standard error      (absent: not compared)
#   status   expected exit status         (absent: 0)
# --update writes out, err and status anew. Last line: "N passed, N failed".
set -u
cd "$(dirname "$0")/../.." || exit 1
ROOT=$PWD
BUILD=${BUILD:-build}
OOMREPORT=$(realpath "$BUILD/oomreport")
export ROOT OOMREPORT LC_ALL=C TZ=UTC
export HOME=/nonexistent XDG_DATA_DIRS=/nonexistent # only built-in formats
unset SOURCE_DATE_EPOCH NO_COLOR XDG_DATA_HOME 2>/dev/null
update=
if [ "${1:-}" = --update ]; then
    update=1
    shift
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

if [ $# -eq 0 ]; then
    set -- tests/golden/*/
fi
passed=0
failed=0
for folder in "$@"; do
    folder=${folder%/}
    [ -f "$folder/cmd" ] || continue
    export CASE=$ROOT/$folder
    here=$work/here
    rm -rf "$here" && mkdir "$here"
    (cd "$here" && timeout 60 bash "$CASE/cmd" </dev/null >"$work/out" 2>"$work/err")
    status=$?
    # places that differ from machine to machine
    sed -i -e "s|$OOMREPORT|oomreport|g; s|$CASE|CASE|g; s|$ROOT|ROOT|g" "$work/out" "$work/err"
    if [ -n "$update" ]; then
        cp "$work/out" "$folder/out"
        cp "$work/err" "$folder/err"
        rm -f "$folder/status"
        [ $status -eq 0 ] || echo $status >"$folder/status"
        continue
    fi
    good=1
    want=0
    [ ! -f "$folder/status" ] || want=$(cat "$folder/status")
    if [ "$status" != "$want" ]; then
        good=
        echo "$folder: exit status $status, expected $want"
        head -n 5 "$work/err"
    fi
    for stream in out err; do
        [ -f "$folder/$stream" ] || continue
        if ! diff -u --label "$folder/$stream" --label now "$folder/$stream" "$work/$stream" >"$work/diff"; then
            good=
            head -n 40 "$work/diff"
        fi
    done
    if [ -n "$good" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $folder"
    fi
done
[ -n "$update" ] || echo "$passed passed, $failed failed"
[ $failed -eq 0 ]

#!/bin/sh
# coverage.sh BUILD: line coverage of each source file, least first, from gcc's counters.
set -eu
work=$1/coverage
mkdir -p "$work"
find "$1/obj" -name '*.gcda' | sort | xargs gcov -n 2>/dev/null |
    awk '/^File .src\/.*\.c/ { gsub(/\x27/, "", $2); file = $2 }
         /^Lines executed:/ && file { split($0, a, /[:%]/); split($0, b, "of ")
             printf "%6.1f %%  %5d lines  %s\n", a[2], b[2], file
             covered += a[2] / 100 * b[2]; all += b[2]; file = "" }
         END { if (all) printf "%6.1f %%  %5d lines  all\n", 100 * covered / all, all }' |
    sort -n >"$work/summary.txt"
cat "$work/summary.txt"

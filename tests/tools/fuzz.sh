#!/bin/bash
# fuzz.sh PROGRAM...: runs each fuzz target for FUZZ_TIME seconds, as many at a
# time as there are processors. New inputs go to $BUILD/corpus, a crash to
# tests/fuzz/corpus/NAME, from where `make replay` runs it ever after.
set -u
running=0
failed=0
one() {
    local program=$1 name seeds
    name=$(basename "$program")
    name=${name#fuzz_}
    seeds=tests/fuzz/corpus/$name
    mkdir -p "$BUILD/corpus/$name" "$seeds"
    local dict=()
    [ ! -f "tests/fuzz/$name.dict" ] || dict=("-dict=tests/fuzz/$name.dict")
    if "$program" "${dict[@]}" -max_total_time="$FUZZ_TIME" -timeout=10 -rss_limit_mb=2048 -max_len=65536 \
        -artifact_prefix="$seeds/" -print_final_stats=1 "$BUILD/corpus/$name" "$seeds" >"$BUILD/$name.log" 2>&1; then
        echo "$name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$BUILD/$name.log") runs, no finding"
    else
        echo "$name: FOUND something, see $BUILD/$name.log"
        tail -n 40 "$BUILD/$name.log"
        return 1
    fi
}
for program in "$@"; do
    if [ $running -ge "$(nproc)" ]; then
        wait -n || failed=1
        running=$((running - 1))
    fi
    one "$program" &
    running=$((running + 1))
done
while [ $running -gt 0 ]; do
    wait -n || failed=1
    running=$((running - 1))
done
exit $failed

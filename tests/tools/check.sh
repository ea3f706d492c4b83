#!/bin/sh
# check.sh SUITE...: runs the suites, from the repository's root, with what is
# built in $BUILD. Prints what failed and, alone on the last line, the sum over
# all: "N passed, N failed". A test that cannot run counts as failed.
set -u
LC_ALL=C
TZ=UTC
export LC_ALL TZ BUILD PYTHON
for variable in $(env | sed -n 's/^\(OOMREPORT_[A-Z_]*\)=.*/\1/p'); do
    unset "$variable" # settings of whoever runs the tests
done
work=$BUILD/check
mkdir -p "$work"
passed=0
failed=0

# add SUITE PASSED FAILED
add() {
    passed=$((passed + $2))
    failed=$((failed + $3))
    printf '%-8s %5d passed, %d failed\n' "$1" "$2" "$3"
}

# The figure that cmocka prints behind a mark such as PASSED.
cmocka_count() {
    sed -n "s/^\[ *$2 *\] \([0-9][0-9]*\) test.*/\1/p" "$1" | head -n 1 | grep . || echo 0
}

suite_unit() {
    p=0
    f=0
    for source in tests/unit/test_*.c; do
        [ -e "$source" ] || continue
        name=$(basename "$source" .c)
        log=$work/$name.log
        timeout 300 "$BUILD/unit/$name" >"$log" 2>&1
        status=$?
        good=$(cmocka_count "$log" PASSED)
        bad=$(($(cmocka_count "$log" FAILED) + $(cmocka_count "$log" SKIPPED)))
        if [ $status -ne 0 ] && [ "$bad" -eq 0 ]; then
            bad=1
        fi
        if [ "$good" -eq 0 ] && [ "$bad" -eq 0 ]; then
            bad=1
        fi
        if [ "$bad" -ne 0 ]; then
            echo "FAILED: $name (exit status $status)"
            grep -vE '^\[ +(RUN|OK) +\]' "$log" | head -n 60
        fi
        p=$((p + good))
        f=$((f + bad))
    done
    add unit $p $f
}

# A program of a suite prints its own "N passed, N failed" as its last line.
suite_script() {
    suite=$1
    shift
    log=$work/$suite.log
    timeout 600 "$@" >"$log" 2>&1
    status=$?
    p=$(sed -n '$s/^\([0-9]*\) passed, [0-9]* failed$/\1/p' "$log")
    f=$(sed -n '$s/^[0-9]* passed, \([0-9]*\) failed$/\1/p' "$log")
    if [ -z "$p" ] || [ -z "$f" ]; then
        p=0
        f=1
    elif [ $status -ne 0 ] && [ "$f" -eq 0 ]; then
        f=1
    fi
    [ "$f" -eq 0 ] || head -n 200 "$log"
    add "$suite" "$p" "$f"
}

suite_replay() {
    p=0
    f=0
    for source in tests/fuzz/fuzz_*.c; do
        [ -e "$source" ] || continue
        name=$(basename "$source" .c)
        corpus=tests/fuzz/corpus/${name#fuzz_}
        log=$work/$name.log
        if [ -d "$corpus" ] && timeout 120 "$BUILD/replay/$name" "$corpus" >"$log" 2>&1; then
            p=$((p + 1))
        else
            f=$((f + 1))
            echo "FAILED: $name over $corpus"
            tail -n 30 "$log" 2>/dev/null
        fi
    done
    add replay $p $f
}

# Every mapping runs its own samples.
suite_formats() {
    p=0
    f=0
    for format in formats/*.json; do
        if "$BUILD/oomreport" --check-format "$format" >"$work/format.log" 2>&1; then
            p=$((p + 1))
        else
            f=$((f + 1))
            echo "FAILED: oomreport --check-format $format"
            head -n 20 "$work/format.log"
        fi
    done
    add formats $p $f
}

# The fixtures are what their generator writes.
suite_made() {
    if "$PYTHON" fixtures/make_fixtures.py --check >"$work/made.log" 2>&1; then
        add made 1 0
    else
        head -n 20 "$work/made.log"
        add made 0 1
    fi
}

for suite in "$@"; do
    case $suite in
    unit | replay | formats | made) suite_$suite ;;
    golden) suite_script golden bash tests/golden/run.sh ;;
    fixtures) suite_script fixtures "$PYTHON" tests/tools/check_fixtures.py "$BUILD/oomreport" ;;
    verdicts) suite_script verdicts "$PYTHON" tests/tools/check_verdicts.py "$BUILD/oomreport" ;;
    snapshots) suite_script snapshots "$PYTHON" tests/tools/check_snapshots.py --program "$BUILD/oomreport" fixtures/snapshots ;;
    mutations) suite_script mutations "$PYTHON" tests/tools/mutate_snapshots.py --program "$BUILD/oomreport" \
        --count 200 $(case $BUILD in *asan*) echo --sanitized ;; esac) fixtures/snapshots ;;
    logger) suite_script logger "$PYTHON" -B tests/tools/check_logger.py --program "$BUILD/oomreport" --work "$work/logger" ;;
    cli) suite_script cli "$PYTHON" tests/tools/check_cli.py --program "$BUILD/oomreport" --work "$work/cli" ;;
    redact) suite_script redact "$PYTHON" tests/tools/check_redact.py --program "$BUILD/oomreport" --work "$work/redact" ;;
    schema) suite_script schema "$PYTHON" tests/tools/check_schema.py --program "$BUILD/oomreport" --work "$work/schema" ;;
    merge) suite_script merge "$PYTHON" tests/tools/check_merge.py --program "$BUILD/oomreport" --work "$work/merge" ;;
    outputs) suite_script outputs "$PYTHON" tests/tools/check_outputs.py --program "$BUILD/oomreport" --work "$work/outputs" ;;
    browser) suite_script browser "$PYTHON" tests/tools/check_browser.py --program "$BUILD/oomreport" --work "$work/browser" ;;
    esac
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
